"""What the kernels of `kernels` are made of: their options, functions, tags and call knowledge."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.analysis.truth import Knowledge

SHARED = 6
JUMPERS = ("fail", "risky")
DIRECT = ("direct", "far", "near")


@dataclass(frozen=True)
class Options:
    """What a kernel does. Chances are for each step; times are ns.

    `private`: names of a task's functions are its own. `telling`: what a task slept in is left
    before anything can switch again. `fair`: the longest suspended goes on. `birth`: a task begins
    with the exit of ``fork``, or with its ``main``. `mark_gap`: at most so long from a switch
    trigger to its mark. `start`, `events`: the first event that is recorded, and how many.
    `handlers`: the name file marks the interrupts. `assembly`: the switch functions hold assembly,
    a function was not read, and the addresses of marked interrupts are taken.
    """

    tasks: int = 4
    style: str = "pair"
    out_exit: bool = True
    in_exit: bool = True
    marks: bool = False
    mark_gap: int = 0
    private: bool = True
    telling: bool = False
    fair: bool = False
    birth: str = "main"
    ends: float = 0.02
    idle_task: bool = False
    user: float = 0.1
    interrupts: float = 0.1
    preempt: float = 0.2
    longjmp: str = ""
    indirect: bool = True
    unknown: float = 0.02
    handlers: bool = False
    assembly: bool = False
    start: int = 0
    events: int = 400
    clock_hz: int = 1_000_000
    time_bits: int = 24


class Program:
    """The functions of a kernel: their tags, and who can call whom."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.graph: dict[str, list[str]] = {}
        self.switch_names = {
            "pair": ["sw_sys$", "sw_task*"],
            "early": ["sw_sys$", "sw_task*"],
            "swtch": ["swtch!"],
            "direct": ["sw_task*"],
            "far": ["resched"],
            "near": ["resched"],
        }[options.style]
        self.switcher = self.switch_names[0].rstrip("$*!")
        for name in self.switch_names:
            self.graph[name.rstrip("$*!")] = []
        shared = [f"s{i}" for i in range(SHARED)]
        for i, name in enumerate(shared):
            self.graph[name] = shared[i + 1 :] + [name] * (i == 2) + ["dispatch"] * (i == 0)
        self.graph |= {"op0": ["s4"], "op1": [], "dispatch": []}
        self.graph |= {"irq0": ["s3", "s5", self.switcher], "irq1": ["s5", self.switcher]}
        self.graph |= {"sched": ["s4"], "tsleep": [self.switcher]}
        for k in range(options.tasks):
            p = [self.own(f"p{i}", k) for i in range(3)]
            wait, jump = self.own("wait", k), self.own("fail", k)
            risky, turn = self.own("risky", k), self.own("turn", k)
            self.graph[self.own("main", k)] = [*p, *shared, wait, self.own("exit", k), turn]
            for i, name in enumerate(p):
                self.graph[name] = [*p[i + 1 :], "s1", "s3", wait] + [self.own("try", k)] * (i < 2)
            self.graph[wait] = ["tsleep"]
            self.graph[self.own("try", k)] = [risky, "s5"]
            self.graph[risky] = ["s2", "s4", wait]
            self.graph[turn] = [p[1], "s1", jump]
            self.graph[jump] = ["s5"]
            self.graph[self.own("exit", k)] = [self.switcher]
            self.graph[self.own("fork", k)] = []
        self.kinds = {"user": "user", "idle_loop": "idle"}
        self.graph |= {"idle_loop": ["s5", self.switcher], "user": [], "fork_idle": []}
        self.taken = {"op0", "op1", "idle_loop"} | {
            self.own("main", k) for k in range(options.tasks)
        }
        self.indirect = {"dispatch"}
        if options.assembly:
            self.indirect |= {name.rstrip("$*!") for name in self.switch_names}
            self.taken |= {"irq0", "irq1"} if options.handlers else set()
        self.unread = {"s5"} if options.assembly else set()
        self.jumpers = {self.own(name, k) for k in range(options.tasks) for name in JUMPERS}
        self.catchers = {
            self.own(name, k) for k in range(options.tasks) for name in ("main", "try")
        }
        self.text, self.tags = self.name_file()

    def own(self, name: str, k: int) -> str:
        """A function of task `k`."""
        return f"{name}_{k}" if self.options.private else name

    def name_file(self) -> tuple[str, dict[str, int]]:
        modifiers = {
            name.rstrip("$*!"): name[-1] for name in self.switch_names if name[-1] in "$*!"
        }
        modifiers |= {"user": "%"} if self.options.user else {}
        modifiers |= {"idle_loop": "~"} if self.options.idle_task else {}
        modifiers |= {"irq0": "^", "irq1": "^"} if self.options.handlers else {}
        left_out = {"user", "idle_loop"} - set(modifiers)
        tags = {name: 1024 + 2 * i for i, name in enumerate(self.graph) if name not in left_out}
        lines = [f"{name}/{tag}{modifiers.get(name, '')}" for name, tag in tags.items()]
        tags["point"] = 3000
        lines.append("point/3000=")
        if self.options.marks:
            lines.append(f"task/4096@{self.options.tasks + 1}")
        return "\n".join(lines) + "\n", tags

    def leaves(self, name: str) -> bool:
        """Has this function an exit trigger?"""
        return {"sw_sys": self.options.out_exit, "sw_task": self.options.in_exit}.get(name, True)

    def calls_text(self) -> str:
        """The call knowledge as the file beside the name file."""
        lines = ["# kprof calls 1"]
        for line, (name, callees) in enumerate(sorted(self.graph.items()), 1):
            if name in self.unread:
                continue
            jumps = bool(self.options.longjmp)
            flags = "a" * (name in self.taken) + "i" * (name in self.indirect)
            flags += "n" * name.startswith("exit")
            flags += "s" * (jumps and name in self.catchers)
            flags += "j" * (jumps and name in self.jumpers)
            called = " ".join(sorted(callees))
            lines.append(f"{name}\tkern.c:{line}\t{flags}\tvoid {name}(void)\t{called}\t")
        lines.append("\tkern.c:0\t\t\t\t" + " ".join(sorted(self.taken)))
        return "\n".join([lines[0], *sorted(lines[1:])]) + "\n"

    def knowledge(self) -> Knowledge:
        """The call knowledge; interrupts are entered by the machine."""
        read = {name: calls for name, calls in self.graph.items() if name not in self.unread}
        calls = {name: frozenset(callees) for name, callees in read.items()}
        return Knowledge(calls, frozenset(self.indirect), frozenset(self.taken))


