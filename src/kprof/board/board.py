"""A board, assembled from its description, with the Profiler in its EPROM socket.

An access where nothing is ends the run with an error. The board's clock is the CPU's; the
Profiler has its own oscillator, by default 31 ppm fast and 0.37 of a tick into a period: on a
common time base short intervals would be measured with a bias, always the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import TracebackType

from kprof.board.bus import CYCLE_CLOCKS, Nothing, SlowMemory, extra_clocks
from kprof.board.cpu import PAGE_BYTES, Cpu
from kprof.board.crash import GuestError, access_crash, stop_crash
from kprof.board.description import Description
from kprof.board.devices import Devices, Traffic
from kprof.board.duart import Duart
from kprof.board.elf import KernelImage
from kprof.board.eprom import EpromSocket
from kprof.board.moments import Moment
from kprof.board.polling import Polling
from kprof.board.profiler import Profiler, Switch
from kprof.board.traffic import data_stream
from kprof.errors import BoardError

__all__ = ["DEFAULT_PHASE", "DEFAULT_PPM", "Board", "Traffic"]

DEFAULT_PPM = 31
DEFAULT_PHASE = Fraction(37, 100)
_SLICES_A_SECOND = 100


class Board:
    """The assembled board, just after power-up.

    Parameters
    ----------
    description
        What is on it.
    kernel
        What is in the EPROM and, where it was linked so, in RAM.
    profiler
        The Profiler on the socket; by default one with power-up noise in its RAM.
    traffic
        What comes over the Ethernet; by default `data_stream`.

    Attributes
    ----------
    cpu, profiler, devices, uarts, ethernet
        The parts; `uarts` by name, `ethernet` None where there is none.
    console, upload
        The channels of a serial chip that the console and the upload line are on, or None.
    hz
        Frequency of the board's clock.
    reached
        The last `run` ended because the events that `record` asked for were there, or the moment of
        `at` came.
    """

    def __init__(
        self,
        description: Description,
        kernel: KernelImage,
        *,
        profiler: Profiler | None = None,
        traffic: Traffic | None = None,
    ) -> None:
        self.description = description
        self.kernel = kernel
        self.hz = description.clock_hz
        self.profiler = profiler or Profiler(self.hz, ppm=DEFAULT_PPM, phase=DEFAULT_PHASE)
        self.reached = False
        ends = [ram.base + ram.bytes for ram in description.ram]
        if description.ethernet is not None:
            ends.append(description.ethernet.buffer + PAGE_BYTES)
        # A page more than there is: no access runs over the end of the emulator's memory.
        self._memory_end = _pages(max(ends)) + PAGE_BYTES
        self.cpu = Cpu(self._memory_end, description.cpu)
        try:
            self._assemble(traffic if traffic is not None else data_stream(self.hz))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Board:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Switch the board off; another one can be made."""
        self.cpu.close()

    @property
    def now(self) -> int:
        """Clocks since power-up."""
        return self.cpu.now

    @property
    def seconds(self) -> float:
        """Seconds since power-up, on the board."""
        return self.cpu.now / self.hz

    @property
    def idle(self) -> bool:
        """The CPU waits for an interrupt, with none masked."""
        return self.cpu.stopped and self.cpu.mask == 0

    @property
    def duart(self) -> Duart:
        """The first 68681."""
        return next(chip for chip in self.uarts.values() if isinstance(chip, Duart))

    @property
    def serving(self) -> bool | None:
        """The kernel says, with an output port, that its agent serves; None: it has none."""
        return self.devices.serving(self.description.upload)

    @property
    def log(self) -> list[tuple[int, int]]:
        """Every select since the last `record` that the Profiler noted: (clock, address)."""
        return [(word >> 16, word & 0xFFFF) for word in self.profiler.selects]

    def record(self, stop_at: int, *, noting: bool = True) -> None:
        """Turn the Profiler to RUN; `run` returns once it holds `stop_at` events.

        Parameters
        ----------
        noting
            The Profiler notes the selects behind its last event, too.
        """
        self.profiler.stop_at(stop_at, noting=noting)
        self.profiler.turn(Switch.RUN, self.now)

    def at(self, moment: Moment, action: Callable[[], None]) -> Callable[[], None]:
        """Do `action` at the next such `moment` of kind ``pc`` or ``write``, and end the `run`.

        Returns
        -------
        Callable
            Gives it up.

        Raises
        ------
        UsageError
            The kernel has no such symbol.
        """
        cpu, address = self.cpu, moment.address(self.kernel)

        def done() -> None:
            forget()
            action()
            self.reached = True
            cpu.end_slice()

        def at_pc(pc: int) -> None:
            if pc == address:
                done()

        def at_write(mode: str, width: int, at: int, value: int) -> None:  # noqa: ARG001
            if mode == "W" and at <= address < at + (1 << width):
                done()

        def forget() -> None:
            self.polling.on = polled
            if moment.kind == "pc":
                cpu.step_hook(None)
            else:
                cpu.trace(None)

        polled, self.polling.on = self.polling.on, False
        if moment.kind == "pc":
            cpu.step_hook(at_pc)
        else:
            cpu.trace(at_write)
        return forget

    def run(self, until: int, *, to_idle: bool = False) -> None:
        """Let the board run to clock `until`; less where `record` asked for it.

        Parameters
        ----------
        until
            The clock to stop at; the instruction that passes it is finished.
        to_idle
            Return as soon as the CPU waits for an interrupt.

        Raises
        ------
        BoardError
            The kernel left the memory that there is, or stopped for good.
        """
        self.reached = False
        self.polling.touched()
        while self.cpu.now < until and not self.reached:
            now = self.cpu.now
            self.devices.advance(now)
            try:
                self.cpu.run(min(until, self.devices.due(now), now + self.hz // _SLICES_A_SECOND))
            except GuestError as crash:  # what the rest of that instruction did is no event
                del self.profiler.selects[crash.selects :]
                raise
            if self.cpu.stopped:
                if self.cpu.mask == 7:
                    raise stop_crash(self.cpu, self.kernel.symbols, self.profiler.selects)
                if to_idle and self.cpu.mask == 0:
                    return

    def peek(self, symbol: str) -> int:
        """The value of a variable of the kernel (1, 2 or 4 bytes, unsigned).

        Raises
        ------
        BoardError
            The kernel has no such symbol.
        """
        found = self.kernel.symbols.get(symbol)
        if found is None:
            raise BoardError(f"the kernel has no symbol {symbol}")
        return int.from_bytes(self.cpu.peek(found.address, found.size or 4), "big")

    def _assemble(self, traffic: Traffic) -> None:
        cpu, board = self.cpu, self.description
        self.polling = Polling(
            cpu, lambda now: self.devices.quiet_until(now), self.profiler.selects
        )
        cpu.interrupted = self.polling.touched
        self.profiler.reached = self._reached
        crash = partial(access_crash, cpu, self.kernel.symbols, self.profiler.selects)
        nothing = Nothing(crash)
        cpu.on_nothing(nothing.fault)
        for page in range(0, self._memory_end, PAGE_BYTES):
            if not any(ram.base <= page < ram.base + ram.bytes for ram in board.ram):
                cpu.map(page, 1, nothing)
        for ram in board.ram:
            extra = extra_clocks(board.cpu, ram.port_bits, ram.wait_states)
            if any(extra):
                memory = SlowMemory(cpu, extra, ram.base + ram.bytes, nothing)
                cpu.map(ram.base, ram.bytes // PAGE_BYTES, memory)
        small = board.cpu in ("68000", "68010")
        self.devices = devices = Devices(cpu, board, self.polling, nothing, traffic)
        self.uarts, self.ethernet = devices.uarts, devices.ethernet
        self.console, self.upload = devices.channel(board.console), devices.channel(board.upload)
        EpromSocket(
            cpu,
            self._eprom(),
            self.profiler,
            board.eprom,
            native_bytes=2 if small else 4,
            cycle_clocks=4 if small else CYCLE_CLOCKS,
            polling=self.polling,
            nothing=nothing,
        )
        for address, content in self.kernel.memory:
            self._load(address, content)
        if board.eprom.base:
            first = self._eprom()[:8] if board.eprom.at_reset else bytes(8)
            if any(first):
                cpu.poke(0, first)
        cpu.reset()

    def _load(self, address: int, content: bytes) -> None:
        for ram in self.description.ram:
            if ram.base <= address <= ram.base + ram.bytes - len(content):
                self.cpu.poke(address, content)
                return
        eprom = self.description.eprom
        places = ", ".join(
            f"RAM at 0x{ram.base:06x}..0x{ram.base + ram.bytes - 1:06x}"
            for ram in self.description.ram
        )
        raise BoardError(
            f"a segment of the kernel is at 0x{address:08x}, {len(content)} bytes; the board has "
            f"its EPROM at {hex(eprom.base) if eprom.base else 0} and {places}"
        )

    def _eprom(self) -> bytes:
        if self.kernel.eprom:
            return self.kernel.eprom
        ram = max(self.description.ram, key=lambda one: one.bytes)
        return (ram.base + ram.bytes).to_bytes(4, "big") + self.kernel.entry.to_bytes(4, "big")

    def _reached(self) -> None:
        self.reached = True
        self.cpu.end_slice()


def _pages(address: int) -> int:
    return -(-address // PAGE_BYTES) * PAGE_BYTES
