"""Events to calls in the most direct way: what the analysis is held against.

It is written from the rules (docs/analysis.md, the paper), not from the analysis: stacks are lists,
a switch without a task mark is decided by replaying the slice that follows on a copy of every
suspended stack. It is slow and knows only captures that a kernel can make; noise is for the laws.

The rules where the words leave room:

- A task mark takes effect at its event. A frame that is closed after the mark, but stands on the
  stack that was left, ends on the processor at the mark.
- A switch function without an exit trigger in the whole capture ends where its context goes on.
- What begins a context (its stack before the capture) is not known; time there is pending until an
  orphan exit takes it, the slice ends (a task: unattributed; the system: idle), or the capture.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.analysis.truth import (
    AMBIGUOUS,
    BARE,
    MARK,
    NEW,
    ONLY,
    SEEN,
    SYSTEM,
    UNWOUND,
    Books,
    Call,
    Context,
    Knowledge,
    Switch,
)


@dataclass(frozen=True)
class Meaning:
    """What a tag is: `kind` is entry, exit, inline, mark or unknown; `modifier` its function's."""

    kind: str
    name: str = ""
    modifier: str = ""
    task: int = 0


def read_tags(text: str) -> dict[int, Meaning]:
    """The meaning of every tag by the name file's text."""
    tags: dict[int, Meaning] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, value = line.strip().rsplit("/", 1)
        if "@" in value:
            first, count = map(int, value.split("@"))
            tags |= {first + n: Meaning("mark", name, "@", n) for n in range(count)}
            continue
        modifier = value.lstrip("0123456789")
        number = int(value.rstrip("=$*!%~^"))
        if number == 0:
            continue
        tags[number] = Meaning("inline" if modifier == "=" else "entry", name, modifier)
        if modifier != "=":
            tags[number + 1] = Meaning("exit", name, modifier)
    return tags


