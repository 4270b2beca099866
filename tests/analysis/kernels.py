"""Random kernels that keep their own books: events, name file, call knowledge and the truth.

Tasks are generators that run until they give the processor away; every event books the time since
the last one to what runs. Where the events cannot show what happened, the truth is what they can
show: a longjmp is seen at the next event of its task, a switch function without an exit trigger
ends when its context goes on, a task mark takes effect at its event, and what began before the
capture is a frame of unknown entry.

Styles of switching (`Options.style`):

- ``pair``: `sw_sys$` and `sw_task*`; their exits are seen when their own context goes on;
- ``early``: the same, left before the processor changes stacks;
- ``swtch``: one function `swtch!`, entered by one task and left by the next;
- ``direct``: `sw_task*` from task to task, no system context (with marks only);
- ``far``, ``near``: an ordinary function `resched` that fires a mark, whose exit is seen when its
  own task goes on, or before the stacks change, as in FreeRTOS (with marks only).
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.analysis.programs import DIRECT, Options, Program
from tests.analysis.recorder import Full, Recorder, Task
from tests.analysis.truth import MARK, Call, Switch


class Jump(Exception):  # noqa: N818
    """A longjmp to `frame`."""

    def __init__(self, frame: Call) -> None:
        self.frame = frame


class Kernel(Recorder):
    """Run a kernel of these options; `ticks`, `tags`, `names`, `knowledge`, `truth` are it."""

    def __init__(self, seed: int, options: Options | None = None) -> None:
        options = options or Options()
        super().__init__(seed, options, self.make_program(options))
        self.names, self.knowledge = self.program.text, self.program.knowledge()
        self.system.code, self.idle.code = self.dispatch(), self.idle_loop()
        for k, task in enumerate(self.tasks):
            task.code = self.main(k)
            self.prepare(task, self.program.own("fork", k))
        if options.style not in DIRECT:
            self.prepare(self.idle, "fork_idle")
        self.run_all()

    def make_program(self, options: Options) -> Program:
        """The functions of this kernel."""
        return Program(options)

    def prepare(self, task: Task, fork: str) -> None:
        """What a new task's stack holds."""
        names = [fork] * (self.options.birth == "fork")
        if self.options.style == "swtch" and not (self.options.marks and not names):
            names.append("swtch")
        task.stack = [Call(name, None, task.number) for name in names]

    def run_all(self) -> None:
        if self.options.style in DIRECT:
            self.current = self.idle
            self.fire(4096)
            self.first = None
            self.truth.switches.append(Switch(0, self.idle.number, MARK, True))
        try:
            while True:
                code = self.current.code
                assert code
                next(code)
        except Full:
            pass
        for call in self.truth.calls:
            call.silent = not self.program.leaves(call.name)
        if self.ns:
            self.truth.elapsed = self.times[-1]
        if self.current is self.first:
            self.truth.first = self.current.pending
            if not self.truth.switches and self.current is self.system:
                self.truth.unattributed += self.current.pending
                self.current.pending = 0
        self.settle()

    # -- switching

    def pick(self) -> Task | None:
        """The task that runs next; None: none is ready."""
        fresh = [task for task in self.tasks if task.state == "fresh"]
        ready = [task for task in self.tasks if task.state == "ready"]
        ready += [task for task in self.tasks if task.state == "blocked" and task.wake <= self.now]
        ready = [task for task in ready if task is not self.current]
        if fresh and (not ready or self.random.random() < 0.2):
            task = fresh[0]
        elif self.options.fair:
            waiting = [task for task in self.tasks if task.state in ("ready", "blocked")]
            waiting.sort(key=lambda task: task.suspended)
            if not waiting or waiting[0] not in ready:
                return None
            task = waiting[0]
        elif ready:
            task = self.random.choice(ready)
        else:
            return None
        task.state = "runs"
        return task

    def give_up(self, state: str) -> Iterator[None]:
        """The running task gives the processor away; it goes on when it is switched to."""
        me, style = self.current, self.options.style
        me.wake = self.now + self.random.randrange(40_000)
        me.state = state if me is not self.idle else "idle"
        if style in DIRECT:
            yield from self.give_up_directly(me)
            return
        self.enter(self.program.switcher)
        if style == "early":
            self.switching = True
            yield from self.run(preempt=False)
            self.leave()
            self.switching = False
        self.to(self.system)
        yield
        if style == "pair" and self.options.out_exit:
            yield from self.run(preempt=False)
            self.leave()

    def give_up_directly(self, me: Task) -> Iterator[None]:
        task = self.pick() or self.idle
        self.switching = self.options.style == "near"
        self.enter(self.program.switcher)
        self.mark(task)
        if self.options.style == "near":
            self.leave(me)
        self.switching = False
        if task is not me:
            yield
        if self.options.style != "near":
            yield from self.run(preempt=False)
            self.leave()

    def dispatch(self) -> Iterator[None]:
        """The system context: idle until a task is ready, then on to it."""
        while True:
            yield from self.run()
            if self.random.random() < 0.2:
                yield from self.call("sched")
            task = self.pick()
            if task is None and self.options.idle_task:
                task = self.idle
            if task is None:
                self.now += self.random.randrange(20_000)
                continue
            style, marks = self.options.style, self.options.marks
            if style == "swtch":
                if marks:
                    self.mark(task)
                if not marks or task.stack:
                    self.swtch_exit(task)
            else:
                self.switching = style == "early"
                self.enter("sw_task")
                if style == "early":
                    yield from self.run(preempt=False)
                if style == "early" and not marks:
                    self.leave()
                if marks:
                    self.mark(task)
                else:
                    self.to(task)
                if style == "early" and marks:
                    self.leave(self.system)
            self.switching = False
            yield
            if style == "pair" and self.options.in_exit:
                yield from self.run(preempt=False)
                self.leave()

    def swtch_exit(self, task: Task) -> None:
        self.spend(self.options.mark_gap if self.options.marks else 0)

        def effect() -> None:
            self.to(task)
            self.close(task, len(self.ns) - 1)

        self.fire(self.program.tags["swtch"] + 1, effect)

    # -- what runs

    def run(self, preempt: bool = True) -> Iterator[None]:
        """Time passes; interrupts may come."""
        self.spend()
        while self.random.random() < self.options.interrupts:
            yield from self.interrupt(0, preempt)

    def interrupt(self, level: int, preempt: bool) -> Iterator[None]:
        self.enter(self.random.choice(("irq0", "irq1")))
        name = self.current.stack[-1].name
        while self.random.random() < 0.4:
            if level < 2 and self.random.random() < 0.3:
                yield from self.interrupt(level + 1, False)
            else:
                callee = self.random.choice(self.callees(name))
                self.enter(callee)
                self.leave()
        may = preempt and level == 0 and self.current is not self.system
        if may and self.random.random() < self.options.preempt:
            yield from self.give_up("ready")
        self.leave()

    def callees(self, name: str) -> list[str]:
        special = ("sw_sys", "sw_task", "swtch", "resched", "exit", "turn", "try", "wait", "fail")
        return [c for c in self.program.graph[name] if not c.startswith(special)]

    def call(self, name: str, depth: int = 1) -> Iterator[None]:
        """A call with what is inside it."""
        context = self.current
        frame = self.enter(name)
        try:
            if name.startswith("wait"):
                yield from self.sleep()
            else:
                yield from self.body(name, depth)
            if name.startswith("risky") and self.options.longjmp and self.random.random() < 0.5:
                catcher = context.stack[-2]
                if catcher.entry is not None or not self.ns:
                    raise Jump(catcher)
        except Jump as jump:
            if jump.frame is not frame:
                raise
            self.leave(frames=len(context.stack) - context.stack.index(frame))
            return
        self.leave()

    def body(self, name: str, depth: int) -> Iterator[None]:
        task = self.current.number - 1
        for _ in range(self.random.randrange(3)):
            yield from self.run()
            chance = self.random.random()
            callees = self.callees(name)
            if chance < 0.1:
                self.spend()
                self.fire(self.program.tags["point"], self.count_inline)
            elif chance < 0.1 + self.options.unknown:
                self.fire(self.random.choice((60001, 5, 333)), self.count_unknown)
            elif name == "dispatch" and self.options.indirect:
                yield from self.call(self.random.choice(("op0", "op1")), depth + 1)
            elif chance < 0.6 and callees and depth < 5:
                yield from self.call(self.random.choice(callees), depth + 1)
            elif chance < 0.7 and self.program.own("wait", task) in self.program.graph[name]:
                yield from self.call(self.program.own("wait", task))
            elif self.options.longjmp and self.program.own("try", task) in self.program.graph[name]:
                yield from self.call(self.program.own("try", task), depth + 1)
            elif name.startswith("try"):
                yield from self.call(self.program.own("risky", task), depth + 1)

    def count_inline(self) -> None:
        self.truth.inlines += 1

    def count_unknown(self) -> None:
        self.truth.unknown += 1

    def sleep(self) -> Iterator[None]:
        self.enter("tsleep")
        yield from self.give_up("blocked")
        yield from self.run(preempt=not self.options.telling)
        self.leave()
        yield from self.run(preempt=not self.options.telling)

    def main(self, k: int) -> Iterator[None]:
        """A task: it works, sleeps, runs in user mode, jumps back to its loop, and may end."""
        own = self.program.own
        if self.options.birth == "fork":
            yield from self.run(preempt=False)
            self.leave()
        frame = self.enter(own("main", k))
        main = self.current
        others = [task for task in self.tasks if task is not main]
        jumped = False
        while True:
            if not jumped:
                yield from self.run()
            chance = self.random.random()
            if self.options.longjmp == "loop" and (jumped or chance < 0.2):
                jumped = False
                try:
                    yield from self.turn(k, frame)
                except Jump:
                    main.gone = len(main.stack) - main.stack.index(frame) - 1
                    jumped = True
            elif chance < 0.3:
                yield from self.call(own("wait", k))
            elif chance < 0.3 + self.options.user:
                self.enter("user")
                yield from self.run()
                self.leave()
            elif chance > 1 - self.options.ends and any(t.state != "dead" for t in others):
                self.enter(own("exit", k))
                yield from self.give_up("dead")
            else:
                callees = [c for c in self.callees(own("main", k)) if not c.startswith("main")]
                yield from self.call(self.random.choice(callees))

    def turn(self, k: int, frame: Call) -> Iterator[None]:
        """One turn of a main loop, which may fail and go back to it."""
        own = self.program.own
        self.enter(own("turn", k))
        yield from self.body(own("turn", k), 2)
        if self.random.random() < 0.6 and (frame.entry is not None or not self.ns):
            self.enter(own("fail", k))
            yield from self.run()
            if frame.entry is not None or not self.ns:
                raise Jump(frame)
            self.leave()
        self.leave()

    def idle_loop(self) -> Iterator[None]:
        """The idle task; in a kernel without a system context it is what runs first."""
        if self.current.stack:
            self.leave()
        if self.options.idle_task:
            self.enter("idle_loop")
        while True:
            yield from self.run()
            self.now += self.random.randrange(20_000)
            if self.options.idle_task and self.random.random() < 0.2:
                yield from self.call("s5", 5)
            yield from self.give_up("idle")
