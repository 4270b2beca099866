"""The three views of a capture as lists of lines: functions, the merged call tree, every call.

Each answers how many lines there are, what stands in one, and which function it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from rich.text import Text

from kprof.analysis.paths import PathTree
from kprof.analysis.replay.codes import OPEN, ORPHAN
from kprof.analysis.summary import FunctionFigures
from kprof.report.units import Units, percent, safe_name
from kprof.tui.forest import Forest, Unfolded
from kprof.tui.reading import Reading

SORTS = ("net", "elapsed", "calls", "max", "avg", "min", "name")
COLUMNS = ("elapsed", "net", "calls", "max", "avg", "min")


class View(Protocol):
    """What a list of lines shows."""

    title: str

    def __len__(self) -> int: ...

    def line(self, number: int) -> Text:
        """One line."""

    def function(self, number: int) -> int:
        """The function that a line is about, or -1."""

    def find(self, number: int, step: int, functions: set[int]) -> int | None:
        """The next line about one of `functions`."""


def time_style(us: float) -> str:
    """As in uftrace: ms green, s red."""
    return "red" if us >= 1e6 else "green" if us >= 1e3 else ""


class Functions:
    """The function table, sorted by one of `SORTS`."""

    def __init__(self, reading: Reading) -> None:
        summary = reading.summary
        self._units = Units(summary.info.clock_hz)
        self._summary = summary
        number = {entry.name: i for i, entry in enumerate(reading.tags.functions)}
        self._rows = [(number[row.entry.name], row) for row in summary.functions]
        self._sort = 0
        self._widths: list[int] = []
        self.title = ""
        self.sort(0)

    def __len__(self) -> int:
        return len(self._rows)

    def sort(self, step: int = 1) -> None:
        """Sort by the next column."""
        self._sort = (self._sort + step) % len(SORTS)
        key = SORTS[self._sort]
        if key == "name":
            self._rows.sort(key=lambda row: row[1].entry.name)
        else:
            self._rows.sort(key=lambda row: -(getattr(row[1], key) or 0))
        heads = {name: f"{'*' if name == key else ''}{name}" for name in SORTS}
        cells = [self._cells(row) for _, row in self._rows]
        self._widths = [
            max(len(head), *(len(cell[at]) for cell in cells)) if cells else len(head)
            for at, head in enumerate([*("*" + name for name in COLUMNS), "% net"])
        ]
        titles = [*(heads[name] for name in COLUMNS), "% net"]
        shown = [head.rjust(width) for head, width in zip(titles, self._widths, strict=True)]
        self.title = f"{' '.join(shown)}  {heads['name']}"

    def _cells(self, row: FunctionFigures) -> list[str]:
        text = self._units.text
        share = f"{percent(row.net, self._summary.ledger.run):.2f}%"
        figures = (row.max, row.avg, row.min)
        return [text(row.elapsed), text(row.net), str(row.calls), *map(text, figures), share]

    def line(self, number: int) -> Text:
        row = self._rows[number][1]
        text = Text()
        ticks = (row.elapsed, row.net, 0, row.max, row.avg, row.min, 0)
        for cell, width, value in zip(self._cells(row), self._widths, ticks, strict=True):
            us = float((value or 0) * 1_000_000 / self._summary.info.clock_hz)
            text.append(f"{cell:>{width}} ", time_style(us))
        return text.append(" " + safe_name(row.entry.name), "cyan")

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

    title = ""

    def __init__(self, forest: Forest, reading: Reading) -> None:
        self.unfolded = Unfolded(forest)
        self.reading = reading
        info = reading.summary.info
        self._units = Units(info.clock_hz)
        self._us = float(1_000_000 / info.clock_hz)
        self._names = [safe_name(entry.name) for entry in reading.tags.functions]

    def __len__(self) -> int:
        return len(self.unfolded)

    def function(self, number: int) -> int:
        return int(self.unfolded.forest.name[self.unfolded.lines[number][0]])

    def find(self, number: int, step: int, functions: set[int]) -> int | None:
        return self.unfolded.search(number, step, functions)

    def _sign(self, number: int) -> str:
        node, depth = self.unfolded.lines[number]
        sign = "-" if self.unfolded.is_open(number) else " "
        if sign == " " and self.unfolded.forest.has_children(node):
            sign = "+"
        return "  " * depth + sign + " "

    def _figures(self, *ticks: int) -> Text:
        text = Text()
        for value in ticks:
            text.append(f"{self._units.text(value):>11} ", time_style(value * self._us))
        return text


class Graph(_Tree):
    """The merged call tree: a line a path, the most elapsed first."""

    title = f"{'elapsed':>11} {'net':>11} {'calls':>8}   call graph"

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

    def line(self, number: int) -> Text:
        node, _ = self.unfolded.lines[number]
        text = self._figures(int(self.tree.elapsed[node]), int(self.tree.net[node]))
        text.append(f"{int(self.tree.calls[node]):>8}   {self._sign(number)}")
        text.append(self._names[int(self.tree.function[node])], "cyan")
        return text.append(self._notes.get(node, ""), "dim")


class Trace(_Tree):
    """Every call in the order of its entry, with the inline triggers inside."""

    title = f"{'time':>10} {'elapsed':>12} {'net':>11}   calls"

    def __init__(self, reading: Reading) -> None:
        self.calls = calls = reading.calls
        marks = calls.marks
        self._functions = len(reading.tags.functions)
        if len(marks):
            inline = marks.fn + self._functions
            parent = np.concatenate([calls.parent, calls.mark_parent])
            order = np.argsort(np.concatenate([calls.event, marks.leave]), kind="stable")
            weight = np.concatenate([calls.elapsed, np.zeros(len(marks), np.int64)])
            name = np.concatenate([calls.function, inline])
        else:
            parent, weight, name = calls.parent, calls.elapsed, calls.function
            order = np.arange(len(calls), dtype=np.int32)
        super().__init__(Forest(parent, weight, order, name), reading)
        self._inlines = [safe_name(entry.name) for entry in reading.tags.inlines]

    def line(self, number: int) -> Text:
        node, _ = self.unfolded.lines[number]
        calls = self.calls
        if node >= len(calls):
            marks, mark = calls.marks, node - len(calls)
            text = Text().append(f"{self._stamp(int(marks.time[mark])):>10} ", "dim")
            text.append(f"{self._units.text(int(marks.elapsed[mark])):>12} {'':>11}   ")
            text.append(self._sign(number))
            return text.append(f"== {self._inlines[marks.fn[mark]]}", "yellow")
        text = Text().append(f"{self._stamp(int(calls.entry[node])):>10}  ", "dim")
        text.append_text(self._figures(int(calls.elapsed[node]), int(calls.net[node])))
        text.append("  " + self._sign(number))
        text.append(self._names[calls.function[node]], "cyan")
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

    def _stamp(self, ticks: int) -> Any:
        us = int(ticks * 1_000_000 / self.reading.summary.info.clock_hz)
        return f"{us // 1000000}:{us // 1000 % 1000:03d} {us % 1000:03d}"
