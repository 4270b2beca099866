"""Can a slice be that of a suspended task? Its exits and calls at the base, against the stack."""

from __future__ import annotations

from kprof.analysis.replay.codes import (
    C_BASE,
    C_SP,
    FRAME,
    KNOWS,
    ROLE_LONE,
    ROLE_SWITCHES,
    TOP_BITS,
    TOP_MASK,
)
from kprof.analysis.replay.columns import Replay
from kprof.analysis.replay.frames import can_call, function_at


def explains(r: Replay, slot: int, count: int, exits: bool, ended: bool) -> int:
    """How many exits of the slice close calls of this task, or -1 where it cannot be its."""
    contexts, items, role = r.contexts, r.items, r.role
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    if sp > base:
        top = role[function_at(r, sp)]
        if top & ROLE_LONE:
            sp -= FRAME
        elif top & ROLE_SWITCHES and not exits and not ended:
            return -1  # it stopped inside a switch function: that one's exit comes first
    hits = 0
    for k in range(count):
        item = items[k]
        if sp == base:
            break  # all its calls are closed: what it ran before is not known
        if item < 0:
            fn = -1 - item
            if function_at(r, sp) != fn:
                return -1
            sp -= FRAME
            hits += 1
        elif r.state[KNOWS] and not can_call(r, function_at(r, sp), item):
            return -1
    return hits


def explains_by_longjmp(r: Replay, slot: int, count: int) -> int:
    """How many exits of the slice close calls of this task, deeper ones too, or -1."""
    contexts, items = r.contexts, r.items
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    hits = 0
    for k in range(count):
        item = items[k]
        if item < 0:
            while sp > base and function_at(r, sp) != -1 - item:
                sp -= FRAME
            if sp == base:
                return -1
            sp -= FRAME
            hits += 1
        elif r.state[KNOWS]:
            below = sp
            while below > base and not can_call(r, function_at(r, below), item):
                below -= FRAME
            if below == base:
                return -1
            sp = below
    return hits


def cut_below(r: Replay, slot: int, count: int) -> int:
    """How much of a task's stack is below what the exits of the slice close."""
    contexts = r.contexts
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    for k in range(count):
        item = r.items[k]
        if item < 0 and sp > base:
            if function_at(r, sp) != -1 - item:
                sp -= FRAME
            if sp > base:
                sp -= FRAME
    return sp - base


def top_exits(r: Replay, count: int) -> tuple[int, int]:
    """What C_TOP of a task must be in which bits, by the exits with which the slice begins."""
    wanted = 0
    mask = 0
    for k in range(min(count, 3)):
        item = r.items[k]
        if item >= 0:
            break
        wanted |= (-1 - item) << k * TOP_BITS
        mask |= TOP_MASK << k * TOP_BITS
    return wanted, mask
