"""Statistics of every function with their distributions: mergeable, and savable as JSON.

`kprof.analysis.summary` is the quick answer; this is all that the reports can be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.doubts import Doubts, doubts_of, merge_doubts
from kprof.analysis.measures import BATCH, Measure, measures_of
from kprof.analysis.replay.codes import INNER, OPEN, ORPHAN, UNWOUND
from kprof.analysis.replay.columns import Rows
from kprof.analysis.replay.tally import Groups
from kprof.analysis.stream import Ledger, Stream
from kprof.analysis.summary import (
    EVIDENCE,
    Anomalies,
    FunctionFigures,
    Summary,
    anomalies_of,
    evidence_of,
    inline_counts,
)
from kprof.capture.model import Capture, CaptureInfo
from kprof.errors import UsageError
from kprof.names import NameEntry, NameFile
from kprof.names.calls import CallKnowledge


@dataclass
class FunctionStatistics:
    """Everything that is counted of one function; times in ticks.

    Attributes
    ----------
    entry
        Its line in the name file.
    calls, complete, orphans, opens, unwound
        See `kprof.analysis.replay.tally.Tally`.
    elapsed, net, wall
        Sums over all calls, as in the summary.
    own, whole, real
        Distributions over the complete calls: net (self), elapsed (total) and wall time.
    blocked
        Distribution of wall less elapsed.
    """

    entry: NameEntry
    calls: int = 0
    complete: int = 0
    orphans: int = 0
    opens: int = 0
    unwound: int = 0
    elapsed: int = 0
    net: int = 0
    wall: int = 0
    own: Measure = field(default_factory=Measure)
    whole: Measure = field(default_factory=Measure)
    real: Measure = field(default_factory=Measure)
    blocked: Measure = field(default_factory=Measure)

    def figures(self) -> FunctionFigures:
        """What the summary prints of it."""
        return FunctionFigures(
            entry=self.entry,
            calls=self.calls,
            complete=self.complete,
            elapsed=self.elapsed,
            net=self.net,
            wall=self.wall,
            max=self.own.most,
            avg=self.own.total // self.own.count if self.own.count else None,
            min=self.own.least,
        )

    def merge(self, other: FunctionStatistics) -> None:
        """Add the calls of another."""
        for name in ("calls", "complete", "orphans", "opens", "unwound", "elapsed", "net", "wall"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("own", "whole", "real", "blocked"):
            getattr(self, name).merge(getattr(other, name))


@dataclass
class Statistics:
    """Statistics of one capture or of several merged.

    Attributes
    ----------
    info
        Of the capture; of several, what the report's first line says of them.
    captures
        (source, events, elapsed, idle) of each that was merged.
    functions
        By name, those that ran.
    never
        Functions of the name file that did not run.
    longest, trigger_cost, taken, short, doubts, evidence
        See `kprof.analysis.summary.Summary`.
    """

    info: CaptureInfo
    captures: list[tuple[str, int, int, int]]
    ledger: Ledger
    functions: dict[str, FunctionStatistics]
    inlines: dict[str, tuple[NameEntry, int]]
    anomalies: Anomalies
    never: tuple[NameEntry, ...] = ()
    longest: int = 0
    trigger_cost: Fraction = Fraction(0)
    taken: int = 0
    short: int = 0
    doubts: Doubts = field(default_factory=Doubts)
    evidence: tuple[str, ...] = ()

    @property
    def events(self) -> int:
        """Events of all captures."""
        return sum(events for _, events, _, _ in self.captures)

    def summary(self) -> Summary:
        """The same as the summary's figures, by net time."""
        rows = [f.figures() for f in sorted(self.functions.values(), key=lambda f: -f.net)]
        inlines = tuple(self.inlines.values())
        return Summary(
            self.info,
            self.events,
            self.ledger,
            tuple(rows),
            inlines,
            self.anomalies,
            self.longest,
            self.trigger_cost,
            self.taken,
            self.short,
            self.doubts,
            self.evidence,
        )