class Reference:
    """The replay of one capture. `books` is what it gives."""

    def __init__(
        self, times: list[int], tags: list[int], names: str, knowledge: Knowledge | None = None
    ) -> None:
        meanings = read_tags(names)
        self.times = times
        self.events = [meanings.get(tag, Meaning("unknown")) for tag in tags]
        self.knowledge = knowledge
        self.books = Books()
        self.marked = any(event.kind == "mark" for event in self.events)
        self.exits = {event.name for event in self.events if event.kind == "exit"}
        self.switch_names = {m.name for m in meanings.values() if m.modifier in ("$", "*", "!")}
        self.switchers = {m.modifier for m in meanings.values()} & set("$*!")
        self.now = times[0] if times else 0
        self.system = Context(SYSTEM)
        self.tasks: list[Context] = []
        self.by_mark: dict[int, Context] = {}
        self.first: Context | None = Context(-1)
        self.current: Context = self.first
        self.left: Context | None = None  # what the last mark switched away from
        self.leaves: Call | None = None  # a switch function that leaves before the switch
        self.first_number = 1
        self.certain = True  # is it beyond doubt what runs?
        self.run()

    def run(self) -> None:
        for number, event in enumerate(self.events):
            self.pass_time(self.times[number] - self.now)
            getattr(self, event.kind)(number, event)
            self.books.running.append(self.current.number)
        if self.events:
            self.books.elapsed = self.times[-1] - self.times[0]
        # The context that ran first has its number when it is known what it was.
        if self.current is self.first:
            self.books.first = self.current.pending
        number = self.first_number
        for call in self.books.calls + self.books.orphans:
            call.context = number if call.context == -1 else call.context
        self.books.running = [number if n == -1 else n for n in self.books.running]
        self.settle()

    # -- time

    def pass_time(self, dt: int) -> None:
        self.now += dt
        for call in self.current.stack:
            call.elapsed += dt
        if self.current.stack:
            self.book(self.current.stack[-1], dt)
        else:
            self.current.pending += dt

    def book(self, call: Call, dt: int) -> None:
        call.net += dt
        if call.own != "net":
            setattr(self.books, call.own, getattr(self.books, call.own) + dt)

    def settle(self) -> None:
        """The slice of the running context ends: its time below calls is idle, or unattributed."""
        if self.current is self.system:
            self.books.idle += self.current.pending
        else:
            self.books.unattributed += self.current.pending
        self.current.pending = 0

    # -- contexts

    def new_task(self) -> Context:
        task = Context(len(self.tasks) + 1)
        self.tasks.append(task)
        return task

    def decide_first(self, system: bool) -> None:
        """What ran since the capture began is known now."""
        if self.current is not self.first:
            return
        self.books.first = self.current.pending
        if system:
            self.system, self.current.number, self.first_number = self.current, SYSTEM, SYSTEM
        else:
            self.current.number = self.first_number = len(self.tasks) + 1
            self.tasks.append(self.current)
        self.first = None

    def switch(self, number: int, to: Context) -> None:
        self.settle()
        self.current.suspended = number
        self.left, self.current = self.current, to
        to.since, to.since_event = self.now, number
        if to.stack and self.silent(to.stack[-1]):
            self.close(to, 1, number, silent=True)

    def silent(self, call: Call) -> bool:
        """A switch function that has no exit trigger?"""
        return call.name in self.switch_names and call.name not in self.exits

    # -- events

    def inline(self, _number: int, _event: Meaning) -> None:
        self.books.inlines += 1

    def unknown(self, _number: int, _event: Meaning) -> None:
        self.books.unknown += 1

    def mark(self, number: int, event: Meaning) -> None:
        # A `*` alone goes from task to task; else a mark is fired in the system context.
        self.decide_first(system=self.switchers not in (set(), {"*"}))
        task = self.by_mark.get(event.task)
        if task is None:
            task = self.by_mark[event.task] = self.new_task()
        if task is not self.current:
            self.switch(number, task)
        self.books.switches.append(Switch(number, task.number, MARK, True))

    def entry(self, number: int, event: Meaning) -> None:
        context = self.current
        if self.knowledge and event.modifier not in ("%", "^"):
            self.unwind_to_caller(context.stack, event.name, number)
        call = Call(event.name, number, context.number)
        call.parent = context.stack[-1] if context.stack else None
        call.own = {"%": "user", "~": "idle"}.get(event.modifier, "net")
        self.books.calls.append(call)
        if call.parent and self.certain:
            context.seen.add((call.parent.name, call.name))
        context.stack.append(call)
        if event.modifier in ("$", "*") and self.leaves_early(number, event.name):
            self.leaves = call
        elif event.modifier in ("$", "!"):
            self.to_system(number)
        elif event.modifier == "*" and not self.marked:
            self.to_task(number)

    def exit(self, number: int, event: Meaning) -> None:
        if event.modifier == "!" and not self.marked:
            self.to_task(number)
        context, name = self.current, event.name
        frames = depth_of(context.stack, name)
        left = self.left.stack if self.marked and self.left else []
        own = not context.stack and self.far(event)
        if frames != 1 and left and left[-1].name == name and not own:
            assert self.left
            self.close(self.left, 1, number)
            self.left = None
            return
        if frames:
            call = context.stack[-frames]
            self.close(context, frames, number)
            if call is self.leaves:
                self.leaves = None
                if event.modifier == "$":
                    self.to_system(number)
                elif not self.marked:
                    self.to_task(number)
            return
        orphan = Call(name, context.since_event, context.number, orphan=True, exit=number)
        orphan.own = {"%": "user", "~": "idle"}.get(event.modifier, "net")
        self.book(orphan, context.pending)
        orphan.elapsed, context.pending = self.now - context.since, 0
        self.books.orphans.append(orphan)

    def far(self, event: Meaning) -> bool:
        """Does each task that is switched to leave this function itself?"""
        return event.modifier == "!" or (event.modifier == "*" and "$" not in self.switchers)

    def close(self, context: Context, frames: int, number: int, silent: bool = False) -> None:
        keep = len(context.stack) - frames
        for _ in range(frames):
            call = context.stack.pop()
            # The lowest is closed by its own exit; the stack is closed from its top.
            call.exit, call.unwound, call.silent = number, len(context.stack) > keep, silent

    def unwind_to_caller(self, stack: list[Call], name: str, number: int) -> None:
        """A call that the running frame cannot make: a longjmp to the frame that can."""
        frames = longjmp_frames(stack, name, self.knowledge)
        for _ in range(frames):
            call = stack.pop()
            call.exit, call.unwound = number, True

    # -- switches

    def to_system(self, number: int) -> None:
        self.decide_first(system=False)
        self.switch(number, self.system)

    def leaves_early(self, number: int, name: str) -> bool:
        """Does the switch function that is entered here leave before anything else but calls?"""
        stack: list[str] = []
        for event in self.events[number + 1 :]:
            if event.kind == "mark":
                return False
            if event.kind == "entry" and event.modifier in ("$", "*", "!"):
                return False
            if event.kind == "entry":
                stack.append(event.name)
            elif event.kind == "exit":
                if not stack:
                    return event.name == name
                if event.name not in stack:
                    return False
                while stack.pop() != event.name:
                    pass
        return False

    def to_task(self, number: int) -> None:
        """A switch without a task mark: which task explains the events that follow?"""
        self.decide_first(system=True)
        waiting = [task for task in self.tasks if task is not self.current]
        waiting.sort(key=lambda task: task.suspended)
        begin = number if self.events[number].kind == "exit" else number + 1
        if self.events[number].kind == "exit" and self.events[number].modifier != "!":
            begin = number + 1  # the exit of an early leaver is its own context's
        trials = [Trial(self, task, begin) for task in waiting]
        # What needs no exit beyond the calls that are known, and no longjmp, explains better.
        best = min((trial.grade for trial in trials if trial.explains), default=0)
        fitting = [trial for trial in trials if trial.explains and trial.grade == best]
        verdict, certain = ONLY, not any(task.tainted for task in waiting)
        chosen: Trial | None = None
        if not fitting:
            verdict = NEW
        elif len(fitting) == 1:
            (chosen,) = fitting
            verdict = (ONLY, BARE, UNWOUND)[chosen.grade] if chosen.shown else BARE
        else:
            chosen = most_seen(fitting)
            verdict = SEEN if chosen else AMBIGUOUS
            chosen = chosen or fitting[0]
        alone = sum(trial.explains for trial in trials) == 1
        certain = certain and (verdict in (ONLY, NEW) or (verdict == UNWOUND and alone))
        task = chosen.task if chosen else self.new_task()
        if not certain:
            for trial in fitting:
                trial.task.tainted = True
            task.tainted = True
        self.switch(number, task)
        self.certain = verdict in (ONLY, NEW, SEEN, UNWOUND)
        self.books.switches.append(Switch(number, task.number, verdict, certain))


