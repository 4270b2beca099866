"""What the page and the terminal browser show of a capture, in the memory of a few blocks.

The first reading (`overview`) gives the summary, the call paths, the interrupts, and which calls a
filter keeps. The second (`call_blocks`) gives the calls that stay, numbered without gaps in the
order of their entries, in the order in which they end: a call's number and its columns are known
only then.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.filters import Filter
from kprof.analysis.numbers import Ghosts, Numbers
from kprof.analysis.paths import PathSums, PathTree
from kprof.analysis.recognise import InterruptSigns
from kprof.analysis.replay.codes import (
    LEAVE,
    LOST,
    MARK_IN,
    MARK_INLINE,
    MARK_OUT,
    WIDE,
)
from kprof.analysis.replay.columns import Rows
from kprof.analysis.replay.tally import Tally
from kprof.analysis.selection import Selection
from kprof.analysis.stream import Stream
from kprof.analysis.summary import Summary, summary_of

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]
Integers = NDArray[np.integer[Any]]


class Overview(NamedTuple):
    """What the first reading of a capture gives.

    Attributes
    ----------
    stream
        The capture; its outcome is known.
    chosen
        The filter.
    summary
        Its functions are those that have calls that stay; all else is of the whole run.
    tree
        The paths of the calls that stay.
    interrupts
        Functions that interrupts enter by, by their numbers.
    numbers
        Which calls stay.
    left_out
        How many calls the filter left out, and their net time.
    """

    stream: Stream
    chosen: Filter
    summary: Summary
    tree: PathTree
    interrupts: tuple[int, ...]
    numbers: Numbers
    left_out: tuple[int, int]

    @property
    def tasks(self) -> dict[int, str]:
        """The tasks' names, where the kernel fires task marks; by their contexts."""
        return self.stream.task_names


def overview(
    stream: Stream, chosen: Filter, *, named: tuple[int, ...] = (), cost: Fraction = Fraction(0)
) -> Overview:
    """Read a stream once.

    Parameters
    ----------
    named
        Functions that are interrupts; none: what the name file marks, and what looks so.
    cost
        What a trigger costs, as the stream has it.

    Raises
    ------
    UsageError
        The filter names what is not there.
    """
    selection = Selection(stream, chosen)
    sums, signs = PathSums(), InterruptSigns(stream)
    every = kept_tally = Tally(len(stream.survey.role))
    if chosen:
        kept_tally = Tally(len(stream.survey.role))
    numbers = Numbers(stream.events, filtered=bool(chosen))
    contexts: set[int] = set()
    for rows in stream.rows():
        kept = selection.take(rows)
        every.add(kept.ended)
        if chosen:
            kept_tally.add(kept.rows)
        sums.add(kept.rows, kept.path)
        if not named:
            signs.add(rows)
        numbers.add(rows, kept.ended, kept.keep)
        contexts.update(np.unique(kept.ended.context).tolist())
    selection.finish()
    numbers.finish(frozenset(contexts))
    found = named or tuple(signs.found())
    return Overview(
        stream,
        chosen,
        summary_of(stream, kept_tally, every, cost),
        sums.tree(*selection.paths),
        tuple(sorted(found)),
        numbers,
        (selection.calls, selection.net),
    )


class CallBlock(NamedTuple):
    """Calls that end one after another, and what happens meanwhile; columns, times in ticks.

    Attributes
    ----------
    ended
        All calls that ended, those that do not stay too.
    number
        Of each call that stays, from 0 in the order of entries, without gaps.
    rows
        Their figures, a LEAVE row each.
    depth
        0 is the lowest call that is known of the context.
    marks
        Inline triggers, a row each.
    mark_parent
        The number of the call that each stands in, or -1.
    mark_depth
        The depth of that call plus 1.
    slice_start, slice_context
        Context switches: when, and which context ran from there on.
    """

    ended: Rows
    number: Column
    rows: Rows
    depth: Column
    marks: Rows
    mark_parent: Column
    mark_depth: Column
    slice_start: Column
    slice_context: Column


