"""What ran, as one pile of calls: the stream of steps cut at the context switches.

A context's calls are closed at its switch out and opened again at its switch in, so that the time
on top of the pile is the net time of the summary and the time in it the elapsed time; the time with
nothing open is idle in the system context and unattributed in a task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kprof.analysis.stream import ENTER, INLINE, LEAVE, Stream

OPEN, CLOSE, CONTEXT, MARK = 0, 1, 2, 3


class Action(NamedTuple):
    """OPEN or CLOSE of function `value`, inline trigger `value`, or the CONTEXT that runs now."""

    kind: int
    value: int
    time: int


def running(stream: Stream) -> Iterator[list[Action]]:
    """The actions of a capture in order of time, a list for each block of steps.

    The first is the context that runs at the start; everything is closed before the last.
    """
    stacks: dict[int, list[int]] = {}
    context = stream.first
    pile: list[int] = []  # what is open: the stack of `context`
    actions = [Action(CONTEXT, context, 0)]
    for steps in stream:
        columns = (steps.kind, steps.name, steps.time, steps.context)
        for kind, name, time, own in zip(*(c.tolist() for c in columns), strict=True):
            if kind == ENTER:
                stacks.setdefault(own, []).append(name)
                pile.append(name)
                actions.append(Action(OPEN, name, time))
            elif kind == LEAVE:
                stack = stacks[own]
                stack.pop()
                if not stack:
                    del stacks[own]
                if own == context:
                    pile.pop()
                    actions.append(Action(CLOSE, name, time))
            elif kind == INLINE:
                actions.append(Action(MARK, name, time))
            else:
                actions.extend(Action(CLOSE, fn, time) for fn in reversed(pile))
                context = own
                pile = list(stacks.get(own, ()))
                actions.append(Action(CONTEXT, own, time))
                actions.extend(Action(OPEN, fn, time) for fn in pile)
        yield actions
        actions = []
