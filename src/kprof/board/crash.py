"""How a guest ends that cannot go on, in words: the exception, the place, the registers."""

from __future__ import annotations

from collections.abc import Mapping, Sized

from kprof.board.cpu import Cpu, Taken
from kprof.errors import BoardError
from kprof.symbols import Symbol

BUS_ERROR = 2
_NAMES = {
    2: "bus error",
    3: "address error",
    4: "illegal instruction",
    5: "division by zero",
    6: "chk exception",
    7: "trapv exception",
    8: "privilege violation",
    9: "trace exception",
    10: "A-line instruction",
    11: "F-line instruction",
    14: "format error",
    15: "uninitialized interrupt",
    24: "spurious interrupt",
}
_STOP_BYTES = 4


class GuestError(BoardError):
    """The guest cannot go on.

    Attributes
    ----------
    vector
        Number of the exception's vector; None: it stopped without one.
    pc
        Address of the instruction.
    registers
        The CPU's, by name.
    selects
        How many selects the Profiler had noted.
    """

    def __init__(self, what: str, vector: int | None, pc: int, cpu: Cpu, selects: Sized) -> None:
        super().__init__(what)
        self.vector = vector
        self.pc = pc
        self.registers = cpu.registers
        self.selects = len(selects)


def place(address: int, symbols: Mapping[str, Symbol]) -> str:
    """``0x1012e4 (tcp_input+0x3c)``; without the brackets where no function is there."""
    best: tuple[int, str] | None = None
    for name, symbol in symbols.items():
        if symbol.is_function or not symbol.size:
            behind = address - symbol.address
            inside = 0 <= behind < symbol.size if symbol.size else 0 <= behind < 0x1000
            if inside and (best is None or symbol.address > best[0]):
                best = (symbol.address, name)
    if best is None:
        return f"0x{address:06x}"
    offset = f"+0x{address - best[0]:x}" if address > best[0] else ""
    return f"0x{address:06x} ({best[1]}{offset})"


def register_lines(registers: Mapping[str, int]) -> list[str]:
    """The registers, in hex, four a line."""
    words = [
        f"{name} {value:04x}" if name == "sr" else f"{name} {value:08x}"
        for name, value in registers.items()
    ]
    return ["  ".join(words[at : at + 4]) for at in range(0, len(words), 4)]


def exception_name(vector: int) -> str:
    """``illegal instruction``, ``interrupt of level 5``, ``trap #1``."""
    if 25 <= vector <= 31:
        return f"interrupt of level {vector - 24}"
    if 32 <= vector <= 47:
        return f"trap #{vector - 32}"
    return _NAMES.get(vector, f"exception with vector {vector}")


def in_words(taken: Taken, symbols: Mapping[str, Symbol]) -> str:
    """``illegal instruction at 0x1012e4 (tcp_input+0x3c)``."""
    return f"{exception_name(taken.vector)} at {place(taken.pc, symbols)}"


def access_crash(
    cpu: Cpu, symbols: Mapping[str, Symbol], selects: Sized, mode: str, width: int, address: int
) -> GuestError:
    """The end of a guest that accesses 1 << `width` bytes where nothing is; `mode` is R or W."""
    taken = cpu.taken
    if mode == "R" and width == 1 and address == cpu.address(cpu.pc):
        nothing = f"0x{address:08x}, where no memory or device is"
        if taken is not None and cpu.address(taken.handler) == address:
            what = f"{in_words(taken, symbols)}; its vector, {taken.vector}, leads to {nothing}"
            return GuestError(what, taken.vector, taken.pc, cpu, selects)
        return GuestError(f"the program went to {nothing}", BUS_ERROR, cpu.pc, cpu, selects)
    verb = "read" if mode == "R" else "write"
    hint = ""
    if address >= 0xFFFF_8000:
        hint = (
            " (a 16-bit address past 0x7fff is sign-extended: a trigger there needs the long "
            "form, tst.b 0x8500.l)"
        )
    what = (
        f"bus error at {place(cpu.pc, symbols)}: {verb} of {1 << width} "
        f"byte{'s' if width else ''} at 0x{address:08x}, where no memory or device is{hint}"
    )
    return GuestError(what, BUS_ERROR, cpu.pc, cpu, selects)


def stop_crash(cpu: Cpu, symbols: Mapping[str, Symbol], selects: Sized) -> GuestError:
    """The end of a guest that stopped with all interrupts masked."""
    pc = cpu.pc - _STOP_BYTES
    what = f"the kernel stopped with all interrupts masked at {place(pc, symbols)}"
    if cpu.fault is None:
        return GuestError(what, None, pc, cpu, selects)
    what += f"; its last exception was: {in_words(cpu.fault, symbols)}"
    return GuestError(what, cpu.fault.vector, cpu.fault.pc, cpu, selects)
