"""Heads that need no parser: words and simple attributes, a name, its parameters.

Nearly all heads of preprocessed units are like this, and a kernel's header functions make thousands
of them a unit. Whatever is not exactly so is left to `heads.parse_head`, which gives the same.
"""

from __future__ import annotations

import re

from kprof.instrument.heads import Head
from kprof.instrument.words import (
    ASM_WORDS,
    ATTRIBUTE_WORDS,
    NOT_A_NAME,
    STORAGE,
    TAG_WORDS,
    TYPE_ATTRIBUTES,
    TYPE_CALLS,
    TYPE_WORDS,
)

_ATTRIBUTE = r"__attribute__\s*\(\(\s*\w+\s*(?:\([^()]*\)\s*)?\)\)\s*"
_HEAD = re.compile(
    rf"\s*((?:{_ATTRIBUTE}|(?!__attribute)[A-Za-z_]\w*\b\s*|\*\s*)+)"
    r"(?<!\w)([A-Za-z_]\w*)\s*\((?:[^();]|\([^();]*\))*\)\s*"
)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_IN_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*")
_NOT_PLAIN = TYPE_CALLS | ASM_WORDS | ATTRIBUTE_WORDS | {"typedef"}
_NAMES_NOTHING = NOT_A_NAME | TAG_WORDS | STORAGE | TYPE_WORDS | _NOT_PLAIN
_LONGEST = 2000


def plain_head(text: str, start: int, end: int) -> Head | None:
    """The head in ``text[start:end]``, preprocessed, where it is a plain one; else None."""
    if end - start > _LONGEST:
        return None
    match = _HEAD.fullmatch(text, start, end)
    if match is None or match[2] in _NAMES_NOTHING:
        return None
    before = match[1]
    attributes: set[str] = set()
    if "__attribute__" in before:
        for attribute in _ATTRIBUTES.findall(before):
            attributes.update(w.strip("_") for w in _IN_ATTRIBUTE.findall(attribute[13:]))
        if attributes & TYPE_ATTRIBUTES:
            return None
        before = _ATTRIBUTES.sub(" ", before)
    words = before.replace("*", " * ").split()
    if not words or words[-1] in TAG_WORDS or not _NOT_PLAIN.isdisjoint(words):
        return None
    typed = [word for word in words if word not in STORAGE]
    if not any(word not in ("const", "volatile", "*") for word in typed):
        typed.insert(0, "int")
    if "_Noreturn" in words or "noreturn" in words:
        attributes.add("noreturn")
    return Head(
        match[2],
        match.start(2),
        "static" in words,
        not {"inline", "__inline", "__inline__"}.isdisjoint(words),
        frozenset(attributes),
        (" ".join(typed), ""),
    )
