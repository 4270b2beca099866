"""The replay: events in order -> one row a call. The one place that knows what events mean.

Everything here is written in the part of Python that runs on plain lists (fast in CPython) and,
unchanged, compiled by numba on arrays (`kprof.analysis.fast`). So: flat integer columns instead of
objects, constants instead of enums, capacities that the caller provides (`kprof.analysis.machine`).

An event is a time (ticks since the first event) and an *op*, made from its tag by
`kprof.analysis.tags`::

    op <  0              exit of function -1 - op
    op <  SPECIAL        entry of function op
    otherwise            SPECIAL + 8 * function + kind, kind one of INLINE .. SWTCH_EXIT

A call's net time is its elapsed time less that of the calls inside it, so only the exit of a call
costs arithmetic: `child` is the elapsed time of what the running call has called so far.

Contexts. One context runs: its stack is `s_*[0..sp]`, slot 0 standing for what runs below the
calls that were seen entering. A switch-out puts the stack of a task into the pool (a linked list of
frames, top first) at the end of the queue and takes the system context's; a switch-in does the
reverse. Which task a switch-in resumes is not in the events: `kprof.analysis.foresee` looks at the
events up to the next switch for the exits at the base, and takes the suspended context whose open
calls they close from the top; of several the one that explains most exits, then the one suspended
longest. None: a context not seen before. The look ahead ends after `WINDOW` events.

The frames of a resumed context are marked one at a time, the highest first (`MARK` on its
function), so that the fast path of an exit never has to ask whether the call began in an earlier
slice.

Rows. `r_fn, r_elapsed, r_net` are written for every row; `r_away` and `r_flags` are zero before and
written where they are not; the others only with `detail`. Places are event numbers. The context
of rows from before the first switch is -1; `state[FIRST]` says at the end which it was.
"""

from __future__ import annotations

from typing import Any

from kprof.analysis.contexts import mark_switch, switch_in, switch_later, switch_out
from kprof.analysis.foresee import foresee, leaves_early
from kprof.analysis.frames import emit, push
from kprof.analysis.states import (
    BASE,
    CHILD,
    CONTEXT,
    INLINE,
    INNER,
    MARK,
    MARK_IN,
    MARK_INLINE,
    MARK_OUT,
    MODE,
    NEED_MORE,
    ORPHAN,
    PENDING,
    PENDING_SLOT,
    PENDING_SP,
    RESUMED,
    SLICE_TIME,
    SP,
    SPECIAL,
    SWITCH_IN,
    SWITCH_OUT,
    SWITCHING_IN,
    SWITCHING_OUT,
    SWTCH_ENTRY,
    SWTCH_EXIT,
    SYSTEM,
    TASK,
    UNKNOWN,
    UNWOUND,
)


def step(
    times: Any,
    ops: Any,
    start: int,
    stop: int,
    end: int,
    last: bool,
    at: int,
    detail: bool,
    state: Any,
    tables: Any,
    stack: Any,
    pool: Any,
    queue: Any,
    look: Any,
    rows: Any,
) -> Any:
    """Replay events `start`..`stop`; returns (the next event to replay, rows written).

    It looks ahead up to `end`, and stops early at a switch that needs more events than there are to
    be understood; with `last` there are no more. `at` is the number of the event at index 0.
    """
    nest, _ = tables
    s_time, s_place = stack[1], stack[5]
    m = 0
    i = start
    while i < stop:
        i, m = _follow(times, ops, i, stop, at, detail, m, state, tables, stack, rows)
        if i == stop:
            break
        op = ops[i]
        now = times[i]
        kind = (op - SPECIAL) & 7
        fn = (op - SPECIAL) >> 3
        if op < 0:
            m = _leave(-1 - op, now, at + i, m, detail, state, tables, stack, pool, queue, rows)
        elif kind == INLINE:
            if detail:
                sp = state[SP]
                since = s_time[sp]
                if sp <= state[BASE]:
                    since = state[SLICE_TIME]
                m = emit(
                    m, fn, now - since, 0, 0, MARK_INLINE, at + i, at + i, s_place[sp], sp,
                    state[CONTEXT], 0, rows,
                )  # fmt: skip
        elif kind in (SWITCH_OUT, SWTCH_ENTRY):
            early = 0
            if kind == SWITCH_OUT and state[MODE] != SYSTEM:
                early = leaves_early(ops, i, end, last, fn, look)
                if early == NEED_MORE:
                    return i, m
            if early:
                push(fn, now, at + i, state, tables, stack)
                switch_later(SWITCHING_OUT, -1, state, stack)
            else:
                if state[MODE] != SYSTEM and detail:
                    m = mark_switch(fn, at + i, m, MARK_OUT, state, stack, rows)
                push(fn, now, at + i, state, tables, stack)
                if state[MODE] != SYSTEM:
                    switch_out(now, state, tables, stack, pool, queue)
        elif kind == SWTCH_EXIT and (state[MODE] == TASK or nest[fn] > 0):
            m = _leave(fn, now, at + i, m, detail, state, tables, stack, pool, queue, rows)
        elif kind != UNKNOWN:
            first = -1
            skip = -1
            early = 0
            if kind == SWTCH_EXIT:
                first = fn
            elif state[MODE] != TASK:
                skip = fn
                early = leaves_early(ops, i, end, last, fn, look)
            slot = NEED_MORE
            if early != NEED_MORE:
                slot = foresee(ops, i, end, last, first, skip, state, tables, pool, queue, look)
            if slot == NEED_MORE:
                return i, m
            if kind == SWITCH_IN:
                push(fn, now, at + i, state, tables, stack)
            if early:
                switch_later(SWITCHING_IN, slot, state, stack)
            else:
                m = switch_in(slot, now, m, state, tables, stack, pool, queue, rows)
                if detail:
                    m = mark_switch(fn, at + i, m, MARK_IN, state, stack, rows)
            if kind == SWTCH_EXIT:
                m = _leave(fn, now, at + i, m, detail, state, tables, stack, pool, queue, rows)
        i += 1
    return i, m


