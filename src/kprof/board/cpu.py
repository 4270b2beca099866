"""The 68020: Musashi, through the package `machine68k`, with what that package leaves out.

The only importer of `machine68k` (the extra ``kprof[board]``). What is hidden here:

- The package gives neither interrupts nor the clock inside a memory hook; its library exports the
  emulator's own functions and counters, reached by ctypes.
- An interrupt is taken at the start of a slice or when the status register is written, and the
  emulator drops the request when it takes it: `interrupt` sets the level again whenever a device's
  line may have changed, and `end_slice` brings the start of the next slice near.
- There are no wait states: hooks take them from the running slice (`wait`).
- The library keeps a pointer to a hook but no reference to each of several equal bound methods:
  every hook is kept here under one name.
- Its state is global: one `Cpu` a process at a time.
- The first `execute` after a reset only eats the reset's own cycles.

`now` inside a hook is the clock at the start of the running instruction plus the wait states that
it has met so far. Not modelled: instruction cache, prefetch and the overlap of the bus with the
execution unit; clocks are those of the emulator's 68020 table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol

from kprof.errors import BoardError, MissingExtraError

PAGE_BYTES = 0x1_0000
_STOP_OPCODE = 0x4E72
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


class Cpu:
    """A 68020 and `memory_bytes` of memory without wait states from address 0 up.

    Raises
    ------
    MissingExtraError
        `machine68k` is not installed.
    BoardError
        Another `Cpu` of this process is open.
    """

    def __init__(self, memory_bytes: int) -> None:
        global _open
        try:
            import machine68k
        except ImportError as error:
            raise MissingExtraError("the simulated board", "board") from error
        if _open is not None:
            raise BoardError("another simulated board is open in this process; close it first")
        self._library = ctypes.PyDLL(machine68k.__file__)
        self._machine: Any = machine68k.Machine(machine68k.CPUType.M68020, memory_bytes // 1024)
        self._memory: Any = self._machine.mem
        self._execute: Callable[[int], Any] = self._machine.cpu.execute
        self._initial = ctypes.c_int.in_dll(self._library, "m68ki_initial_cycles")
        self._remaining = ctypes.c_int.in_dll(self._library, "m68ki_remaining_cycles")
        self._initial.value = self._remaining.value = 0
        self._base = 0
        self._hooks: list[Any] = []
        _open = self

    def close(self) -> None:
        """Give the emulator back; another `Cpu` can be made."""
        global _open
        if _open is self:
            self._machine.cleanup()
            self._hooks.clear()
            _open = None

    def map(self, address: int, pages: int, region: Region) -> None:
        """Let `region` answer in `pages` pages of 64 KB from `address` up, instead of memory."""
        # The library keeps the pointers only: these bound methods must stay the same objects.
        reads = (region.r8, region.r16, region.r32)
        writes = (region.w8, region.w16, region.w32)
        self._hooks.append((reads, writes))
        for page in range(address, address + pages * PAGE_BYTES, PAGE_BYTES):
            for width in range(3):
                self._memory.set_special_range_read_func(page, width, reads[width])
                self._memory.set_special_range_write_func(page, width, writes[width])

    def on_nothing(self, hook: Callable[[str, int, int], None]) -> None:
        """Call `hook(mode, width, address)` for accesses above all pages; mode is R or W."""
        self._hooks.append(hook)
        self._memory.set_invalid_func(hook)

    @property
    def now(self) -> int:
        """Clocks since power-up."""
        return self._base + self._initial.value - self._remaining.value

    @property
    def pc(self) -> int:
        """The program counter."""
        return int(self._machine.cpu.r_pc())

    @property
    def mask(self) -> int:
        """The interrupt mask of the status register, 0..7."""
        return int(self._machine.cpu.r_sr()) >> 8 & 7

    @property
    def stopped(self) -> bool:
        """Between two slices: the CPU waits in (or has just left) a ``stop`` instruction."""
        at = self.pc - 4
        inside = 0 <= at < self._memory.get_ram_size_bytes()
        return inside and int(self._memory.r16(at)) == _STOP_OPCODE

    def reset(self) -> None:
        """Pulse the reset line: stack pointer and program counter come from addresses 0 and 4."""
        self._machine.cpu.pulse_reset()
        self._execute(1)
        self._initial.value = self._remaining.value = 0

    def run(self, until: int) -> None:
        """Execute until `now` is at least `until`, or a hook ends the slice.

        Raises
        ------
        BoardError
            Whatever a hook raised.
        """
        budget = until - self._base
        if budget <= 0:
            return
        try:
            self._execute(min(budget, 1 << 30))
        finally:
            self._base = self.now
            self._initial.value = self._remaining.value = 0

    def wait(self, cycles: int) -> None:
        """In a hook: spend wait states."""
        self._remaining.value -= cycles

    @property
    def slice_left(self) -> int:
        """In a hook: clocks until the running slice ends."""
        return self._remaining.value

    def end_slice(self) -> None:
        """In a hook: let the slice end after the running instruction."""
        self._library.m68k_end_timeslice()

    def interrupt(self, level: int) -> None:
        """Set the interrupt request lines to `level`, 0..7 (0: none)."""
        self._library.m68k_set_irq(level)

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
