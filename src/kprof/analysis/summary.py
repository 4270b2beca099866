"""The summary of a capture: the ledger, and a line of figures for every function (paper, 4.3)."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kprof.analysis.doubts import Doubts, doubts_of
from kprof.analysis.replay import codes, tally
from kprof.analysis.replay.tally import Tally
from kprof.analysis.stream import Ledger, Outcome, Stream
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameEntry, NameFile
from kprof.names.calls import CallKnowledge

EVIDENCE = ("task marks", "call knowledge", "what was seen")
"""What tells tasks apart: the kernel's own marks; else what each slice shows, with what the program
is known to call where that is known."""


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
    """Odd data, counted: see `kprof.analysis.replay`.

    Attributes
    ----------
    unknown_tags
        Events by their tag.
    ambiguous_switches
        Context switches that could have been to either of several tasks.
    restarts
        Calls that showed that a longjmp had ended others.
    """

    orphan_exits: int
    open_calls: int
    unwound_calls: int
    unknown_tags: dict[int, int]
    context_switches: int
    contexts: int
    ambiguous_switches: int = 0
    restarts: int = 0

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
    evidence
        What told which task a switch was to, out of `EVIDENCE`; empty where none was.
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
    evidence: tuple[str, ...] = ()


def summarise(
    capture: Capture,
    names: NameFile,
    *,
    trigger_cost: Fraction = Fraction(0),
    known: CallKnowledge | None = None,
    fast: bool | None = None,
) -> Summary:
    """Replay a capture into its summary; memory does not grow with the capture.

    The functions that ran are in the order of their net time, the largest first.

    Parameters
    ----------
    trigger_cost
        In ticks; see `kprof.analysis.replay.clock.Clock`.
    known
        What can call what in the program, where that is known.
    fast
        Compiled, or not; None: where numba is installed and the capture is large.

    Raises
    ------
    UsageError
        The triggers cannot have cost so much.
    """
    stream = Stream(capture, names, trigger_cost=trigger_cost, known=known, fast=fast)
    figures = stream.tally()
    return summary_of(stream, figures, figures, trigger_cost)


def summary_of(stream: Stream, kept: Tally, every: Tally, trigger_cost: Fraction) -> Summary:
    """The summary of a stream that was read: the functions of `kept`, the oddities of `every`."""
    outcome = _outcome(stream)
    counts = every.table[:, [tally.ORPHANS, tally.OPENS, tally.UNWINDS]].sum(axis=0).tolist()
    return Summary(
        stream.info,
        stream.events,
        outcome.ledger,
        _figures(stream.functions, kept),
        inline_counts(stream),
        anomalies_of(stream, *counts),
        outcome.longest,
        trigger_cost * stream.info.step,
        outcome.taken,
        outcome.short,
        doubts_of(stream.info, outcome.longest),
        evidence_of(stream),
    )


def inline_counts(stream: Stream) -> tuple[tuple[NameEntry, int], ...]:
    """How often each inline trigger came, those that came; after an iteration."""
    counts = _outcome(stream).tag_counts
    came = ((entry, int(counts[entry.value])) for entry in stream.inlines)
    return tuple((entry, count) for entry, count in came if count)


def anomalies_of(stream: Stream, orphans: int, opens: int, unwound: int) -> Anomalies:
    """What was odd, with these counts of calls; after an iteration."""
    outcome = _outcome(stream)
    counts, ops = outcome.tag_counts, stream.survey.table.ops
    unknown = np.flatnonzero((ops == codes.SPECIAL + codes.UNKNOWN) & (counts > 0))
    return Anomalies(
        orphan_exits=orphans,
        open_calls=opens,
        unwound_calls=unwound,
        unknown_tags={int(tag): int(counts[tag]) for tag in unknown},
        context_switches=outcome.switches,
        contexts=outcome.contexts,
        ambiguous_switches=outcome.ambiguous,
        restarts=outcome.restarts,
    )


def evidence_of(stream: Stream) -> tuple[str, ...]:
    """What tasks were told apart by, out of `EVIDENCE`; after an iteration."""
    if not _outcome(stream).switches:
        return ()
    if stream.survey.marks:
        return EVIDENCE[:1]
    return EVIDENCE[1:] if stream.survey.can is not None else EVIDENCE[2:]


def _outcome(stream: Stream) -> Outcome:
    if stream.outcome is None:
        raise ValueError("the stream has not been read yet")
    return stream.outcome


def _figures(functions: tuple[NameEntry, ...], figures: Tally) -> tuple[FunctionFigures, ...]:
    calls, net = figures.calls, figures.net
    ran = np.flatnonzero((calls + figures.table[:, tally.ORPHANS]) > 0)
    order = ran[np.argsort(-net[ran], kind="stable")]
    rows = []
    for fn, row in zip(order.tolist(), figures.table[order].tolist(), strict=True):
        complete = row[tally.COMPLETE]
        rows.append(
            FunctionFigures(
                entry=functions[fn],
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
