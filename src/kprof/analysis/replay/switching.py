"""Which task a switch resumes, and which orphans a slice holds: the look ahead of a replay.

See `kprof.analysis.replay` for the rules.
"""

from __future__ import annotations

from kprof.analysis.replay.codes import (
    AMBIGUOUS,
    ANY,
    AWAY_AT,
    C_AWAY,
    C_BASE,
    C_CHILD,
    C_CUT,
    C_END,
    C_NEXT,
    C_SLICES,
    C_SP,
    C_WHEN,
    CERTAIN,
    CHILD,
    DETAIL,
    FIRST_LOOK,
    FN,
    FRAME,
    GUARDED,
    IN_TURN,
    KINDS,
    KNOWS,
    LEARNING,
    LIKELY,
    MARK,
    MOST_ITEMS,
    NEED_MORE,
    NEW_AT,
    NONE,
    OLDEST,
    OUT_OF_TURN,
    PATH,
    QUEUED,
    ROLE_LONE,
    ROLE_SWITCHES,
    SEEN,
    SEEN_MASK,
    SLOT,
    SPECIAL,
    SWITCH_OUT,
    SWITCHES,
    TIME,
    WINDOW,
)
from kprof.analysis.replay.columns import Ints, Replay
from kprof.analysis.replay.frames import path_of


def can_call(r: Replay, caller: int, callee: int) -> bool:
    """Can `callee` run directly above `caller`, by what is known of the program?"""
    return (r.can[caller * r.stride + (callee >> 3)] >> (callee & 7)) & 1 != 0


def _fn(r: Replay, sp: int) -> int:
    """The function of a frame."""
    return r.frames[sp + FN] & (MARK - 1)


def choose(r: Replay, ops: Ints, i: int, stop: int, last: bool, first: int, skip: int) -> int:
    """The slot of the task that the switch at event `i` resumes; NONE: one not seen before.

    NEED_MORE: cannot be told before more events are there. `first` is a function whose exit the
    switch itself is, or NONE; `skip` the switch-in function, whose own exit may come first and
    says nothing.
    """
    state, contexts = r.state, r.contexts
    if state[QUEUED] == 0 and state[KNOWS]:
        return NONE
    found = _read_slice(r, ops, i, stop, last, first, skip)
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
    slot = state[OLDEST]
    while slot >= 0:
        hits = _explains(r, slot, count, exits, ended)
        if hits >= 0 and hits >= most:
            likely = _likelihood(r, slot, count)
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
    contexts[best + C_CUT] = NONE if certain else _cut(r, best, count)
    if not state[KNOWS] and contexts[best + C_SLICES] < LEARNING:
        _learn(r, best, count if many == 1 or likeliest > LIKELY * second else 0, pairs)
    return best


def learn_new(r: Replay, slot: int, ops: Ints, i: int, stop: int) -> None:
    """Remember the calls of the first slice of a context, which `choose` has read."""
    if r.state[KNOWS]:
        return
    found = _read_slice(r, ops, i, stop, True, NONE, NONE)
    _learn(r, slot, found >> 24, (found >> 2) & 0x3FFFFF)


def look_first(r: Replay, ops: Ints, i: int, stop: int, last: bool) -> bool:
    """Remember the calls of the capture's first slice; False where more events are needed."""
    found = _read_slice(r, ops, i - 1, stop, last, NONE, NONE)
    if found == NEED_MORE:
        return False
    r.state[FIRST_LOOK] = 0
    _learn(r, r.state[SLOT], found >> 24, (found >> 2) & 0x3FFFFF)
    return True


def _read_slice(r: Replay, ops: Ints, i: int, stop: int, last: bool, first: int, skip: int) -> int:
    """Read ahead up to the next switch: what happens at the base goes to `items`.

    Returns ``items << 24 | pairs << 2 | ended << 1 | exits`` or NEED_MORE.
    """
    items, inside, pairs = r.items, r.inside, r.pairs
    count = 0
    made = 0
    exits = 0
    ended = 0
    depth = 0
    if first >= 0:
        items[0] = -1 - first
        count = 1
        exits = 1
    j = i
    while count < MOST_ITEMS and j - i < WINDOW:
        j += 1
        if j >= stop:
            if last:
                ended = 1 if j == i + 1 else 0
                break
            return NEED_MORE
        op = ops[j]
        fn = op
        if op >= SPECIAL:
            kind = (op - SPECIAL) & (KINDS - 1)
            if kind >= SWITCH_OUT:
                break
            if kind != GUARDED:
                continue
            fn = (op - SPECIAL) // KINDS
        if op >= 0:
            if depth == 0:
                if count == 0 or items[count - 1] != fn:
                    items[count] = fn
                    count += 1
            elif made < 4 * MOST_ITEMS:
                pairs[made] = (inside[depth] << 20) | fn
                made += 1
            if depth < MOST_ITEMS * 4 - 1:
                depth += 1
                inside[depth] = fn
            continue
        fn = -1 - op
        k = depth
        while k > 0 and inside[k] != fn:
            k -= 1
        if k > 0:
            depth = k - 1
        elif not (fn == skip and exits == 0):
            depth = 0
            items[count] = op
            count += 1
            exits = 1
    return (count << 24) | (made << 2) | (ended << 1) | exits