class Trial:
    """The slice that begins at event `begin`, replayed on a copy of a suspended task's stack.

    `explains`: the exits that reach the stack close its calls from the top, and its top call can
    make the calls that are made next. `longjmps`: only if it was left by a longjmp first. `beyond`:
    there are exits of calls below those that are known. `shown`: how many of its calls were closed
    by their exits. `pairs`: the calls that it made itself.
    """

    def __init__(self, replay: Reference, task: Context, begin: int) -> None:
        self.task, self.knowledge = task, replay.knowledge
        self.pairs: set[tuple[str, str]] = set()
        self.explains, self.longjmps, self.beyond, self.shown = True, False, False, 0
        stack = [(call.name, True) for call in task.stack]
        if stack and replay.silent(task.stack[-1]):
            stack.pop()
        # A context that stopped inside a switch function shows that function's exit.
        owed = stack[-1][0] if stack and stack[-1][0] in replay.switch_names else None
        leaver, ended = "", False
        for number in range(begin, len(replay.events)):
            event = replay.events[number]
            if event.kind == "entry":
                self.enter(stack, event)
                switches = event.modifier in ("$", "*", "!")
                if switches and event.modifier != "!" and replay.leaves_early(number, event.name):
                    leaver = event.name
                elif switches:
                    ended = True
            elif event.kind == "exit":
                if event.modifier == "!" and number != begin:
                    ended = True
                else:
                    self.leave(stack, event)
                    ended = event.name == leaver
                if event.modifier == "!" and number == begin:
                    owed, self.shown = None, 0  # the exit of a `!` comes whatever goes on
            if ended:
                break
        if owed and self.shown == 0 and ended:
            self.explains = False

    @property
    def grade(self) -> int:
        """0 is the best explanation."""
        return 2 if self.longjmps else int(self.beyond)

    def enter(self, stack: list[tuple[str, bool]], event: Meaning) -> None:
        if event.modifier not in ("%", "^") and self.knowledge:
            calls = [Call(name, 0, 0) for name, _ in stack]
            frames = longjmp_frames(calls, event.name, self.knowledge)
            old = stack[-1] if stack and stack[-1][1] else None
            if frames and old:
                self.longjmps = True
            elif old and not self.knowledge.can(old[0], event.name):
                self.explains = False
            del stack[len(stack) - frames :]
        if stack and stack[-1][1]:
            self.pairs.add((stack[-1][0], event.name))
        stack.append((event.name, False))

    def leave(self, stack: list[tuple[str, bool]], event: Meaning) -> None:
        frames = depth_of([Call(name, 0, 0) for name, _ in stack], event.name)
        if not frames:
            self.beyond = True
            if any(old for _, old in stack):
                self.explains = False
            return
        old = stack[-frames][1]
        if frames > 1 and old and stack[-1][1]:
            self.longjmps = True
        del stack[len(stack) - frames :]
        self.shown += old


def most_seen(trials: list[Trial]) -> Trial | None:
    """The one trial whose context has been seen to make more of the calls than any other has."""
    known = [len(trial.pairs & trial.task.seen) for trial in trials]
    most = max(known)
    return trials[known.index(most)] if known.count(most) == 1 else None


def depth_of(stack: list[Call], name: str) -> int:
    """How many frames down the nearest call of this function is; 1 is the top, 0 none."""
    for frames, call in enumerate(reversed(stack), 1):
        if call.name == name:
            return frames
    return 0


def longjmp_frames(stack: list[Call], name: str, knowledge: Knowledge | None) -> int:
    """How many frames are gone when `name` is entered: those above the nearest that can call it."""
    if knowledge:
        for frames, call in enumerate(reversed(stack)):
            if knowledge.can(call.name, name):
                return frames
    return 0


def unwrapped(ticks: Iterable[int], bits: int = 24) -> list[int]:
    """Absolute times of an interval clock's counter values; the first event is time 0."""
    times: list[int] = []
    last = None
    for tick in ticks:
        times.append(0 if last is None else times[-1] + (tick - last) % (1 << bits))
        last = tick
    return times
