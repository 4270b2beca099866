"""The boot EPROM's socket, with the Profiler between the EPROM and the board.

64 KB on an 8-bit port: a word is read as two bytes, a long as four, in rising addresses, and each
bus cycle is one select of the Profiler (68020 dynamic bus sizing). On a 16-bit or 32-bit port the
EPROMs stand in pairs or fours, selected together, and the lowest address lines are not on their
sockets: the Profiler, on the first of them, sees ``address >> 1`` or ``address >> 2``, and its data
is on the first byte of the port. Writes select nothing: an EPROM has no write line.
"""

from __future__ import annotations

from collections.abc import Callable

from kprof.board.bus import CYCLE_CLOCKS
from kprof.board.cpu import Cpu
from kprof.board.polling import Polling
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
    base
        Its first address.
    polling
        Gets to know of selects that matter to the Profiler.
    """

    def __init__(
        self,
        cpu: Cpu,
        image: bytes,
        profiler: Profiler,
        wait_states: int,
        port_bits: int = 8,
        *,
        base: int = 0,
        polling: Polling,
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
        self._profiler = profiler
        self._wait = wait_states
        self._base = base
        self._polling = polling
        self._ways = {
            False: (self._appending_r8(), self._r16, self._r32),
            True: (self._quiet_r8(), self._quiet_r16, self._quiet_r32),
            None: (self._r8, self._r16, self._r32),
        }
        self._banked = (self._banked_r8(), self._r16, self._r32)
        profiler.changed = self._choose
        self._choose()

    @property
    def pages(self) -> int:
        """Pages of 64 KB that it takes."""
        return self._width

    def w8(self, address: int, value: int) -> None:
        """Nothing: an EPROM cannot be written."""

    def w16(self, address: int, value: int) -> None:
        """Nothing."""

    def w32(self, address: int, value: int) -> None:
        """Nothing."""

    def _choose(self) -> None:
        """Answer in the shortest way that does all that a select does now."""
        profiler = self._profiler
        way = True if profiler.quiet else False if profiler.plain else None
        self.r8, self.r16, self.r32 = self._banked if profiler.banked else self._ways[way]
        self._cpu.map(self._base, self.pages, self)

    def _appending_r8(self) -> Callable[[int], int]:
        """A byte while all that a select does is to be appended."""
        cpu, profiler, image, base = self._cpu, self._profiler, self._image, self._base
        wait, shift, remaining = self._wait, self._width.bit_length() - 1, self._cpu.remaining
        selects = profiler.selects
        append = selects.append

        def r8(address: int) -> int:
            left = remaining.value
            offset = address - base
            append((cpu.slice_end - left) << 16 | offset >> shift)
            remaining.value = left - wait
            if len(selects) == profiler.limit:
                profiler.at_limit()
            return image[offset]

        return r8

    def _quiet_r8(self) -> Callable[[int], int]:
        """A byte while a select does nothing."""
        image, base, wait, remaining = self._image, self._base, self._wait, self._cpu.remaining

        def r8(address: int) -> int:
            remaining.value -= wait
            return image[address - base]

        return r8

    def _banked_r8(self) -> Callable[[int], int]:
        """A byte while the Profiler's banks can be read."""
        image, base, wait, remaining = self._image, self._base, self._wait, self._cpu.remaining
        width, shift = self._width, self._width.bit_length() - 1
        read, touched = self._profiler.read_bank, self._polling.touched

        def r8(address: int) -> int:
            remaining.value -= wait
            offset = address - base
            pins = offset >> shift & 0xFFFF
            if pins & 0x8000 and not offset % width:
                if pins & 0x4000:
                    touched()
                answer = read(pins)
                if answer is not None:
                    return answer
            return image[offset]

        return r8

    def _quiet_r16(self, address: int) -> int:
        return self._quiet(address - self._base, 2)

    def _quiet_r32(self, address: int) -> int:
        return self._quiet(address - self._base, 4)

    def _quiet(self, offset: int, size: int) -> int:
        cycles = (offset + size - 1) // self._width - offset // self._width + 1
        self._cpu.wait(cycles * (self._wait + CYCLE_CLOCKS) - CYCLE_CLOCKS)
        return int.from_bytes(self._image[offset : offset + size], "big")

    def _r8(self, address: int) -> int:
        offset = address - self._base
        self._polling.touched()
        return self._cycle(offset // self._width)[offset % self._width]

    def _r16(self, address: int) -> int:
        return self._read(address - self._base, 2)

    def _r32(self, address: int) -> int:
        return self._read(address - self._base, 4)

    def _read(self, offset: int, size: int) -> int:
        width = self._width
        self._polling.touched()
        first, last = offset // width, (offset + size - 1) // width
        data = self._cycle(first)
        for cycle in range(first + 1, last + 1):
            self._cpu.wait(CYCLE_CLOCKS)
            data += self._cycle(cycle)
        start = offset - first * width
        return int.from_bytes(data[start : start + size], "big")

    def _cycle(self, cycle: int) -> bytes:
        """One bus cycle: the bytes of the port."""
        cpu = self._cpu
        answer = self._profiler.select(cycle & 0xFFFF, cpu.now)
        cpu.wait(self._wait)
        start = cycle * self._width
        data = self._image[start : start + self._width]
        return data if answer is None else bytes([answer]) + data[1:]
