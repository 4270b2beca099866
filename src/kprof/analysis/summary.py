"""The summary of a capture: the ledger, and a line of figures for every function (paper, 4.3)."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kprof.analysis import states
from kprof.analysis.clock import Clock
from kprof.analysis.machine import Machine, replay_rows
from kprof.analysis.tags import TAGS, TagTable
from kprof.analysis.tally import Tally
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameEntry, NameFile


class Ledger(NamedTuple):
    """Where the time went, in ticks: ``elapsed == net + idle + unattributed``, always.

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
    """

    elapsed: int
    net: int
    idle: int
    unattributed: int

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


class Summary(NamedTuple):
    """A whole capture in figures; times in ticks of `info.clock_hz`."""

    info: CaptureInfo
    events: int
    ledger: Ledger
    functions: tuple[FunctionFigures, ...]
    inlines: tuple[tuple[NameEntry, int], ...]
    anomalies: Anomalies


def summarise(
    capture: Capture, names: NameFile, *, trigger_cost: Fraction = Fraction(0)
) -> Summary:
    """Replay a capture into its summary; memory does not grow with the capture.

    The functions that ran are in the order of their net time, the largest first.

    Parameters
    ----------
    trigger_cost
        See `kprof.analysis.clock.Clock`.
    """
    table = TagTable.of(names)
    machine = Machine(table)
    clock = Clock(capture.info, trigger_cost)
    tally = Tally(max(1, len(table.functions)))
    counts = np.zeros(TAGS, np.int64)
    for rows in replay_rows(capture, table, machine, clock, counts):
        tally.add(rows)
    state = machine.state
    ledger = Ledger(
        elapsed=clock.time,
        net=int(tally.net.sum()),
        idle=int(state[states.IDLE]),
        unattributed=int(state[states.UNATTRIBUTED]),
    )
    unknown = np.flatnonzero((table.ops == states.SPECIAL + states.UNKNOWN) & (counts > 0))
    anomalies = Anomalies(
        orphan_exits=int(tally.orphans.sum()),
        open_calls=int(tally.opens.sum()),
        unwound_calls=int(tally.unwound.sum()),
        unknown_tags={int(tag): int(counts[tag]) for tag in unknown},
        context_switches=int(state[states.SWITCHES]),
        contexts=int(state[states.CONTEXTS]) - 1,
    )
    inlines = tuple(
        (entry, int(counts[entry.value])) for entry in table.inlines if counts[entry.value]
    )
    return Summary(capture.info, capture.events, ledger, _figures(table, tally), inlines, anomalies)


def _figures(table: TagTable, tally: Tally) -> tuple[FunctionFigures, ...]:
    ran = np.flatnonzero((tally.calls + tally.orphans) > 0)
    order = ran[np.argsort(-tally.net[ran], kind="stable")]
    figures = []
    for fn in order.tolist():
        complete = int(tally.complete[fn])
        figures.append(
            FunctionFigures(
                entry=table.functions[fn],
                calls=int(tally.calls[fn]),
                complete=complete,
                elapsed=int(tally.elapsed[fn]),
                net=int(tally.net[fn]),
                wall=int(tally.wall[fn]),
                max=int(tally.net_max[fn]) if complete else None,
                avg=int(tally.complete_net[fn]) // complete if complete else None,
                min=int(tally.net_min[fn]) if complete else None,
            )
        )
    return tuple(figures)
