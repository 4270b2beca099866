"""The boot EPROM's socket, with the Profiler between the EPROM and the board.

64 KB on an 8-bit port: a word is read as two bytes, a long as four, in rising addresses, and each
bus cycle is one select of the Profiler (68020 dynamic bus sizing). On a 16-bit or 32-bit port the
EPROMs stand in pairs or fours, selected together, and the lowest address lines are not on their
sockets: the Profiler, on the first of them, sees ``address >> 1`` or ``address >> 2``, and its data
is on the first byte of the port. Writes select nothing: an EPROM has no write line.
"""

from __future__ import annotations

from kprof.board.bus import CYCLE_CLOCKS
from kprof.board.cpu import Cpu
from kprof.board.profiler import Profiler
from kprof.errors import BoardError

EPROM_BYTES = 65_536
MOST_EPROMS = 4
ERASED = 0xFF


class EpromSocket:
    """The EPROMs and the Profiler on their sockets, as a region of the CPU's address space.

    Parameters
    ----------
    cpu
        Whose clock stamps the events, and who waits.
    image
        Contents, up to 65,536 bytes an EPROM; what is missing reads 0xFF.
    profiler
        The Profiler on the (first) socket.
    wait_states
        Clocks added to a bus cycle.
    port_bits
        8, 16 or 32.
    """

    def __init__(
        self, cpu: Cpu, image: bytes, profiler: Profiler, wait_states: int, port_bits: int = 8
    ) -> None:
        if port_bits not in (8, 16, 32):
            raise BoardError(f"an EPROM port of {port_bits} bits; expected 8, 16 or 32")
        self._width = port_bits // 8
        room = EPROM_BYTES * self._width
        if len(image) > room:
            raise BoardError(
                f"an EPROM image of {len(image)} bytes; on a port of {port_bits} bits the board "
                f"has room for {room}"
            )
        self._image = image + bytes([ERASED]) * (room - len(image))
        self._cpu = cpu
        self._select = profiler.select
        self._wait = wait_states

    @property
    def pages(self) -> int:
        """Pages of 64 KB that it takes, from address 0."""
        return self._width

    def r8(self, address: int) -> int:
        """Read a byte: one cycle."""
        return self._cycle(address // self._width)[address % self._width]

    def r16(self, address: int) -> int:
        """Read a word."""
        return self._read(address, 2)

    def r32(self, address: int) -> int:
        """Read a long."""
        return self._read(address, 4)

    def w8(self, address: int, value: int) -> None:
        """Nothing: an EPROM cannot be written."""

    def w16(self, address: int, value: int) -> None:
        """Nothing."""

    def w32(self, address: int, value: int) -> None:
        """Nothing."""

    def _read(self, address: int, size: int) -> int:
        width = self._width
        first, last = address // width, (address + size - 1) // width
        data = self._cycle(first)
        for cycle in range(first + 1, last + 1):
            self._cpu.wait(CYCLE_CLOCKS)
            data += self._cycle(cycle)
        start = address - first * width
        return int.from_bytes(data[start : start + size], "big")

    def _cycle(self, cycle: int) -> bytes:
        """One bus cycle: the bytes of the port."""
        cpu = self._cpu
        answer = self._select(cycle & 0xFFFF, cpu.now)
        cpu.wait(self._wait)
        start = cycle * self._width
        data = self._image[start : start + self._width]
        return data if answer is None else bytes([answer]) + data[1:]