def _explains(r: Replay, slot: int, count: int, exits: bool, ended: bool) -> int:
    """How many exits of the slice close calls of this task, or -1 where it cannot be its."""
    contexts, items, role = r.contexts, r.items, r.role
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    if sp > base:
        top = role[_fn(r, sp)]
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
            if _fn(r, sp) != fn:
                return -1
            sp -= FRAME
            hits += 1
        elif r.state[KNOWS] and not can_call(r, _fn(r, sp), item):
            return -1
    return hits


def _spot(r: Replay, key: int) -> int:
    """Where a key is, or would be, in the table of what was seen."""
    seen = r.seen
    mask = r.state[SEEN_MASK]
    at = (key * 0x9E3779B1 ^ (key >> 31)) & mask
    while seen[at] != key and seen[at] >= 0:
        at = (at + 1) & mask
    return at


def _count(r: Replay, key: int) -> None:
    state = r.state
    at = _spot(r, key)
    if r.seen[at] < 0:
        if 2 * state[SEEN] > state[SEEN_MASK]:
            return
        r.seen[at] = key
        state[SEEN] += 1
    r.times_seen[at] += 1


def _remember(r: Replay, caller: int, callee: int) -> None:
    """Count a call that is beyond doubt."""
    _count(r, (caller << 20) | callee)
    _count(r, (caller << 20) | ANY)


def _likelihood(r: Replay, slot: int, count: int) -> float:
    """How likely this task makes the calls at the base of the slice, by what was seen of it."""
    if r.state[KNOWS]:
        return 1.0
    contexts, items = r.contexts, r.items
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    likely = 1.0
    calls = 0
    for k in range(count):
        item = items[k]
        if sp == base or calls == 12:
            break
        if item < 0:
            if _fn(r, sp) != -1 - item:
                sp -= FRAME
            sp -= FRAME
        else:
            calls += 1
            key = _fn(r, sp) << 20
            at = _spot(r, key | item)
            same = r.times_seen[at] if r.seen[at] >= 0 else 0
            at = _spot(r, key | ANY)
            every = r.times_seen[at] if r.seen[at] >= 0 else 0
            likely *= (same + 0.25) / (every + 2.0)
    return likely


def _learn(r: Replay, slot: int, count: int, pairs: int) -> None:
    """Remember who called what in a slice that is this task's beyond doubt."""
    contexts, items = r.contexts, r.items
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    for k in range(count):
        item = items[k]
        if sp == base:
            break
        if item < 0:
            if _fn(r, sp) != -1 - item:
                sp -= FRAME
            sp -= FRAME
        else:
            _remember(r, _fn(r, sp), item)
    for k in range(pairs):
        pair = r.pairs[k]
        _remember(r, pair >> 20, pair & 0xFFFFF)


def _unwinding(r: Replay, count: int, exits: bool, ended: bool) -> int:
    """The task that no exit of the slice closes from the top, but a longjmp in it explains."""
    state, contexts = r.state, r.contexts
    best = NONE
    many = 0
    most = 0
    slot = state[OLDEST]
    while slot >= 0:
        hits = _explains_by_longjmp(r, slot, count)
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
        mended = _mend(r, count, exits, ended)
        if mended >= 0:
            return mended
    if many > 1:
        state[AMBIGUOUS] += 1
    return best


def _explains_by_longjmp(r: Replay, slot: int, count: int) -> int:
    """How many exits of the slice close calls of this task, deeper ones too, or -1."""
    contexts, items = r.contexts, r.items
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    hits = 0
    for k in range(count):
        item = items[k]
        if item < 0:
            while sp > base and _fn(r, sp) != -1 - item:
                sp -= FRAME
            if sp == base:
                return -1
            sp -= FRAME
            hits += 1
        elif r.state[KNOWS]:
            below = sp
            while below > base and not can_call(r, _fn(r, below), item):
                below -= FRAME
            if below == base:
                return -1
            sp = below
    return hits


def _cut(r: Replay, slot: int, count: int) -> int:
    """How much of a task's stack is below what the exits of the slice close."""
    contexts = r.contexts
    base = contexts[slot + C_BASE]
    sp = contexts[slot + C_SP]
    for k in range(count):
        item = r.items[k]
        if item < 0 and sp > base:
            if _fn(r, sp) != -1 - item:
                sp -= FRAME
            if sp > base:
                sp -= FRAME
    return sp - base


