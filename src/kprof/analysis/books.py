"""Replaying a whole capture into sums, by the way that suits its size.

A small capture runs in CPython, a large one compiled (`kprof.analysis.fast`) where numba is
installed; what is found is the same.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.clock import Clock
from kprof.analysis.machine import Machine, replay_rows
from kprof.analysis.paging import Pages
from kprof.analysis.states import SPECIAL
from kprof.analysis.tags import TAGS, TagTable
from kprof.analysis.tally import Tally
from kprof.capture.model import Capture, CaptureInfo

_CHUNK = 1 << 15  # events decoded at a time: their times and ops stay in the second level cache


class Books(NamedTuple):
    """What is known when a capture has been replayed.

    Attributes
    ----------
    info
        What is known of the capture, with the clock that the times are in.
    tally
        The figures of the functions, by their number in the tag table.
    tag_counts
        Shape (65536,) int64: how often each tag came that is no function's.
    state
        The replay's state at the end, see `kprof.analysis.states`.
    elapsed, longest
        Time of the last event, and the longest interval, in ticks.
    taken, short
        See `kprof.analysis.clock.Clock`; 0 without a trigger cost.
    """

    info: CaptureInfo
    tally: Tally
    tag_counts: NDArray[np.int64]
    state: Any
    elapsed: int
    longest: int
    taken: int = 0
    short: int = 0


def keep_books(
    capture: Capture,
    table: TagTable,
    *,
    trigger_cost: Fraction = Fraction(0),
    fast: bool | None = None,
) -> Books:
    """Replay a capture; memory does not grow with it.

    Parameters
    ----------
    fast
        Compiled, or not; None: where numba is installed and the capture is large.

    Raises
    ------
    UsageError
        The triggers cannot have cost so much.
    """
    if fast is None:
        from kprof.analysis.fast import pays

        fast = pays(capture.events)
    tally = Tally(max(1, len(table.functions)))
    counts = np.zeros(TAGS, np.int64)
    if fast and not trigger_cost:
        return _compiled(capture, table, tally, counts)
    machine = Machine(table, fast=fast)
    clock = Clock(capture.info, trigger_cost)
    for rows in replay_rows(capture, table, machine, clock, counts):
        tally.add(rows)
    clock.finish()
    return Books(
        clock.info,
        tally,
        counts,
        machine.state,
        clock.time,
        clock.longest,
        clock.taken,
        clock.short,
    )


def _compiled(capture: Capture, table: TagTable, tally: Tally, counts: NDArray[np.int64]) -> Books:
    from kprof.analysis import fused
    from kprof.analysis.fast import compiled

    code = compiled()
    machine = Machine(table, fast=True)
    wide = capture.records.dtype != np.uint8
    decode = code.decode_words if wide else code.decode_records
    count = code.count_words if wide else code.count_records
    mask = (1 << capture.info.time_bits) - 1
    clock = np.zeros(fused.CLOCK_SIZE, np.int64)
    if capture.events:
        clock[fused.PREVIOUS] = int(next(capture.chunks(1))[0][0])
    times = np.empty(0, np.int64)
    ops = np.empty(0, np.int32)
    held = 0
    pages = Pages(capture.records)
    for start in range(0, capture.events, _CHUNK):
        part = capture.records[start : start + _CHUNK]
        end = held + len(part)
        if len(times) < end:
            times = np.concatenate([times[:held], np.empty(end, np.int64)])
            ops = np.concatenate([ops[:held], np.empty(end, np.int32)])
        most = decode(part, mask, table.ops, clock, times[held:], ops[held:])
        if most >= SPECIAL:
            count(part, table.ops, counts)
        done = machine.run(code, times, ops, end, start + len(part) == capture.events, tally.table)
        held = end - done
        times[:held] = times[done:end].copy()
        ops[:held] = ops[done:end].copy()
        pages.release(start)
    machine.end_at(int(clock[fused.TIME]))
    tally.add(machine.finish())
    return Books(
        capture.info,
        tally,
        counts,
        machine.state,
        int(clock[fused.TIME]),
        int(clock[fused.LONGEST]),
    )