def _follow(
    times: Any,
    ops: Any,
    start: int,
    stop: int,
    at: int,
    detail: bool,
    made: int,
    state: Any,
    tables: Any,
    stack: Any,
    rows: Any,
) -> Any:
    """Replay calls that begin, and end as the top one of this slice, up to any other event.

    Nearly all events are of this kind. The loop is a function of its own so that its few variables
    stay in the processor's registers.
    """
    nest, _ = tables
    s_fn, s_time, s_child, _, _, s_place = stack
    r_fn, r_elapsed, r_net, _, r_flags, r_entry, r_exit, r_parent, r_depth, r_context, r_part = rows
    special = SPECIAL
    inner = INNER
    sp = state[SP]
    child = state[CHILD]
    m = made
    i = start
    for i in range(start, stop):
        op = ops[i]
        if op < 0:
            fn = -1 - op
            if s_fn[sp] != fn:
                break
            elapsed = times[i] - s_time[sp]
            r_fn[m] = fn
            r_elapsed[m] = elapsed
            r_net[m] = elapsed - child
            child = s_child[sp] + elapsed
            open_calls = nest[fn] - 1
            nest[fn] = open_calls
            if open_calls:
                r_flags[m] = inner
            if detail:
                r_entry[m] = s_place[sp]
                r_exit[m] = at + i
                r_parent[m] = s_place[sp - 1]
                r_depth[m] = sp - 1
                r_context[m] = state[CONTEXT]
                r_part[m] = r_net[m]
            sp -= 1
            m += 1
        elif op < special:
            sp += 1
            s_fn[sp] = op
            s_time[sp] = times[i]
            s_child[sp] = child
            child = 0
            nest[op] += 1
            if detail:
                s_place[sp] = at + i
        else:
            break
    else:
        i = stop
    state[SP] = sp
    state[CHILD] = child
    return i, m


def _leave(
    fn: int,
    now: int,
    place: int,
    m: int,
    detail: bool,
    state: Any,
    tables: Any,
    stack: Any,
    pool: Any,
    queue: Any,
    rows: Any,
) -> int:
    """An exit that does not simply close the top call of this slice."""
    nest, _ = tables
    s_fn, s_time, s_child, s_away, s_net, s_place = stack
    sp = state[SP]
    child = state[CHILD]
    if nest[fn] == 0:
        return _leave_unseen(fn, now, place, m, state, stack, rows)
    base = state[BASE]
    closing = True
    while closing:
        closed = s_fn[sp] & (MARK - 1)
        elapsed = now - s_time[sp]
        net = elapsed - child
        part = net
        away = 0
        flags = 0
        if closed == fn:
            closing = False
        else:
            flags = UNWOUND
        if sp <= base:
            flags |= RESUMED
            away = s_away[sp]
            part = net - s_net[sp]
        nest[closed] -= 1
        if nest[closed] > 0:
            flags |= INNER
        m = emit(
            m, closed, elapsed, net, away, flags, s_place[sp], place, s_place[sp - 1],
            sp - 1, state[CONTEXT], part, rows,
        )  # fmt: skip
        child = s_child[sp] + elapsed
        sp -= 1
    if sp < base:
        state[BASE] = sp
        if sp > 0:
            s_fn[sp] |= MARK
    state[SP] = sp
    state[CHILD] = child
    pending = state[PENDING]
    if pending != 0 and sp < state[PENDING_SP]:
        # The exit of a switch function that leaves before the processor changes stacks.
        state[PENDING] = 0
        if sp == state[PENDING_SP] - 1 and closed == fn:
            if pending == SWITCHING_OUT:
                if detail:
                    m = mark_switch(fn, place, m, MARK_OUT, state, stack, rows)
                switch_out(now, state, tables, stack, pool, queue)
            else:
                slot = state[PENDING_SLOT]
                m = switch_in(slot, now, m, state, tables, stack, pool, queue, rows)
                if detail:
                    m = mark_switch(fn, place, m, MARK_IN, state, stack, rows)
    return m


def _leave_unseen(
    fn: int,
    now: int,
    place: int,
    m: int,
    state: Any,
    stack: Any,
    rows: Any,
) -> int:
    """An exit that closes no call of the running context."""
    _, s_time, _, _, _, s_place = stack
    sp = state[SP]
    child = state[CHILD]
    elapsed = 0
    net = 0
    if sp == 0:
        span = now - s_time[0]
        elapsed = now - state[SLICE_TIME]
        net = span - child
        state[CHILD] = span
    return emit(
        m, fn, elapsed, net, 0, ORPHAN, -1, place, s_place[sp], sp, state[CONTEXT], net, rows
    )
