"""Orphans: calls whose exits alone were seen, and the places in the stack that a look ahead finds.

Such a place is a *ghost*: with detail it stands under the calls of the slice until its exit comes.
"""

from __future__ import annotations

from kprof.analysis.replay.codes import (
    CHILD_SUM,
    FLOOR,
    FN,
    FRAME,
    GHOST,
    GHOSTS_DUE,
    GROUND,
    GUARDED,
    KINDS,
    LOST,
    LOW,
    MARK,
    MODE,
    MOST_GHOSTS,
    MOST_ITEMS,
    NARROW,
    NEED_MORE,
    ORPHAN,
    PART_PLACE,
    PART_TIME,
    PIECE,
    R_AWAY,
    R_ELAPSED,
    R_FLAGS,
    R_FN,
    R_NET,
    SLICE_TIME,
    SLOT,
    SP,
    SPECIAL,
    STRAY,
    SWITCH_OUT,
    SWTCH_ENTRY,
    SWTCH_EXIT,
    SYSTEM_MODE,
    TIME,
    WIDE,
    WINDOW,
)
from kprof.analysis.replay.columns import Ints, Replay
from kprof.analysis.replay.frames import closes_before_mark, entered, left, owned


def push_ghost(r: Replay, fn: int, now: int, place: int, m: int) -> int:
    """Begin an orphan, whose exit a look ahead has seen; only its place in the stack counts."""
    state, frames = r.state, r.frames
    sp = state[SP] + FRAME
    frames[sp + FN] = fn | GHOST
    state[SP] = sp
    state[FLOOR] = sp
    state[LOW] = sp
    return entered(r, fn, now, place, m)


def pop_ghost(r: Replay, flags: int, elapsed: int, net: int, now: int, place: int, m: int) -> int:
    """End the orphan on top."""
    state, frames, rows = r.state, r.frames, r.rows
    sp = state[SP]
    rows[m + R_FN] = frames[sp + FN] & (MARK - 1)
    rows[m + R_ELAPSED] = elapsed
    rows[m + R_NET] = net
    rows[m + R_AWAY] = 0
    rows[m + R_FLAGS] = flags
    left(r, sp, state[GROUND], state[SLOT], now, place, net, m)
    state[SP] = sp - FRAME
    state[FLOOR] = sp - FRAME
    state[LOW] = sp - FRAME
    return m + WIDE


def drop_ghosts(r: Replay, now: int, place: int, m: int) -> int:
    """End the orphans whose exits did not come after all; called with no call open above them."""
    while r.state[FLOOR] > r.state[GROUND]:
        m = pop_ghost(r, ORPHAN | LOST, 0, 0, now, place, m)
    return m


def lift_ghosts(r: Replay, now: int, place: int, m: int) -> int:
    """Take the orphans whose exits have not come out from under the calls above them."""
    state, frames = r.state, r.frames
    count = state[FLOOR] - state[GROUND]
    calls = state[SP] - state[FLOOR]
    state[SP] = state[FLOOR]
    m = drop_ghosts(r, now, place, m)
    for k in range(state[GROUND] + FRAME, state[GROUND] + FRAME + calls):
        frames[k] = frames[k + count]
    state[SP] = state[GROUND] + calls
    return m


def leave_unseen(r: Replay, fn: int, now: int, place: int, m: int, detail: bool) -> int:
    """An exit that closes no call of the running context that was seen entering."""
    state, frames, rows = r.state, r.frames, r.rows
    sp = state[SP]
    elapsed = 0
    net = 0
    if sp == state[FLOOR]:
        span = now - frames[state[GROUND] + TIME]
        elapsed = now - state[SLICE_TIME]
        net = span - state[CHILD_SUM]
        if not state[PIECE]:
            net = owned(r, fn, net)
        state[CHILD_SUM] = span
    if not detail:
        rows[m + R_FN] = fn
        rows[m + R_ELAPSED] = elapsed
        rows[m + R_NET] = net
        rows[m + R_AWAY] = 0
        rows[m + R_FLAGS] = ORPHAN
        if state[PIECE] and sp > state[FLOOR]:
            rows[m + R_FLAGS] = STRAY
        return m + NARROW
    if sp == state[FLOOR] and frames[sp + FN] == fn | GHOST:
        return pop_ghost(r, ORPHAN, elapsed, net, now, place, m)
    floor, low = state[FLOOR], state[LOW]
    m = push_ghost(r, fn, now, place, m)
    m = pop_ghost(r, ORPHAN, elapsed, net, now, place, m)
    state[FLOOR] = floor
    state[LOW] = low
    return m


def expect_orphans(r: Replay, ops: Ints, i: int, stop: int, last: bool, m: int) -> int:
    """Read ahead to the end of the slice for exits at the base: their calls stand from here on.

    Returns where the next row goes, or NEED_MORE.
    """
    state, items, inside = r.state, r.items, r.inside
    count = 0
    depth = 0
    marked = True
    more = False
    j = i
    while count < MOST_GHOSTS and j - i < WINDOW:
        if j >= stop:
            more = not last
            break
        op = ops[j]
        j += 1
        fn = op
        if op >= SPECIAL:
            kind = (op - SPECIAL) & (KINDS - 1)
            fn = (op - SPECIAL) // KINDS
            system = state[MODE] == SYSTEM_MODE
            if kind == SWTCH_EXIT and (not system or r.nest[fn] + r.delta[fn] > 0):
                op = -1 - fn
            elif system and kind in (SWITCH_OUT, SWTCH_ENTRY):
                kind = GUARDED  # in the system context it is a call as any other
            elif kind >= SWITCH_OUT:
                break
            elif kind != GUARDED:
                continue
        if op >= 0:
            depth += 1
            if depth < 4 * MOST_ITEMS:
                inside[depth] = fn
                r.delta[fn] += 1
            continue
        fn = -1 - op
        if r.delta[fn] > 0:
            depth = min(depth, 4 * MOST_ITEMS - 1)
            closed = -1
            while closed != fn:
                closed = inside[depth]
                r.delta[closed] -= 1
                depth -= 1
        elif depth >= 4 * MOST_ITEMS:
            depth -= 1
        elif depth == 0:
            if marked and closes_before_mark(r, fn, True):
                marked = False
            else:
                items[count] = fn
                count += 1
    for k in range(1, min(depth, 4 * MOST_ITEMS - 1) + 1):
        r.delta[inside[k]] -= 1
    if more:
        return NEED_MORE
    state[GHOSTS_DUE] = 0
    for k in range(count - 1, -1, -1):
        m = push_ghost(r, items[k], state[PART_TIME], state[PART_PLACE], m)
    return m
