"""Which task a switch resumes.

See `kprof.analysis.replay` for the rules.
"""

from __future__ import annotations

from kprof.analysis.replay.candidates import cut_below, explains, explains_by_longjmp, top_exits
from kprof.analysis.replay.codes import (
    AMBIGUOUS,
    C_CUT,
    C_NEXT,
    C_SLICES,
    C_TOP,
    CERTAIN,
    FIRST_LOOK,
    IN_TURN,
    KNOWS,
    LEARNING,
    LIKELY,
    NEED_MORE,
    NEW_AT,
    NONE,
    OLDEST,
    OUT_OF_TURN,
    QUEUED,
    SLOT,
    SWITCHES,
)
from kprof.analysis.replay.columns import Ints, Replay
from kprof.analysis.replay.habits import learn, likelihood
from kprof.analysis.replay.lookahead import read_slice
from kprof.analysis.replay.mixups import unmix


def choose(r: Replay, ops: Ints, i: int, stop: int, last: bool, first: int, skip: int) -> int:
    """The slot of the task that the switch at event `i` resumes; NONE: one not seen before.

    NEED_MORE: cannot be told before more events are there. `first` is a function whose exit the
    switch itself is, or NONE; `skip` the switch-in function, whose own exit may come first and
    says nothing.
    """
    state, contexts = r.state, r.contexts
    if state[QUEUED] == 0 and state[KNOWS]:
        return NONE
    found = read_slice(r, ops, i, stop, last, first, skip)
    if found == NEED_MORE:
        return NEED_MORE
    count = found >> 24
    pairs = (found >> 2) & 0x3FFFFF
    exits = (found & 1) != 0
    ended = (found & 2) != 0
    best = NONE
    oldest = NONE
    most = -1
    many = 0
    likeliest = 0.0  # how well what was seen of `best` explains the calls at the base
    second = 0.0
    first_one = 0.0
    wanted, mask = top_exits(r, count)
    slot = state[OLDEST]
    while slot >= 0:
        top = contexts[slot + C_TOP]
        hits = NONE
        if top < 0 or (top ^ wanted) & mask == 0:
            hits = explains(r, slot, count, exits, ended)
        if hits >= 0 and hits >= most:
            likely = likelihood(r, slot, count)
            if hits > most:
                most = hits
                many = 0
                likeliest = 0.0
                second = 0.0
            if many == 0:
                oldest = slot
                first_one = likely
            many += 1
            if likely > likeliest:
                second = likeliest
                likeliest = likely
                best = slot
            elif likely > second:
                second = likely
        slot = contexts[slot + C_NEXT]
    silent = count == (1 if first >= 0 else 0)
    if silent and state[QUEUED] > 0:
        state[AMBIGUOUS] += 1  # nothing of the slice tells whose it is
    if many == 0:
        return NONE if silent else _unwinding(r, count, exits, ended)
    in_turn = (state[IN_TURN] + 1.0) / (state[OUT_OF_TURN] + 1.0)
    if many == 1 and state[QUEUED] > 1:
        if best == state[OLDEST]:
            state[IN_TURN] += 1
        else:
            state[OUT_OF_TURN] += 1
    if many > 1 and likeliest < LIKELY * max(in_turn, 1.0) * first_one:
        best = oldest
        second = likeliest
        likeliest = first_one
    certain = many == 1 or likeliest > CERTAIN * second
    if not certain and not silent:
        state[AMBIGUOUS] += 1
    contexts[best + C_CUT] = NONE if certain else cut_below(r, best, count)
    if not state[KNOWS] and contexts[best + C_SLICES] < LEARNING:
        learn(r, best, count if many == 1 or likeliest > LIKELY * second else 0, pairs)
    return best


def _unwinding(r: Replay, count: int, exits: bool, ended: bool) -> int:
    """The task that no exit of the slice closes from the top, but a longjmp in it explains."""
    state, contexts = r.state, r.contexts
    best = NONE
    many = 0
    most = 0
    slot = state[OLDEST]
    while slot >= 0:
        hits = explains_by_longjmp(r, slot, count)
        if hits > most:
            most = hits
            best = slot
            many = 0
        if hits == most and hits > 0:
            many += 1
        slot = contexts[slot + C_NEXT]
    if many == 1:
        contexts[best + C_CUT] = NONE
        if not state[KNOWS]:
            state[AMBIGUOUS] += 1  # it may be a task not seen before
        return best
    if state[SWITCHES] > state[NEW_AT] + 4 * state[QUEUED] + 16:
        mended = unmix(r, count, exits, ended)
        if mended >= 0:
            return mended
    if many > 1:
        state[AMBIGUOUS] += 1
    return best


def learn_new(r: Replay, slot: int, ops: Ints, i: int, stop: int) -> None:
    """Remember the calls of the first slice of a context, which `choose` has read."""
    if r.state[KNOWS]:
        return
    found = read_slice(r, ops, i, stop, True, NONE, NONE)
    learn(r, slot, found >> 24, (found >> 2) & 0x3FFFFF)


def look_first(r: Replay, ops: Ints, i: int, stop: int, last: bool) -> bool:
    """Remember the calls of the capture's first slice; False where more events are needed."""
    found = read_slice(r, ops, i - 1, stop, last, NONE, NONE)
    if found == NEED_MORE:
        return False
    r.state[FIRST_LOOK] = 0
    learn(r, r.state[SLOT], found >> 24, (found >> 2) & 0x3FFFFF)
    return True
