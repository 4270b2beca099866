"""The calls of a stream that a filter keeps, as its rows come.

What a filter asks is decided when a call ends, and from little: which functions it is inside and
its context by its path; its times by its row; whether a chosen function was called below it, or a
call around it began before the range, by one number that is remembered for each context. So the
memory grows with the number of paths, not with the capture.

The path of a kept call is made of the kept calls around it. A call is kept only where the calls
around it pass the conditions on elapsed time and callees too, for they last longer and have the
same callees below them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.filters import Filter
from kprof.analysis.kept_paths import KeptPaths
from kprof.analysis.measures import Collected, Measure
from kprof.analysis.paths import PathSums, PathTree
from kprof.analysis.replay.codes import (
    ENTER,
    INNER,
    LEAVE,
    LOST,
    MARK_INLINE,
    OPEN,
    ORPHAN,
    R_FLAGS,
    UNWOUND,
)
from kprof.analysis.replay.columns import Rows
from kprof.analysis.statistics import Ended, Gather, Statistics, of_stream
from kprof.analysis.stream import Stream
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Kept(NamedTuple):
    """What a filter keeps of a block.

    Attributes
    ----------
    ended
        The rows of all calls that end in the block.
    keep
        Which of them stay.
    rows
        Those that stay; INNER is of the kept calls.
    path
        Their paths, numbers of `Selection.paths`.
    """

    ended: Rows
    keep: Mask
    rows: Rows
    path: Column


class Selection:
    """A filter at work on one iteration of ``stream.rows()``.

    Parameters
    ----------
    chosen
        None, or an empty one: everything stays.

    Attributes
    ----------
    chosen
        The filter.
    calls, net
        What has been left out: calls, and their net time in ticks.
    whole
        The contexts of which every call stays; with a filter.

    Raises
    ------
    UsageError
        See `Filter.named`.
    """

    def __init__(self, stream: Stream, chosen: Filter | None = None) -> None:
        self._stream = stream
        self.chosen = chosen = chosen or Filter()
        self.calls = self.net = 0
        self._below = _Latest()  # of each context: the last call of a function of -C
        self._before = _Latest()  # of each context: calls that are open since before the range
        self._kept_paths = KeptPaths(stream, chosen)
        self._called = chosen.named(stream.functions, "-C", chosen.callers)
        self.whole = WholeContexts()

    @property
    def paths(self) -> tuple[Column, Column]:
        """The paths of kept calls, as `Stream.paths`."""
        return self._kept_paths.table if self.chosen else self._stream.paths

    def keeps_all_of(self, context: int) -> bool:
        """Does every call of a context stay? At the end."""
        return self.whole.of(context)

    def finish(self) -> None:
        """Call at the end; raises UsageError where a task of the filter was not seen."""
        self.chosen.check_tasks(self._stream.contexts)

    def take(self, rows: Rows) -> Kept:
        """What stays of the next rows of the stream."""
        chosen, kind = self.chosen, rows.kind
        leave = kind == LEAVE
        real = leave & (rows.flags & LOST == 0)
        ended = rows.select(real)
        if not chosen:
            return Kept(ended, np.ones(len(ended), np.bool_), ended, ended.path)
        self._kept_paths.extend()
        keep = self._kept_paths.static[ended.path]
        entry = ended.time - ended.elapsed - ended.away
        around: Column | None = None
        if chosen.least is not None:
            keep &= ended.elapsed >= chosen.least
        if chosen.end is not None:
            keep &= entry <= chosen.end
        if chosen.start is not None:
            keep &= entry >= chosen.start
            around = self._calls_from_before(rows, leave, chosen.start)[real]
        if chosen.callers:
            called = (kind == ENTER) & self._called[np.where(kind == ENTER, rows.fn, 0)]
            keep &= (self._below.upto(rows.context, called, rows.call) >= rows.call)[real]
        self.whole.add(ended.context, keep)
        left = ended.net[~keep]
        self.calls += len(left)
        self.net += int(left.sum())
        kept = ended.select(keep)
        path = self._kept_paths.of(kept.path, None if around is None else around[keep])
        inner = (kept.flags & INNER != 0) & self._kept_paths.inner[path]
        kept.table[:, R_FLAGS] = np.where(inner, kept.flags, kept.flags & ~INNER)
        return Kept(ended, keep, kept, path)

    def _calls_from_before(self, rows: Rows, leave: Mask, start: int) -> Column:
        """How many calls that began before `start` are open in its context at each row."""
        entry = np.where(leave, rows.time - rows.elapsed - rows.away, rows.time)
        before = (rows.kind <= LEAVE) & (entry < start)
        return self._before.upto(rows.context, before, rows.depth + ~leave)


class _Latest:
    """The last value of a column in each context, over the blocks of a stream."""

    def __init__(self) -> None:
        self._values: dict[int, int] = {}

    def upto(self, context: Column, marked: Mask, values: Column) -> Column:
        """For each row: the value of the last marked row of its context, itself included, or -1."""
        if not len(context):
            return np.empty(0, np.int64)
        order = np.argsort(context, kind="stable")
        ordered, mine = context[order], values[order]
        first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
        place = np.where(marked[order], np.arange(len(order)), -1)
        begin = np.repeat(first, np.diff(first, append=len(order)))
        place = np.maximum.accumulate(place)
        names = ordered[first].tolist()
        old = np.array([self._values.get(name, -1) for name in names], np.int64)
        carried = np.repeat(old, np.diff(first, append=len(order)))
        latest = np.where(place >= begin, mine[place], carried)
        ends = np.append(first[1:], len(order)) - 1
        self._values.update(zip(names, latest[ends].tolist(), strict=True))
        result = np.empty(len(order), np.int64)
        result[order] = latest
        return result


class WholeContexts:
    """The contexts of which every call stays."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._cut: set[int] = set()

    def add(self, context: Column, keep: Mask) -> None:
        """Calls that ended, and which of them stay."""
        self._seen |= _distinct(context)
        if not keep.all():
            self._cut |= _distinct(context[~keep])

    def cut(self, context: int) -> bool:
        """Has one of its calls been left out?"""
        return context in self._cut

    def of(self, context: int) -> bool:
        """At the end: do all its calls stay? Of one without calls, do all there are?"""
        return context not in self._cut if context in self._seen else not self._cut


