"""The stacks of a replay: calls that begin and end, their paths, and the rows of those that ended.

See `kprof.analysis.replay` for the rules.
"""

from __future__ import annotations

from kprof.analysis.replay.codes import (
    AWAY_AT,
    C_AWAY,
    C_BASE,
    C_CHILD,
    C_END,
    C_ID,
    C_SP,
    C_TOP,
    C_WHEN,
    CALL,
    CHILD,
    CHILD_SUM,
    DEEPEST,
    ENTER,
    FLOOR,
    FN,
    FRAME,
    GROUND,
    IDLE,
    INNER,
    LAST,
    LEAVE,
    LIMIT,
    LOW,
    MARK,
    NARROW,
    NONE,
    NUMBER,
    PART_CHILD,
    PART_PLACE,
    PART_TIME,
    PATH,
    PATH_MASK,
    PATHS,
    PLACE,
    R_AWAY,
    R_CALL,
    R_CONTEXT,
    R_DEPTH,
    R_ELAPSED,
    R_ENTRY,
    R_FLAGS,
    R_FN,
    R_KIND,
    R_LEAVE,
    R_NET,
    R_PARENT,
    R_PART,
    R_PATH,
    R_TIME,
    RESUMED,
    ROLE_FAR,
    ROLE_IDLE,
    ROLE_LONE,
    ROLE_USER,
    SIZE,
    SLICE_TIME,
    SLOT,
    SP,
    TIME,
    TOP,
    TOP_BITS,
    TOP_MASK,
    USER,
    WIDE,
)
from kprof.analysis.replay.columns import Replay


def function_at(r: Replay, sp: int) -> int:
    """The function of a frame."""
    return r.frames[sp + FN] & (MARK - 1)


def can_call(r: Replay, caller: int, callee: int) -> bool:
    """Can `callee` run directly above `caller`, by what is known of the program?"""
    return (r.can[caller * r.stride + (callee >> 3)] >> (callee & 7)) & 1 != 0


def path_of(r: Replay, above: int, code: int) -> int:
    """The call path that continues path `above` with `code`, a function or a context."""
    keys = r.path_keys
    key = (above << 32) | code
    mask = r.state[PATH_MASK]
    at = (key * 0x9E3779B1 ^ (key >> 29)) & mask
    while keys[at] != key:
        if keys[at] < 0:
            new = r.state[PATHS]
            r.state[PATHS] = new + 1
            keys[at] = key
            r.path_ids[at] = new
            r.path_code[new] = code
            r.path_parent[new] = above
            return new
        at = (at + 1) & mask
    return r.path_ids[at]


def widen(r: Replay, frames_wanted: int) -> bool:
    """Make room for more frames on the running stack; False where the column has none left."""
    state, contexts, frames = r.state, r.contexts, r.frames
    slot = state[SLOT]
    base = state[GROUND]
    end = contexts[slot + C_END]
    if state[SP] + (frames_wanted + 2) * FRAME <= end:
        return True
    size = 2 * (end - base) + frames_wanted * FRAME
    new = state[TOP]
    if new + size > state[SIZE]:
        return False
    state[TOP] = new + size
    for k in range(state[SP] + FRAME - base):
        frames[new + k] = frames[base + k]
    moved = new - base
    contexts[slot + C_BASE] = new
    contexts[slot + C_END] = new + size
    state[GROUND] = new
    state[SP] += moved
    state[FLOOR] += moved
    state[LOW] += moved
    state[LIMIT] = new + size - 2 * FRAME
    return True


def push(r: Replay, fn: int, now: int, place: int, m: int, detail: bool) -> int:
    """Begin a call; there must be room for it. Returns where the next row goes."""
    state, frames = r.state, r.frames
    below = state[SP]
    sp = below + FRAME
    frames[sp + FN] = fn
    frames[sp + TIME] = now
    frames[sp + CHILD] = state[CHILD_SUM]
    r.nest[fn] += 1
    state[SP] = sp
    state[CHILD_SUM] = 0
    if detail:
        m = entered(r, fn, now, place, m)
    return m


def entered(r: Replay, fn: int, now: int, place: int, m: int) -> int:
    """Number the call on top and write the row of its beginning."""
    state, frames, rows = r.state, r.frames, r.rows
    sp = state[SP]
    depth = (sp - state[GROUND]) // FRAME - 1
    frames[sp + PLACE] = place
    frames[sp + CALL] = state[NUMBER]
    frames[sp + PATH] = path_of(r, frames[sp - FRAME + PATH], fn)
    state[NUMBER] += 1
    if depth > state[DEEPEST]:
        state[DEEPEST] = depth
    rows[m + R_FN] = fn
    rows[m + R_ELAPSED] = 0
    rows[m + R_NET] = 0
    rows[m + R_AWAY] = 0
    rows[m + R_FLAGS] = 0
    rows[m + R_KIND] = ENTER
    rows[m + R_ENTRY] = place
    rows[m + R_LEAVE] = place
    rows[m + R_PATH] = frames[sp + PATH]
    rows[m + R_PARENT] = frames[sp - FRAME + CALL]
    rows[m + R_DEPTH] = depth
    rows[m + R_CONTEXT] = r.contexts[state[SLOT] + C_ID]
    rows[m + R_PART] = 0
    rows[m + R_CALL] = frames[sp + CALL]
    rows[m + R_TIME] = now
    return m + WIDE


