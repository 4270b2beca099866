"""Kernels that were hard to get right, each with figures that are known beforehand."""

from __future__ import annotations

from collections.abc import Iterator

from tests.analysis.kernels import Jump, Kernel
from tests.analysis.programs import Options, Program
from tests.analysis.recorder import Full

TURNS = 20
BODY_NETS = (2240, 3260, 6400, 24640)  # us of p0..p3 in all turns
IDLE = 17_971  # us


class Scripted(Kernel):
    """No time passes but what the script lets pass; nothing happens by itself."""

    functions: dict[str, list[str]] = {}  # noqa: RUF012
    modifiers: dict[str, str] = {}  # noqa: RUF012

    def make_program(self, options: Options) -> Program:
        program = Program(options)
        program.graph |= self.functions
        program.taken -= {"main"}
        program.text, program.tags = program.name_file()
        return program

    def spend(self, most: int = 0) -> None:
        """Nothing by itself."""

    def work(self, us: float) -> None:
        """Time of the call that runs."""
        self.now += round(us * 1000)

    def sleep_in(self, chain: list[str]) -> Iterator[None]:
        """Block below these calls."""
        for name in chain:
            self.enter(name)
            self.work(1)
        yield from self.give_up("blocked")
        self.work(1)
        for _ in chain:
            self.leave()


QUIET = {"interrupts": 0.0, "preempt": 0.0, "user": 0.0, "ends": 0.0, "unknown": 0.0}


class Bodies(Scripted):
    """Four tasks loop in `p0`..`p3`, call only functions of their own, and block in one `sleep`."""

    functions = {  # noqa: RUF012
        **{f"p{k}": [f"a{k}", f"b{k}", "sleep"] for k in range(4)},
        **{f"{name}{k}": [] for k in range(4) for name in "ab"},
        "sleep": ["sw_sys", "swtch"],
    }

    def __init__(self, seed: int, style: str = "pair", marks: bool = False) -> None:
        super().__init__(seed, Options(tasks=4, style=style, marks=marks, events=1 << 20, **QUIET))

    def make_program(self, options: Options) -> Program:
        program = super().make_program(options)
        program.taken |= {f"p{k}" for k in range(4)}
        return program

    def main(self, k: int) -> Iterator[None]:
        self.enter(f"p{k}")
        share = BODY_NETS[k] / TURNS / 4
        for turn in range(TURNS):
            self.work(share)
            for name in self.random.choice(("ab", "ba")):
                self.enter(f"{name}{k}")
                self.work(7)
                self.leave()
                self.work(share)
            self.work(share)
            yield from self.sleep_in(["sleep"])
            if turn == TURNS - 1:
                self.leave()
        if all(task.state in ("dead", "runs") for task in self.tasks):
            raise Full
        yield from self.give_up("dead")


class Jumps(Scripted):
    """A main loop of 20 turns; each second one, the first included, fails and jumps back to it."""

    functions = {  # noqa: RUF012
        "loop": ["task"],
        "task": ["step", "fail"],
        "step": [],
        "fail": [],
    }
    LOOP_US, TASK_US, STEP_US, FAIL_US = 100, 50, 200, 9

    def __init__(self, turns: int = TURNS) -> None:
        self.turns = turns
        super().__init__(0, Options(tasks=1, style="pair", events=1 << 24, **QUIET))

    def dispatch(self) -> Iterator[None]:
        self.enter("loop")
        loop = self.current.stack[-1]
        for turn in range(self.turns):
            # What the loop does after a longjmp cannot be told from what failed: it is nothing.
            self.work(self.LOOP_US * (turn % 2 == 0))
            try:
                self.turn_of(turn % 2 == 0)
            except Jump:
                self.current.gone = len(self.current.stack) - self.current.stack.index(loop) - 1
        self.leave()
        raise Full
        yield

    def turn_of(self, fails: bool) -> None:
        self.enter("task")
        self.work(self.TASK_US)
        self.enter("step")
        self.work(self.STEP_US)
        self.leave()
        if fails:
            self.enter("fail")
            self.work(self.FAIL_US)
            raise Jump(self.current.stack[0])
        self.leave()


class NoExits(Scripted):
    """`sw_sys$` and `sw_task*` without exit triggers, and 17,971 us of idle time."""

    functions = {"body": ["sleep"], "sleep": ["sw_sys"]}  # noqa: RUF012

    def __init__(self, turns: int = 83) -> None:
        self.turns = turns
        options = Options(tasks=1, out_exit=False, in_exit=False, events=1 << 20, **QUIET)
        super().__init__(0, options)

    def main(self, _k: int) -> Iterator[None]:
        self.enter("body")
        for _ in range(self.turns):
            self.work(40)
            yield from self.sleep_in(["sleep"])
        self.leave()
        raise Full

    def dispatch(self) -> Iterator[None]:
        task = self.tasks[0]
        for turn in range(self.turns + 1):
            if turn:
                self.work(IDLE // self.turns + (IDLE % self.turns) * (turn == 1))
            self.enter("sw_task")
            self.to(task)
            yield
