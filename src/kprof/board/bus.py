"""How devices hang on the 68020's bus: port widths and wait states.

A bus cycle without wait states is 3 clocks (MC68020 user's manual, section on bus operation). The
emulator's instruction times hold one such cycle for each operand; a narrower port needs more of
them (dynamic bus sizing), and every cycle has the port's wait states on top.
"""

from __future__ import annotations

from typing import Protocol

from kprof.board.cpu import Cpu
from kprof.errors import BoardError

CYCLE_CLOCKS = 3


class ByteDevice(Protocol):
    """A device of byte registers."""

    def read(self, offset: int, now: int) -> int:
        """The byte at `offset` in its 64 KB page, read at clock `now`."""

    def write(self, offset: int, value: int, now: int) -> None:
        """Write the byte at `offset`."""


class WordDevice(Protocol):
    """A device of 16-bit registers."""

    def read(self, offset: int, now: int) -> int:
        """The word at the even `offset` in its 64 KB page, read at clock `now`."""

    def write(self, offset: int, value: int, now: int) -> None:
        """Write the word at the even `offset`."""


class BytePort:
    """An 8-bit port: words and longs are two and four bus cycles, at rising addresses."""

    def __init__(self, cpu: Cpu, device: ByteDevice, wait_states: int) -> None:
        self._cpu = cpu
        self._device = device
        self._wait = wait_states

    def r8(self, address: int) -> int:
        value = self._device.read(address & 0xFFFF, self._cpu.now)
        self._cpu.wait(self._wait)
        return value

    def r16(self, address: int) -> int:
        return self._read(address, 2)

    def r32(self, address: int) -> int:
        return self._read(address, 4)

    def w8(self, address: int, value: int) -> None:
        self._device.write(address & 0xFFFF, value, self._cpu.now)
        self._cpu.wait(self._wait)

    def w16(self, address: int, value: int) -> None:
        self._write(address, value, 2)

    def w32(self, address: int, value: int) -> None:
        self._write(address, value, 4)

    def _read(self, address: int, size: int) -> int:
        value = self.r8(address)
        for offset in range(1, size):
            self._cpu.wait(CYCLE_CLOCKS)
            value = value << 8 | self.r8(address + offset)
        return value

    def _write(self, address: int, value: int, size: int) -> None:
        data = value.to_bytes(size, "big")
        self.w8(address, data[0])
        for offset in range(1, size):
            self._cpu.wait(CYCLE_CLOCKS)
            self.w8(address + offset, data[offset])


class WordPort:
    """A 16-bit port: a long is two bus cycles; a byte is half of a word."""

    def __init__(self, cpu: Cpu, device: WordDevice, wait_states: int) -> None:
        self._cpu = cpu
        self._device = device
        self._wait = wait_states

    def r8(self, address: int) -> int:
        word = self.r16(address & ~1)
        return word & 0xFF if address & 1 else word >> 8

    def r16(self, address: int) -> int:
        value = self._device.read(address & 0xFFFE, self._cpu.now)
        self._cpu.wait(self._wait)
        return value

    def r32(self, address: int) -> int:
        high = self.r16(address)
        self._cpu.wait(CYCLE_CLOCKS)
        return high << 16 | self.r16(address + 2)

    def w8(self, address: int, value: int) -> None:
        # The register sees the byte on both halves of its bus.
        self.w16(address & ~1, value << 8 | value)

    def w16(self, address: int, value: int) -> None:
        self._device.write(address & 0xFFFE, value, self._cpu.now)
        self._cpu.wait(self._wait)

    def w32(self, address: int, value: int) -> None:
        self.w16(address, value >> 16)
        self._cpu.wait(CYCLE_CLOCKS)
        self.w16(address + 2, value & 0xFFFF)


class SlowMemory:
    """Memory on a 16-bit bus: the CPU's memory behind `wait_states` a bus cycle."""

    def __init__(self, cpu: Cpu, wait_states: int) -> None:
        memory = cpu.memory
        self._wait = cpu.wait
        self._one = wait_states
        self._two = CYCLE_CLOCKS + 2 * wait_states
        self._r8, self._r16, self._r32 = memory.r8, memory.r16, memory.r32
        self._w8, self._w16, self._w32 = memory.w8, memory.w16, memory.w32

    def r8(self, address: int) -> int:
        self._wait(self._one)
        return int(self._r8(address))

    def r16(self, address: int) -> int:
        self._wait(self._one)
        return int(self._r16(address))

    def r32(self, address: int) -> int:
        self._wait(self._two)
        return int(self._r32(address))

    def w8(self, address: int, value: int) -> None:
        self._wait(self._one)
        self._w8(address, value)

    def w16(self, address: int, value: int) -> None:
        self._wait(self._one)
        self._w16(address, value)

    def w32(self, address: int, value: int) -> None:
        self._wait(self._two)
        self._w32(address, value)


class Nothing:
    """No device: an access is the end of the run, with the place of the instruction in the message.

    Ours: a real board answers with a bus error, which a kernel under test hardly ever means.
    """

    def __init__(self, cpu: Cpu) -> None:
        self._cpu = cpu

    def fault(self, mode: str, width: int, address: int) -> None:
        """Raise the error of an access of 1 << `width` bytes."""
        verb = "read" if mode == "R" else "write"
        hint = ""
        if address >= 0xFFFF_8000:
            hint = (
                " (a 16-bit address past 0x7fff is sign-extended: a trigger there needs the long "
                "form, tst.b 0x8500.l)"
            )
        raise BoardError(
            f"{verb} of {1 << width} byte{'s' if width else ''} at 0x{address:08x}, near pc "
            f"0x{self._cpu.pc:06x}: no memory or device is there{hint}"
        )

    def r8(self, address: int) -> int:
        self.fault("R", 0, address)
        return 0

    def r16(self, address: int) -> int:
        self.fault("R", 1, address)
        return 0

    def r32(self, address: int) -> int:
        self.fault("R", 2, address)
        return 0

    def w8(self, address: int, value: int) -> None:  # noqa: ARG002
        self.fault("W", 0, address)

    def w16(self, address: int, value: int) -> None:  # noqa: ARG002
        self.fault("W", 1, address)

    def w32(self, address: int, value: int) -> None:  # noqa: ARG002
        self.fault("W", 2, address)