def left(r: Replay, sp: int, base: int, slot: int, now: int, place: int, part: int, m: int) -> None:
    """Write what only a wide row has of the call at `sp`, which ends."""
    frames, rows = r.frames, r.rows
    rows[m + R_KIND] = LEAVE
    rows[m + R_ENTRY] = frames[sp + PLACE]
    rows[m + R_LEAVE] = place
    rows[m + R_PATH] = frames[sp + PATH]
    rows[m + R_PARENT] = frames[sp - FRAME + CALL]
    rows[m + R_DEPTH] = (sp - base) // FRAME - 1
    rows[m + R_CONTEXT] = r.contexts[slot + C_ID]
    rows[m + R_PART] = part
    rows[m + R_CALL] = frames[sp + CALL]
    rows[m + R_TIME] = now


def owned(r: Replay, fn: int, net: int) -> int:
    """The net time of a call, booked as idle or user time where its function's is that."""
    role = r.role[fn]
    if role & ROLE_IDLE:
        r.state[IDLE] += net
        return 0
    if role & ROLE_USER:
        r.state[USER] += net
        return 0
    return net


def close(r: Replay, now: int, place: int, flags: int, m: int, detail: bool) -> int:
    """End the call on top of the running stack. Returns where the next row goes."""
    state, frames, rows = r.state, r.frames, r.rows
    sp = state[SP]
    below = sp - FRAME
    fn = frames[sp + FN] & (MARK - 1)
    child = state[CHILD_SUM]
    elapsed = now - frames[sp + TIME]
    away = 0
    part = 0
    resumed = sp <= state[LOW]
    if resumed:
        away = r.contexts[state[SLOT] + C_AWAY] - frames[sp + AWAY_AT]
        elapsed -= away
        flags |= RESUMED
        part = now - state[PART_TIME] - (child - state[PART_CHILD])
        state[PART_TIME] = now
        state[PART_PLACE] = place
        state[PART_CHILD] = frames[sp + CHILD] + elapsed
        state[LOW] = below
        if below == state[GROUND]:
            frames[below + TIME] += away
        else:
            frames[below + FN] |= MARK
    net = owned(r, fn, elapsed - child)
    if not resumed or net != elapsed - child:
        part = net
    r.nest[fn] -= 1
    if r.nest[fn] > 0:
        flags |= INNER
    rows[m + R_FN] = fn
    rows[m + R_ELAPSED] = elapsed
    rows[m + R_NET] = net
    rows[m + R_AWAY] = away
    rows[m + R_FLAGS] = flags
    state[CHILD_SUM] = frames[sp + CHILD] + elapsed
    state[SP] = below
    if not detail:
        return m + NARROW
    left(r, sp, state[GROUND], state[SLOT], now, place, part, m)
    return m + WIDE


def close_lone(r: Replay, m: int, place: int, detail: bool) -> int:
    """End the switch function on top as of the last switch in: it has no exit trigger.

    What was called since then was called by the one below it.
    """
    state = r.state
    since = state[CHILD_SUM] - state[PART_CHILD]
    state[CHILD_SUM] -= since
    m = close(r, state[SLICE_TIME], place, 0, m, detail)
    state[CHILD_SUM] += since
    return m


def note_top(r: Replay, slot: int) -> None:
    """Keep what the top calls of a context are that does not run, to be compared quickly.

    A switch function without an exit trigger does not count: no exit ends it.
    """
    contexts, frames = r.contexts, r.frames
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    if sp > base and r.role[frames[sp + FN] & (MARK - 1)] & ROLE_LONE:
        sp -= FRAME
    top = NONE
    if sp >= base + 3 * FRAME:
        second = frames[sp - FRAME + FN] & TOP_MASK
        third = frames[sp - 2 * FRAME + FN] & TOP_MASK
        top = frames[sp + FN] & TOP_MASK | second << TOP_BITS | third << 2 * TOP_BITS
    contexts[slot + C_TOP] = top


def close_suspended(r: Replay, slot: int, now: int, place: int, m: int, detail: bool) -> int:
    """End the call on top of a suspended context, whose exit came after the switch."""
    contexts, frames, rows = r.contexts, r.frames, r.rows
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    fn = frames[sp + FN] & (MARK - 1)
    away = contexts[slot + C_AWAY] - frames[sp + AWAY_AT]
    elapsed = contexts[slot + C_WHEN] - frames[sp + TIME] - away
    net = owned(r, fn, elapsed - contexts[slot + C_CHILD])
    flags = 0
    k = sp - FRAME
    while k > base:
        if frames[k + FN] & (MARK - 1) == fn:
            flags = INNER
        k -= FRAME
    rows[m + R_FN] = fn
    rows[m + R_ELAPSED] = elapsed
    rows[m + R_NET] = net
    rows[m + R_AWAY] = now - frames[sp + TIME] - elapsed
    rows[m + R_FLAGS] = flags
    contexts[slot + C_CHILD] = frames[sp + CHILD] + elapsed
    contexts[slot + C_SP] = sp - FRAME
    note_top(r, slot)
    if sp - FRAME == base:
        frames[base + TIME] += away
    if not detail:
        return m + NARROW
    left(r, sp, base, slot, now, place, net, m)
    return m + WIDE


def closes_before_mark(r: Replay, fn: int, at_base: bool) -> bool:
    """Is an exit that of the call which fired the last task mark, in the context that it left?"""
    state, frames = r.state, r.frames
    last = state[LAST]
    if last < 0 or (at_base and r.role[fn] & ROLE_FAR):
        return False
    if not at_base and frames[state[SP] + FN] & (MARK - 1) == fn:
        return False
    top = r.contexts[last + C_SP]
    return top > r.contexts[last + C_BASE] and frames[top + FN] & (MARK - 1) == fn
