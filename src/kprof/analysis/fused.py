"""What a compiled summary does besides the replay: decoding and counting, written for numba.

`kprof.analysis.clock` and `kprof.analysis.tally` do the same with numpy; a test holds them equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kprof.analysis.replay import step
from kprof.analysis.states import INNER, OPEN, ORPHAN, SPECIAL, UNWOUND
from kprof.analysis.tally import (
    AWAY,
    COMPLETE,
    COMPLETE_NET,
    ELAPSED,
    LEAST,
    MOST,
    OPENS,
    ORPHANS,
    PARTIAL_NET,
    UNWINDS,
)

PART = 8192  # events between two tallies: rows of this many stay in the cache

# Places in the clock's columns.
PREVIOUS = 0
TIME = 1
LONGEST = 2
BACKWARDS = 3
CLOCK_SIZE = 4


def decode_records(records: Any, mask: int, table: Any, clock: Any, times: Any, ops: Any) -> Any:
    """Records of shape (n, 5) uint8 to times and ops; `clock` carries on. The largest op."""
    previous = clock[PREVIOUS]
    now = clock[TIME]
    longest = clock[LONGEST]
    most = np.int32(0)
    for i in range(len(records)):
        ticks = (
            (np.int64(records[i, 0]) << 16)
            | (np.int64(records[i, 1]) << 8)
            | np.int64(records[i, 2])
        )
        passed = (ticks - previous) & mask
        previous = ticks
        longest = max(longest, passed)
        now += passed
        times[i] = now
        op = table[(np.int64(records[i, 3]) << 8) | np.int64(records[i, 4])]
        ops[i] = op
        most = max(most, op)
    clock[PREVIOUS] = previous
    clock[TIME] = now
    clock[LONGEST] = longest
    return most


def decode_words(words: Any, _: int, table: Any, clock: Any, times: Any, ops: Any) -> Any:
    """Records of shape (n,) uint64, unwrapped, to times and ops; as `decode_records`."""
    previous = clock[PREVIOUS]
    now = clock[TIME]
    longest = clock[LONGEST]
    backwards = clock[BACKWARDS]
    most = np.int32(0)
    for i in range(len(words)):
        ticks = np.int64(words[i] >> np.uint64(16))
        passed = ticks - previous
        if passed < 0:
            passed = 0
            backwards += 1
        previous = ticks
        longest = max(longest, passed)
        now += passed
        times[i] = now
        op = table[np.int64(words[i] & np.uint64(0xFFFF))]
        ops[i] = op
        most = max(most, op)
    clock[PREVIOUS] = previous
    clock[TIME] = now
    clock[LONGEST] = longest
    clock[BACKWARDS] = backwards
    return most


def count_records(records: Any, table: Any, counts: Any) -> None:
    """Count the tags that are no entry and no exit: inline triggers and unknown ones."""
    for i in range(len(records)):
        tag = (np.int64(records[i, 3]) << 8) | np.int64(records[i, 4])
        if table[tag] >= SPECIAL:
            counts[tag] += 1


def count_words(words: Any, table: Any, counts: Any) -> None:
    """The same of records of shape (n,) uint64."""
    for i in range(len(words)):
        tag = np.int64(words[i] & np.uint64(0xFFFF))
        if table[tag] >= SPECIAL:
            counts[tag] += 1


def tally_rows(made: int, rows: Any, table: Any) -> None:
    """Count rows and set their `away` and `flags` back to zero; see `kprof.analysis.tally`."""
    r_fn, r_elapsed, r_net, r_away, r_flags = rows[0], rows[1], rows[2], rows[3], rows[4]
    for m in range(made):
        fn = r_fn[m]
        net = r_net[m]
        if r_flags[m] == 0:  # then it was never switched out either
            table[fn, COMPLETE] += 1
            table[fn, COMPLETE_NET] += net
            table[fn, ELAPSED] += r_elapsed[m]
            if net < table[fn, LEAST]:
                table[fn, LEAST] = net
            if net > table[fn, MOST]:
                table[fn, MOST] = net
            continue
        flags = r_flags[m]
        if flags & ORPHAN:
            table[fn, ORPHANS] += 1
            table[fn, PARTIAL_NET] += net
            table[fn, ELAPSED] += net
        else:
            if flags & INNER == 0:
                table[fn, ELAPSED] += r_elapsed[m]
                table[fn, AWAY] += r_away[m]
            if flags & OPEN:
                table[fn, OPENS] += 1
                table[fn, PARTIAL_NET] += net
            else:
                table[fn, COMPLETE] += 1
                table[fn, COMPLETE_NET] += net
                table[fn, LEAST] = min(table[fn, LEAST], net)
                table[fn, MOST] = max(table[fn, MOST], net)
            if flags & UNWOUND:
                table[fn, UNWINDS] += 1
        r_away[m] = 0
        r_flags[m] = 0


def run(
    times: Any,
    ops: Any,
    end: int,
    last: bool,
    at: int,
    state: Any,
    tables: Any,
    stack: Any,
    pool: Any,
    queue: Any,
    look: Any,
    rows: Any,
    tally: Any,
) -> int:
    """Replay and tally events 0..`end`, a part at a time; the first event that must wait."""
    done = 0
    while done < end:
        stop = min(done + PART, end)
        reached, made = step(
            times, ops, done, stop, end, last, at, False, state, tables, stack, pool, queue, look,
            rows,
        )  # fmt: skip
        tally_rows(made, rows, tally)
        done = reached
        if reached < stop:
            break
    return done