def call_blocks(found: Overview) -> Iterator[CallBlock]:
    """The calls that stay, as they end; reads the capture again."""
    numbers, stream = found.numbers, found.stream
    ghosts = Ghosts(numbers)
    selection = Selection(stream, found.chosen)
    for rows in stream.rows():
        below = ghosts.below(rows)
        kept = selection.take(rows)
        real = (rows.kind == LEAVE) & (rows.flags & LOST == 0)
        depth = (rows.depth - below)[real][kept.keep]
        switch = rows.kind >= MARK_OUT
        inline = rows.kind == MARK_INLINE
        parent = numbers.real(rows.parent[inline])
        number = np.where(parent >= 0, numbers.of(parent), -1)
        stays = (parent < 0) | (number >= 0)
        if found.chosen:
            context = rows.context[inline]
            free = parent < 0
            for one in np.unique(context[free]).tolist():
                stays[free & (context == one)] &= numbers.whole(one)
        yield CallBlock(
            ended=kept.ended,
            number=numbers.of(kept.rows.call),
            rows=kept.rows,
            depth=depth,
            marks=rows.select(inline).select(stays),
            mark_parent=number[stays],
            mark_depth=(rows.depth - below)[inline][stays],
            slice_start=rows.time[switch],
            slice_context=np.where(rows.kind == MARK_IN, rows.context, 0)[switch],
        )


class CallTable(NamedTuple):
    """The calls that stay, a row each in the order of their entries; times in ticks.

    Attributes
    ----------
    function, context
        As in `kprof.analysis.calls.Calls`.
    event, entry, exit, elapsed, net
        The event that began it, when it began and ended, and how long it ran.
    flags
        As in `kprof.analysis.calls.Calls`.
    parent
        int32, the row of the call around it, or -1.
    marks
        Inline triggers, a row each.
    mark_parent
        The rows of the calls that they stand in, or -1.
    """

    function: Integers
    context: Integers
    event: Integers
    entry: Integers
    exit: Integers
    elapsed: Integers
    net: Integers
    flags: NDArray[np.uint8]
    parent: NDArray[np.int32]
    marks: Rows
    mark_parent: Column

    def __len__(self) -> int:
        return len(self.function)


def call_table(found: Overview) -> CallTable:
    """All calls that stay; some 25 bytes of memory a call where a run is not longer than hours."""
    count, numbers = found.numbers.count, found.numbers
    function, context, event, entry, leave, elapsed, net = (_Widening(count) for _ in range(7))
    flags = np.zeros(count, np.uint8)
    # By their numbers in the stream: which call each was made from.
    caller = np.full(found.numbers.places, -1, np.int32)
    marks, parents = [np.empty((0, WIDE), np.int64)], [np.empty(0, np.int64)]
    for block in call_blocks(found):
        at, rows = block.number, block.rows
        function.put(at, rows.fn)
        context.put(at, rows.context)
        event.put(at, rows.entry)
        entry.put(at, rows.time - rows.elapsed - rows.away)
        leave.put(at, rows.time)
        elapsed.put(at, rows.elapsed)
        net.put(at, rows.net)
        flags[at] = rows.flags
        caller[block.ended.call] = numbers.real(block.ended.parent)
        marks.append(block.marks.table)
        parents.append(block.mark_parent)
    return CallTable(
        function.values, context.values, event.values, entry.values, leave.values,
        elapsed.values, net.values, flags, _kept_callers(numbers, caller),
        Rows(np.concatenate(marks)), np.concatenate(parents),
    )  # fmt: skip


class _Widening:
    """A column of integers that takes no more bytes than its values need."""

    def __init__(self, count: int) -> None:
        self.values: Integers = np.zeros(count, np.uint16)

    def put(self, at: Column, values: Column) -> None:
        if not len(values):
            return
        low, high = int(values.min()), int(values.max())
        while low < np.iinfo(self.values.dtype).min or high > np.iinfo(self.values.dtype).max:
            wider = np.uint32 if self.values.dtype == np.uint16 else np.int64
            self.values = self.values.astype(wider)
        self.values[at] = values


def _kept_callers(numbers: Numbers, caller: NDArray[np.int32]) -> NDArray[np.int32]:
    """The row of the nearest call around each row that stays; -1 where none does."""
    here = numbers.stay(len(caller))
    up = caller[here] if here is not None else caller
    while here is not None:
        lost = (up >= 0) & (numbers.of(up.astype(np.int64)) < 0)
        if not lost.any():
            break
        up[lost] = caller[up[lost]]
    if here is not None:
        up = np.where(up >= 0, numbers.of(up.astype(np.int64)), -1).astype(np.int32)
    return up
