"""The summary of a capture: the ledger, and a line of figures for every function (paper, 4.3)."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kprof.analysis import states, tally
from kprof.analysis.books import keep_books
from kprof.analysis.doubts import Doubts, doubts_of
from kprof.analysis.tags import TagTable
from kprof.analysis.tally import Tally
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameEntry, NameFile


class Ledger(NamedTuple):
    """Where the time went, in ticks, always ``elapsed == net + idle + unattributed + left_out``.

    Attributes
    ----------
    elapsed
        From the first event to the last.
    net
        The sum of the net times of all functions.
    idle
        In the system context with no call open on it.
    unattributed
        Below the calls that were seen entering: what ran there is not known.
    left_out
        The net times of the calls that filters have left out.
    """

    elapsed: int
    net: int
    idle: int
    unattributed: int
    left_out: int = 0

    @property
    def run(self) -> int:
        """Elapsed time that was not idle."""
        return self.elapsed - self.idle


class FunctionFigures(NamedTuple):
    """The figures of one function; times in ticks.

    Attributes
    ----------
    entry
        Its line in the name file.
    calls
        Calls that began in the capture.
    complete
        Those that ended in it too; `max`, `avg` and `min` are of their net times, None where
        there are none.
    elapsed, net, wall
        Sums over all calls; `elapsed` is time on the processor, `wall` has the time that the call
        was switched out as well. An outer call includes the calls of the same function in it.
    """

    entry: NameEntry
    calls: int
    complete: int
    elapsed: int
    net: int
    wall: int
    max: int | None
    avg: int | None
    min: int | None


class Anomalies(NamedTuple):
    """Odd data, counted: see `kprof.analysis.replay`. `unknown_tags` is events by their tag."""

    orphan_exits: int
    open_calls: int
    unwound_calls: int
    unknown_tags: dict[int, int]
    context_switches: int
    contexts: int

    def mostly_unknown(self, events: int) -> bool:
        """Does the name file know less than half of so many events?"""
        return sum(self.unknown_tags.values()) * 2 > events


class Summary(NamedTuple):
    """A whole capture in figures; times in ticks of `info.clock_hz`.

    Attributes
    ----------
    longest
        The longest time between two events.
    trigger_cost
        What each trigger is said to cost; 0: nothing was taken out.
    taken
        What was taken out for all of them.
    short
        Intervals that were shorter than `trigger_cost` by more than a step of the clock.
    doubts
        What else there is to be said about the capture.
    """

    info: CaptureInfo
    events: int
    ledger: Ledger
    functions: tuple[FunctionFigures, ...]
    inlines: tuple[tuple[NameEntry, int], ...]
    anomalies: Anomalies
    longest: int = 0
    trigger_cost: Fraction = Fraction(0)
    taken: int = 0
    short: int = 0
    doubts: Doubts = Doubts()


def summarise(
    capture: Capture,
    names: NameFile,
    *,
    trigger_cost: Fraction = Fraction(0),
    fast: bool | None = None,
) -> Summary:
    """Replay a capture into its summary; memory does not grow with the capture.

    The functions that ran are in the order of their net time, the largest first.

    Parameters
    ----------
    trigger_cost
        In ticks; see `kprof.analysis.clock.Clock`.
    fast
        See `kprof.analysis.books.keep_books`.

    Raises
    ------
    UsageError
        The triggers cannot have cost so much.
    """
    table = TagTable.of(names)
    books = keep_books(capture, table, trigger_cost=trigger_cost, fast=fast)
    state, counts, figures = books.state, books.tag_counts, books.tally
    ledger = Ledger(
        elapsed=books.elapsed,
        net=int(figures.net.sum()),
        idle=int(state[states.IDLE]),
        unattributed=int(state[states.UNATTRIBUTED]),
    )
    unknown = np.flatnonzero((table.ops == states.SPECIAL + states.UNKNOWN) & (counts > 0))
    anomalies = Anomalies(
        orphan_exits=int(figures.table[:, tally.ORPHANS].sum()),
        open_calls=int(figures.table[:, tally.OPENS].sum()),
        unwound_calls=int(figures.table[:, tally.UNWINDS].sum()),
        unknown_tags={int(tag): int(counts[tag]) for tag in unknown},
        context_switches=int(state[states.SWITCHES]),
        contexts=int(state[states.CONTEXTS]) - 1,
    )
    inlines = tuple(
        (entry, int(counts[entry.value])) for entry in table.inlines if counts[entry.value]
    )
    rows = _figures(table, figures)
    return Summary(
        books.info,
        capture.events,
        ledger,
        rows,
        inlines,
        anomalies,
        books.longest,
        trigger_cost * books.info.step,
        books.taken,
        books.short,
        doubts_of(books.info, books.longest),
    )


def _figures(table: TagTable, figures: Tally) -> tuple[FunctionFigures, ...]:
    calls, net = figures.calls, figures.net
    ran = np.flatnonzero((calls + figures.table[:, tally.ORPHANS]) > 0)
    order = ran[np.argsort(-net[ran], kind="stable")]
    rows = []
    for fn, row in zip(order.tolist(), figures.table[order].tolist(), strict=True):
        complete = row[tally.COMPLETE]
        rows.append(
            FunctionFigures(
                entry=table.functions[fn],
                calls=int(calls[fn]),
                complete=complete,
                elapsed=row[tally.ELAPSED],
                net=int(net[fn]),
                wall=row[tally.ELAPSED] + row[tally.AWAY],
                max=row[tally.MOST] if complete else None,
                avg=row[tally.COMPLETE_NET] // complete if complete else None,
                min=row[tally.LEAST] if complete else None,
            )
        )
    return tuple(rows)
