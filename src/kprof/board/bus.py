"""How devices hang on the 68020's bus: port widths and wait states.

A bus cycle without wait states is 3 clocks (MC68020 user's manual, section on bus operation). The
emulator's instruction times hold one such cycle for each operand; a narrower port needs more of
them (dynamic bus sizing), and every cycle has the port's wait states on top.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kprof.board.cpu import Cpu
from kprof.board.crash import GuestError
from kprof.board.polling import Polling

CYCLE_CLOCKS = 3
ERASED = 0xFF


def extra_clocks(cpu: str, port_bits: int, wait_states: int) -> tuple[int, int, int]:
    """What a byte, a word and a long on such a port cost on top of the emulator's times.

    The times of a 68000 and 68010 hold the cycles of a 16-bit bus, of 4 clocks each; those of the
    others one cycle of 3 clocks for each operand.
    """
    native, cycle = (2, 4) if cpu in ("68000", "68010") else (4, CYCLE_CLOCKS)
    port = port_bits // 8
    extra = []
    for size in (1, 2, 4):
        counted, cycles = -(-size // native), -(-size // min(port, native))
        extra.append(cycles * wait_states + (cycles - counted) * cycle)
    return extra[0], extra[1], extra[2]


class ByteDevice(Protocol):
    """A device of byte registers."""

    def steady(self, offset: int) -> bool:
        """Whether reading that register changes nothing."""

    def read(self, offset: int, now: int) -> int:
        """The byte at `offset` in its 64 KB page, read at clock `now`."""

    def write(self, offset: int, value: int, now: int) -> None:
        """Write the byte at `offset`."""


class WordDevice(Protocol):
    """A device of 16-bit registers."""

    def steady(self, offset: int) -> bool:
        """Whether reading that register changes nothing."""

    def read(self, offset: int, now: int) -> int:
        """The word at the even `offset` in its 64 KB page, read at clock `now`."""

    def write(self, offset: int, value: int, now: int) -> None:
        """Write the word at the even `offset`."""


class BytePort:
    """An 8-bit port: words and longs are two and four bus cycles, at rising addresses."""

    def __init__(self, cpu: Cpu, device: ByteDevice, wait_states: int, polling: Polling) -> None:
        self._cpu = cpu
        self._device = device
        self._wait = wait_states
        self._polling = polling

    def r8(self, address: int) -> int:
        if self._device.steady(address & 0xFFFF):
            self._polling.polled(address)
        else:
            self._polling.touched()
        return self._cycle(address)

    def r16(self, address: int) -> int:
        return self._read(address, 2)

    def r32(self, address: int) -> int:
        return self._read(address, 4)

    def w8(self, address: int, value: int) -> None:
        self._polling.touched()
        self._device.write(address & 0xFFFF, value, self._cpu.now)
        self._cpu.wait(self._wait)

    def w16(self, address: int, value: int) -> None:
        self._write(address, value, 2)

    def w32(self, address: int, value: int) -> None:
        self._write(address, value, 4)

    def _cycle(self, address: int) -> int:
        value = self._device.read(address & 0xFFFF, self._cpu.now)
        self._cpu.wait(self._wait)
        return value

    def _read(self, address: int, size: int) -> int:
        self._polling.touched()
        value = self._cycle(address)
        for offset in range(1, size):
            self._cpu.wait(CYCLE_CLOCKS)
            value = value << 8 | self._cycle(address + offset)
        return value

    def _write(self, address: int, value: int, size: int) -> None:
        data = value.to_bytes(size, "big")
        self.w8(address, data[0])
        for offset in range(1, size):
            self._cpu.wait(CYCLE_CLOCKS)
            self.w8(address + offset, data[offset])


class Decoder:
    """Several byte devices in one page, or one on every second or fourth byte of a wider bus.

    A word is one bus cycle of a 16-bit bus: the byte that no device drives reads 0xFF.

    Parameters
    ----------
    parts
        (first address, distance of the registers, how many, port).
    """

    def __init__(
        self, cpu: Cpu, parts: list[tuple[int, int, int, BytePort]], nothing: Nothing
    ) -> None:
        self._cpu = cpu
        self._nothing = nothing
        self._ports = {
            base + number * stride: (number, port)
            for base, stride, registers, port in parts
            for number in range(registers)
        }

    def r8(self, address: int) -> int:
        found = self._ports.get(address)
        if found is None:
            return self._missing("R", 0, address, address & ~1)
        return found[1].r8(found[0])

    def r16(self, address: int) -> int:
        found = [self._ports.get(address + offset) for offset in (0, 1)]
        if not any(found):
            return self._missing("R", 1, address, address) & 0xFF_FFFF
        high, low = (port[1].r8(port[0]) if port else ERASED for port in found)
        return high << 8 | low

    def r32(self, address: int) -> int:
        return self.r16(address) << 16 | self.r16(address + 2)

    def w8(self, address: int, value: int) -> None:
        found = self._ports.get(address)
        if found is None:
            self._missing("W", 0, address, address & ~1)
        else:
            found[1].w8(found[0], value)

    def w16(self, address: int, value: int) -> None:
        found = [self._ports.get(address + offset) for offset in (0, 1)]
        if not any(found):
            self._missing("W", 1, address, address)
        for port, byte in zip(found, value.to_bytes(2, "big"), strict=True):
            if port:
                port[1].w8(port[0], byte)

    def w32(self, address: int, value: int) -> None:
        self.w16(address, value >> 16)
        self.w16(address + 2, value & 0xFFFF)

    def _missing(self, mode: str, width: int, address: int, word: int) -> int:
        """The other byte of a device's word is nobody's; anything else is where nothing is."""
        if word not in self._ports and word + 1 not in self._ports:
            self._nothing.fault(mode, width, address)
        return ERASED


class WordPort:
    """A 16-bit port: a long is two bus cycles; a byte is half of a word."""

    def __init__(self, cpu: Cpu, device: WordDevice, wait_states: int, polling: Polling) -> None:
        self._cpu = cpu
        self._device = device
        self._wait = wait_states
        self._polling = polling

    def r8(self, address: int) -> int:
        word = self.r16(address & ~1)
        return word & 0xFF if address & 1 else word >> 8

    def r16(self, address: int) -> int:
        if address & 1:  # the end of one word and the beginning of the next
            self._polling.touched()
            low = self._cycle(address & ~1) & 0xFF
            self._cpu.wait(CYCLE_CLOCKS)
            return low << 8 | self._cycle(address + 1) >> 8
        if self._device.steady(address & 0xFFFF):
            self._polling.polled(address)
        else:
            self._polling.touched()
        return self._cycle(address)

    def r32(self, address: int) -> int:
        high = self.r16(address)
        self._polling.touched()
        self._cpu.wait(CYCLE_CLOCKS)
        return high << 16 | self.r16(address + 2)

    def w8(self, address: int, value: int) -> None:
        # The register sees the byte on both halves of its bus.
        self.w16(address & ~1, value << 8 | value)

    def w16(self, address: int, value: int) -> None:
        self._polling.touched()
        self._device.write(address & 0xFFFE, value, self._cpu.now)
        self._cpu.wait(self._wait)

    def w32(self, address: int, value: int) -> None:
        self.w16(address, value >> 16)
        self._cpu.wait(CYCLE_CLOCKS)
        self.w16(address + 2, value & 0xFFFF)

    def _cycle(self, address: int) -> int:
        value = self._device.read(address & 0xFFFE, self._cpu.now)
        self._cpu.wait(self._wait)
        return value


class SlowMemory:
    """The CPU's memory behind a narrower port, or behind wait states.

    Parameters
    ----------
    extra
        Clocks that a byte, a word and a long cost on top of what the emulator counts.
    end
        The first address behind it; an access over the end goes to `nothing`.
    """

    def __init__(self, cpu: Cpu, extra: tuple[int, int, int], end: int, nothing: Nothing) -> None:
        memory = cpu.memory
        self._wait = cpu.wait
        self._one, self._word, self._two = extra
        self._end = end
        self._fault = nothing.fault
        self._r8, self._r16, self._r32 = memory.r8, memory.r16, memory.r32
        self._w8, self._w16, self._w32 = memory.w8, memory.w16, memory.w32

    def r8(self, address: int) -> int:
        self._wait(self._one)
        return int(self._r8(address))

    def r16(self, address: int) -> int:
        if address + 2 > self._end:
            self._fault("R", 1, address)
        self._wait(self._word)
        return int(self._r16(address))

    def r32(self, address: int) -> int:
        if address + 4 > self._end:
            self._fault("R", 2, address)
        self._wait(self._two)
        return int(self._r32(address))

    def w8(self, address: int, value: int) -> None:
        self._wait(self._one)
        self._w8(address, value)

    def w16(self, address: int, value: int) -> None:
        if address + 2 > self._end:
            self._fault("W", 1, address)
        self._wait(self._word)
        self._w16(address, value)

    def w32(self, address: int, value: int) -> None:
        if address + 4 > self._end:
            self._fault("W", 2, address)
        self._wait(self._two)
        self._w32(address, value)


class Nothing:
    """No device: an access is the end of the run.

    Ours: a real board answers with a bus error, which a kernel under test hardly ever means.

    Parameters
    ----------
    crash
        Makes the error of an access: ``crash(mode, width, address)``, mode R or W, 1 << `width`
        bytes. What follows in the same instruction ends with the first access's.
    """

    def __init__(self, crash: Callable[[str, int, int], GuestError]) -> None:
        self._crash = crash
        self._first: GuestError | None = None

    def fault(self, mode: str, width: int, address: int) -> None:
        """Raise the error of an access."""
        if self._first is None:
            self._first = self._crash(mode, width, address)
        raise self._first

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
