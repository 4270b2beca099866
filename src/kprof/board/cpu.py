"""The 68k CPU: Musashi, through the package `machine68k`, with what that package leaves out.

The only importer of `machine68k` (the extra ``kprof[board]``). What is hidden here:

- The package gives neither interrupts nor the clock inside a memory hook; `kprof.board.musashi`
  reaches the library's own.
- The emulator drops an interrupt request when it takes it. A line that a device holds asks again
  as soon as the mask allows, so interrupts are taken here (`_take`): at the start of a slice, and
  behind each instruction that writes the status register. The emulator's own request lines stay 0.
- A ``stop`` whose new mask lets a pending interrupt in must not use up the rest of the slice.
- There are no wait states: hooks take them from the running slice (`wait`).
- The library keeps a pointer to a hook but no reference to each of several equal bound methods:
  every hook is kept here under one name.
- Its state is global: one `Cpu` a process at a time.
- The first `execute` after a reset only eats the reset's own cycles.

`now` inside a hook is the clock at the start of the running instruction plus the wait states that
it has met so far. Not modelled: instruction cache, prefetch and the overlap of the bus with the
execution unit; clocks are those of the emulator's tables. Nor are address errors, trace mode, and
the throw-away frame of an interrupt in master mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from kprof.board.musashi import Musashi
from kprof.errors import BoardError, MissingExtraError

PAGE_BYTES = 0x1_0000
AUTOVECTOR = 24
KINDS = ("68000", "68010", "68ec020", "68020", "68ec030", "68030", "68ec040", "68lc040", "68040")
_UNINITIALIZED = 15
_SR_WRITERS = (0x007C, 0x027C, 0x0A7C, 0x4E73, *range(0x46C0, 0x4700))
_STOP = 0x4E72
_LONGEST_INSTRUCTION = 22
_SLICE_MOST = 1 << 30
_LONG_DIVIDES = range(0x4C40, 0x4C80)
_WORD = range(0x80, 0xC0)  # chk.w; chk.l is 0x4100
# What can end in an exception without an instruction that asks for one, by vector.
_TRAPPING = {
    5: [*(base | ea for base in range(0x80C0, 0x9000, 0x100) for ea in range(64)), *_LONG_DIVIDES],
    6: [base | ea for base in range(0x4100, 0x5000, 0x200) for ea in (*range(64), *_WORD)],
    7: [0x4E76],
    11: range(0xF000, 0x1_0000),
    **{32 + number: [0x4E40 + number] for number in range(16)},
}
_open: Cpu | None = None


class Region(Protocol):
    """What answers in a range of pages; addresses are the CPU's, values unsigned."""

    def r8(self, address: int) -> int:
        """Read a byte."""

    def r16(self, address: int) -> int:
        """Read a word."""

    def r32(self, address: int) -> int:
        """Read a long."""

    def w8(self, address: int, value: int) -> None:
        """Write a byte."""

    def w16(self, address: int, value: int) -> None:
        """Write a word."""

    def w32(self, address: int, value: int) -> None:
        """Write a long."""


@dataclass(frozen=True)
class Taken:
    """An exception that the CPU took: its vector's number, where, and the handler's address."""

    vector: int
    pc: int
    handler: int


def _ignore() -> None:
    """Nothing to tell."""


def find_musashi() -> Any:
    """The package that emulates the CPU.

    Raises
    ------
    MissingExtraError
        `machine68k` is not installed.
    """
    try:
        import machine68k
    except ImportError as error:
        raise MissingExtraError("the simulated board", "board") from error
    return machine68k


