"""A discrete simulation of a kernel that keeps its own books: the ground truth for the analysis.

Tasks, a system context with an idle loop, interrupts (nested, on whatever runs), recursion,
longjmp, inline triggers, tasks that end, and three ways to switch:

- ``pair``: `sw_sys` and `sw_task`, whose exits are seen on the far side of the switch;
- ``early``: the same, whose exits are seen before the processor changes stacks;
- ``swtch``: one function, entered by one task and left by the next.

It is written for clarity: every tick is booked when it passes, to the call that runs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

FUNCTIONS = [f"f{i}" for i in range(8)]
IRQS = ["irq0", "irq1"]
TASKS = 5


def name_text(style: str) -> str:
    """The name file of the simulated kernel."""
    lines = [
        f"{name}/{1024 + 2 * i}" for i, name in enumerate(FUNCTIONS + IRQS + ["sched", "sleep"])
    ]
    for k in range(TASKS):
        lines += [f"wait{k}/{1100 + 8 * k}", f"main{k}/{1102 + 8 * k}", f"fork{k}/{1104 + 8 * k}"]
        lines += [f"exit{k}/{1106 + 8 * k}"]
    lines += ["mark/1300="]
    lines += ["swtch/1310!"] if style == "swtch" else ["sw_sys/1310$", "sw_task/1312*"]
    return "\n".join(lines) + "\n"


@dataclass(eq=False)
class Call:
    """A call as the simulation knows it; `entry` is None for one from before the capture."""

    name: str
    entry: int | None
    context: int
    exit: int | None = None
    net: int = 0
    elapsed: int = 0
    unwound: bool = False


@dataclass(eq=False)
class Context:
    """A stack; `pending` is the time below its known calls since it was switched in."""

    number: int
    stack: list[Call] = field(default_factory=list)
    pending: int = 0
    low: int = 0
    state: str = "fresh"


class Kernel:
    """Run it, then compare `times`, `tags` with what it knows."""

    def __init__(self, seed: int, style: str, fair: bool, steps: int = 400) -> None:
        self.random = random.Random(seed)
        self.style, self.fair = style, fair
        self.tag = {}
        for line in name_text(style).splitlines():
            name, value = line.rstrip("=$*!").split("/")
            self.tag[name] = int(value)
        self.times: list[int] = []
        self.tags: list[int] = []
        self.now = 0
        self.calls: list[Call] = []
        self.orphans: list[tuple[str, int]] = []
        self.idle = self.unattributed = self.switches = self.marks = 0
        self.system = Context(0)
        self.tasks = [Context(k + 1) for k in range(TASKS)]
        self.queue: list[Context] = []
        self.running = self.system
        self.run(steps)

    # -- time and events

    def pass_time(self) -> None:
        big = self.random.random() < 0.003
        dt = self.random.randrange(1 << 23) if big else self.random.choice((0, 1, 2, 5, 17))
        if not self.times:
            return
        self.now += dt
        context = self.running
        for call in context.stack:
            if call.entry is not None:
                call.elapsed += dt
        if context.stack and context.stack[-1].entry is not None:
            context.stack[-1].net += dt
        else:
            context.pending += dt

    def event(self, tag: int) -> None:
        self.pass_time()
        self.times.append(self.now)
        self.tags.append(tag)

    def enter(self, name: str) -> None:
        self.event(self.tag[name])
        self.opened(name)

    def opened(self, name: str) -> None:
        call = Call(name, self.now, self.running.number)
        self.calls.append(call)
        self.running.stack.append(call)

    def leave(self, frames: int = 1) -> None:
        """The exit of the call `frames` below; what is above it is unwound."""
        context = self.running
        self.event(self.tag[context.stack[-frames].name] + 1)
        self.closed(frames)

    def closed(self, frames: int = 1) -> None:
        context = self.running
        for above in range(1, frames + 1):
            call = context.stack.pop()
            call.unwound = above < frames
            if call.entry is None:
                self.orphans.append((call.name, context.pending))
                context.pending = 0
            else:
                call.exit = self.now
        context.low = min(context.low, len(context.stack))

    # -- switching

    def settle(self) -> None:
        """The running context stops: what was below its calls stays unknown, or was idle."""
        if self.running is self.system:
            self.idle += self.running.pending
        else:
            self.unattributed += self.running.pending
        self.running.pending = 0

    def run_next(self, context: Context) -> None:
        self.settle()
        self.running = context
        context.low = len(context.stack)
        self.switches += 1

    def to_system(self) -> None:
        task = self.running
        self.enter("swtch" if self.style == "swtch" else "sw_sys")
        if self.style == "early":
            self.pass_interrupts()
            self.leave()
        self.queue.append(task)
        self.run_next(self.system)
        if self.style == "pair":
            self.pass_interrupts()
            self.leave()

    def to_task(self, task: Context) -> None:
        if self.style == "swtch":
            self.event(self.tag["swtch"] + 1)
        else:
            self.enter("sw_task")
            if self.style == "early":
                self.pass_interrupts()
                self.leave()
        fresh = task.state == "fresh"
        if fresh:
            task.state = "alive"
            # Where the switch leaves no trace of its own, a task begins as the child of a fork.
            if self.style != "pair":
                task.stack.append(Call(f"fork{task.number - 1}", None, task.number))
            if self.style == "swtch":
                task.stack.append(Call("swtch", None, task.number))
        else:
            self.queue.remove(task)
        self.run_next(task)
        if self.style == "swtch":
            self.closed()
        elif self.style == "pair" and not fresh:
            self.pass_interrupts()
            self.leave()
        if fresh:
            if self.style != "pair":
                self.pass_interrupts()
                self.leave()
            self.enter(f"main{task.number - 1}")
        elif not self.fair:
            # The exit that tells this task from the others comes before its next switch.
            self.pass_interrupts()
            self.leave()

    # -- what runs

    def pass_interrupts(self) -> None:
        while self.random.random() < 0.15:
            self.interrupt()

    def interrupt(self, level: int = 0) -> None:
        self.enter(self.random.choice(IRQS))
        while self.random.random() < 0.4:
            if level < 2 and self.random.random() < 0.3:
                self.interrupt(level + 1)
            else:
                self.enter(self.random.choice(FUNCTIONS))
                self.leave()
        self.leave()

    def work(self) -> None:
        context = self.running
        own = len(context.stack) - context.low
        choice = self.random.random()
        if choice < 0.40:
            self.enter(self.random.choice(FUNCTIONS))
        elif choice < 0.70 and (own or len(context.stack) > 1):
            self.leave()
        elif choice < 0.75 and own > 1:
            # longjmp: the frames of one function in between would hide the one that is meant
            frames = self.random.randrange(2, own + 1)
            target = context.stack[-frames].name
            if all(
                call.name != target for call in context.stack[len(context.stack) - frames + 1 :]
            ):
                self.leave(frames)
        elif choice < 0.80:
            self.event(self.tag["mark"])
            self.marks += 1
        else:
            self.pass_interrupts()

    def step(self) -> None:
        if self.running is self.system:
            self.pass_interrupts()
            if self.random.random() < 0.3:
                self.enter("sched")
                self.pass_interrupts()
                self.leave()
            fresh = [task for task in self.tasks if task.state == "fresh"]
            ready = [task for task in self.queue if task.state == "alive"]
            if fresh and (not ready or self.random.random() < 0.2):
                self.to_task(self.random.choice(fresh))
            elif ready:
                self.to_task(ready[0] if self.fair else self.random.choice(ready))
            return
        number = self.running.number - 1
        for _ in range(self.random.randrange(12)):
            self.work()
        many = sum(task.state == "alive" for task in self.tasks)
        if not self.fair and many > 1 and self.random.random() < 0.02:
            self.enter(f"exit{number}")
            self.running.state = "ended"
        else:
            self.enter("sleep" if self.fair else f"wait{number}")
        self.to_system()

    def run(self, steps: int) -> None:
        if self.random.random() < 0.5:
            # The capture begins in a task, with the system inside a call of its own.
            self.running = self.tasks[0]
            self.running.state = "alive"
            if self.style == "pair":
                self.system.stack.append(Call("sw_task", None, 0))
            self.enter("main0")
        else:
            self.enter("sched")
            self.leave()
        while len(self.tags) < steps:
            self.step()
        self.settle()
        for context in [self.system, *self.tasks]:
            for call in context.stack:
                if call.entry is not None:
                    call.exit = None
