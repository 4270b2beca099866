"""Where orphans begin in a stream of steps.

An orphan's time is known from the last switch on, and only what ran below all calls that were
seen entering. So it begins after the switch, as soon as none of them is open: from there on the
time with nothing above it is its own, as in the summary.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.machine import Rows
from kprof.analysis.steps import ENTER, Column, Insert, Merged, Steps


class Placer:
    """Looks at every block when it comes, and again when it goes."""

    def __init__(self) -> None:
        self._around: list[int] = []

    def look(self, held: deque[Merged]) -> None:
        """Note in the `held` blocks what the calls that end in the last of them ask for."""
        block = held[-1]
        steps, rows = block.steps, block.steps.rows
        for row in block.orphans.tolist():
            place = int(steps.leave[row])
            here = Insert(
                place=place,
                event=int(rows.leave[row]),
                fn=int(rows.fn[row]),
                time=int(steps.time[place]),
                context=int(steps.context[place]),
                open=int(block.open[place]),
            )
            if rows.parent[row] >= 0 or not _begin(held, here):
                block.insert.append(here)

    def place(self, block: Merged) -> Steps:
        """The steps of a block with its orphans' entries in place."""
        steps = block.steps
        if not block.insert and not len(block.orphans) and not self._around:
            return steps
        # Of those before one step the outermost, which ends last, comes first.
        entries = sorted(block.insert, key=lambda entry: (entry.place, -entry.event))
        table = np.array(entries, np.int64).reshape(len(entries), len(Insert._fields))
        places, events, functions, times, contexts, opened = table.T
        at = places + np.arange(len(places))
        size = len(steps.kind) + len(places)
        fresh = np.zeros(size, bool)
        fresh[at] = True
        moved = np.flatnonzero(~fresh)

        def widened(old: NDArray[Any], new: Column | int) -> NDArray[Any]:
            column = np.empty(size, old.dtype)
            column[moved] = old
            column[at] = new
            return column

        leave = moved[steps.leave]
        context = widened(steps.context, contexts)
        change = fresh.astype(np.int64)
        change[leave[block.orphans]] = -1
        around = np.cumsum(change) + len(self._around)
        inside = np.where(context == widened(block.running, contexts), around, 0)
        depth = widened(steps.depth, opened - 1) + inside
        rows = self._parents(steps.rows, leave, change, inside, at, events)
        return Steps(
            widened(steps.kind, ENTER), widened(steps.name, functions),
            widened(steps.time, times), context, depth, widened(steps.note, events), leave, rows,
            steps.switched, steps.stop,
        )  # fmt: skip

    def _parents(
        self, rows: Rows, leave: Column, change: Column, inside: Column, at: Column, events: Column
    ) -> Rows:
        """The rows with the parents of those that are directly inside an orphan."""
        turns = np.flatnonzero(change)
        entered = dict(zip(at.tolist(), events.tolist(), strict=True))
        innermost = [self._around[-1] if self._around else -1]
        for turn in turns.tolist():
            if turn in entered:
                self._around.append(entered[turn])
            else:
                self._around.pop()
            innermost.append(self._around[-1] if self._around else -1)
        orphan = np.repeat(innermost, np.diff(turns, prepend=0, append=len(change)))
        adopted = (rows.parent < 0) & (inside[leave] > 0)
        return rows._replace(parent=np.where(adopted, orphan[leave], rows.parent))


def _begin(held: deque[Merged], orphan: Insert) -> bool:
    """Put in the entry of an orphan where it begins, if that can still be done."""
    begin: tuple[Merged, int] | None = None
    for block in reversed(held):
        stop = orphan.place if block is held[-1] else len(block.steps.kind)
        before = int(np.searchsorted(block.switches, stop))
        low = int(block.switches[before - 1]) if before else 0
        first = int(np.searchsorted(block.empty, low))
        if first < len(block.empty) and block.empty[first] < stop:
            begin = block, int(block.empty[first])
        if before:
            break
    else:
        if held[0].start:
            return False
        held[0].insert.append(orphan._replace(place=0, time=0))
        return True
    if begin is None:
        return False
    block, step = begin
    block.insert.append(orphan._replace(place=step + 1, time=int(block.steps.time[step])))
    return True
