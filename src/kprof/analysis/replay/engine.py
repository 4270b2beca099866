"""The replay's loop: events in order, to the calls that they begin and end.

See `kprof.analysis.replay` for the rules.
"""

from __future__ import annotations

from kprof.analysis.replay.codes import (
    BEGUN,
    C_BASE,
    C_SP,
    C_TASK,
    CALL,
    FIRST_LOOK,
    FLOOR,
    FN,
    FRAME,
    GHOSTS_DUE,
    GROUND,
    GUARDED,
    INLINE,
    JUMPS,
    KINDS,
    KNOWS,
    LAST,
    LOW,
    MARK,
    MARK_IN,
    MARK_INLINE,
    MARK_OUT,
    MARKS,
    MODE,
    MOST_GHOSTS,
    NARROW,
    NEED_MORE,
    NEWEST,
    NONE,
    PATH,
    PENDING,
    PENDING_SLOT,
    PENDING_SP,
    PIECE,
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
    REGION,
    RESTARTS,
    ROLE_IN,
    ROLE_LONE,
    ROLE_SETJMP,
    SIZE,
    SLICE_TIME,
    SLOT,
    SP,
    SPECIAL,
    STRAY,
    SWITCH_IN,
    SWITCH_OUT,
    SWITCHING_IN,
    SWITCHING_OUT,
    SWTCH_ENTRY,
    SWTCH_EXIT,
    SYSTEM_MODE,
    TASK,
    TASK_MODE,
    TIME,
    TOP,
    UNKNOWN,
    UNWOUND,
    WATCH,
    WIDE,
)
from kprof.analysis.replay.columns import Ints, Replay
from kprof.analysis.replay.contexts import switch_in, switch_out
from kprof.analysis.replay.frames import (
    can_call,
    close,
    close_suspended,
    closes_before_mark,
    push,
    widen,
)
from kprof.analysis.replay.lookahead import leaves_early
from kprof.analysis.replay.nested import expected, follow, follow_wide
from kprof.analysis.replay.orphans import expect_orphans, leave_unseen
from kprof.analysis.replay.switching import choose, learn_new, look_first

WAITS = 1
"""`step` stopped at an event that later events decide."""
FULL = 2
"""`step` stopped because a column is too small."""


