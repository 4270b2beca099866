"""The devices of a board: serial chips, timers and Ethernet, their bus and interrupt lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from kprof.board.bus import BytePort, Decoder, Nothing, SlowMemory, WordPort, extra_clocks
from kprof.board.counter import NEVER
from kprof.board.cpu import PAGE_BYTES, Cpu, Region
from kprof.board.description import REGISTERS, Description, Line, Uart
from kprof.board.duart import Duart
from kprof.board.ethernet import Ethernet
from kprof.board.polling import Polling
from kprof.board.serial_channel import SerialChannel
from kprof.board.traffic import Station
from kprof.board.uarts import Acia, PeriodicTimer, Uart16550

Traffic = Station | Iterator[tuple[int, bytes]]
Chip = Duart | Acia | Uart16550 | PeriodicTimer


@dataclass(frozen=True)
class _Interrupt:
    """What a device does to the interrupt lines."""

    level: int
    irq: Callable[[int], bool]
    due: Callable[[int], int]
    vector: Callable[[], int | None]


class Devices:
    """All devices of a board.

    Parameters
    ----------
    nothing
        What answers where no device is.
    traffic
        What comes over the Ethernet.

    Attributes
    ----------
    uarts
        The serial chips by name.
    ethernet
        The controller, or None.
    """

    def __init__(
        self,
        cpu: Cpu,
        board: Description,
        polling: Polling,
        nothing: Nothing,
        traffic: Traffic,
    ) -> None:
        self._cpu = cpu
        self._board = board
        self._hz = board.clock_hz
        self._polling = polling
        self.uarts: dict[str, Duart | Acia | Uart16550] = {}
        self.ethernet: Ethernet | None = None
        self._interrupts: list[_Interrupt] = []
        self._quiet: list[Callable[[int], int]] = []
        self._map_chips(nothing)
        if board.ethernet is not None:
            self._map_ethernet(traffic, nothing)

    def advance(self, now: int) -> None:
        """Let everything happen that is due at `now`, and put the interrupt lines to the CPU."""
        if self.ethernet is not None:
            self.ethernet.advance(now)
        self._lines()

    def quiet_until(self, now: int) -> int:
        """Until when no register changes by itself."""
        return min(quiet(now) for quiet in self._quiet)

    def due(self, now: int) -> int:
        """When something is to be done, or an interrupt can appear."""
        due = self.ethernet.due() if self.ethernet is not None else NEVER
        return min([due, *(one.due(now) for one in self._interrupts)])

    def serving(self, line: Line | None) -> bool | None:
        """The bit of the output port that says so; None where there is none."""
        chip = self.uarts.get(line.uart) if line is not None else None
        if line is None or line.serving_bit < 0 or not isinstance(chip, Duart):
            return None
        return bool(chip.output >> line.serving_bit & 1)

    def _map_chips(self, nothing: Nothing) -> None:
        """Serial chips and timers: alone in a page they answer in all of it."""
        board = self._board
        parts: dict[int, list[tuple[int, int, int, BytePort]]] = defaultdict(list)
        for uart in board.uart:
            chip = self._chip(uart)
            self.uarts[uart.name] = chip
            vector = partial(_vector, chip) if uart.vectored else _autovector
            self._connect(chip, uart.level, vector)
            port = BytePort(self._cpu, chip, uart.wait_states, self._polling)
            registers = REGISTERS[uart.kind]
            parts[uart.base // PAGE_BYTES].append((uart.base, uart.stride, registers, port))
        for timer in board.timer:
            ticker = PeriodicTimer(self._hz, timer.hz)
            self._connect(ticker, timer.level, _autovector)
            port = BytePort(self._cpu, ticker, timer.wait_states, self._polling)
            parts[timer.base // PAGE_BYTES].append((timer.base, 1, 1, port))
        for page, inside in parts.items():
            region: Region = inside[0][3]
            if len(inside) > 1 or inside[0][1] > 1 or inside[0][0] % PAGE_BYTES:
                region = Decoder(self._cpu, inside, nothing)
            self._cpu.map(page * PAGE_BYTES, 1, region)

    def _map_ethernet(self, traffic: Traffic, nothing: Nothing) -> None:
        cpu, at = self._cpu, self._board.ethernet
        assert at is not None
        chip = self.ethernet = Ethernet(
            self._hz,
            lambda offset, size: cpu.peek(at.buffer + offset, size),
            lambda offset, data: cpu.poke(at.buffer + offset, data),
            traffic,
        )
        chip.changed = self._changed
        self._interrupts.append(
            _Interrupt(at.level, lambda now: chip.irq(), lambda now: NEVER, _autovector)  # noqa: ARG005
        )
        self._quiet.append(lambda now: chip.due())  # noqa: ARG005
        cpu.map(at.registers, 1, WordPort(cpu, chip, at.wait_states, self._polling))
        extra = extra_clocks(self._board.cpu, 16, at.wait_states)
        cpu.map(at.buffer, 1, SlowMemory(cpu, extra, at.buffer + PAGE_BYTES, nothing))

    def _chip(self, uart: Uart) -> Duart | Acia | Uart16550:
        if uart.kind == "68681":
            return Duart(self._hz)
        return (Acia if uart.kind == "6850" else Uart16550)(self._hz, uart.clock_hz)

    def _connect(self, chip: Chip, level: int, vector: Callable[[], int | None]) -> None:
        chip.changed = self._changed
        self._quiet.append(chip.quiet_until)
        if level:
            self._interrupts.append(_Interrupt(level, chip.irq, chip.due, vector))

    def channel(self, line: Line | None) -> SerialChannel | None:
        """The channel that a line is on."""
        if line is None:
            return None
        chip = self.uarts[line.uart]
        return chip.b if isinstance(chip, Duart) and line.channel == "b" else chip.a

    def _lines(self) -> None:
        """Put the devices' interrupt lines to the CPU: the highest level that is asserted."""
        now, level, vector = self._cpu.now, 0, None
        for one in self._interrupts:
            if one.level > level and one.irq(now):
                level, vector = one.level, one.vector()
        self._cpu.interrupt(level, vector)

    def _changed(self) -> None:
        self._lines()
        self._cpu.end_slice()


def _autovector() -> None:
    """The CPU takes the vector of the level."""


def _vector(chip: Chip) -> int | None:
    return chip.vector if isinstance(chip, Duart) else None
