"""The MD20, the simulated board: a 68020 at 20 MHz with the Profiler in its EPROM socket.

========== =================================================== ===== ===========
address    what                                                port  wait states
========== =================================================== ===== ===========
0x000000   EPROM, 64 KB; the Profiler is on its socket         8 *   2
0x100000   RAM, 1 MB                                           32    0
0x400000   DUART; its interrupt is level 5                     8     2
0x470000   Ethernet controller's registers; level 4            16    12
0x480000   Ethernet controller's buffer memory, 64 KB          16    12
========== =================================================== ===== ===========

(*) Or two EPROMs on 16 bits, or four on 32: the Profiler then sees the address without its lowest
bit or two, and triggers are instrumented with a shift of 1 or 2.

Interrupts are autovectored. An access anywhere else ends the run with an error. The board's clock
is the CPU's; the Profiler has its own oscillator, by default 31 ppm fast and 0.37 of a tick into a
period: on a common time base short intervals would be measured with a bias, always the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from types import TracebackType

from kprof.board.bus import BytePort, Nothing, SlowMemory, WordPort
from kprof.board.cpu import PAGE_BYTES, Cpu
from kprof.board.crash import GuestError, access_crash, stop_crash
from kprof.board.duart import Duart
from kprof.board.elf import KernelImage
from kprof.board.eprom import EpromSocket
from kprof.board.ethernet import Ethernet
from kprof.board.moments import Moment
from kprof.board.polling import Polling
from kprof.board.profiler import Profiler, Switch
from kprof.board.traffic import data_stream
from kprof.errors import BoardError

HZ = 20_000_000
RAM_BASE = 0x10_0000
RAM_BYTES = 0x10_0000
DUART_BASE = 0x40_0000
ETHERNET_BASE = 0x47_0000
BUFFER_BASE = 0x48_0000
DEFAULT_PPM = 31
DEFAULT_PHASE = Fraction(37, 100)
_MEMORY_BYTES = BUFFER_BASE + 2 * PAGE_BYTES  # a page more: no access runs over the end of it
_GAPS = (
    (PAGE_BYTES, RAM_BASE),
    (RAM_BASE + RAM_BYTES, DUART_BASE),
    (DUART_BASE + PAGE_BYTES, ETHERNET_BASE),
    (BUFFER_BASE + PAGE_BYTES, _MEMORY_BYTES),
)
_EPROM_WAIT, _DUART_WAIT, _ETHERNET_WAIT = 2, 2, 12
_DUART_LEVEL, _ETHERNET_LEVEL = 5, 4
_MAX_SLICE = HZ // 100


class MD20:
    """The assembled board, just after power-up.

    Parameters
    ----------
    kernel
        What is in the EPROM and, where it was linked so, in RAM.
    profiler
        The Profiler on the socket; by default one with power-up noise in its RAM.
    traffic
        What comes over the Ethernet; by default `data_stream`.
    eprom_bits
        Width of the EPROM's port: 8, 16 or 32.

    Attributes
    ----------
    cpu, profiler, duart, ethernet
        The parts.
    reached
        The last `run` ended because the events that `record` asked for were there, or the moment of
        `at` came.
    """

    def __init__(
        self,
        kernel: KernelImage,
        *,
        profiler: Profiler | None = None,
        traffic: Iterator[tuple[int, bytes]] | None = None,
        eprom_bits: int = 8,
    ) -> None:
        self.kernel = kernel
        self.profiler = profiler or Profiler(HZ, ppm=DEFAULT_PPM, phase=DEFAULT_PHASE)
        self.cpu = Cpu(_MEMORY_BYTES)
        try:
            self._assemble(traffic if traffic is not None else data_stream(HZ), eprom_bits)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> MD20:
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
        return self.cpu.now / HZ

    @property
    def idle(self) -> bool:
        """The CPU waits for an interrupt, with none masked."""
        return self.cpu.stopped and self.cpu.mask == 0

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
            self.ethernet.advance(now)
            self._lines()
            try:
                self.cpu.run(min(until, self.ethernet.due(), self.duart.due(now), now + _MAX_SLICE))
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

    def _assemble(self, traffic: Iterator[tuple[int, bytes]], eprom_bits: int) -> None:
        cpu = self.cpu
        self.duart = Duart(HZ)
        self.ethernet = Ethernet(
            HZ,
            lambda offset, size: cpu.peek(BUFFER_BASE + offset, size),
            lambda offset, data: cpu.poke(BUFFER_BASE + offset, data),
            traffic,
        )
        self.reached = False
        self.duart.changed = self.ethernet.changed = self._changed
        self.polling = Polling(cpu, self._quiet_until, self.profiler.selects)
        cpu.interrupted = self.polling.touched
        self.profiler.reached = self._reached
        symbols = self.kernel.symbols
        nothing = Nothing(partial(access_crash, cpu, symbols, self.profiler.selects))
        cpu.on_nothing(nothing.fault)
        for start, end in _GAPS:
            cpu.map(start, (end - start) // PAGE_BYTES, nothing)
        EpromSocket(
            cpu, self._eprom(), self.profiler, _EPROM_WAIT, eprom_bits, polling=self.polling
        )
        cpu.map(DUART_BASE, 1, BytePort(cpu, self.duart, _DUART_WAIT, self.polling))
        cpu.map(ETHERNET_BASE, 1, WordPort(cpu, self.ethernet, _ETHERNET_WAIT, self.polling))
        cpu.map(BUFFER_BASE, 1, SlowMemory(cpu, _ETHERNET_WAIT, BUFFER_BASE + PAGE_BYTES, nothing))
        for address, content in self.kernel.memory:
            if not RAM_BASE <= address <= RAM_BASE + RAM_BYTES - len(content):
                raise BoardError(
                    f"a segment of the kernel is at 0x{address:08x}, {len(content)} bytes; "
                    f"the board has its EPROM at 0 and RAM at 0x{RAM_BASE:06x}.."
                    f"0x{RAM_BASE + RAM_BYTES - 1:06x}"
                )
            cpu.poke(address, content)
        cpu.reset()

    def _eprom(self) -> bytes:
        if self.kernel.eprom:
            return self.kernel.eprom
        return (RAM_BASE + RAM_BYTES).to_bytes(4, "big") + self.kernel.entry.to_bytes(4, "big")

    def _quiet_until(self, now: int) -> int:
        return min(self.duart.quiet_until(now), self.ethernet.due())

    def _reached(self) -> None:
        self.reached = True
        self.cpu.end_slice()

    def _lines(self) -> None:
        """Put the devices' interrupt lines to the CPU."""
        if self.duart.irq(self.cpu.now):
            self.cpu.interrupt(_DUART_LEVEL)
        elif self.ethernet.irq():
            self.cpu.interrupt(_ETHERNET_LEVEL)
        else:
            self.cpu.interrupt(0)

    def _changed(self) -> None:
        self._lines()
        self.cpu.end_slice()