def random_options(seed: int, *, marks: bool, known: bool = True, cut: bool = True) -> Options:
    """A kernel of any kind.

    Parameters
    ----------
    marks
        It fires task marks. Without, a new task shows itself by the exit of a ``fork``, or by a
        call that no other could make where that is known.
    known
        Its call knowledge will be used; a longjmp to a main loop needs it.
    cut
        The capture may begin in the middle.
    """
    source = random.Random(seed)
    styles = ("pair", "early", "swtch", *(DIRECT if marks else ()))
    style = source.choice(styles)
    telling = not marks and source.random() < 0.6
    bare = style == "pair" and source.random() < 0.3
    birth = source.choice(("main", "fork"))
    if not marks and not known and (style != "pair" or bare):
        birth = "fork"
    return Options(
        style=style,
        marks=marks,
        tasks=source.choice((1, 2, 3, 5, 8)) if source.random() < 0.95 else 64,
        private=telling or source.random() < 0.5,
        telling=telling,
        fair=source.random() < 0.4,
        birth=birth,
        preempt=0 if telling else 0.2,
        ends=0 if source.random() < 0.5 else 0.02,
        user=source.choice((0, 0.1)),
        idle_task=style in DIRECT or source.random() < 0.3,
        longjmp=source.choice(("", "error", "loop") if known else ("", "error")),
        out_exit=not bare,
        in_exit=style != "pair" or source.random() < 0.7,
        mark_gap=source.choice((0, 0, 3000)),
        unknown=source.choice((0, 0.02)),
        handlers=source.random() < 0.5,
        assembly=source.random() < 0.3,
        start=source.choice((0, 50, 137, 333)) if cut and style not in ("far", "direct") else 0,
        events=source.choice((60, 400)),
        clock_hz=source.choice((1_000_000, 1_000_000, 10_000_000)),
    )
