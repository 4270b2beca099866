"""Contexts of a replay: which one runs, which ones wait, and the accounts of what runs below calls.

See `kprof.analysis.replay` for the rules.
"""

from __future__ import annotations

from kprof.analysis.replay.codes import (
    AWAY_AT,
    C_AWAY,
    C_BASE,
    C_CHILD,
    C_CUT,
    C_END,
    C_ID,
    C_NEXT,
    C_PREVIOUS,
    C_SLICES,
    C_SP,
    C_TASK,
    C_TOP,
    C_WHEN,
    CALL,
    CHILD,
    CHILD_SUM,
    CONTEXT,
    ENDING,
    FLOOR,
    FN,
    FRAME,
    FREE,
    GHOSTS_DUE,
    GROUND,
    IDLE,
    LAST,
    LIMIT,
    LOW,
    MARK,
    MARKS,
    MODE,
    MOST_CONTEXTS,
    NARROW,
    NEW_AT,
    NEWEST,
    NEXT_ID,
    NONE,
    OLDEST,
    OPEN,
    PART_CHILD,
    PART_PLACE,
    PART_TIME,
    PATH,
    PENDING,
    QUEUED,
    R_FLAGS,
    REGION,
    RESUMED,
    ROLE_LONE,
    SLICE_PLACE,
    SLICE_TIME,
    SLOT,
    SLOTS,
    SP,
    SWITCHES,
    SYSTEM_MODE,
    TASK_MODE,
    TIME,
    TOP,
    UNATTRIBUTED,
    WIDE,
)
from kprof.analysis.replay.columns import Replay
from kprof.analysis.replay.frames import close, close_lone, note_top, path_of
from kprof.analysis.replay.orphans import drop_ghosts, lift_ghosts


def account_base(r: Replay, now: int) -> None:
    """Book the time below all calls of the running context, and start it again from zero."""
    state, frames = r.state, r.frames
    base = state[GROUND]
    if state[SP] == state[FLOOR]:
        spent = now - frames[base + TIME] - state[CHILD_SUM]
        frames[base + TIME] = now
        state[CHILD_SUM] = 0
    else:
        first = state[FLOOR] + FRAME
        spent = frames[first + TIME] - frames[base + TIME] - frames[first + CHILD]
        frames[base + TIME] = frames[first + TIME]
        frames[first + CHILD] = 0
    if state[MODE] == SYSTEM_MODE:
        state[IDLE] += spent
    else:
        state[UNATTRIBUTED] += spent


def new_context(r: Replay, now: int, task: int, detail: bool) -> int:
    """The slot of a context that has not been seen before, with an empty stack."""
    state, contexts, frames = r.state, r.contexts, r.frames
    slot = state[FREE]
    if slot >= 0:
        state[FREE] = contexts[slot + C_NEXT]
    else:
        slot = state[SLOTS] * CONTEXT
        state[SLOTS] += 1
        contexts[slot + C_BASE] = state[TOP]
        state[TOP] += REGION
        contexts[slot + C_END] = state[TOP]
    base = contexts[slot + C_BASE]
    contexts[slot + C_ID] = state[NEXT_ID]
    state[NEXT_ID] += 1
    state[NEW_AT] = state[SWITCHES]
    contexts[slot + C_SP] = base
    contexts[slot + C_CHILD] = 0
    contexts[slot + C_WHEN] = now
    contexts[slot + C_AWAY] = 0
    contexts[slot + C_TASK] = task
    contexts[slot + C_SLICES] = 0
    contexts[slot + C_CUT] = NONE
    contexts[slot + C_TOP] = NONE
    if task >= 0:
        r.tasks[task] = slot
    frames[base + FN] = MARK - 1
    frames[base + TIME] = now
    frames[base + CHILD] = 0
    frames[base + CALL] = NONE
    if detail:
        frames[base + PATH] = path_of(r, 0, (1 << 20) + contexts[slot + C_ID])
    return slot


def park(r: Replay, now: int, place: int, m: int, detail: bool) -> int:
    """Put the stack of the running context away. Returns where the next row goes."""
    state, contexts, frames = r.state, r.contexts, r.frames
    if detail and state[FLOOR] > state[GROUND]:
        m = lift_ghosts(r, now, place, m)
    account_base(r, now)
    slot = state[SLOT]
    away = contexts[slot + C_AWAY]
    sp, base, low = state[SP], state[GROUND], state[LOW]
    k = sp
    while k > base:
        r.nest[frames[k + FN] & (MARK - 1)] -= 1
        if k > low:
            frames[k + AWAY_AT] = away
        k -= FRAME
    contexts[slot + C_SP] = sp
    contexts[slot + C_CHILD] = state[CHILD_SUM]
    contexts[slot + C_WHEN] = now
    contexts[slot + C_SLICES] += 1
    if not state[MARKS]:
        note_top(r, slot)
    return m


