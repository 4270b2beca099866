"""How text reports are drawn: colours, links, box characters, the width of the terminal.

The renderers say what each part of a line is, and a `Style` gives it its look. `PLAIN` gives none:
reports that go to files and pipes are plain ASCII but for the names.

=============  ==================================================================================
share          a figure by its part of the whole run: red from 20%, yellow from 5%, green from 1%
time           a single call's time by its size: green from 1 ms, yellow from 100 ms, red from 1 s
marks          as in ftrace, at the line's begin: ``+`` over 10 us, ``!`` 100 us, ``#`` 1 ms,
               ``*`` 10 ms, ``@`` 100 ms, ``$`` 1 s
links          OSC 8, where a name's source is known; terminals without it show the name
=============  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_MARKS = ((1e6, "$"), (1e5, "@"), (1e4, "*"), (1e3, "#"), (1e2, "!"), (1e1, "+"))
_GREEN, _RED, _CYAN, _DIM, _BOLD, _YELLOW = "32", "31", "36", "2", "1", "33"
_SHARES = ((0.20, _RED), (0.05, _YELLOW), (0.01, _GREEN))
_TIMES = ((1e6, _RED), (1e5, _YELLOW), (1e3, _GREEN))
_BLOCKS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589\u2588"


@dataclass(frozen=True)
class Style:
    """How the parts of a report are drawn.

    Attributes
    ----------
    colour
        With colours.
    boxes
        With box and block characters; else ASCII.
    marks
        With ftrace's marks in the trace.
    links
        Addresses by the shown name of a function.
    strip
        A line above the summary's table, or "".
    width
        Columns of the terminal; None: lines may be of any length.
    """

    colour: bool = False
    boxes: bool = False
    marks: bool = False
    links: Mapping[str, str] = field(default_factory=dict)
    strip: str = ""
    width: int | None = None

    @property
    def plain(self) -> bool:
        """Does it change nothing?"""
        return not (self.colour or self.boxes or self.marks)

    def name(self, name: str, shown: str | None = None) -> str:
        """A function's name, a link to its source where that is known; `shown` is it cut."""
        painted = self._paint(name if shown is None else shown, _CYAN)
        address = self.links.get(name)
        return f"\x1b]8;;{address}\x1b\\{painted}\x1b]8;;\x1b\\" if address else painted

    def share(self, text: str, part: float, whole: float) -> str:
        """A figure that is `part` of `whole`."""
        share = abs(part) / whole if whole else 0.0
        return self._paint(text, next((code for least, code in _SHARES if share >= least), ""))

    def time(self, text: str, us: float) -> str:
        """The time of one call."""
        return self._paint(text, next((code for least, code in _TIMES if us >= least), ""))

    def mark(self, us: float) -> str:
        """ftrace's mark for a duration with the blank behind it; "" without marks."""
        sign = mark_of(us)
        return f"{self._paint(sign, _RED if sign != ' ' else '')} " if self.marks else ""

    def title(self, text: str) -> str:
        """The head of a table, or a figure that counts most."""
        return self._paint(text, _BOLD)

    def dim(self, text: str) -> str:
        """What is needed least: stamps, arrows, rules."""
        return self._paint(text, _DIM)

    def event(self, text: str) -> str:
        """An inline trigger or a switch."""
        return self._paint(text, _YELLOW)

    def good(self, text: str) -> str:
        """What holds, or got better."""
        return self._paint(text, _GREEN)

    def bad(self, text: str) -> str:
        """What fails, or got worse."""
        return self._paint(text, _RED)

    def rule(self, columns: int) -> str:
        """A line across, no longer than the terminal."""
        return self.dim(("\u2500" if self.boxes else "-") * min(columns, self.width or columns))

    def bar(self, part: int, whole: int, columns: int) -> str:
        """A bar of `part` of `whole`, at most `columns` long; something for anything."""
        if not self.boxes:
            return "#" * -(-part * columns // whole)
        eighths = -(-part * columns * 8 // whole)
        return "\u2588" * (eighths // 8) + _BLOCKS[eighths % 8].strip()

    @property
    def tree(self) -> tuple[str, str, str]:
        """What stands before a node, before a last node, and below a node that is not the last."""
        return (
            ("\u251c\u2500 ", "\u2514\u2500 ", "\u2502  ") if self.boxes else ("+- ", "`- ", "|  ")
        )

    @property
    def arrow(self) -> str:
        """Between a figure before and the figure after."""
        return " \u2192 " if self.boxes else ">"

    def cut(self, name: str, columns: int) -> str:
        """A name in at most so many columns, at least 8."""
        most = max(8, columns)
        if len(name) <= most:
            return name
        dots = "\u2026" if self.boxes else "..."
        return name[: most - len(dots)] + dots

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text


PLAIN = Style()


def mark_of(us: float) -> str:
    """ftrace's mark for a duration; a blank up to 10 us."""
    return next((mark for least, mark in _MARKS if us > least), " ")
