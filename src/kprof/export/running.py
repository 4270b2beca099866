"""What ran, as one pile of calls: the stream of steps cut where something else went on.

A context's calls are closed at its switch out and opened again at its switch in; an interrupt
closes what it came on, and runs in a context of its own. So the time on top of the pile is the net
time of the summary; idle, user and unattributed time, and that of calls that are left out, are
calls of their own (`REST`) on top of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kprof.analysis.stream import ENTER, INLINE, LEAVE
from kprof.export.labels import IDLE, LEFT_OUT, UNATTRIBUTED, USER
from kprof.export.view import INTERRUPTS, View

OPEN, CLOSE, CONTEXT, MARK = 0, 1, 2, 3
END = -2
"""The context after the end of the capture."""
REST = (IDLE, UNATTRIBUTED, USER, LEFT_OUT)
"""What ran where no function had net time; their numbers follow those of the functions."""


class Action(NamedTuple):
    """OPEN or CLOSE of function `value`, inline trigger `value`, or the CONTEXT that runs now."""

    kind: int
    value: int
    time: int


class _Call(NamedTuple):
    function: int
    kept: bool
    inside: int


def running(view: View) -> Iterator[list[Action]]:
    """The actions of a capture in order of time, a list for each block of steps.

    The first is the context that runs at the start, the last the context `END` at the end.
    """
    pile = _Pile(view)
    for shown in view:
        steps = shown.steps
        columns = (
            steps.kind, steps.name, steps.time, steps.context, shown.kept, shown.inside,
        )  # fmt: skip
        for kind, name, time, own, kept, inside in zip(*(c.tolist() for c in columns), strict=True):
            if kind == ENTER:
                pile.enter(own, _Call(name, kept, inside), time)
            elif kind == LEAVE:
                pile.leave(own, time)
            elif kind == INLINE:
                if kept:
                    pile.mark(name, time)
            else:
                pile.switch(own, time)
        yield pile.taken()
    pile.close(view.ledger.elapsed)
    yield pile.taken()


class _Pile:
    def __init__(self, view: View) -> None:
        self._stacks: dict[int, list[_Call]] = {}
        self._context = view.first
        self._stack = self._stacks.setdefault(view.first, [])
        self._open: list[int] = []  # what is shown
        self.actions = [Action(CONTEXT, view.first, 0)]
        base = len(view.functions)
        self._idle, self._unattributed, self._user, self._left_out = range(base, base + 4)
        self._own = [
            self._user if user else self._idle if idle else -1
            for user, idle in zip(view.user, view.idle, strict=True)
        ]
        self._since = 0
        self._rest = self._now()

    def taken(self) -> list[Action]:
        """The actions since the last time."""
        actions, self.actions = self.actions, []
        return actions

    def _now(self) -> int:
        """What of `REST` goes on; -1: a function that is shown."""
        if not self._stack:
            return self._unattributed if self._context else self._idle
        function, kept, _ = self._stack[-1]
        own = self._own[function]
        return own if own >= 0 else -1 if kept else self._left_out

    def _pass(self, time: int) -> None:
        """Until now, `_rest` has gone on."""
        if self._rest >= 0 and time > self._since:
            self.actions.append(Action(OPEN, self._rest, self._since))
            self.actions.append(Action(CLOSE, self._rest, time))
        self._since = time

    def enter(self, context: int, call: _Call, time: int) -> None:
        if context != self._context:
            self._stacks.setdefault(context, []).append(call)
            return
        self._pass(time)
        if call.inside == 1:
            self._close(time)
            self.actions.append(Action(CONTEXT, INTERRUPTS, time))
        self._stack.append(call)
        if call.kept:
            self._open.append(call.function)
            self.actions.append(Action(OPEN, call.function, time))
        self._rest = self._now()

    def leave(self, context: int, time: int) -> None:
        stack = self._stacks[context]
        if context != self._context:
            stack.pop()
            if not stack:
                del self._stacks[context]
            return
        self._pass(time)
        call = stack.pop()
        if call.kept:
            self._open.pop()
            self.actions.append(Action(CLOSE, call.function, time))
        if call.inside == 1:
            self._show(time)
        self._rest = self._now()

    def mark(self, name: int, time: int) -> None:
        self._pass(time)
        self.actions.append(Action(MARK, name, time))

    def switch(self, context: int, time: int) -> None:
        self._pass(time)
        self._close(time)
        if not self._stack:
            self._stacks.pop(self._context, None)
        self._context = context
        self._stack = self._stacks.setdefault(context, [])
        self._show(time)
        self._rest = self._now()

    def close(self, time: int) -> None:
        """The end of the capture."""
        time = max(time, self._since)  # single times may run backwards, by what triggers cost
        self._pass(time)
        self._close(time)
        self.actions.append(Action(CONTEXT, END, time))

    def _close(self, time: int) -> None:
        self.actions.extend(Action(CLOSE, function, time) for function in reversed(self._open))
        self._open = []

    def _show(self, time: int) -> None:
        """Open what is shown of the running context's calls: those of an interrupt alone."""
        lowest = next((k for k, call in enumerate(self._stack) if call.inside == 1), -1)
        self.actions.append(Action(CONTEXT, self._context if lowest < 0 else INTERRUPTS, time))
        self._open = [call.function for call in self._stack[max(0, lowest) :] if call.kept]
        self.actions.extend(Action(OPEN, function, time) for function in self._open)
