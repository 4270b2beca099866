"""What the emulator's library exports and the package `machine68k` does not offer, by ctypes.

Three things are used: the CPU's state (`Core`, the library's ``m68ki_cpu``), its cycle counters,
and its table of instruction handlers, in which a few rare instructions get a handler of ours around
the library's own. The layout of `Core` is that of the pinned version; `Musashi` compares its size
with what the library says, and refuses to run with another.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from types import ModuleType

from kprof.errors import BoardError

_U = ctypes.c_uint
_HANDLER = ctypes.PYFUNCTYPE(None)
_OPCODES = 0x1_0000


class _Extended(ctypes.Structure):
    _fields_ = (("high", ctypes.c_uint16), ("low", ctypes.c_uint64))


class Core(ctypes.Structure):
    """The state of the CPU, as the library keeps it.

    ``ppc`` is the address of the running instruction, ``pc`` what has been fetched of it;
    ``stopped`` is 1 in a ``stop``, 2 halted; ``int_mask`` is the mask of the status register << 8.
    """

    _fields_ = (
        ("cpu_type", _U),
        *((name, _U * 16) for name in ("dar", "dar_save")),
        *((name, _U) for name in ("ppc", "pc")),
        ("sp", _U * 7),
        *((name, _U) for name in ("vbr", "sfc", "dfc", "cacr", "caar", "ir")),
        ("fpr", _Extended * 8),
        *((name, _U) for name in ("fpiar", "fpsr", "fpcr", "t1", "t0", "supervisor", "master")),
        *((name, _U) for name in ("x", "n", "not_z", "v", "c", "int_mask", "int_level")),
        *((name, _U) for name in ("stopped", "pref_addr", "pref_data", "address_mask")),
        *((name, _U) for name in ("sr_mask", "instr_mode", "run_mode", "has_pmmu")),
        *((name, _U) for name in ("pmmu_enabled", "fpu_just_reset", "reset_cycles")),
        ("cyc_some", _U * 9),
        *((name, _U) for name in ("virq_state", "nmi_pending")),
        ("mmu", _U * 5),
        ("mmu_sr", ctypes.c_uint16),
        *((name, ctypes.c_void_p) for name in ("cyc_instruction", "cyc_exception")),
        ("callbacks", ctypes.c_void_p * 11),
    )


class Musashi:
    """The library of the imported package.

    Attributes
    ----------
    core
        The CPU's state.
    initial, remaining
        The running slice's cycles, and how many of them are left.
    """

    def __init__(self, package: ModuleType) -> None:
        self.library = ctypes.PyDLL(str(package.__file__))
        if self.library.m68k_context_size() != ctypes.sizeof(Core):
            raise BoardError(
                "this version of machine68k keeps the CPU's state in another form; install the "
                "one that kprof[board] names"
            )
        self.core = Core.in_dll(self.library, "m68ki_cpu")
        self.initial = ctypes.c_int.in_dll(self.library, "m68ki_initial_cycles")
        self.remaining = ctypes.c_int.in_dll(self.library, "m68ki_remaining_cycles")
        self._table = (ctypes.c_void_p * _OPCODES).in_dll(
            self.library, "m68ki_instruction_jump_table"
        )
        self._originals: dict[int, int | None] = {}
        self._handlers: list[object] = []

    def wrap(
        self, opcodes: Iterable[int], make: Callable[[Callable[[], None]], Callable[[], None]]
    ) -> None:
        """Let ``make(original)`` handle these opcodes, but those that are illegal instructions.

        The handler runs with the program counter behind the opcode; it must not raise.
        """
        illegal = self._table[0x4AFC]
        made: dict[int | None, int | None] = {}
        for opcode in opcodes:
            original = self._table[opcode]
            if original == illegal and opcode != 0x4AFC:
                continue
            if original not in made:
                handler = _HANDLER(make(_HANDLER(original or 0)))
                self._handlers.append(handler)
                made[original] = ctypes.cast(handler, ctypes.c_void_p).value
            self._originals.setdefault(opcode, original)
            self._table[opcode] = made[original]

    def all_like(self, opcode: int) -> list[int]:
        """All opcodes that have the handler of this one."""
        handler = self._table[opcode]
        return [other for other, at in enumerate(self._table) if at == handler]

    def unwrap(self) -> None:
        """Give all opcodes their own handlers again."""
        for opcode, original in self._originals.items():
            self._table[opcode] = original
        self._originals.clear()

    def exception_clocks(self, vector: int) -> int:
        """Clocks of the exception processing of this CPU."""
        return ctypes.c_uint8.from_address((self.core.cyc_exception or 0) + vector).value

    def state(self) -> memoryview:
        """The bytes of `core` that hold the programmer's model, for comparing two moments."""
        start, end = Core.dar.offset, Core.int_level.offset
        return memoryview(self.core).cast("B")[start:end]