def _distinct(contexts: Column) -> set[int]:
    return set(np.flatnonzero(np.bincount(contexts)).tolist())


class _Inlines:
    """Inline triggers, held until the call that they stand in is known to be kept."""

    def __init__(self, triggers: int) -> None:
        self._held: dict[int, dict[int, int]] = {}  # by call: how many of each
        self._outside: dict[int, dict[int, int]] = {}  # by context
        self._counts = np.zeros(triggers, np.int64)

    def add(self, rows: Rows, ended: Rows, keep: Mask) -> None:
        """Count those of a block; `ended` are its calls that end."""
        marks = rows.select(rows.kind == MARK_INLINE)
        if len(marks) and len(ended):  # nearly all calls with one in it end in the same block
            order = np.argsort(ended.call)
            call = ended.call[order]
            place = np.minimum(np.searchsorted(call, marks.parent), len(call) - 1)
            here = call[place] == marks.parent
            stays = marks.fn[here & keep[order[place]]]
            self._counts += np.bincount(stays, minlength=len(self._counts))
            marks = marks.select(~here)
        for parent, context, name in zip(
            marks.parent.tolist(), marks.context.tolist(), marks.fn.tolist(), strict=True
        ):
            self._hold(parent, context, name, 1)
        if not self._held:
            return
        lost = rows.select((rows.kind == LEAVE) & (rows.flags & LOST != 0))
        for call_, parent, context in zip(
            lost.call.tolist(), lost.parent.tolist(), lost.context.tolist(), strict=True
        ):
            for name, n in self._held.pop(call_, {}).items():
                self._hold(parent, context, name, n)
        mine = np.isin(ended.call, np.fromiter(self._held, np.int64, len(self._held)))
        for call_, stays_ in zip(ended.call[mine].tolist(), keep[mine].tolist(), strict=True):
            for name, n in self._held.pop(call_, {}).items():
                self._counts[name] += n * stays_

    def _hold(self, parent: int, context: int, name: int, count: int) -> None:
        held = self._held if parent >= 0 else self._outside
        into = held.setdefault(parent if parent >= 0 else context, {})
        into[name] = into.get(name, 0) + count

    def counts(self, whole: WholeContexts) -> list[int]:
        """Of each trigger; what is outside all calls stays where every call of its context does."""
        counts = self._counts.copy()
        for context, outside in self._outside.items():
            if whole.of(context):
                for name, n in outside.items():
                    counts[name] += n
        result: list[int] = counts.tolist()
        return result


