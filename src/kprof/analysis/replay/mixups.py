"""Tasks that an ambiguous switch took for each other: found later, and mended by an exchange."""

from __future__ import annotations

from kprof.analysis.replay.candidates import explains
from kprof.analysis.replay.codes import (
    AWAY_AT,
    C_AWAY,
    C_BASE,
    C_CHILD,
    C_CUT,
    C_END,
    C_NEXT,
    C_SP,
    C_WHEN,
    CHILD,
    DETAIL,
    FRAME,
    NONE,
    OLDEST,
    PATH,
    TIME,
)
from kprof.analysis.replay.columns import Replay
from kprof.analysis.replay.frames import function_at, note_top, path_of


def unmix(r: Replay, count: int, exits: bool, ended: bool) -> int:
    """No task explains the slice: did an ambiguous switch before mix up two of them?

    If the one that ran then was another, the upper parts of their stacks are exchanged.
    """
    state, contexts = r.state, r.contexts
    slot = state[OLDEST]
    while slot >= 0:
        cut = contexts[slot + C_CUT]
        if cut > 0:
            other = state[OLDEST]
            while other >= 0:
                if other != slot:
                    split = _joint(r, slot, cut, other, count)
                    if split >= 0 and _exchange(r, slot, cut, other, split):
                        if explains(r, slot, count, exits, ended) >= 0:
                            contexts[slot + C_CUT] = NONE
                            return slot
                        _exchange(r, slot, cut, other, split)
                other = contexts[other + C_NEXT]
        slot = contexts[slot + C_NEXT]
    return NONE


def _joint(r: Replay, slot: int, cut: int, other: int, count: int) -> int:
    """Where the stack of `other` must be cut so that its top and what is below the cut of `slot`
    explain the exits of the slice; or -1.
    """
    contexts, items = r.contexts, r.items
    sp = contexts[other + C_SP]
    base = contexts[other + C_BASE]
    below = contexts[slot + C_BASE] + cut
    wanted = function_at(r, below)
    for k in range(count):
        item = items[k]
        if item >= 0:
            continue
        if wanted == -1 - item and sp < contexts[other + C_SP]:
            return sp - base
        if sp == base or function_at(r, sp) != -1 - item:
            return -1
        sp -= FRAME
    return -1


def _exchange(r: Replay, one: int, cut: int, two: int, split: int) -> bool:
    """Exchange what two tasks have above `cut` and `split`; False where there is no room.

    No call gains or loses time: what was spent above goes along, and is taken from the calls below.
    """
    contexts, frames = r.contexts, r.frames
    a = contexts[one + C_BASE] + cut + FRAME
    b = contexts[two + C_BASE] + split + FRAME
    above_a = contexts[one + C_SP] + FRAME - a
    above_b = contexts[two + C_SP] + FRAME - b
    if above_a <= 0 or above_b <= 0:
        return False
    if a + above_b + FRAME > contexts[one + C_END] or b + above_a + FRAME > contexts[two + C_END]:
        return False
    more = _spent(r, one, a) - _spent(r, two, b)
    _rebase(r, one, two, a, above_a)
    _rebase(r, two, one, b, above_b)
    child = frames[a + CHILD]
    frames[a + CHILD] = frames[b + CHILD]
    frames[b + CHILD] = child
    for k in range(max(above_a, above_b)):
        here = frames[a + k]
        there = frames[b + k]
        if k < above_b:
            frames[a + k] = there
        if k < above_a:
            frames[b + k] = here
    for k in range(contexts[one + C_BASE] + FRAME, a, FRAME):
        frames[k + AWAY_AT] -= more
    for k in range(contexts[two + C_BASE] + FRAME, b, FRAME):
        frames[k + AWAY_AT] += more
    child = contexts[one + C_CHILD]
    contexts[one + C_CHILD] = contexts[two + C_CHILD]
    contexts[two + C_CHILD] = child
    contexts[one + C_SP] = a + above_b - FRAME
    contexts[two + C_SP] = b + above_a - FRAME
    note_top(r, one)
    note_top(r, two)
    if r.state[DETAIL]:
        for k in range(a, a + above_b, FRAME):
            frames[k + PATH] = path_of(r, frames[k - FRAME + PATH], function_at(r, k))
        for k in range(b, b + above_a, FRAME):
            frames[k + PATH] = path_of(r, frames[k - FRAME + PATH], function_at(r, k))
    return True


def _spent(r: Replay, slot: int, sp: int) -> int:
    """The elapsed time of a call of a suspended task."""
    contexts, frames = r.contexts, r.frames
    away = contexts[slot + C_AWAY] - frames[sp + AWAY_AT]
    return contexts[slot + C_WHEN] - frames[sp + TIME] - away


def _rebase(r: Replay, of: int, to: int, start: int, length: int) -> None:
    """Keep the elapsed times of calls of task `of` when they become those of task `to`."""
    contexts = r.contexts
    gone = contexts[to + C_AWAY] - contexts[to + C_WHEN]
    gone -= contexts[of + C_AWAY] - contexts[of + C_WHEN]
    for k in range(start, start + length, FRAME):
        r.frames[k + AWAY_AT] += gone
