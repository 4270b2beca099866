"""Reading ahead up to the next switch: the exits and calls of a slice at its base."""

from __future__ import annotations

from kprof.analysis.replay.codes import (
    GUARDED,
    KINDS,
    MOST_ITEMS,
    NEED_MORE,
    SPECIAL,
    SWITCH_OUT,
    WINDOW,
)
from kprof.analysis.replay.columns import Ints, Replay


def read_slice(r: Replay, ops: Ints, i: int, stop: int, last: bool, first: int, skip: int) -> int:
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
