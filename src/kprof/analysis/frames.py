"""Frames of the replay: rows of calls, and stacks on their way into the pool and back.

See `kprof.analysis.replay` for the rules, and `kprof.analysis.states` for the names.
"""

from __future__ import annotations

from typing import Any

from kprof.analysis.states import (
    BASE,
    CHILD,
    FREE,
    MARK,
    SLICE_TIME,
    SP,
    USED,
)


def emit(
    m: int,
    fn: int,
    elapsed: int,
    net: int,
    away: int,
    flags: int,
    entry: int,
    leave: int,
    parent: int,
    depth: int,
    context: int,
    part: int,
    rows: Any,
) -> int:
    (
        r_fn,
        r_elapsed,
        r_net,
        r_away,
        r_flags,
        r_entry,
        r_exit,
        r_parent,
        r_depth,
        r_context,
        r_part,
    ) = rows
    r_fn[m] = fn
    r_elapsed[m] = elapsed
    r_net[m] = net
    r_away[m] = away
    r_flags[m] = flags
    r_entry[m] = entry
    r_exit[m] = leave
    r_parent[m] = parent
    r_depth[m] = depth
    r_context[m] = context
    r_part[m] = part
    return m + 1


def push(fn: int, now: int, place: int, state: Any, tables: Any, stack: Any) -> None:
    s_fn, s_time, s_child, _, _, s_place = stack
    sp = state[SP] + 1
    s_fn[sp] = fn
    s_time[sp] = now
    s_child[sp] = state[CHILD]
    s_place[sp] = place
    tables[0][fn] += 1
    state[SP] = sp
    state[CHILD] = 0


def fresh(now: int, state: Any, stack: Any) -> None:
    """Run an empty stack."""
    stack[0][0] = MARK - 1
    stack[1][0] = now
    stack[2][0] = 0
    stack[5][0] = -1
    state[SP] = 0
    state[CHILD] = 0
    state[BASE] = 0
    state[SLICE_TIME] = now


def save(now: int, state: Any, tables: Any, stack: Any, pool: Any) -> int:
    """Move the running stack into the pool; the node of its top."""
    s_fn, s_time, s_child, s_away, _, s_place = stack
    p_fn, p_time, p_child, p_away, p_net, p_place, p_next = pool
    nest = tables[0]
    sp = state[SP]
    below = -1
    for d in range(sp + 1):
        node = state[FREE]
        if node >= 0:
            state[FREE] = p_next[node]
        else:
            node = state[USED]
            state[USED] += 1
        elapsed = now - s_time[d]
        inside = state[CHILD]
        if d < sp:
            inside = s_child[d + 1] + now - s_time[d + 1]
        p_fn[node] = s_fn[d] & (MARK - 1)
        p_time[node] = elapsed
        p_child[node] = s_child[d]
        p_away[node] = 0
        if d <= state[BASE]:
            p_away[node] = s_away[d]
        p_net[node] = elapsed - inside
        p_place[node] = s_place[d]
        p_next[node] = below
        below = node
        if d > 0:
            nest[p_fn[node]] -= 1
    return below


def restore(
    node: int,
    sp: int,
    child: int,
    when: int,
    now: int,
    state: Any,
    tables: Any,
    stack: Any,
    pool: Any,
) -> None:
    """Take the stack at `node`, suspended at `when`, out of the pool and run it."""
    s_fn, s_time, s_child, s_away, s_net, s_place = stack
    p_fn, p_time, p_child, p_away, p_net, p_place, p_next = pool
    nest = tables[0]
    d = sp
    while node >= 0:
        s_fn[d] = p_fn[node]
        s_time[d] = now - p_time[node]
        s_child[d] = p_child[node]
        s_away[d] = p_away[node] + now - when
        s_net[d] = p_net[node]
        s_place[d] = p_place[node]
        if d > 0:
            nest[s_fn[d]] += 1
        below = p_next[node]
        p_next[node] = state[FREE]
        state[FREE] = node
        node = below
        d -= 1
    s_fn[0] = MARK - 1
    if sp > 0:
        s_fn[sp] |= MARK
    state[SP] = sp
    state[CHILD] = child
    state[BASE] = sp
    state[SLICE_TIME] = now
