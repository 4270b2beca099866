"""The tokens of shadow text, and those that pycparser is given."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(
    r"""(?:u8|[LuU])?"[^"]*"
      |(?:u8|[LuU])?'[^']*'
      |(?:[A-Za-z_$\x80-\xff]|\\[uU][0-9A-Fa-f]{4})(?:[\w$\x80-\xff]|\\[uU][0-9A-Fa-f]{4})*
      |\.?[0-9](?:[eEpP][+-]|'(?=[0-9A-Fa-f])|[.\w])*
      |<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=
      |\S""",
    re.X,
)


class Token:
    """A token as pycparser's own lexer gives it; `column` is the offset in the text, from 1."""

    __slots__ = ("column", "filename", "lineno", "type", "value")

    def __init__(self, kind: str, value: str, offset: int) -> None:
        self.type, self.value = kind, value
        self.column, self.lineno, self.filename = offset + 1, 1, ""


class NotFed(Exception):  # noqa: N818 - a reason, caught where functions are read
    """The brackets of a text do not match; `args[0]` is the reason."""


def is_word(text: str) -> bool:
    """Is this a name or a keyword?"""
    return text[0].isalpha() or text[0] in "_$\\" or text[0] > "\x7f"


def words_in(code: str, spans: Sequence[tuple[int, int]]) -> tuple[list[str], list[int]]:
    """The tokens of these parts of a shadow text, and their offsets."""
    words: list[str] = []
    offsets: list[int] = []
    for start, end in spans:
        for match in _WORD.finditer(code, start, end):
            words.append(match[0])
            offsets.append(match.start())
    return words, offsets
