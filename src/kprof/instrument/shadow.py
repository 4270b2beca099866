"""C text with all that is not code blanked out, so that plain patterns can find things in it.

A shadow has the length of its text: comments, directives and what stands in literals become
spaces, digraphs and trigraphs the brackets that they mean. Where a backslash joins lines, the joint
is cut out and `Shadow.place` leads back to the offset in the text as it was.

Text is the bytes of a file as Latin-1: one character a byte, whatever the encoding.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

_JOINT = re.compile(r"(?:\\|\?\?/)[ \t]*\r?\n")

# A quote after a digit separates digits (C23), but for the prefix of u8'x'.
_NOT_CODE = re.compile(
    r"""/\*.*?(?:\*/|\Z)
      |//[^\n]*
      |"(?:[^"\\\n]|\\.)*"?
      |'(?:(?<![0-9]')|(?<=u8'))(?:[^'\\\n]|\\.)*'?
      |\#(?:[^\n/"']|/\*.*?(?:\*/|\Z)|//[^\n]*|/|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)*
      |%:[^\n]*
      |\?\?=[^\n]*
    """,
    re.S | re.X,
)
_UNIVERSAL = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U(000[0-9A-Fa-f]{5}|0010[0-9A-Fa-f]{4})")
_ALTERNATIVE = (
    ("<%", "{ "),
    ("%>", "} "),
    ("<:", "[ "),
    (":>", "] "),
    ("??<", "{  "),
    ("??>", "}  "),
    ("??(", "[  "),
    ("??)", "]  "),
)


@dataclass(frozen=True)
class Shadow:
    """A text and its shadow.

    Attributes
    ----------
    raw
        The text as it was.
    joined
        The text with lines that end in a backslash joined; offsets of `code` are offsets of it.
    code
        `joined` with everything that is not code blanked out.
    directives
        Start and end of each preprocessor directive in `joined`.
    joints
        Offset in `joined` at which something was cut out, and how much up to there.
    """

    raw: str
    joined: str
    code: str
    directives: tuple[tuple[int, int], ...]
    joints: tuple[Sequence[int], Sequence[int]] = ((), ())

    def place(self, offset: int, *, before: bool = True) -> int:
        """The offset in `raw` of an offset in `joined`.

        At a joint there are two: `before` it, where an insertion that follows something goes, or
        behind it.
        """
        cuts, totals = self.joints
        index = bisect_right(cuts, offset - 1 if before else offset)
        return offset + (totals[index - 1] if index else 0)

    def line(self, offset: int) -> int:
        """The line, from 1, in `raw` of an offset in `joined`."""
        return self.raw.count("\n", 0, self.place(offset, before=False)) + 1

    def offset_of_line(self, line: int) -> int:
        """The offset in `joined` of the first character of a line, from 1, in `raw`."""
        start = 0
        for _ in range(line - 1):
            start = self.raw.find("\n", start) + 1
        everything = range(len(self.joined) + 1)
        return bisect_left(everything, start, key=lambda at: self.place(at, before=False))


def shadow_of(raw: str) -> Shadow:
    """The shadow of C text, preprocessed or not."""
    joined, joints = _join(raw)
    directives: list[tuple[int, int]] = []

    def blank(match: re.Match[str]) -> str:
        text = match[0]
        first = text[0]
        if first in "\"'":
            return first + " " * (len(text) - 2) + first if len(text) > 1 else " "
        if first in "#%?":
            if first != "#" and not _begins_line(joined, match.start()):
                return text[:3] + blank_rest(text[3:])
            directives.append(match.span())
        return " " * len(text)

    def blank_rest(text: str) -> str:
        return _NOT_CODE.sub(blank, text)

    code = _NOT_CODE.sub(blank, joined)
    for spelling, meaning in _ALTERNATIVE:
        if spelling in code:
            code = code.replace(spelling, meaning)
    return Shadow(raw, joined, code, tuple(directives), joints)


def decode(data: bytes) -> str:
    """The bytes of a file as text, one character a byte."""
    return data.decode("latin-1")


def encode(text: str) -> bytes:
    """The bytes that `decode` made this text of."""
    return text.encode("latin-1")


def native(text: str) -> str:
    """A name out of such text, as Python has names: UTF-8 where it is that, \\u00e9 resolved."""
    if not text.isascii():
        text = encode(text).decode("utf-8", "surrogateescape")
    if "\\" not in text:
        return text
    return _UNIVERSAL.sub(lambda match: chr(int(match[1] or match[2], 16)), text)


def foreign(name: str) -> str:
    """A name of Python's, such as a file's, as it stands in such text."""
    return name if name.isascii() else decode(name.encode("utf-8", "surrogateescape"))


def _begins_line(text: str, offset: int) -> bool:
    return not text[text.rfind("\n", 0, offset) + 1 : offset].strip()


def _join(raw: str) -> tuple[str, tuple[Sequence[int], Sequence[int]]]:
    if "\\" not in raw and "??/" not in raw:
        return raw, ((), ())
    parts: list[str] = []
    cuts: list[int] = []
    totals: list[int] = []
    last = removed = 0
    for match in _JOINT.finditer(raw):
        parts.append(raw[last : match.start()])
        cuts.append(match.start() - removed)
        removed += match.end() - match.start()
        totals.append(removed)
        last = match.end()
    if not cuts:
        return raw, ((), ())
    parts.append(raw[last:])
    return "".join(parts), (cuts, totals)
