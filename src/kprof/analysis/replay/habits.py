"""What functions were seen to call where the task was beyond doubt: how likely is a slice by it?"""

from __future__ import annotations

from kprof.analysis.replay.codes import (
    ANY,
    C_BASE,
    C_SP,
    FRAME,
    KNOWS,
    SEEN,
    SEEN_MASK,
)
from kprof.analysis.replay.columns import Replay
from kprof.analysis.replay.frames import function_at


def _spot(r: Replay, key: int) -> int:
    """Where a key is, or would be, in the table of what was seen."""
    seen = r.seen
    mask = r.state[SEEN_MASK]
    at = (key * 0x9E3779B1 ^ (key >> 31)) & mask
    while seen[at] != key and seen[at] >= 0:
        at = (at + 1) & mask
    return at


def _count(r: Replay, key: int) -> None:
    state = r.state
    at = _spot(r, key)
    if r.seen[at] < 0:
        if 2 * state[SEEN] > state[SEEN_MASK]:
            return
        r.seen[at] = key
        state[SEEN] += 1
    r.times_seen[at] += 1


def _remember(r: Replay, caller: int, callee: int) -> None:
    """Count a call that is beyond doubt."""
    _count(r, (caller << 20) | callee)
    _count(r, (caller << 20) | ANY)


def likelihood(r: Replay, slot: int, count: int) -> float:
    """How likely this task makes the calls at the base of the slice, by what was seen of it."""
    if r.state[KNOWS]:
        return 1.0
    contexts, items = r.contexts, r.items
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    likely = 1.0
    calls = 0
    for k in range(count):
        item = items[k]
        if sp == base or calls == 12:
            break
        if item < 0:
            if function_at(r, sp) != -1 - item:
                sp -= FRAME
            sp -= FRAME
        else:
            calls += 1
            key = function_at(r, sp) << 20
            at = _spot(r, key | item)
            same = r.times_seen[at] if r.seen[at] >= 0 else 0
            at = _spot(r, key | ANY)
            every = r.times_seen[at] if r.seen[at] >= 0 else 0
            likely *= (same + 0.25) / (every + 2.0)
    return likely


def learn(r: Replay, slot: int, count: int, pairs: int) -> None:
    """Remember who called what in a slice that is this task's beyond doubt."""
    contexts, items = r.contexts, r.items
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    for k in range(count):
        item = items[k]
        if sp == base:
            break
        if item < 0:
            if function_at(r, sp) != -1 - item:
                sp -= FRAME
            sp -= FRAME
        else:
            _remember(r, function_at(r, sp), item)
    for k in range(pairs):
        pair = r.pairs[k]
        _remember(r, pair >> 20, pair & 0xFFFFF)
