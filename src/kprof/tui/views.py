"""The views of a capture as lists of lines: functions, the merged call tree, every call, text.

Each answers how many lines there are, what stands in one of a width, and which function it is
about. Where the width is short, columns go first; names are cut last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from rich.text import Text

from kprof.analysis.paths import PathTree
from kprof.analysis.replay.codes import OPEN, ORPHAN
from kprof.report.units import Scale, Units, percent, safe_name
from kprof.tui.forest import Forest, Unfolded
from kprof.tui.reading import Reading

SORTS = ("net", "elapsed", "calls", "max", "avg", "min", "name")
COLUMNS = ("elapsed", "net", "calls", "max", "avg", "min", "% net", "bar")
_GO_FIRST = ("bar", "min", "avg", "max", "calls", "elapsed", "% net")
_BAR = 10
WIDE = 1 << 20


class View(Protocol):
    """What a list of lines shows."""

    def __len__(self) -> int: ...

    def title(self, width: int) -> str:
        """What stands above the lines."""

    def line(self, number: int, width: int = WIDE) -> Text:
        """One line."""

    def function(self, number: int) -> int:
        """The function that a line is about, or -1."""

    def find(self, number: int, step: int, functions: set[int]) -> int | None:
        """The next line about one of `functions`."""


def time_style(us: float) -> str:
    """As in uftrace: ms green, s red."""
    return "red" if us >= 1e6 else "green" if us >= 1e3 else ""


def cut(name: str, width: int) -> str:
    """A name of at most `width` characters; the end of a longer one goes."""
    return name if len(name) <= width else name[: max(1, width - 2)] + ".."


@dataclass(frozen=True)
class _Column:
    """A column of the function table: its head, its cells by row, and their times for colours."""

    head: str
    cells: Sequence[str]
    us: Sequence[float]
    width: int


class Functions:
    """The function table, sorted by one of `SORTS`, with the columns that fit of those chosen."""

    def __init__(self, reading: Reading, sort: str = SORTS[0]) -> None:
        summary = reading.summary
        self._run = summary.ledger.run
        self._hz = summary.info.clock_hz
        number = {entry.name: i for i, entry in enumerate(reading.tags.functions)}
        self._rows = [(number[row.entry.name], row) for row in summary.functions]
        self._names: list[str] = []
        self.chosen: tuple[str, ...] = COLUMNS
        self._columns: dict[str, _Column] = {}
        self.sorted = sort
        self._sort()

    def __len__(self) -> int:
        return len(self._rows)

    def sort(self) -> None:
        """Sort by the next column."""
        self.sorted = SORTS[(SORTS.index(self.sorted) + 1) % len(SORTS)]
        self._sort()

    def _sort(self) -> None:
        key = self.sorted
        if key == "name":
            self._rows.sort(key=lambda row: row[1].entry.name)
        else:
            self._rows.sort(key=lambda row: -(getattr(row[1], key) or 0))
        self._names = [safe_name(row.entry.name) for _, row in self._rows]
        self._columns = {name: self._column(name) for name in COLUMNS}

    def _column(self, name: str) -> _Column:
        rows = [row for _, row in self._rows]
        star = "*" if name == self.sorted else ""
        us = [0.0] * len(rows)
        if name == "calls":
            cells, head = [str(row.calls) for row in rows], star + name
        elif name == "% net":
            cells, head = [f"{percent(row.net, self._run):.2f}%" for row in rows], name
        elif name == "bar":
            most = max((row.net for row in rows), default=0) or 1
            cells = ["#" * round(_BAR * row.net / most) for row in rows]
            return _Column("", [cell.ljust(_BAR) for cell in cells], us, _BAR)
        else:
            ticks = [getattr(row, name) for row in rows]
            scale = Scale(self._hz, max((value or 0 for value in ticks), default=0))
            cells = [scale.text(value) for value in ticks]
            us = [float((value or 0) * 1_000_000 / self._hz) for value in ticks]
            head = star + name + (" ms" if scale.unit == "ms" else "")
        return _Column(head, cells, us, max(len("*" + name), len(head), *map(len, cells), 0))

    def fitting(self, width: int) -> list[str]:
        """The chosen columns that leave room for the names."""
        names = min(max(map(len, self._names), default=0), max(24, width // 3))
        shown = [name for name in COLUMNS if name in self.chosen]
        for name in _GO_FIRST:
            if sum(self._columns[one].width + 1 for one in shown) + 1 + names <= width:
                break
            if name in shown and len(shown) > 1:
                shown.remove(name)
        return shown

    def title(self, width: int) -> str:
        columns = [self._columns[name] for name in self.fitting(width)]
        heads = " ".join(column.head.rjust(column.width) for column in columns)
        return f"{heads}  {'*' if self.sorted == 'name' else ''}name"

    def line(self, number: int, width: int = WIDE) -> Text:
        text = Text()
        for name in self.fitting(width):
            column = self._columns[name]
            cell = column.cells[number]
            text.append(f"{cell:>{column.width}} ", time_style(column.us[number]))
        room = max(1, width - len(text) - 1)
        return text.append(" " + cut(self._names[number], room), "cyan")

    def function(self, number: int) -> int:
        return self._rows[number][0]

    def place(self, function: int) -> int:
        """The line of a function; 0 where it has none."""
        return next((at for at, row in enumerate(self._rows) if row[0] == function), 0)

    def find(self, number: int, step: int, functions: set[int]) -> int | None:
        for away in range(1, len(self._rows) + 1):
            at = (number + step * away) % len(self._rows)
            if self._rows[at][0] in functions:
                return at
        return None


class _Tree:
    """What the two views that unfold have in common."""

    _heads: tuple[tuple[str, int], ...] = ()
    _what = ""

    def __init__(self, forest: Forest, reading: Reading) -> None:
        self.unfolded = Unfolded(forest)
        self.reading = reading
        info = reading.summary.info
        self._units = Units(info.clock_hz)
        self._scale = Scale(info.clock_hz, int(forest.weight.max(initial=0)))
        self._us = float(1_000_000 / info.clock_hz)
        self._names = [safe_name(entry.name) for entry in reading.tags.functions]

    def __len__(self) -> int:
        return len(self.unfolded)

    def title(self, width: int) -> str:
        heads = [f"{head:>{size}}" for head, size in self._heads[: self._columns(width)]]
        return f"{' '.join(heads)}   {self._what}".replace("elapsed", self._elapsed_head(), 1)

    def _elapsed_head(self) -> str:
        return "el. ms " if self._scale.unit == "ms" else "elapsed"

    def _columns(self, width: int) -> int:
        """How many columns leave a third of the width, and 16 characters, for the names."""
        many = len(self._heads)
        while many > 1 and sum(size + 1 for _, size in self._heads[:many]) + 2 > width - max(
            16, width // 3
        ):
            many -= 1
        return many

    def function(self, number: int) -> int:
        return int(self.unfolded.forest.name[self.unfolded.lines[number][0]])

    def find(self, number: int, step: int, functions: set[int]) -> int | None:
        return self.unfolded.search(number, step, functions)

    def _sign(self, number: int) -> str:
        if self.unfolded.is_open(number):
            return "- "
        return "+ " if self.unfolded.forest.has_children(self.unfolded.lines[number][0]) else "  "

    def _named(self, text: Text, indent: int, sign: str, name: str, style: str, width: int) -> Text:
        """Append a name that is indented less where there is no room for it."""
        room = width - len(text) - len(sign) - 2
        depth = max(0, min(2 * indent, room - min(len(name), 12)))
        text.append("  " + " " * depth + sign)
        return text.append(cut(name, max(1, width - len(text))), style)

    def _times(self, columns: int, *ticks: int) -> Text:
        text = Text()
        for value, (_, size) in zip(ticks, self._heads[:columns], strict=False):
            text.append(f"{self._scale.text(value):>{size}} ", time_style(value * self._us))
        return text


class Graph(_Tree):
    """The merged call tree: a line a path, the most elapsed first.

    A path that is all that is called from another one is not indented, and unfolds with it: a
    chain of single callees takes a column, not a staircase.
    """

    _heads = (("elapsed", 11), ("net", 11), ("calls", 8))
    _what = "call graph"

    def __init__(
        self, tree: PathTree, reading: Reading, notes: Mapping[int, str] | None = None
    ) -> None:
        """Show `tree`; `notes` stand behind the names of their nodes."""
        self.tree = tree
        self._notes = notes or {}
        order = np.lexsort((-tree.elapsed, tree.parent))
        forest = Forest(tree.parent, tree.elapsed, order, tree.function)
        walk = Unfolded(forest)
        for line in range(len(walk) - 1, -1, -1):
            walk.unfold_all(line, 1 << 62)
        way = np.array([node for node, _ in walk.lines], np.int64)
        super().__init__(Forest(tree.parent, tree.elapsed, way, tree.function), reading)
        children = np.bincount(tree.parent + 1, minlength=len(tree) + 1)[1:]
        self._indent: list[int] = []
        for up in tree.parent.tolist():
            single = up >= 0 and children[up] == 1
            self._indent.append(0 if up < 0 else self._indent[up] + (not single))
        self._single = children == 1

    def toggle(self, line: int) -> None:
        """Fold, or unfold down to where a chain of single callees ends."""
        self.unfolded.toggle(line)
        while self.unfolded.is_open(line) and self._single[self.unfolded.lines[line][0]]:
            line += 1
            self.unfolded.unfold(line)

    def line(self, number: int, width: int = WIDE) -> Text:
        node, _ = self.unfolded.lines[number]
        columns = self._columns(width)
        text = self._times(columns, int(self.tree.elapsed[node]), int(self.tree.net[node]))
        if columns == len(self._heads):
            text.append(f"{int(self.tree.calls[node]):>8} ")
        up = int(self.tree.parent[node])
        name = self._names[int(self.tree.function[node])]
        sign = self._sign(number) + ("> " if up >= 0 and self._single[up] else "")
        self._named(text, self._indent[node], sign, name, "cyan", width)
        return text.append(self._notes.get(node, ""), "dim")


class Trace(_Tree):
    """Every call in the order of its entry, with the inline triggers inside."""

    _heads = (("time", 10), ("elapsed", 12), ("net", 11))
    _what = "calls"

    def __init__(self, reading: Reading) -> None:
        self.calls = calls = reading.calls
        marks = calls.marks
        if len(marks):
            inline = marks.fn + len(reading.tags.functions)
            parent = np.concatenate([calls.parent, calls.mark_parent])
            order = np.argsort(np.concatenate([calls.event, marks.leave]), kind="stable")
            weight = np.concatenate([calls.elapsed, np.zeros(len(marks), np.int64)])
            name = np.concatenate([calls.function, inline])
        else:
            parent, weight, name = calls.parent, calls.elapsed, calls.function
            order = np.arange(len(calls), dtype=np.int32)
        super().__init__(Forest(parent, weight, order, name), reading)
        self._inlines = [safe_name(entry.name) for entry in reading.tags.inlines]

    def line(self, number: int, width: int = WIDE) -> Text:
        node, depth = self.unfolded.lines[number]
        calls, columns, sign = self.calls, self._columns(width), self._sign(number)
        if node >= len(calls):
            marks, mark = calls.marks, node - len(calls)
            text = Text().append(f"{self._stamp(int(marks.time[mark])):>10} ", "dim")
            if columns > 1:
                text.append(f"{self._scale.text(int(marks.elapsed[mark])):>12} ")
            text.append(" " * 12 if columns > 2 else "")
            name = f"== {self._inlines[marks.fn[mark]]}"
            return self._named(text, depth, sign, name, "yellow", width)
        text = Text().append(f"{self._stamp(int(calls.entry[node])):>10} ", "dim")
        ticks = (int(calls.elapsed[node]), int(calls.net[node]))
        for value, (_, size) in zip(ticks, self._heads[1:columns], strict=False):
            text.append(f"{self._scale.text(value):>{size}} ", time_style(value * self._us))
        self._named(text, depth, sign, self._names[calls.function[node]], "cyan", width)
        if calls.parent[node] >= 0:
            return text
        return text.append(f"   {self._context(int(calls.context[node]))}", "dim")

    def _context(self, context: int) -> str:
        name = self.reading.tasks.get(context)
        return safe_name(name) if name else f"task {context}" if context else "system"

    def function(self, number: int) -> int:
        name = super().function(number)
        return name if name < len(self._names) else -1

    def worst(self, function: int) -> int | None:
        """The line of the function's worst call, unfolded; None where none is complete."""
        calls = self.calls
        mine = np.flatnonzero((calls.function == function) & (calls.flags & (OPEN | ORPHAN) == 0))
        if not len(mine):
            return None
        line = self.unfolded.reveal(int(mine[calls.elapsed[mine].argmax()]))
        self.unfolded.unfold(line)
        return line

    def span(self, number: int) -> tuple[int, int]:
        """When the call of a line began and ended, in ticks; of an inline trigger its time."""
        node, _ = self.unfolded.lines[number]
        calls = self.calls
        if node >= len(calls):
            time = int(calls.marks.time[node - len(calls)])
            return time, time
        return int(calls.entry[node]), int(calls.exit[node])

    def _stamp(self, ticks: int) -> str:
        us = int(ticks * 1_000_000 / self.reading.summary.info.clock_hz)
        return f"{us // 1000000}:{us // 1000 % 1000:03d} {us % 1000:03d}"


class TextLines:
    """Lines of text about one function."""

    def __init__(self, head: str, lines: list[str], function: int) -> None:
        self._head, self._lines, self._function = head, lines, function

    def __len__(self) -> int:
        return len(self._lines)

    def title(self, width: int) -> str:
        return cut(self._head, width)

    def line(self, number: int, width: int = WIDE) -> Text:
        del width
        return Text(self._lines[number])

    def function(self, number: int) -> int:
        del number
        return self._function

    def find(self, number: int, step: int, functions: set[int]) -> int | None:
        del number, step, functions
        return None
