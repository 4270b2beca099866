"""One channel of the DUART: transmitter, receiver with its FIFO, baud rate.

A byte takes ten bit times (8N1) in each direction. The transmitter has a holding register before
its shift register; a byte that is written while the holding register is full replaces the one in it
(ours: a plain register). The receiver's FIFO holds three bytes and its shift register a fourth; a
byte that comes on top replaces the fourth (overrun, SR bit 4).
"""

from __future__ import annotations

from collections import deque

from kprof.board.counter import NEVER

FIFO_BYTES = 3
EXTERNAL_BAUD = 115_200
_BAUD = (50, 110, 134, 200, 300, 600, 1200, 1050, 2400, 4800, 7200, 9600, 38400, 9600)
_BAUD_2 = (75, 110, 134, 150, 300, 600, 1200, 2000, 2400, 4800, 1800, 9600, 19200, 9600)


class SerialChannel:
    """One channel; `now` is the board's clock count throughout.

    Other chips are made of it, too, by way of `set_rates`, `enable`, `send` and `take`.

    Parameters
    ----------
    fifo_bytes
        Bytes that the receiver holds.
    keeps_shifted
        One more waits in its shift register (the 68681); else a byte that comes on top is lost.

    Attributes
    ----------
    sent
        Bytes that left the transmitter, for the line to take away.
    lost
        Received bytes that were overrun.
    overwritten
        Bytes to send that were replaced in the holding register.
    second_set
        The rates of the next clock select are those of ACR[7] = 1.
    """

    def __init__(
        self, board_hz: int, *, fifo_bytes: int = FIFO_BYTES, keeps_shifted: bool = True
    ) -> None:
        self.fifo_bytes = fifo_bytes
        self._keeps_shifted = keeps_shifted
        self.sent = bytearray()
        self.lost = self.overwritten = 0
        self.second_set = False
        self._board_hz = board_hz
        self._tx_clocks = self._rx_clocks = board_hz * 10 // 9600
        self._mode = [0, 0]
        self._mode_at = 0
        self._tx_on = self._rx_on = False
        self._tx_free = 0
        self._fifo: deque[int] = deque()
        self._fourth: int | None = None
        self._line: deque[int] = deque()
        self._arrives = NEVER
        self._overrun = False

    @property
    def line_idle(self) -> bool:
        """No byte is on its way to the receiver."""
        return not self._line

    def feed(self, data: bytes, now: int) -> None:
        """Bytes start on the line towards the receiver, one byte time each."""
        if not data:
            return
        if not self._line:
            self._arrives = now + self._rx_clocks
        self._line.extend(data)

    def next_arrival(self, now: int) -> int:
        """When the next byte is in the receiver; NEVER with an idle line."""
        self._receive(now)
        return self._arrives if self._line else NEVER

    def tx_ready(self, now: int) -> bool:
        """Whether the holding register is empty."""
        return self._tx_on and now >= self.tx_ready_at

    @property
    def tx_ready_at(self) -> int:
        """When the holding register is empty."""
        return self._tx_free - self._tx_clocks

    def quiet_until(self, now: int) -> int:
        """The next moment at which SR can change by itself."""
        next_one = self.next_arrival(now)
        free = self._tx_free
        if free > now:
            ready = free - self._tx_clocks
            next_one = min(next_one, ready if ready > now else free)
        return next_one

    def status(self, now: int) -> int:
        """SR: RxRDY 01, FFULL 02, TxRDY 04, TxEMT 08, overrun 10."""
        self._receive(now)
        value = 0x01 if self._fifo else 0
        if len(self._fifo) == self.fifo_bytes:
            value |= 0x02
        if self.tx_ready(now):
            value |= 0x04
            if now >= self._tx_free:
                value |= 0x08
        return value | (0x10 if self._overrun else 0)

    def interrupts(self, now: int) -> int:
        """The channel's bits of ISR: TxRDY 01, RxRDY 02."""
        status = self.status(now)
        return status >> 2 & 1 | (status & 1) << 1

    def read(self, register: int, now: int) -> int:
        """Read register 0 (mode) or 3 (receiver); `status` is register 1."""
        if register == 3:
            return self.take(now)
        value = self._mode[self._mode_at]
        self._mode_at = 1
        return value

    def write(self, register: int, value: int, now: int) -> None:
        """Write register 0 (mode), 1 (clock select), 2 (command) or 3 (transmitter)."""
        if register == 0:
            self._mode[self._mode_at] = value
            self._mode_at = 1
        elif register == 1:
            self._rx_clocks = self._clocks(value >> 4)
            self._tx_clocks = self._clocks(value & 15)
        elif register == 2:
            self._command(value)
        else:
            self.send(value, now)

    def set_rates(self, receive: int, transmit: int) -> None:
        """Set the board's clocks of a byte, in each direction."""
        self._rx_clocks, self._tx_clocks = receive, transmit

    def enable(self, on: bool) -> None:
        """Turn both directions on, or off with nothing received or waiting to be sent."""
        self._rx_on = self._tx_on = on
        if not on:
            self._fifo.clear()
            self._fourth = None
            self._tx_free = 0
            self._overrun = False

    def take(self, now: int) -> int:
        """Take the oldest received byte; 0 where there is none."""
        self._receive(now)
        byte = self._fifo.popleft() if self._fifo else 0
        if self._fourth is not None:
            self._fifo.append(self._fourth)
            self._fourth = None
        return byte

    def overrun(self) -> bool:
        """Whether a byte was lost since the last time; clears the mark."""
        was, self._overrun = self._overrun, False
        return was

    def send(self, value: int, now: int) -> None:
        """Write the holding register."""
        if self._tx_on:
            if now < self.tx_ready_at:
                self.sent[-1:] = b""
                self.overwritten += 1
            else:
                self._tx_free = max(now, self._tx_free) + self._tx_clocks
            self.sent.append(value)

    def _clocks(self, select: int) -> int:
        """Board clocks of a byte at this clock select."""
        rates = _BAUD_2 if self.second_set else _BAUD
        return self._board_hz * 10 // (rates[select] if select < len(rates) else EXTERNAL_BAUD)

    def _command(self, value: int) -> None:
        if value & 3:
            self._rx_on = bool(value & 1)
        if value & 12:
            self._tx_on = bool(value & 4)
        command = value >> 4 & 7
        if command == 1:
            self._mode_at = 0
        elif command == 2:
            self._rx_on = False
            self._fifo.clear()
            self._fourth = None
        elif command == 3:
            self._tx_on = False
            self._tx_free = 0
        elif command == 4:
            self._overrun = False

    def _receive(self, now: int) -> None:
        """Move what has arrived by `now` from the line into the FIFO."""
        while self._line and self._arrives <= now:
            byte = self._line.popleft()
            self._arrives += self._rx_clocks
            if not self._rx_on:
                continue
            if len(self._fifo) < self.fifo_bytes:
                self._fifo.append(byte)
                continue
            if self._fourth is not None or not self._keeps_shifted:
                self.lost += 1
                self._overrun = True
            if self._keeps_shifted:
                self._fourth = byte