def step(
    r: Replay, times: Ints, ops: Ints, start: int, stop: int, end: int, last: bool, at: int,
    detail: bool, room: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Replay events `start`..`stop`; returns (the next event to replay, rows' columns, why).

    It looks ahead up to `end`; with `last` there are no more. `at` is the number of the event at
    index 0; `room` what the rows may fill. It stops early with WAITS or FULL.
    """
    state = r.state
    m = 0
    i = start
    while i < stop:
        if state[FIRST_LOOK] and not look_first(r, ops, i, end, last):
            return i, m, WAITS
        if state[GHOSTS_DUE] and detail:
            if not widen(r, MOST_GHOSTS) or m + 2 * WIDE * MOST_GHOSTS > room:
                return i, m, FULL
            made = expect_orphans(r, ops, i, end, last, m)
            if made == NEED_MORE:
                return i, m, WAITS
            m = made
        if detail:
            i, m = follow_wide(r, times, ops, i, stop, at, m, room)
        else:
            i, m = follow(r, times, ops, i, stop, m, room)
        if i == stop:
            break
        if not widen(r, 4) or state[TOP] + REGION > state[SIZE]:
            return i, m, FULL
        deep = (state[SP] - state[GROUND]) // FRAME + 8
        if m + 2 * WIDE * deep > room:
            return i, m, FULL
        op = ops[i]
        now = times[i]
        place = at + i
        if op < 0:
            m = _leave(r, -1 - op, now, place, m, detail)
        elif op < SPECIAL:
            m = _call(r, op, now, place, m, detail)
        else:
            kind = (op - SPECIAL) & (KINDS - 1)
            fn = (op - SPECIAL) // KINDS
            if kind == INLINE:
                if detail:
                    m = _mark(r, MARK_INLINE, fn, state[SP], now, place, m)
            elif kind == GUARDED:
                m = _call(r, fn, now, place, m, detail)
                r.frames[state[SP] + FN] |= MARK
            elif kind == TASK:
                m = _task_mark(r, fn, now, place, m, detail)
            elif kind in (SWITCH_OUT, SWTCH_ENTRY):
                made = _out(r, ops, i, end, last, kind, fn, now, place, m, detail)
                if made == NEED_MORE:
                    return i, m, WAITS
                m = made
            elif kind == SWTCH_EXIT and (state[MODE] == TASK_MODE or r.nest[fn] > 0):
                m = _leave(r, fn, now, place, m, detail)
            elif kind != UNKNOWN:
                made = _in(r, ops, i, end, last, kind, fn, now, place, m, detail)
                if made == NEED_MORE:
                    return i, m, WAITS
                m = made
        i += 1
    return i, m, 0


def _call(r: Replay, fn: int, now: int, place: int, m: int, detail: bool) -> int:
    """An entry; where the function on top cannot call it, a longjmp has ended that one."""
    state = r.state
    sp = state[SP]
    if state[PIECE] and state[WATCH]:
        m = _note_call(r, fn, m)
    elif state[WATCH] and sp > state[FLOOR] and not expected(r, sp, fn):
        caller = _caller_below(r, fn)
        if caller >= 0:
            state[RESTARTS] += 1
            while state[SP] > caller:
                m = close(r, now, place, UNWOUND, m, detail)
    return push(r, fn, now, place, m, detail)


def _note_call(r: Replay, fn: int, m: int) -> int:
    """An entry in a piece of a capture: a row, where what is further left decides about it."""
    sp = r.state[SP]
    rows = r.rows
    if sp == r.state[FLOOR]:
        rows[m + R_FLAGS] = BEGUN
    elif not expected(r, sp, fn):
        rows[m + R_FLAGS] = STRAY
    else:
        return m
    rows[m + R_FN] = fn
    rows[m + R_ELAPSED] = 0
    rows[m + R_NET] = 0
    rows[m + R_AWAY] = 0
    return m + NARROW


def _caller_below(r: Replay, fn: int) -> int:
    """The frame below the top that a call of `fn` came from; NONE where it cannot be told."""
    state, frames = r.state, r.frames
    ground = state[FLOOR]
    sp = state[SP] - FRAME
    if state[KNOWS]:
        fallback = NONE
        while sp > ground:
            caller = frames[sp + FN] & (MARK - 1)
            if can_call(r, caller, fn):
                if not state[JUMPS] or r.role[caller] & ROLE_SETJMP:
                    return sp
                if fallback < 0:
                    fallback = sp
            sp -= FRAME
        return fallback
    while sp > ground:
        if frames[sp + FN] & (MARK - 1) == fn:
            return sp - FRAME
        sp -= FRAME
    return NONE


def _leave(r: Replay, fn: int, now: int, place: int, m: int, detail: bool) -> int:
    """An exit that does not simply close the top call of this slice."""
    state, frames = r.state, r.frames
    if closes_before_mark(r, fn, state[SP] == state[FLOOR]):
        last = state[LAST]
        state[LAST] = NONE
        return close_suspended(r, last, now, place, m, detail)
    if r.nest[fn] == 0:
        return leave_unseen(r, fn, now, place, m, detail)
    resumed = state[LOW] > state[FLOOR]
    closed = -1
    within = True  # was the call entered in this slice?
    while closed != fn:
        closed = frames[state[SP] + FN] & (MARK - 1)
        within = state[SP] > state[LOW]
        m = close(r, now, place, 0 if closed == fn else UNWOUND, m, detail)
    sp = state[SP]
    if resumed and sp == state[GROUND]:
        state[GHOSTS_DUE] = 1
    pending = state[PENDING]
    if pending != 0 and sp - state[GROUND] < state[PENDING_SP]:
        # The exit of a switch function that leaves before the processor changes stacks.
        state[PENDING] = 0
        if sp - state[GROUND] == state[PENDING_SP] - FRAME:
            if pending == SWITCHING_OUT:
                if detail:
                    m = _mark(r, MARK_OUT, fn, state[SP], now, place, m)
                m = switch_out(r, now, place, m, detail)
            else:
                slot = state[PENDING_SLOT]
                m = switch_in(r, slot, NONE, now, place, m, detail)
                if detail:
                    m = _mark(r, MARK_IN, fn, state[SP], now, place, m)
    elif (
        state[MARKS]
        and state[MODE] == SYSTEM_MODE
        and within
        and r.role[fn] & ROLE_IN
        and state[NEWEST] >= 0
    ):
        # No task mark came: the task that ran last goes on.
        m = switch_in(r, state[NEWEST], NONE, now, place, m, detail)
        if detail:
            m = _mark(r, MARK_IN, fn, state[SP], now, place, m)
    return m


def _out(
    r: Replay, ops: Ints, i: int, end: int, last: bool, kind: int, fn: int, now: int, place: int,
    m: int, detail: bool,
) -> int:  # fmt: skip
    """The entry of a function that switches away from the running task; or NEED_MORE."""
    state = r.state
    if state[MODE] == SYSTEM_MODE:
        return push(r, fn, now, place, m, detail)
    lone = r.role[fn] & ROLE_LONE
    early = 0
    if kind == SWITCH_OUT and not lone:
        early = leaves_early(r, ops, i, end, last, fn)
        if early == NEED_MORE:
            return NEED_MORE
    m = push(r, fn, now, place, m, detail)
    if detail and not early:
        m = _mark(r, MARK_OUT, fn, state[SP] - FRAME, now, place, m)
    if early:
        _switch_later(r, SWITCHING_OUT, NONE)
        return m
    return switch_out(r, now, place, m, detail)


def _in(
    r: Replay, ops: Ints, i: int, end: int, last: bool, kind: int, fn: int, now: int, place: int,
    m: int, detail: bool,
) -> int:  # fmt: skip
    """A function that switches to a task: its entry (SWITCH_IN) or exit; or NEED_MORE."""
    state = r.state
    if state[MARKS]:
        if kind == SWITCH_IN:
            return push(r, fn, now, place, m, detail)
        if state[NEWEST] >= 0:  # no task mark came: the task that ran last goes on
            m = switch_in(r, state[NEWEST], NONE, now, place, m, detail)
            if detail:
                m = _mark(r, MARK_IN, fn, state[SP], now, place, m)
        return _leave(r, fn, now, place, m, detail)
    first = fn if kind == SWTCH_EXIT else NONE
    skip = NONE
    early = 0
    system = state[MODE] == SYSTEM_MODE
    lone = r.role[fn] & ROLE_LONE != 0
    if kind == SWITCH_IN and system and not lone:
        skip = fn
        early = leaves_early(r, ops, i, end, last, fn)
        if early == NEED_MORE:
            return NEED_MORE
    slot = choose(r, ops, i, end, last, first, skip)
    if slot == NEED_MORE:
        return NEED_MORE
    if kind == SWITCH_IN:
        m = push(r, fn, now, place, m, detail)
    if early:
        _switch_later(r, SWITCHING_IN, slot)
        return m
    m = switch_in(r, slot, NONE, now, place, m, detail)
    if slot < 0:
        learn_new(r, state[SLOT], ops, i, end)
    if detail:
        m = _mark(r, MARK_IN, fn, state[SP], now, place, m)
    if kind == SWTCH_EXIT:
        m = _leave(r, fn, now, place, m, detail)
    return m


def _switch_later(r: Replay, what: int, slot: int) -> None:
    """Switch when the call on top ends; the mark makes its exit come to `_leave`."""
    state = r.state
    r.frames[state[SP] + FN] |= MARK
    state[PENDING] = what
    state[PENDING_SP] = state[SP] - state[GROUND]
    state[PENDING_SLOT] = slot


def _task_mark(r: Replay, tag: int, now: int, place: int, m: int, detail: bool) -> int:
    """The kernel says that a task runs from here on."""
    state, contexts = r.state, r.contexts
    if state[MODE] == TASK_MODE and contexts[state[SLOT] + C_TASK] == tag:
        return m
    slot = r.tasks[tag]
    left = state[SLOT]
    m = switch_in(r, slot, tag, now, place, m, detail)
    state[LAST] = left
    if detail:
        m = _mark(r, MARK_IN, NONE, state[SP], now, place, m)
    return m


def _mark(r: Replay, kind: int, name: int, sp: int, now: int, place: int, m: int) -> int:
    """The row of an inline trigger or a switch, which stands in the call at `sp`.

    PART of a switch out is how many calls are open in the system context.
    """
    state, frames, rows = r.state, r.frames, r.rows
    since = frames[sp + TIME]
    if sp <= state[LOW] or sp <= state[FLOOR]:
        since = state[SLICE_TIME]
    rows[m + R_FN] = name
    rows[m + R_ELAPSED] = now - since if kind == MARK_INLINE else 0
    rows[m + R_NET] = 0
    rows[m + R_AWAY] = 0
    rows[m + R_FLAGS] = 0
    rows[m + R_KIND] = kind
    rows[m + R_ENTRY] = place
    rows[m + R_LEAVE] = place
    rows[m + R_PATH] = frames[sp + PATH]
    rows[m + R_PARENT] = frames[sp + CALL]
    rows[m + R_DEPTH] = (sp - state[GROUND]) // FRAME
    rows[m + R_CONTEXT] = r.contexts[state[SLOT]]
    rows[m + R_PART] = (r.contexts[C_SP] - r.contexts[C_BASE]) // FRAME
    rows[m + R_CALL] = NONE
    rows[m + R_TIME] = now
    return m + WIDE