def take_up(r: Replay, slot: int, now: int, place: int, m: int, detail: bool) -> int:
    """Run the stack of a context that was put away, or is new."""
    state, contexts, frames = r.state, r.contexts, r.frames
    base, sp = contexts[slot + C_BASE], contexts[slot + C_SP]
    state[LAST] = NONE
    contexts[slot + C_AWAY] += now - contexts[slot + C_WHEN]
    k = sp
    while k > base:
        r.nest[frames[k + FN] & (MARK - 1)] += 1
        k -= FRAME
    state[SLOT] = slot
    state[MODE] = TASK_MODE if slot > 0 else SYSTEM_MODE
    state[SP] = sp
    state[GROUND] = base
    state[FLOOR] = base
    state[LIMIT] = contexts[slot + C_END] - 2 * FRAME
    state[LOW] = sp
    state[SLICE_TIME] = now
    state[SLICE_PLACE] = place
    state[PART_TIME] = now
    state[PART_PLACE] = place
    state[PENDING] = 0
    if sp > base:
        frames[sp + FN] |= MARK
        state[CHILD_SUM] = contexts[slot + C_CHILD]
        state[PART_CHILD] = state[CHILD_SUM]
        if r.role[frames[sp + FN] & (MARK - 1)] & ROLE_LONE and not state[ENDING]:
            m = close_lone(r, m, place, detail)
    else:
        frames[base + TIME] = now
        state[CHILD_SUM] = 0
        state[PART_CHILD] = 0
    state[GHOSTS_DUE] = 1 if state[SP] == base else 0
    return m


def enqueue(r: Replay, slot: int) -> None:
    """Count a task among those that wait, as the last."""
    state, contexts = r.state, r.contexts
    newest = state[NEWEST]
    contexts[slot + C_NEXT] = NONE
    contexts[slot + C_PREVIOUS] = newest
    if newest >= 0:
        contexts[newest + C_NEXT] = slot
    else:
        state[OLDEST] = slot
    state[NEWEST] = slot
    state[QUEUED] += 1


def dequeue(r: Replay, slot: int) -> None:
    """Take a task out of those that wait."""
    state, contexts = r.state, r.contexts
    after, before = contexts[slot + C_NEXT], contexts[slot + C_PREVIOUS]
    if before >= 0:
        contexts[before + C_NEXT] = after
    else:
        state[OLDEST] = after
    if after >= 0:
        contexts[after + C_PREVIOUS] = before
    else:
        state[NEWEST] = before
    state[QUEUED] -= 1


def switch_out(r: Replay, now: int, place: int, m: int, detail: bool) -> int:
    """The running task waits; the system context runs."""
    state = r.state
    m = park(r, now, place, m, detail)
    enqueue(r, state[SLOT])
    state[SWITCHES] += 1
    return take_up(r, 0, now, place, m, detail)


def switch_in(r: Replay, chosen: int, task: int, now: int, place: int, m: int, detail: bool) -> int:
    """Run the waiting task in slot `chosen`, or one not seen before (NONE), marked `task`."""
    state = r.state
    m = park(r, now, place, m, detail)
    if state[SLOT] > 0:
        enqueue(r, state[SLOT])
    slot = chosen
    if slot < 0:
        if state[QUEUED] >= MOST_CONTEXTS:
            m = give_up(r, state[OLDEST], now, place, m, detail)
        slot = new_context(r, now, task, detail)
    else:
        dequeue(r, slot)
    state[SWITCHES] += 1
    return take_up(r, slot, now, place, m, detail)


def give_up(r: Replay, slot: int, now: int, place: int, m: int, detail: bool) -> int:
    """End a waiting task that will not come back: its calls are open calls."""
    state, contexts = r.state, r.contexts
    running = state[SLOT]
    dequeue(r, slot)
    state[ENDING] = 1
    m = take_up(r, slot, now, place, m, detail)
    state[ENDING] = 0
    m = open_rows(r, now, place, False, m, detail)
    task = contexts[slot + C_TASK]
    if task >= 0:
        r.tasks[task] = NONE
    contexts[slot + C_ID] = NONE
    contexts[slot + C_NEXT] = state[FREE]
    state[FREE] = slot
    state[SLOT] = running
    return m


def open_rows(r: Replay, now: int, place: int, ran: bool, m: int, detail: bool) -> int:
    """End all calls of the running stack as open calls; `ran`: it ran up to now."""
    state, rows = r.state, r.rows
    width = WIDE if detail else NARROW
    while state[SP] > state[FLOOR]:
        m = close(r, now, place, OPEN, m, detail)
        if not ran:
            rows[m - width + R_FLAGS] &= ~RESUMED
    return m


def finish(r: Replay, now: int, place: int, detail: bool) -> int:
    """Close the accounts at the end of the capture; how many rows' worth of columns it made."""
    state = r.state
    account_base(r, now)
    m = open_rows(r, now, place, True, 0, detail)
    if detail:
        m = drop_ghosts(r, now, place, m)
    ran_system = state[MODE] == SYSTEM_MODE
    while state[QUEUED] > 0:
        m = give_up(r, state[OLDEST], now, place, m, detail)
    state[ENDING] = 1
    if not ran_system:
        m = take_up(r, 0, now, place, m, detail)
        m = open_rows(r, now, place, False, m, detail)
    return m