def statistics(
    capture: Capture,
    names: NameFile,
    *,
    trigger_cost: Fraction = Fraction(0),
    known: CallKnowledge | None = None,
    fast: bool | None = None,
) -> Statistics:
    """Replay a capture into statistics; memory does not grow with the capture.

    Raises
    ------
    UsageError
        The triggers cannot have cost so much.
    """
    stream = Stream(capture, names, trigger_cost=trigger_cost, known=known, fast=fast)
    gather = Gather(stream.functions)
    for rows in stream.calls():
        gather.add(rows)
    mine = gather.functions.values()
    ended = Ended(
        sum(f.orphans for f in mine),
        sum(f.opens for f in mine),
        sum(f.unwound for f in mine),
        frozenset(gather.functions),
    )
    return of_stream(stream, gather, ended, trigger_cost)


class Ended(NamedTuple):
    """All calls of a stream, whatever is kept of them: how they ended, and of which functions."""

    orphans: int
    opens: int
    unwound: int
    functions: frozenset[int]


def of_stream(stream: Stream, gather: Gather, ended: Ended, trigger_cost: Fraction) -> Statistics:
    """What was gathered from a stream, which has been read to its end."""
    outcome = stream.outcome
    assert outcome is not None
    ledger = outcome.ledger
    return Statistics(
        info=stream.info,
        captures=[(stream.info.source, stream.events, ledger.elapsed, ledger.idle)],
        ledger=ledger,
        functions={f.entry.name: f for f in gather.functions.values()},
        inlines={entry.name: (entry, count) for entry, count in inline_counts(stream)},
        anomalies=anomalies_of(stream, ended.orphans, ended.opens, ended.unwound),
        never=tuple(e for i, e in enumerate(stream.functions) if i not in ended.functions),
        longest=outcome.longest,
        trigger_cost=trigger_cost * stream.info.step,
        taken=outcome.taken,
        short=outcome.short,
        doubts=doubts_of(stream.info, outcome.longest),
        evidence=evidence_of(stream),
    )


class Gather:
    """Collects rows into the statistics of functions."""

    def __init__(self, entries: tuple[NameEntry, ...]) -> None:
        self._entries = entries
        self.functions: dict[int, FunctionStatistics] = {}

    def add(self, rows: Rows) -> None:
        """Count these rows."""
        for start in range(0, len(rows), BATCH):
            self._add(Rows(rows.table[start : start + BATCH]))

    def _add(self, rows: Rows) -> None:
        fn, flags, elapsed, net, away = rows.fn, rows.flags, rows.elapsed, rows.net, rows.away
        orphan = (flags & ORPHAN) != 0
        partial = orphan | ((flags & OPEN) != 0)
        outer = ((flags & INNER) == 0) & ~orphan
        once = np.where(outer, elapsed, np.where(orphan, net, 0))
        groups = Groups(fn)
        counts: dict[str, NDArray[np.int64]] = {
            "calls": groups.counts - groups.count(orphan),
            "complete": groups.counts - groups.count(partial),
            "orphans": groups.count(orphan),
            "opens": groups.count(partial & ~orphan),
            "unwound": groups.count((flags & UNWOUND) != 0),
            "elapsed": groups.sum(once),
            "net": groups.sum(net),
            "wall": groups.sum(once + np.where(outer, away, 0)),
        }
        columns = [column.tolist() for column in counts.values()]
        for number, *row in zip(groups.which.tolist(), *columns, strict=True):
            into = self.functions.get(number)
            if into is None:
                into = self.functions[number] = FunctionStatistics(self._entries[number])
            for name, value in zip(counts, row, strict=True):
                setattr(into, name, getattr(into, name) + value)
        if partial.any():
            done = ~partial
            fn, elapsed, net, away = fn[done], elapsed[done], net[done], away[done]
            groups = Groups(fn)
        if len(fn):
            self._measure(groups, net, elapsed, away)

    def _measure(
        self,
        groups: Groups,
        net: NDArray[np.int64],
        elapsed: NDArray[np.int64],
        away: NDArray[np.int64],
    ) -> None:
        """Add the distributions of complete calls."""
        own, whole, blocked = (
            measures_of(groups.ordered(values), groups.starts) for values in (net, elapsed, away)
        )
        real = whole
        if away.any():
            real = measures_of(groups.ordered(elapsed + away), groups.starts)
        for number, *measures in zip(groups.which.tolist(), own, whole, real, blocked, strict=True):
            into = self.functions[number]
            for mine, measure in zip(
                (into.own, into.whole, into.real, into.blocked), measures, strict=True
            ):
                mine.merge(measure)


