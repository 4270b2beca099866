"""An Ethernet controller with its buffer memory: a ring of receive slots and one transmit slot.

Ours, in the manner of the paper's LANCE board: the controller owns a slot until a packet is in it.

Buffer memory, 64 KB in slots of 2 KB: slots 0-30 receive, slot 31 transmits.

====== ======================================================================
offset in a slot
====== ======================================================================
0      word: 0x8000 the controller owns the slot, 0 the host does
2      word: length of the frame
18     the frame; what follows its 14-byte header is aligned to 4
====== ======================================================================

Registers, words on the same slow bus:

====== =========================================================================
0      CSR: 1 run, 2 interrupts on, 0x100 received, 0x200 sent (write 1 to
       these two: acknowledged), 0x400 a frame was missed (read only),
       0x8000 interrupting (read only)
2      frames missed for want of a slot
4      write: send the transmit slot's frame of this length
====== =========================================================================

Sending takes the frame's time on a 10 Mbit/s wire; then the station at the other end hears it.
Not modelled: collisions, addresses (every frame of the wire is received), checksums of the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kprof.board.counter import NEVER
from kprof.board.traffic import Station, Stream

SLOT_BYTES = 2_048
RX_SLOTS = 31
FRAME_AT = 18
FRAME_BYTES = 1_518
WIRE_HZ = 10_000_000
WIRE_OVERHEAD_BYTES = 24
_OWNED = 0x80  # of a slot's first byte
_RUN, _ENABLE, _RECEIVED, _SENT, _MISSED, _INTERRUPTING = 1, 2, 0x100, 0x200, 0x400, 0x8000


def _ignore() -> None:
    """Nothing to tell."""


class Ethernet:
    """The controller; `now` is the board's clock count throughout.

    Parameters
    ----------
    board_hz
        Frequency of that clock.
    peek, poke
        Access to the buffer memory: ``peek(offset, size)``, ``poke(offset, data)``.
    traffic
        The station at the other end of the wire, or (clocks since the frame before ended, frame)
        of the frames that come from it.

    Attributes
    ----------
    received, missed
        Frames delivered into slots, and lost for want of one.
    sent
        Frames that the board sent.
    """

    def __init__(
        self,
        board_hz: int,
        peek: Callable[[int, int], bytes],
        poke: Callable[[int, bytes], None],
        traffic: Station | Iterator[tuple[int, bytes]],
    ) -> None:
        self.received = 0
        self.missed = 0
        self.sent: list[bytes] = []
        self.changed: Callable[[], None] = _ignore
        self._board_hz = board_hz
        self._peek = peek
        self._poke = poke
        self._station = traffic if isinstance(traffic, Station) else Stream(traffic)
        self._csr = 0
        self._slot = 0
        self._begins = self._arrives = NEVER
        self._frame = b""
        self._sends_until = NEVER

    def irq(self) -> bool:
        """Whether the interrupt line is asserted."""
        return bool(self._csr & _ENABLE and self._csr & (_RECEIVED | _SENT))

    def due(self) -> int:
        """When `advance` has something to do next."""
        return min(self._arrives, self._sends_until)

    def advance(self, now: int) -> None:
        """Let everything happen that is due at `now`."""
        while (at := self.due()) <= now:
            if self._sends_until == at:
                self._end_sending()
            else:
                self._deliver()

    def wire_clocks(self, length: int) -> int:
        """How long a frame is on the wire, gap included."""
        return (length + WIRE_OVERHEAD_BYTES) * 8 * self._board_hz // WIRE_HZ

    def steady(self, offset: int) -> bool:  # noqa: ARG002
        """Reading changes nothing; the registers change when `advance` has something to do."""
        return True

    def read(self, offset: int, now: int) -> int:  # noqa: ARG002
        """Read a register."""
        if offset == 0:
            return self._csr | (_INTERRUPTING if self.irq() else 0)
        return self.missed & 0xFFFF if offset == 2 else 0

    def write(self, offset: int, value: int, now: int) -> None:
        """Write a register."""
        if offset == 0:
            was_running = self._csr & _RUN
            kept = self._csr & (_RECEIVED | _SENT) & ~value
            self._csr = kept | self._csr & _MISSED | value & (_RUN | _ENABLE)
            if value & _RUN and not was_running:
                self._slot = 0
                self._next_frame(now)
            elif not value & _RUN:
                self._arrives = NEVER
        elif offset == 4:
            length = min(value, FRAME_BYTES)
            self.sent.append(self._peek(RX_SLOTS * SLOT_BYTES + FRAME_AT, length))
            self._sends_until = now + self.wire_clocks(length)
        self.changed()

    def _next_frame(self, now: int) -> None:
        gap, self._frame = self._station.plan(now)
        self._begins = min(NEVER, now + gap)
        self._arrives = min(NEVER, self._begins + self.wire_clocks(len(self._frame)))

    def _end_sending(self) -> None:
        now, self._sends_until = self._sends_until, NEVER
        self._csr |= _SENT
        changed = self._station.hear(self.sent[-1], now)
        if changed and self._csr & _RUN and now < self._begins:
            self._next_frame(now)

    def _deliver(self) -> None:
        at = self._slot * SLOT_BYTES
        if self._peek(at, 1)[0] & _OWNED:
            frame = self._frame[:FRAME_BYTES]
            self._poke(at + FRAME_AT, frame)
            self._poke(at, len(frame).to_bytes(4, "big"))
            self._csr |= _RECEIVED
            self._slot = (self._slot + 1) % RX_SLOTS
            self.received += 1
        else:
            self._csr |= _MISSED
            self.missed += 1
        self._station.sent(self._arrives)
        self._next_frame(self._arrives)
