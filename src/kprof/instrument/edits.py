"""Edits of a text by offset, in a form that can be taken out again to the byte.

An edit puts text in, and may put it in place of a word. In the text it stands between two comments,
which name the word that it replaced::

    /*kprof<*/inserted/*>kprof*/            put in
    /*kprof<return*/inserted/*>kprof*/      put in place of ``return``

`remove_edits` undoes `apply_edits` exactly, whatever the text around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_OPEN, _CLOSE = "/*kprof<", "/*>kprof*/"
_OPENED = re.compile(r"/\*kprof<\w*\*/")
_EDIT = re.compile(r"/\*kprof<(\w*)\*/.*?/\*>kprof\*/", re.S)


@dataclass(frozen=True, order=True)
class Edit:
    """Text to put at `offset`, in place of the word `replaced` where that is not empty.

    Edits at one offset go in by their `rank`.
    """

    offset: int
    rank: int
    text: str
    replaced: str = ""


def apply_edits(text: str, edits: Iterable[Edit], *, marked: bool = True) -> str:
    """The text with the edits in it, each between its comments where `marked`."""
    parts: list[str] = []
    last = 0
    for edit in sorted(edits):
        parts.append(text[last : edit.offset])
        plain = f" {edit.text}" if edit.text.endswith("\n") else f" {edit.text} "
        parts.append(f"{_OPEN}{edit.replaced}*/{edit.text}{_CLOSE}" if marked else plain)
        last = edit.offset + len(edit.replaced)
    parts.append(text[last:])
    return "".join(parts)


def has_edits(text: str) -> bool:
    """Has this text been instrumented? One comment that opens an edit is enough to say so."""
    return _OPENED.search(text) is not None


def remove_edits(text: str) -> str:
    """The text as it was before `apply_edits`."""
    return _EDIT.sub(lambda match: match[1], text)