def merge_statistics(parts: Iterable[Statistics]) -> Statistics:
    """One out of several; exact, and the same in any order but for the order of `captures`.

    Where name files give a name several tags, the least stands for it; rows are by tag.

    Raises
    ------
    UsageError
        There is none, or their clocks or the trigger costs that were taken out differ.
    """
    every = list(parts)
    if not every:
        raise UsageError("no captures to merge; expected at least one")
    if len(every) == 1:
        return every[0]
    costs = {part.trigger_cost * 1_000_000 / part.info.clock_hz: part for part in every}
    if len(costs) > 1:
        shown = ", ".join(
            f"{part.info.source}: {f'{float(us):g} us' if us else 'none'}"
            for us, part in costs.items()
        )
        raise UsageError(
            f"captures with different trigger costs cannot be merged: {shown}; expected the same "
            "--trigger-cost for all"
        )
    clocks = {part.info.clock_hz / part.info.step: part for part in every}
    if len(clocks) > 1:
        shown = ", ".join(f"{part.info.source}: {hz} Hz" for hz, part in clocks.items())
        raise UsageError(f"captures with different clocks cannot be merged: {shown}")
    functions: dict[str, FunctionStatistics] = {}
    inlines: dict[str, tuple[NameEntry, int]] = {}
    for name, entry in _least_entries(f.entry for p in every for f in p.functions.values()).items():
        functions[name] = FunctionStatistics(entry)
        for part in every:
            if name in part.functions:
                functions[name].merge(part.functions[name])
    for name, entry in _least_entries(e for p in every for e, _ in p.inlines.values()).items():
        counts = (part.inlines[name][1] for part in every if name in part.inlines)
        inlines[name] = (entry, sum(counts))
    sources = [source for part in every for source, _, _, _ in part.captures]
    known = _least_entries(entry for part in every for entry in part.never)
    return Statistics(
        info=_merge_infos([part.info for part in every], sources),
        captures=[capture for part in every for capture in part.captures],
        ledger=Ledger(*(sum(column) for column in zip(*(p.ledger for p in every), strict=True))),
        functions=functions,
        inlines=inlines,
        anomalies=_merge_anomalies([part.anomalies for part in every]),
        never=tuple(entry for name, entry in known.items() if name not in functions),
        longest=max(part.longest for part in every),
        trigger_cost=every[0].trigger_cost,
        taken=sum(part.taken for part in every),
        short=sum(part.short for part in every),
        doubts=merge_doubts(part.doubts for part in every),
        evidence=tuple(e for e in EVIDENCE if any(e in part.evidence for part in every)),
    )


def _least_entries(entries: Iterable[NameEntry]) -> dict[str, NameEntry]:
    """Every name with that of its entries which has the least tag; by tag."""

    def place(entry: NameEntry) -> tuple[int, str, str, str]:
        return (entry.value, entry.name, entry.modifier.value, entry.source)

    found: dict[str, NameEntry] = {}
    for entry in sorted(entries, key=place):
        found.setdefault(entry.name, entry)
    return found


def _merge_infos(parts: list[CaptureInfo], sources: list[str]) -> CaptureInfo:
    lost = [info.lost for info in parts if info.lost is not None]
    return replace(
        CaptureInfo(),
        source=f"{len(sources)} captures",
        clock_hz=parts[0].clock_hz,
        step=parts[0].step,
        time_bits=min(info.time_bits for info in parts),
        unwrapped=all(info.unwrapped for info in parts),
        full=any(info.full for info in parts),
        lost=sum(lost) if len(lost) == len(parts) else None,
        some_lost=any(info.some_lost or info.lost for info in parts),
        holes=any(info.holes for info in parts),
        valid_from="merged: " + ", ".join(sources[:4]) + (", ..." if len(sources) > 4 else ""),
    )


def _merge_anomalies(parts: list[Anomalies]) -> Anomalies:
    tags: dict[int, int] = {}
    for part in parts:
        for tag, count in part.unknown_tags.items():
            tags[tag] = tags.get(tag, 0) + count
    sums: Mapping[str, Any] = {
        name: sum(getattr(part, name) for part in parts)
        for name in Anomalies._fields
        if name != "unknown_tags"
    }
    return Anomalies(unknown_tags=dict(sorted(tags.items())), **sums)