def _mend(r: Replay, count: int, exits: bool, ended: bool) -> int:
    """No task explains the slice: did an ambiguous switch before mix up two of them?

    If the one that ran then was another, the upper parts of their stacks are exchanged.
    """
    state, contexts = r.state, r.contexts
    slot = state[OLDEST]
    while slot >= 0:
        cut = contexts[slot + C_CUT]
        if cut > 0:
            other = state[OLDEST]
            while other >= 0:
                if other != slot:
                    split = _joint(r, slot, cut, other, count)
                    if split >= 0 and _exchange(r, slot, cut, other, split):
                        if _explains(r, slot, count, exits, ended) >= 0:
                            contexts[slot + C_CUT] = NONE
                            return slot
                        _exchange(r, slot, cut, other, split)
                other = contexts[other + C_NEXT]
        slot = contexts[slot + C_NEXT]
    return NONE


def _joint(r: Replay, slot: int, cut: int, other: int, count: int) -> int:
    """Where the stack of `other` must be cut so that its top and what is below the cut of `slot`
    explain the exits of the slice; or -1.
    """
    contexts, items = r.contexts, r.items
    sp = contexts[other + C_SP]
    base = contexts[other + C_BASE]
    below = contexts[slot + C_BASE] + cut
    wanted = _fn(r, below)
    for k in range(count):
        item = items[k]
        if item >= 0:
            continue
        if wanted == -1 - item and sp < contexts[other + C_SP]:
            return sp - base
        if sp == base or _fn(r, sp) != -1 - item:
            return -1
        sp -= FRAME
    return -1


def _exchange(r: Replay, one: int, cut: int, two: int, split: int) -> bool:
    """Exchange what two tasks have above `cut` and `split`; False where there is no room.

    No call gains or loses time: what was spent above goes along, and is taken from the calls below.
    """
    contexts, frames = r.contexts, r.frames
    a = contexts[one + C_BASE] + cut + FRAME
    b = contexts[two + C_BASE] + split + FRAME
    above_a = contexts[one + C_SP] + FRAME - a
    above_b = contexts[two + C_SP] + FRAME - b
    if above_a <= 0 or above_b <= 0:
        return False
    if a + above_b + FRAME > contexts[one + C_END] or b + above_a + FRAME > contexts[two + C_END]:
        return False
    more = _spent(r, one, a) - _spent(r, two, b)
    _rebase(r, one, two, a, above_a)
    _rebase(r, two, one, b, above_b)
    child = frames[a + CHILD]
    frames[a + CHILD] = frames[b + CHILD]
    frames[b + CHILD] = child
    for k in range(max(above_a, above_b)):
        here = frames[a + k]
        there = frames[b + k]
        if k < above_b:
            frames[a + k] = there
        if k < above_a:
            frames[b + k] = here
    for k in range(contexts[one + C_BASE] + FRAME, a, FRAME):
        frames[k + AWAY_AT] -= more
    for k in range(contexts[two + C_BASE] + FRAME, b, FRAME):
        frames[k + AWAY_AT] += more
    child = contexts[one + C_CHILD]
    contexts[one + C_CHILD] = contexts[two + C_CHILD]
    contexts[two + C_CHILD] = child
    contexts[one + C_SP] = a + above_b - FRAME
    contexts[two + C_SP] = b + above_a - FRAME
    if r.state[DETAIL]:
        for k in range(a, a + above_b, FRAME):
            frames[k + PATH] = path_of(r, frames[k - FRAME + PATH], _fn(r, k))
        for k in range(b, b + above_a, FRAME):
            frames[k + PATH] = path_of(r, frames[k - FRAME + PATH], _fn(r, k))
    return True


def _spent(r: Replay, slot: int, sp: int) -> int:
    """The elapsed time of a call of a suspended task."""
    contexts, frames = r.contexts, r.frames
    away = contexts[slot + C_AWAY] - frames[sp + AWAY_AT]
    return contexts[slot + C_WHEN] - frames[sp + TIME] - away


def _rebase(r: Replay, of: int, to: int, start: int, length: int) -> None:
    """Keep the elapsed times of calls of task `of` when they become those of task `to`."""
    contexts = r.contexts
    gone = contexts[to + C_AWAY] - contexts[to + C_WHEN]
    gone -= contexts[of + C_AWAY] - contexts[of + C_WHEN]
    for k in range(start, start + length, FRAME):
        r.frames[k + AWAY_AT] += gone


def leaves_early(r: Replay, ops: Ints, i: int, stop: int, last: bool, fn: int) -> int:
    """Does the switch function `fn`, entered at event `i`, leave before anything else at the base?

    1: then the processor changes stacks after its exit; 0: or NEED_MORE events to tell.
    """
    inside = r.inside
    depth = 0
    for j in range(i + 1, min(stop, i + WINDOW)):
        op = ops[j]
        if op < 0:
            left = -1 - op
            k = depth
            while k > 0 and inside[k] != left:
                k -= 1
            if k > 0:
                depth = k - 1
            elif depth == 0:
                return 1 if left == fn else 0
        elif op < SPECIAL:
            if depth < MOST_ITEMS * 4 - 1:
                depth += 1
                inside[depth] = op
        elif (op - SPECIAL) & (KINDS - 1) >= SWITCH_OUT:
            return 0
    if last or stop - i >= WINDOW:
        return 0
    return NEED_MORE