def kept_paths(stream: Stream, selection: Selection) -> PathTree:
    """The tree of the calls that a filter keeps; `selection` and the stream are read to the end."""
    sums = PathSums()
    for rows in stream.rows():
        kept = selection.take(rows)
        sums.add(kept.rows, kept.path)
    selection.finish()
    return sums.tree(*selection.paths)


def filtered_statistics(
    capture: Capture,
    names: NameFile,
    chosen: Callable[[CaptureInfo], Filter],
    *,
    trigger_cost: Fraction = Fraction(0),
    known: CallKnowledge | None = None,
    fast: bool | None = None,
) -> Statistics:
    """The statistics of the calls that a filter keeps; the net time of the others is left out.

    Parameters
    ----------
    chosen
        The filter, in ticks of the clock that the times are in.
    trigger_cost, known, fast
        See `kprof.analysis.statistics.statistics`.

    Raises
    ------
    UsageError
        The triggers cannot have cost so much; the filter names what is not there.
    """
    stream = Stream(capture, names, trigger_cost=trigger_cost, known=known, fast=fast)
    selection = Selection(stream, chosen(stream.info))
    gather = Gather(stream.functions)
    marks = _Inlines(len(stream.inlines))
    ended = {ORPHAN: 0, OPEN: 0, UNWOUND: 0}
    ran: set[int] = set()
    for rows in stream.rows():
        kept = selection.take(rows)
        gather.add(kept.rows)
        if selection.chosen:
            marks.add(rows, kept.ended, kept.keep)
        flags = kept.ended.flags
        for bit in ended if flags.any() else ():
            ended[bit] += int(np.count_nonzero(flags & bit))
        ran.update(np.unique(kept.ended.fn).tolist())
    selection.finish()
    every = Ended(ended[ORPHAN], ended[OPEN], ended[UNWOUND], frozenset(ran))
    found = of_stream(stream, gather, every, trigger_cost)
    if not selection.chosen:
        return found
    net = found.ledger.net
    ledger = found.ledger._replace(net=net - selection.net, left_out=selection.net)
    counts = zip(stream.inlines, marks.counts(selection.whole), strict=True)
    inlines = {entry.name: (entry, count) for entry, count in counts if count}
    return replace(found, ledger=ledger, inlines=inlines)


def distributions(stream: Stream, selection: Selection, function: int) -> tuple[Measure, Measure]:
    """Elapsed and net times of the complete calls of a function that a filter keeps."""
    elapsed, net = Collected(), Collected()
    for rows in _complete(stream, selection, function):
        elapsed.add(rows.elapsed)
        net.add(rows.net)
    return elapsed.measure(), net.measure()


def distribution_of(
    stream: Stream, selection: Selection, function: int, value: Callable[[Rows], Column]
) -> Measure:
    """What is made of the rows of the same calls."""
    found = Collected()
    for rows in _complete(stream, selection, function):
        found.add(value(rows))
    return found.measure()


def _complete(stream: Stream, selection: Selection, function: int) -> Iterator[Rows]:
    for rows in stream.rows():
        kept = selection.take(rows).rows
        yield kept.select((kept.fn == function) & (kept.flags & (OPEN | ORPHAN) == 0))
    selection.finish()
