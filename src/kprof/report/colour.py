"""The text reports dressed for a terminal: colours by magnitude, ftrace's marks, links.

The reports stay plain text; this reads their lines and dresses what it knows: the stamps, figures
and names of the trace, and the tables of the summary. A line that it does not know stays as it is.

=============  ==================================================================================
figures        as in uftrace: microseconds plain, from a millisecond on green, from a second on red
marks          as in ftrace, at the line's begin: ``+`` over 10 us, ``!`` 100 us, ``#`` 1 ms,
               ``*`` 10 ms, ``@`` 100 ms, ``$`` 1 s
links          OSC 8, where a name's source is known; terminals without it show the name
=============  ==================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

_MARKS = ((1e6, "$"), (1e5, "@"), (1e4, "*"), (1e3, "#"), (1e2, "!"), (1e1, "+"))
_GREEN, _RED, _CYAN, _DIM, _BOLD, _YELLOW = "32", "31", "36", "2", "1", "33"

_TRACE = re.compile(r"(\d+:\d{3} \d{3}(?:\.\d+)?)( +)(->|<-|==|----)(.*)", re.S)
_FIGURES = re.compile(
    r"(.*) \((\d+(?:\.\d+)?) us(?:, (\d+(?:\.\d+)?) total)?\)((?: open| unwound)*)", re.S
)
_RULE = re.compile(r"-{20,}")
_TOTAL = re.compile(r"(\w[\w ]* = )(\d+ sec [\d.]+ us)(.*)")
_TIMES = {"Elapsed", "Net", "(max/avg/min)"}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_GAP = re.compile(r"( {2,})")


@dataclass(frozen=True)
class Look:
    """How text is dressed.

    Attributes
    ----------
    colour
        With colours.
    marks
        With ftrace's marks in the trace.
    links
        Addresses by the shown name of a function.
    strip
        A line to stand above the summary's table, or "".
    """

    colour: bool = False
    marks: bool = False
    links: Mapping[str, str] = field(default_factory=dict)
    strip: str = ""


def dress(parts: Iterable[str], look: Look) -> Iterator[str]:
    """The text of `parts`, dressed line by line."""
    dresser = _Dresser(look)
    rest = ""
    for part in parts:
        lines = (rest + part).split("\n")
        rest = lines.pop()
        if lines:
            yield "".join(dresser.line(line) + "\n" for line in lines)
    if rest:
        yield dresser.line(rest)


def mark_of(us: float) -> str:
    """ftrace's mark for a duration; a space below 10 us."""
    return next((mark for least, mark in _MARKS if us > least), " ")


class _Dresser:
    """Knows, from the lines before, whether a line is a row of a table."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._titles: list[str] = []

    def line(self, line: str) -> str:
        traced = _TRACE.fullmatch(line)
        if traced:
            return self._trace(traced)
        if _RULE.fullmatch(line):
            strip = self._look.strip
            return (f"{strip}\n" if strip else "") + self._paint(line, _DIM)
        if not line:
            self._titles = []
            return line
        titles = line.split()
        if len(titles) > 2 and titles[-1] == "name":
            self._titles = _GAP.split(line.strip())[::2]
            return self._paint(line, _BOLD)
        if self._titles:
            return self._row(line)
        total = _TOTAL.fullmatch(line)
        if total:
            return total[1] + self._paint(total[2], _BOLD) + total[3]
        return line

    def _trace(self, match: re.Match[str]) -> str:
        stamp, indent, arrow, rest = match.groups()
        figures = _FIGURES.fullmatch(rest)
        mark = ""
        if self._look.marks:
            longest = float(figures[3] or figures[2]) if figures and arrow != "==" else 0.0
            sign = mark_of(longest)
            mark = (self._paint(sign, _RED) if sign != " " else sign) + " "
        head = mark + self._paint(stamp, _DIM) + indent
        if arrow == "----":
            return head + self._paint(arrow + rest, _YELLOW)
        if figures is None:
            return head + self._paint(arrow, _DIM) + rest
        name, net, total, state = figures.groups()
        inside = f"{self._time(net)} us" + (f", {self._time(total)} total" if total else "")
        if arrow == "==":
            name = name[:1] + self._paint(name[1:], _YELLOW)
        elif name:
            name = name[:1] + self._name(name[1:])
        return f"{head}{self._paint(arrow, _DIM)}{name} ({inside}){state}"

    def _row(self, line: str) -> str:
        left = len(line) - len(line.lstrip(" "))
        cells = _GAP.split(line[left:], len(self._titles) - 1)
        if len(cells) != 2 * len(self._titles) - 1:
            return line
        out = [line[:left]]
        for index, cell in enumerate(cells):
            title = self._titles[index // 2]
            if index % 2:
                out.append(cell)
            elif title == "name":
                out.append(self._name(cell))
            elif title in _TIMES or title.endswith(" us"):
                out.append(_NUMBER.sub(lambda number: self._time(number[0]), cell))
            else:
                out.append(cell)
        return "".join(out)

    def _time(self, text: str) -> str:
        us = float(text)
        return self._paint(text, _RED if us >= 1e6 else _GREEN) if us >= 1e3 else text

    def _name(self, name: str) -> str:
        address = self._look.links.get(name)
        shown = self._paint(name, _CYAN)
        return f"\x1b]8;;{address}\x1b\\{shown}\x1b]8;;\x1b\\" if address else shown

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._look.colour else text