class Cpu:
    """A 68k CPU and `memory_bytes` of memory without wait states from address 0 up.

    Parameters
    ----------
    memory_bytes
        A whole number of pages.
    kind
        One of `KINDS`.

    Attributes
    ----------
    taken, fault
        The last exception of any kind, and the last but for interrupts and ``trap``; None before
        the first.
    interrupted
        Called when an interrupt is taken.
    remaining
        In a hook: ``remaining.value`` is what `slice_left` gives, and taking from it is `wait`.
    slice_end
        In a hook: ``slice_end - remaining.value`` is what `now` gives.

    Raises
    ------
    MissingExtraError
        `machine68k` is not installed.
    BoardError
        Another `Cpu` of this process is open.
    """

    def __init__(self, memory_bytes: int, kind: str = "68020") -> None:
        global _open
        machine68k = find_musashi()
        if _open is not None:
            raise BoardError("another simulated board is open in this process; close it first")
        self._machine: Any = machine68k.Machine(
            machine68k.CPUType[f"M{kind.upper()}"], memory_bytes // 1024
        )
        _open = self
        self._musashi = Musashi(machine68k)
        self._core = self._musashi.core
        self._memory: Any = self._machine.mem
        self._execute: Callable[[int], Any] = self._machine.cpu.execute
        self._initial, self._remaining = self._musashi.initial, self._musashi.remaining
        self._initial.value = self._remaining.value = 0
        self._base = 0
        self._level = self._vector = 0
        self._edge = False
        self._frames = kind != "68000"
        self._failure: BaseException | None = None
        self._hooks: dict[int, Any] = {}
        self._trace_hook: Callable[[str, int, int, int], None] | None = None
        self.remaining = self._remaining
        self.slice_end = 0
        self.taken: Taken | None = None
        self.fault: Taken | None = None
        self.interrupted: Callable[[], None] = _ignore
        self._wrap()

    def close(self) -> None:
        """Give the emulator back; another `Cpu` can be made."""
        global _open
        if _open is self:
            self._musashi.unwrap()
            self._machine.cleanup()
            self._hooks.clear()
            _open = None

    def map(self, address: int, pages: int, region: Region) -> None:
        """Let `region` answer in `pages` pages of 64 KB from `address` up, instead of memory."""
        # The library keeps the pointers only: these bound methods must stay the same objects.
        reads = (region.r8, region.r16, region.r32)
        writes = (region.w8, region.w16, region.w32)
        self._hooks[address] = (reads, writes)
        for page in range(address, address + pages * PAGE_BYTES, PAGE_BYTES):
            for width in range(3):
                self._memory.set_special_range_read_func(page, width, reads[width])
                self._memory.set_special_range_write_func(page, width, writes[width])

    def on_nothing(self, hook: Callable[[str, int, int], None]) -> None:
        """Call `hook(mode, width, address)` for accesses above all pages; mode is R or W."""
        self._hooks[-1] = hook
        self._memory.set_invalid_func(hook)

    @property
    def now(self) -> int:
        """Clocks since power-up."""
        return self._base + self._initial.value - self._remaining.value

    @property
    def pc(self) -> int:
        """The address of the running instruction, or of the next one between two slices."""
        return int(self._core.ppc)

    @property
    def mask(self) -> int:
        """The interrupt mask of the status register, 0..7."""
        return int(self._core.int_mask) >> 8

    @property
    def stopped(self) -> bool:
        """The CPU waits in a ``stop`` instruction."""
        return bool(self._core.stopped & 1)

    def address(self, address: int) -> int:
        """What the CPU's address lines carry of it."""
        return address & int(self._core.address_mask)

    @property
    def registers(self) -> dict[str, int]:
        """D0-D7, A0-A7, PC and SR by name."""
        names = [f"d{n}" for n in range(8)] + [f"a{n}" for n in range(8)]
        values = dict(zip(names, map(int, self._core.dar), strict=True))
        return {**values, "pc": self.pc, "sr": int(self._machine.cpu.r_sr())}

    @property
    def state(self) -> memoryview:
        """All registers and flags as bytes, live: equal bytes are an equal state."""
        return self._musashi.state()

    def reset(self) -> None:
        """Pulse the reset line: stack pointer and program counter come from addresses 0 and 4."""
        self._machine.cpu.pulse_reset()
        self._core.int_level = self._core.nmi_pending = 0
        self._execute(1)
        self._initial.value = self._remaining.value = 0
        self._core.ppc = self._core.pc

    def run(self, until: int) -> None:
        """Execute until `now` is at least `until`, or a hook ends the slice.

        An interrupt that waits and is not masked is taken first. A CPU in ``stop`` lets the time
        pass.

        Raises
        ------
        BoardError
            Whatever a hook raised.
        """
        if until <= self.now:
            return
        self._interrupts()
        self._settle()
        if self._core.stopped:
            self._base = max(self._base, until)
            return
        budget = min(max(until - self._base, 1), _SLICE_MOST)
        self.slice_end = self._base + budget
        try:
            self._execute(budget)
        finally:
            self._settle()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def wait(self, cycles: int) -> None:
        """In a hook: spend wait states."""
        self._remaining.value -= cycles

    @property
    def slice_left(self) -> int:
        """In a hook: clocks until the running slice ends."""
        return self._remaining.value

    def end_slice(self) -> None:
        """In a hook: let the slice end after the running instruction."""
        self._initial.value -= self._remaining.value
        self._remaining.value = 0
        self.slice_end = self._base + self._initial.value

    def interrupt(self, level: int, vector: int | None = None) -> None:
        """Set the interrupt request lines to `level`, 0..7 (0: none), until they are set again.

        Parameters
        ----------
        vector
            What the device answers to the acknowledgement; None: it asks for the autovector.
        """
        self._edge = self._edge or (level == 7 and self._level != 7)
        self._level = level
        self._vector = AUTOVECTOR + level if vector is None else vector

    def trace(self, hook: Callable[[str, int, int, int], None] | None) -> None:
        """Call `hook(mode, width, address, value)` behind every access, fetches included."""
        if hook is not None and hook != self._trace_hook:
            self._trace_hook = hook
            self._memory.set_trace_func(hook)
        self._memory.set_trace_mode(hook is not None)

    def step_hook(self, hook: Callable[[int], None] | None) -> None:
        """Call `hook(pc)` before every instruction."""
        self._machine.cpu.set_instr_hook_callback(hook)

    def peek(self, address: int, size: int) -> bytes:
        """Memory as it is, with no side effect (not what a region answers)."""
        return bytes(self._memory.r_block(address, size))

    def poke(self, address: int, data: bytes) -> None:
        """Write memory with no side effect."""
        self._memory.w_block(address, data)

    @property
    def memory(self) -> Any:
        """The memory behind the regions, fast: ``r8(address)``, ``w16(address, value)``."""
        return self._memory

    def _settle(self) -> None:
        self._base = self.slice_end = self.now
        self._initial.value = self._remaining.value = 0

    def _interrupts(self) -> None:
        """Take the interrupt that waits, if the mask lets it in."""
        if self._level << 8 > self._core.int_mask or self._edge:
            self._edge = False
            self._take(self._level, self._vector)

    def _take(self, level: int, vector: int) -> None:
        """Exception processing of an interrupt (M68000 family reference manual, section 6)."""
        core, memory, cpu = self._core, self._memory, self._machine.cpu
        core.stopped &= ~1
        status, pc = cpu.r_sr(), core.pc
        cpu.w_sr((status | 0x2000) & ~0xD700 | level << 8)
        frame = core.dar[15] - (8 if self._frames else 6) & 0xFFFF_FFFF
        core.dar[15] = frame
        mask = core.address_mask
        if self._frames:
            memory.cpu_w16(frame + 6 & mask, vector * 4)
        memory.cpu_w32(frame + 2 & mask, pc)
        memory.cpu_w16(frame & mask, status)
        handler = memory.cpu_r32(core.vbr + vector * 4 & mask)
        if not handler:
            handler = memory.cpu_r32(core.vbr + _UNINITIALIZED * 4 & mask)
        cpu.w_pc(handler)
        core.ppc = handler
        self._remaining.value -= self._musashi.exception_clocks(vector)
        self.taken = Taken(vector, pc, handler)
        self.interrupted()

    def _wrap(self) -> None:
        """Put our handlers around the rare instructions that this module must see."""
        wrap, all_like = self._musashi.wrap, self._musashi.all_like
        wrap(all_like(0x4AFC), partial(self._noting, 4))
        wrap(all_like(0xA000), partial(self._noting, 10))
        for vector, opcodes in _TRAPPING.items():
            wrap(opcodes, partial(self._noting, vector))
        wrap(_SR_WRITERS, self._writing_sr)
        wrap([_STOP], self._stopping)

    def _noting(self, vector: int, original: Callable[[], None]) -> Callable[[], None]:
        """Note the exception where the instruction did not end behind itself."""
        core = self._core

        def handler() -> None:
            original()
            if not 0 < core.pc - core.ppc <= _LONGEST_INSTRUCTION:
                self._note(vector)

        return handler

    def _note(self, vector: int) -> None:
        self.taken = Taken(vector, self._core.ppc, self._core.pc)
        if vector < AUTOVECTOR:
            self.fault = self.taken

    def _writing_sr(self, original: Callable[[], None]) -> Callable[[], None]:
        core = self._core

        def handler() -> None:
            supervisor = core.supervisor
            original()
            if not supervisor:
                self._note(8)
            if self._level << 8 > core.int_mask or self._edge:
                self._take_inside()

        return handler

    def _stopping(self, original: Callable[[], None]) -> Callable[[], None]:
        core, remaining = self._core, self._remaining

        def handler() -> None:
            supervisor, before = core.supervisor, remaining.value
            original()
            if not supervisor:
                self._note(8)
            elif self._level << 8 > core.int_mask or self._edge:
                remaining.value = before
                self._take_inside()

        return handler

    def _take_inside(self) -> None:
        """Take an interrupt in the middle of a slice: what a hook raises must not be lost."""
        ppc = self._core.ppc
        try:
            self._interrupts()
            self._core.ppc = ppc
        except BaseException as error:
            self._failure = error
            self.end_slice()
