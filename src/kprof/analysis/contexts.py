"""Contexts of the replay: switching, and closing the books at the end.

See `kprof.analysis.replay` for the rules, and `kprof.analysis.states` for the names.
"""

from __future__ import annotations

from typing import Any

from kprof.analysis.frames import emit, fresh, restore, save
from kprof.analysis.states import (
    BASE,
    CHILD,
    CONTEXT,
    CONTEXTS,
    FIRST,
    IDLE,
    INNER,
    MARK,
    MODE,
    OPEN,
    PENDING,
    PENDING_SLOT,
    PENDING_SP,
    QUEUE_SIZE,
    QUEUED,
    RESUMED,
    SP,
    SWITCHES,
    SYSTEM,
    SYSTEM_CHILD,
    SYSTEM_SP,
    SYSTEM_TOP,
    SYSTEM_WHEN,
    TASK,
    UNATTRIBUTED,
    UNDECIDED,
)


def account_base(now: int, state: Any, stack: Any) -> None:
    """Book the time below all calls of the running context, and start it again from zero."""
    _, s_time, s_child, _, _, _ = stack
    if state[SP] == 0:
        spent = now - s_time[0] - state[CHILD]
        s_time[0] = now
        state[CHILD] = 0
    else:
        spent = s_time[1] - s_time[0] - s_child[1]
        s_time[0] = s_time[1]
        s_child[1] = 0
    if state[MODE] == SYSTEM:
        state[IDLE] += spent
    else:
        state[UNATTRIBUTED] += spent


def restore_system(now: int, state: Any, tables: Any, stack: Any, pool: Any) -> None:
    top = state[SYSTEM_TOP]
    if top >= 0:
        depth, child, when = state[SYSTEM_SP], state[SYSTEM_CHILD], state[SYSTEM_WHEN]
        restore(top, depth, child, when, now, state, tables, stack, pool)
    else:
        fresh(now, state, stack)
    state[SYSTEM_TOP] = -1
    state[MODE] = SYSTEM
    state[CONTEXT] = 0


def restore_task(
    slot: int, now: int, state: Any, tables: Any, stack: Any, pool: Any, queue: Any
) -> None:
    q_context, q_top, q_sp, q_when, q_child = queue
    context = q_context[slot]
    restore(q_top[slot], q_sp[slot], q_child[slot], q_when[slot], now, state, tables, stack, pool)
    state[QUEUED] -= 1
    for k in range(slot, state[QUEUED]):
        for column in queue:
            column[k] = column[k + 1]
    state[MODE] = TASK
    state[CONTEXT] = context


def suspend(now: int, state: Any, tables: Any, stack: Any, pool: Any, queue: Any) -> None:
    """Put the running task at the end of the queue."""
    q_context, q_top, q_sp, q_when, q_child = queue
    account_base(now, state, stack)
    k = state[QUEUED]
    q_sp[k] = state[SP]
    q_child[k] = state[CHILD]
    q_top[k] = save(now, state, tables, stack, pool)
    q_context[k] = state[CONTEXT]
    q_when[k] = now
    state[QUEUED] = k + 1


def switch_later(what: int, slot: int, state: Any, stack: Any) -> None:
    """Switch when the call on top ends; the mark makes its exit come to `_leave`."""
    sp = state[SP]
    stack[0][sp] |= MARK
    state[PENDING] = what
    state[PENDING_SP] = sp
    state[PENDING_SLOT] = slot


def switch_out(now: int, state: Any, tables: Any, stack: Any, pool: Any, queue: Any) -> None:
    state[PENDING] = 0
    if state[MODE] == UNDECIDED:
        state[MODE] = TASK
        state[FIRST] = state[CONTEXTS]
        state[CONTEXT] = state[CONTEXTS]
        state[CONTEXTS] += 1
    suspend(now, state, tables, stack, pool, queue)
    restore_system(now, state, tables, stack, pool)
    state[SWITCHES] += 1


def switch_in(
    slot: int,
    now: int,
    m: int,
    state: Any,
    tables: Any,
    stack: Any,
    pool: Any,
    queue: Any,
    rows: Any,
) -> int:
    """Resume the task in `slot` of the queue, or a context not seen before (-1)."""
    state[PENDING] = 0
    if state[MODE] == TASK:
        suspend(now, state, tables, stack, pool, queue)
    else:
        if state[MODE] == UNDECIDED:
            state[FIRST] = 0
        state[MODE] = SYSTEM
        state[CONTEXT] = 0
        account_base(now, state, stack)
        state[SYSTEM_SP] = state[SP]
        state[SYSTEM_CHILD] = state[CHILD]
        state[SYSTEM_WHEN] = now
        state[SYSTEM_TOP] = save(now, state, tables, stack, pool)
    if state[QUEUED] >= QUEUE_SIZE - 1 and slot != 0:
        # Tasks that never come back must not fill the memory: the oldest is given up.
        when = queue[3][0]
        restore_task(0, now, state, tables, stack, pool, queue)
        m = open_rows(now, when, m, state, tables, stack, rows)
        slot -= 1
    if slot >= 0:
        restore_task(slot, now, state, tables, stack, pool, queue)
    else:
        fresh(now, state, stack)
        state[MODE] = TASK
        state[CONTEXT] = state[CONTEXTS]
        state[CONTEXTS] += 1
    state[SWITCHES] += 1
    return m


def open_rows(now: int, when: int, m: int, state: Any, tables: Any, stack: Any, rows: Any) -> int:
    """Rows of all calls of the running stack, which ran last at `when`; the stack is then empty."""
    s_fn, s_time, s_child, s_away, s_net, s_place = stack
    nest = tables[0]
    child = state[CHILD]
    for d in range(state[SP], 0, -1):
        fn = s_fn[d] & (MARK - 1)
        elapsed = now - s_time[d]
        net = elapsed - child
        flags = OPEN
        away = 0
        part = net
        if d <= state[BASE]:
            away = s_away[d]
            part = net - s_net[d]
            if when == now:
                flags |= RESUMED
        nest[fn] -= 1
        if nest[fn] > 0:
            flags |= INNER
        m = emit(
            m, fn, elapsed, net, away, flags, s_place[d], -1, s_place[d - 1], d - 1,
            state[CONTEXT], part, rows,
        )  # fmt: skip
        child = s_child[d] + elapsed
    state[SP] = 0
    state[CHILD] = child
    return m


def finish(now: int, state: Any, tables: Any, stack: Any, pool: Any, queue: Any, rows: Any) -> int:
    """Close the books at the end of the capture: rows of the calls still open; how many."""
    m = 0
    if state[MODE] == UNDECIDED:
        state[FIRST] = state[CONTEXTS]
        state[CONTEXTS] += 1
    account_base(now, state, stack)
    m = open_rows(now, now, m, state, tables, stack, rows)
    while state[QUEUED] > 0:
        when = queue[3][0]
        restore_task(0, now, state, tables, stack, pool, queue)
        m = open_rows(now, when, m, state, tables, stack, rows)
    if state[SYSTEM_TOP] >= 0:
        when = state[SYSTEM_WHEN]
        restore_system(now, state, tables, stack, pool)
        m = open_rows(now, when, m, state, tables, stack, rows)
    return m


def mark_switch(fn: int, place: int, m: int, flag: int, state: Any, stack: Any, rows: Any) -> int:
    sp = state[SP]
    parent = stack[5][sp]
    return emit(m, fn, 0, 0, 0, flag, place, place, parent, sp, state[CONTEXT], 0, rows)
