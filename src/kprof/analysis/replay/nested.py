"""Calls that begin, and end as the top one: nearly all events, in loops of their own."""

from __future__ import annotations

from kprof.analysis.replay.codes import (
    CALL,
    CHILD,
    CHILD_SUM,
    FN,
    FRAME,
    GROUND,
    INNER,
    KNOWS,
    LEAVE,
    LIMIT,
    MARK,
    NARROW,
    PATH,
    PIECE,
    PLACE,
    R_AWAY,
    R_CALL,
    R_CONTEXT,
    R_DEPTH,
    R_ELAPSED,
    R_ENTRY,
    R_FLAGS,
    R_KIND,
    R_LEAVE,
    R_NET,
    R_PARENT,
    R_PART,
    R_PATH,
    R_TIME,
    ROLE_NEVER,
    SLOT,
    SP,
    SPECIAL,
    TIME,
    WATCH,
    WIDE,
)
from kprof.analysis.replay.columns import Ints, Replay
from kprof.analysis.replay.frames import can_call, push


def follow(
    r: Replay, times: Ints, ops: Ints, start: int, stop: int, made: int, room: int
) -> tuple[int, int]:
    """Replay calls that begin, and end as the top one of this slice, up to any other event.

    Nearly all events are of this kind. The loop is a function of its own so that its few variables
    stay in the processor's registers. AWAY and FLAGS of its narrow rows are zero before.
    """
    state, frames, rows, nest = r.state, r.frames, r.rows, r.nest
    special = SPECIAL
    frame = FRAME
    width = NARROW
    limit = state[LIMIT]
    watch = state[WATCH]
    sp = state[SP]
    child = state[CHILD_SUM]
    m = made
    i = start
    stop = min(stop, start + max(0, (room - made) // width - 2))
    for i in range(start, stop):
        op = ops[i]
        if op < 0:
            fn = -1 - op
            if frames[sp] != fn:
                break
            elapsed = times[i] - frames[sp + TIME]
            rows[m] = fn
            rows[m + R_ELAPSED] = elapsed
            rows[m + R_NET] = elapsed - child
            child = frames[sp + CHILD] + elapsed
            left = nest[fn] - 1
            nest[fn] = left
            if left:
                rows[m + R_FLAGS] = INNER
            sp -= frame
            m += width
        elif op < special and sp < limit and not (watch and not expected(r, sp, op)):
            sp += frame
            frames[sp] = op
            frames[sp + TIME] = times[i]
            frames[sp + CHILD] = child
            child = 0
            nest[op] += 1
        else:
            break
    else:
        i = stop
    state[SP] = sp
    state[CHILD_SUM] = child
    return i, m


def follow_wide(
    r: Replay, times: Ints, ops: Ints, start: int, stop: int, at: int, made: int, room: int
) -> tuple[int, int]:
    """`follow` with wide rows, for entries too."""
    state, frames, rows, nest = r.state, r.frames, r.rows, r.nest
    watch = state[WATCH]
    limit = state[LIMIT]
    context = r.contexts[state[SLOT]]
    ground = state[GROUND]
    m = made
    i = start
    stop = min(stop, start + max(0, (room - made) // WIDE - 2))
    for i in range(start, stop):
        op = ops[i]
        sp = state[SP]
        if op < 0:
            fn = -1 - op
            if frames[sp] != fn:
                break
            elapsed = times[i] - frames[sp + TIME]
            net = elapsed - state[CHILD_SUM]
            nest[fn] -= 1
            rows[m] = fn
            rows[m + R_ELAPSED] = elapsed
            rows[m + R_NET] = net
            rows[m + R_AWAY] = 0
            rows[m + R_FLAGS] = INNER if nest[fn] else 0
            rows[m + R_KIND] = LEAVE
            rows[m + R_ENTRY] = frames[sp + PLACE]
            rows[m + R_LEAVE] = at + i
            rows[m + R_PATH] = frames[sp + PATH]
            rows[m + R_PARENT] = frames[sp - FRAME + CALL]
            rows[m + R_DEPTH] = (sp - ground) // FRAME - 1
            rows[m + R_CONTEXT] = context
            rows[m + R_PART] = net
            rows[m + R_CALL] = frames[sp + CALL]
            rows[m + R_TIME] = times[i]
            state[CHILD_SUM] = frames[sp + CHILD] + elapsed
            state[SP] = sp - FRAME
            m += WIDE
        elif op < SPECIAL and sp < limit and not (watch and not expected(r, sp, op)):
            m = push(r, op, times[i], at + i, m, True)
        else:
            break
    else:
        i = stop
    return i, m


def expected(r: Replay, sp: int, op: int) -> bool:
    """Can function `op` be called by the one on top, or has a longjmp come between?"""
    state = r.state
    if sp == state[GROUND]:
        return state[PIECE] == 0
    caller = r.frames[sp + FN] & (MARK - 1)
    if state[KNOWS]:
        return can_call(r, caller, op)
    return caller == op or r.role[caller] & ROLE_NEVER == 0 or r.nest[op] == 0
