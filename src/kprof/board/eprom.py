"""The boot EPROM's socket, with the Profiler between the EPROM and the board.

On an 8-bit port a word is read as two bytes, a long as four, in rising addresses, and each bus
cycle is one select of the Profiler (68020 dynamic bus sizing). On a 16-bit or 32-bit port the
EPROMs stand in pairs or fours, selected together, and the lowest address lines are not on their
sockets: the Profiler, on one of them, sees ``address >> 1`` or ``address >> 2``, and its
data is on the first byte of the port. It sees no more address lines than its socket has, and 16
at most; EPROMs behind the first pair or four have selects of their own. Writes select nothing: an
EPROM has no write line.
"""

from __future__ import annotations

from collections.abc import Callable

from kprof.board.bus import CYCLE_CLOCKS, ERASED, Nothing
from kprof.board.cpu import PAGE_BYTES, Cpu
from kprof.board.description import Eprom
from kprof.board.polling import Polling
from kprof.board.profiler import Profiler
from kprof.errors import BoardError

MOST_LINES_MASK = 0xFFFF


class EpromSocket:
    """The EPROMs and the Profiler on their sockets, as a region of the CPU's address space.

    Parameters
    ----------
    cpu
        Whose clock stamps the events, and who waits.
    image
        Contents, up to ``eprom.bytes``; what is missing reads 0xFF.
    profiler
        The Profiler on the (first) socket.
    eprom
        Where they are, and of what kind.
    native_bytes
        Width of the bus in the emulator's instruction times: 2 or 4.
    cycle_clocks
        Clocks of a bus cycle without wait states.
    polling
        Gets to know of selects that matter to the Profiler.
    nothing
        What answers in the pages behind the last EPROM.
    """

    def __init__(
        self,
        cpu: Cpu,
        image: bytes,
        profiler: Profiler,
        eprom: Eprom,
        *,
        native_bytes: int = 4,
        cycle_clocks: int = CYCLE_CLOCKS,
        polling: Polling,
        nothing: Nothing,
    ) -> None:
        self._width = eprom.port_bits // 8
        if len(image) > eprom.bytes:
            raise BoardError(
                f"an EPROM image of {len(image)} bytes; on a port of {eprom.port_bits} bits the "
                f"board has room for {eprom.bytes}"
            )
        self._image = image + bytes([ERASED]) * (eprom.bytes - len(image))
        self._cpu = cpu
        self._profiler = profiler
        self._wait = eprom.wait_states
        self._base = eprom.base
        self._native = native_bytes
        self._cycle_clocks = cycle_clocks
        self._polling = polling
        self._fault = nothing.fault
        self._chip = eprom.chip_bytes
        self._lane = eprom.profiler_chip
        self._mask = (eprom.chip_bytes - 1) & MOST_LINES_MASK
        self._ways = {
            False: (self._appending_r8(), self._r16, self._r32),
            True: (self._quiet_r8(), self._quiet_r16, self._quiet_r32),
            None: (self._r8, self._r16, self._r32),
        }
        self._banked = (self._banked_r8(), self._r16, self._r32)
        # The short ways know one set of EPROMs that fills its pages.
        self._short = eprom.bytes == self._width * eprom.chip_bytes and not eprom.bytes % PAGE_BYTES
        profiler.changed = self._choose
        self._choose()

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
        ways = self._banked if profiler.banked else self._ways[way]
        self.r8, self.r16, self.r32 = ways if self._short else self._ways[None]
        self._cpu.map(self._base, -(-len(self._image) // PAGE_BYTES), self)

    def _appending_r8(self) -> Callable[[int], int]:
        """A byte while all that a select does is to be appended."""
        cpu, profiler, image, base = self._cpu, self._profiler, self._image, self._base
        wait, shift, remaining = self._wait, self._width.bit_length() - 1, self._cpu.remaining
        mask, selects = self._mask, profiler.selects
        append = selects.append

        def r8(address: int) -> int:
            left = remaining.value
            offset = address - base
            append((cpu.slice_end - left) << 16 | offset >> shift & mask)
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
        mask, read, touched = self._mask, self._profiler.read_bank, self._polling.touched
        lane = self._lane

        def r8(address: int) -> int:
            remaining.value -= wait
            offset = address - base
            pins = offset >> shift & mask
            if pins & 0x8000 and offset % width == lane:
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
        self._cpu.wait(self._extra(cycles, size))
        return int.from_bytes(self._image[offset : offset + size], "big")

    def _extra(self, cycles: int, size: int) -> int:
        """Clocks on top of the emulator's instruction times."""
        more = max(cycles - -(-size // self._native), 0)
        return cycles * self._wait + more * self._cycle_clocks

    def _r8(self, address: int) -> int:
        return self._read(address - self._base, 1)

    def _r16(self, address: int) -> int:
        return self._read(address - self._base, 2)

    def _r32(self, address: int) -> int:
        return self._read(address - self._base, 4)

    def _read(self, offset: int, size: int) -> int:
        width = self._width
        if offset + size > len(self._image):
            self._fault("R", size.bit_length() - 1, self._base + offset)
        if not self._profiler.quiet:
            self._polling.touched()
        first, last = offset // width, (offset + size - 1) // width
        data = b"".join(self._cycle(cycle, cycle - first) for cycle in range(first, last + 1))
        self._cpu.wait(self._extra(last - first + 1, size))
        start = offset - first * width
        return int.from_bytes(data[start : start + size], "big")

    def _cycle(self, cycle: int, number: int) -> bytes:
        """One bus cycle, the `number`-th of its instruction: the bytes of the port."""
        answer = None
        if cycle < self._chip:
            behind = number * (self._cycle_clocks + self._wait)
            answer = self._profiler.select(cycle & self._mask, self._cpu.now + behind)
        start = cycle * self._width
        data = self._image[start : start + self._width]
        if answer is None:
            return data
        return data[: self._lane] + bytes([answer]) + data[self._lane + 1 :]
