"""The Profiler of a simulated kernel, and the kernel's own books of every tick."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.analysis.programs import Options, Program
from tests.analysis.truth import MARK, SYSTEM, Books, Call, Context, Switch


class Full(Exception):  # noqa: N818
    """The capture ends."""


@dataclass(eq=False)
class Task(Context):
    """A context that the kernel runs; `gone` frames of its stack are left at its next event."""

    state: str = "fresh"
    wake: int = 0
    gone: int = 0
    code: Iterator[None] | None = None


class Recorder:
    """What runs on a machine, event by event; `ns`, `ticks`, `tags` and `truth` grow.

    `switching` is true inside a switch function that leaves before the switch, where a capture
    neither begins nor ends. `first` is the context that the capture began in, while it runs.
    """

    def __init__(self, seed: int, options: Options, program: Program) -> None:
        self.options, self.program = options, program
        self.random = random.Random(seed)
        self.truth = Books()
        self.ns: list[int] = []
        self.ticks: list[int] = []
        self.tags: list[int] = []
        self.now = self.random.randrange(10**11)
        self.fired = 0
        self.last = 0
        self.switching = False
        self.system = Task(SYSTEM, state="system")
        self.tasks = [Task(k + 1) for k in range(options.tasks)]
        self.idle = Task(options.tasks + 1, state="idle")
        self.current = self.system
        self.first: Task | None = None

    @property
    def times(self) -> list[int]:
        """The absolute time of every event in ticks since the first."""
        hz = self.options.clock_hz
        return [t * hz // 10**9 - self.ns[0] * hz // 10**9 for t in self.ns]

    def fire(self, tag: int, effect: Callable[[], None] = lambda: None) -> None:
        """An event, and what it does."""
        self.fired += 1
        late = self.options.start and self.switching and not self.ns
        if self.fired <= self.options.start or late:
            self.leave_gone()
            effect()
            return
        tick = self.now * self.options.clock_hz // 10**9
        if not self.ns:
            self.begin(tick)
        if len(self.ns) >= self.options.events and not self.switching:
            raise Full
        self.book(tick - self.last)
        self.last = tick
        self.ns.append(self.now)
        self.ticks.append(tick % (1 << self.options.time_bits))
        self.tags.append(tag)
        self.leave_gone()
        effect()
        self.truth.running.append(self.current.number)

    def begin(self, tick: int) -> None:
        """The capture begins: what happened before is not known."""
        self.first = self.current
        self.truth = Books()
        self.last = tick
        self.current.since, self.current.since_event = tick, 0
        for context in [self.system, self.idle, *self.tasks]:
            self.forget(context)
            context.pending = 0

    def forget(self, context: Task) -> None:
        for call in context.stack:
            call.entry, call.parent = None, None

    def book(self, dt: int) -> None:
        context = self.current
        for call in context.stack:
            call.elapsed += dt
        if context.stack and context.stack[-1].entry is not None:
            self.book_own(context.stack[-1], dt)
        else:
            context.pending += dt

    def book_own(self, call: Call, dt: int) -> None:
        call.net += dt
        if call.own != "net":
            setattr(self.truth, call.own, getattr(self.truth, call.own) + dt)

    def settle(self) -> None:
        if self.current is self.system:
            self.truth.idle += self.current.pending
        else:
            self.truth.unattributed += self.current.pending
        self.current.pending = 0

    def spend(self, most: int = 0) -> None:
        """Let a little time pass; often none, sometimes much."""
        steps = (0, 0, 100, 300, 700, 1000, 2500, 5000, 17000, 40000)
        dt = self.random.choice(steps)
        if self.random.random() < 0.004:
            dt = self.random.randrange(8 * 10**15 // self.options.clock_hz)
        self.now += min(dt, most) if most else dt

    def enter(self, name: str) -> Call:
        self.spend()
        context = self.current
        kind = self.program.kinds.get(name, "net")

        def effect() -> None:
            parent = context.stack[-1] if context.stack else None
            known = parent if parent and parent.entry is not None else None
            entry = len(self.ns) - 1
            call = Call(name, entry, context.number, parent=known, own=kind)
            self.truth.calls.append(call)
            context.stack.append(call)

        self.fire(self.program.tags[name], effect)
        return context.stack[-1]

    def leave(self, context: Task | None = None, frames: int = 1) -> None:
        """The exit of a call of the running context, or of one that it was switched from."""
        self.spend(0 if context is None else 1)
        if context is not None:
            self.now = self.ns[-1] if self.ns else self.now
        on = context or self.current
        self.fire(
            self.program.tags[on.stack[-frames].name] + 1,
            lambda: self.close(on, len(self.ns) - 1, frames),
        )

    def close(self, on: Task, number: int, frames: int = 1, silent: bool = False) -> None:
        keep = len(on.stack) - frames
        for _ in range(frames):
            call = on.stack.pop()
            call.exit, call.unwound, call.silent = number, len(on.stack) > keep, silent
            if call.entry is not None or call.unwound:
                continue
            call.orphan, call.entry, call.elapsed = True, on.since_event, 0
            call.net = 0
            self.book_own(call, on.pending)
            on.pending = 0
            call.elapsed = self.last - on.since
            if not silent:
                self.truth.orphans.append(call)

    def leave_gone(self) -> None:
        """What a longjmp has left is seen to be gone now."""
        context = self.current
        for _ in range(context.gone):
            call = context.stack.pop()
            call.exit, call.unwound = len(self.ns) - 1, True
        context.gone = 0

    def to(self, task: Task, marked: bool = False) -> None:
        """The processor goes to another context, at the last event.

        A mark of the task that runs says nothing, but for the one that ran first.
        """
        if task is self.current and not (marked and task is self.first):
            return
        me, number = self.current, len(self.ns) - 1
        if me is self.first:
            self.truth.first = me.pending
            if self.options.marks and me is not self.system:
                self.detach(me)
            self.first = None
        self.settle()
        me.suspended = self.fired
        self.current = task
        task.since, task.since_event = self.last, number
        if task.stack and not self.program.leaves(task.stack[-1].name):
            self.close(task, number, silent=True)

    def detach(self, me: Task) -> None:
        """No mark says which task ran first: what it is in is not known to be its later stack."""
        known = [call for call in me.stack if call.entry is not None]
        for call in self.truth.calls + self.truth.orphans:
            call.context = -1
        self.truth.running = [-1 for _ in self.truth.running]
        left = {id(call): replace(call) for call in known}
        for call in [*left.values(), *self.truth.calls]:
            call.parent = left.get(id(call.parent), call.parent)
        self.truth.calls = [left.get(id(call), call) for call in self.truth.calls]
        self.forget(me)
        if self.options.style == "near":
            # Its exit is still to be seen, where the next task runs.
            me.stack[-1] = self.truth.calls[-1]

    def mark(self, task: Task) -> None:
        """Task `task` runs from here on."""
        self.now += self.random.randrange(self.options.mark_gap + 1)
        number = 0 if task is self.idle else task.number
        self.fire(4096 + number, lambda: self.to(task, marked=True))
        self.truth.switches.append(Switch(len(self.ns) - 1, task.number, MARK, True))
