"""Which task a switch-in resumes: the replay's look ahead.

See `kprof.analysis.replay` for the rules, and `kprof.analysis.states` for the names.
"""

from __future__ import annotations

from typing import Any

from kprof.analysis.states import (
    NEED_MORE,
    QUEUED,
    SPECIAL,
    SWITCH_OUT,
    UNWIND_LOOK,
    WINDOW,
)


def foresee(
    ops: Any,
    i: int,
    stop: int,
    last: bool,
    first: int,
    skip: int,
    state: Any,
    tables: Any,
    pool: Any,
    queue: Any,
    look: Any,
) -> int:
    """The place in the queue of the context that the switch-in at event `i` resumes.

    -1: none that is known. NEED_MORE: cannot be told before more events are there. `first` is an
    exit that the switch itself is (-1: none); `skip` the switch-in function, whose own exit may
    come first and says nothing.
    """
    p_fn = pool[0]
    p_next = pool[6]
    q_top = queue[1]
    x_node, x_hits, l_fn = look
    switcher = tables[1]
    queued = state[QUEUED]
    if queued == 0:
        return -1
    for c in range(queued):
        x_node[c] = q_top[c]
        x_hits[c] = 0
    exits = 0
    depth = 0
    leaving = first
    ended = False
    j = i
    while True:
        if leaving >= 0:
            alive = 0
            for c in range(queued):
                node = x_node[c]
                if node >= 0:
                    below = p_next[node]
                    if below < 0:
                        alive += 1  # all its calls are closed: what it ran before is not known
                    elif p_fn[node] == leaving:
                        x_node[c] = below
                        x_hits[c] += 1
                        alive += 1
                    elif (
                        exits == 0
                        and switcher[p_fn[node]]
                        and p_next[below] >= 0
                        and p_fn[below] == leaving
                    ):
                        # A switch function without an exit trigger.
                        x_node[c] = p_next[below]
                        x_hits[c] += 1
                        alive += 1
                    else:
                        x_node[c] = -1
            exits += 1
            leaving = -1
            if alive == 0:
                return -1
        j += 1
        if j >= stop:
            if last:
                ended = j == i + 1
                break
            if j - i >= WINDOW:
                break
            return NEED_MORE
        op = ops[j]
        if op < 0:
            fn = -1 - op
            k = depth
            low = max(0, depth - UNWIND_LOOK)
            while k > low and l_fn[k] != fn:
                k -= 1
            if k > low:
                depth = k - 1
            elif low == 0 and not (fn == skip and exits == 0):
                depth = 0
                leaving = fn
        elif op < SPECIAL:
            depth += 1
            l_fn[depth] = op
        elif (op - SPECIAL) & 7 >= SWITCH_OUT:
            break
    best = -1
    most = -1
    for c in range(queued):
        if x_node[c] >= 0 and x_hits[c] > most:
            top = q_top[c]
            inside = p_next[top] >= 0 and switcher[p_fn[top]] != 0
            if exits > 0 or ended or not inside:
                # A context that stopped inside a switch function shows that function's exit first.
                best = c
                most = x_hits[c]
    return best


def leaves_early(ops: Any, i: int, stop: int, last: bool, fn: int, look: Any) -> int:
    """Does the switch function `fn`, entered at event `i`, leave before anything else at the base?

    1: then the processor changes stacks after its exit; 0: or NEED_MORE events to tell.
    """
    l_fn = look[2]
    depth = 0
    for j in range(i + 1, stop):
        op = ops[j]
        if op < 0:
            left = -1 - op
            k = depth
            low = max(0, depth - UNWIND_LOOK)
            while k > low and l_fn[k] != left:
                k -= 1
            if k > low:
                depth = k - 1
            elif depth == 0:
                return 1 if left == fn else 0
        elif op < SPECIAL:
            depth += 1
            l_fn[depth] = op
        elif (op - SPECIAL) & 7 >= SWITCH_OUT:
            return 0
    if last or stop - i > WINDOW:
        return 0
    return NEED_MORE
