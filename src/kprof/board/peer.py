"""A station that speaks TCP with the board: it connects to a port and sends data for ever.

It asks for the board's address and answers when asked for its own (ARP), opens the connection from
a new port each time (a reset, or the board's end of it, makes it try again 0.1 s later), keeps to
the board's window and segment size, starts slowly, sends again what is not acknowledged (after
0.3 s, doubled up to 4.8 s, or at the third duplicate acknowledgement) and probes a window of 0.
What the board sends is acknowledged and dropped.

The data of a connection are the bytes 0, 1, ... 250 over and over: what arrives out of order shows.
They come in writes, with pauses between them, random but the same for the same seed and the same
board. Not modelled: Nagle's rule, congestion avoidance, selective acknowledgement, collisions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from kprof.board.counter import NEVER
from kprof.board.frames import (
    ACK,
    BOARD_MAC,
    FIN,
    PUSH,
    RST,
    SYN,
    Segment,
    arp_reply,
    arp_request,
    read_arp,
    read_segment,
    segment_frame,
)
from kprof.board.traffic import PORT, Station

_FIRST_PORT = 1024
_MSS = 1460
_DEFAULT_MSS = 536  # RFC 1122: of a board that names none
_MOST_WINDOW = 1 << 16
_REACTION_S = 0.0001
_AGAIN_S = 0.1
_RETRY_S = 0.3
_DOUBLINGS = 4
_DUPLICATES = 3
_PATTERN = bytes(range(251))
_SUM_AT = 14 + 20 + 16

Action = tuple[bytes, Callable[[int], None]]


@dataclass
class _Connection:
    """One connection; data count from byte 0, whatever the sequence number `start` of the SYN.

    Attributes
    ----------
    ready_at, write_at
        Nothing is sent before the station has reacted, and before the application has written.
    retry_at
        When to send again, or to try to open; put off each time, `tries` times by now.
    opened, established
        The SYN was sent; the board has accepted.
    confirmed, next_byte, most_sent, written
        Bytes acknowledged, sent since the last going back, ever sent, and written.
    expected
        The board's next sequence number.
    window, allowed
        What the board takes, and what the slow start allows, of bytes not acknowledged.
    """

    port: int
    start: int
    ready_at: int
    write_at: int
    retry_at: int
    tries: int = 0
    opened: bool = False
    established: bool = False
    confirmed: int = 0
    next_byte: int = 0
    most_sent: int = 0
    written: int = 0
    expected: int = 0
    window: int = 0
    allowed: int = 0
    duplicates: int = 0
    mss: int = _DEFAULT_MSS


class TcpPeer(Station):
    """The station; the default figures are those of `data_stream`, with full segments.

    Parameters
    ----------
    board_hz
        Frequency of the board's clock.
    seed
        Chooses the run.
    payload_bytes
        The most data of a write; one in four is shorter.
    burst
        The most writes at once.
    pause_us
        Mean silence before them; 0: as much as the board takes.
    damage
        Share of the segments, of either end, that are damaged on the wire: those of the station
        come with a wrong checksum, those of the board are not heard.

    Attributes
    ----------
    connections
        How many the board has accepted.
    resets
        Connections that it refused or reset.
    acknowledged
        Bytes of data that the board has acknowledged, over all connections.
    sent_again
        Segments that were sent again.
    damaged
        Segments of the station that were damaged.
    received
        Bytes of data from the board.
    """

    def __init__(
        self,
        board_hz: int,
        *,
        seed: int = 1,
        payload_bytes: int = _MSS,
        burst: int = 3,
        pause_us: int = 20_000,
        damage: float = 0.0,
    ) -> None:
        self.connections = self.resets = self.acknowledged = 0
        self.sent_again = self.damaged = self.received = 0
        self._hz = board_hz
        self._dice = random.Random(seed)
        self._luck = random.Random(seed + 1)
        self._writes = payload_bytes, burst, pause_us
        self._damage = damage
        self._mac: bytes | None = None
        self._answers: list[tuple[int, bytes]] = []
        self._then: Callable[[int], None] = self._nothing
        self._identification = 0
        self._tcp = self._connection(_FIRST_PORT, 0)

    def summary(self) -> str:
        """One line about what has happened."""
        plural = "" if self.connections == 1 else "s"
        return (
            f"the TCP peer: {self.connections} connection{plural}, {self.acknowledged} bytes "
            f"acknowledged, {self.sent_again} segments sent again, {self.resets} resets"
        )

    def plan(self, now: int) -> tuple[int, bytes]:
        """(clocks of silence before it, frame): the earliest of what is to be sent."""
        if self._answers:
            when, frame = self._answers[0]
            self._then = self._answered
        else:
            when, (frame, self._then) = self._next(now)
        return max(0, when - now), frame

    def sent(self, now: int) -> None:
        """The planned frame is with the board."""
        self._then(now)

    def hear(self, frame: bytes, now: int) -> bool:
        """Take a frame of the board."""
        arp = read_arp(frame)
        if arp is not None:
            operation, mac = arp
            if self._mac is None:
                self._tcp.tries, self._tcp.retry_at = 0, now + self._clocks(_REACTION_S)
            self._mac = mac
            if operation == 1:
                self._answer(arp_reply(self._mac), now)
            return True
        segment = read_segment(frame)
        if segment is None or self._lost():
            return False
        if segment.source != PORT or segment.target != self._tcp.port or not self._tcp.opened:
            if segment.flags & (SYN | FIN) or segment.payload:
                self._refuse(segment, now)
            return True
        self._hear(segment, now)
        return True

    def _hear(self, segment: Segment, now: int) -> None:
        """A segment of this connection."""
        if segment.flags & RST:
            self.resets += 1
            self._close(now + self._clocks(_AGAIN_S))
        elif segment.flags & SYN:
            if (
                not self._tcp.established
                and segment.acknowledged == self._tcp.start + 1 & 0xFFFF_FFFF
            ):
                self._tcp.established = True
                self.connections += 1
                self._tcp.mss = min(_MSS, segment.mss or _DEFAULT_MSS)
                self._tcp.allowed = 2 * self._tcp.mss
                self._tcp.window = segment.window
                self._tcp.expected = segment.sequence + 1 & 0xFFFF_FFFF
                self._tcp.tries, self._tcp.retry_at = 0, NEVER
            if self._tcp.established:
                self._acknowledge(now)
        elif self._tcp.established:
            self._tcp.ready_at = now + self._clocks(_REACTION_S)
            if segment.flags & ACK:
                self._hear_acknowledgement(segment, now)
            if segment.payload or segment.flags & FIN:
                self._hear_data(segment, now)

    def _hear_acknowledgement(self, segment: Segment, now: int) -> None:
        upto = segment.acknowledged - self._tcp.start - 1 & 0xFFFF_FFFF
        if upto > self._tcp.most_sent:  # of an earlier time
            return
        if upto > self._tcp.confirmed:
            self.acknowledged += upto - self._tcp.confirmed
            self._tcp.confirmed = upto
            self._tcp.next_byte = max(self._tcp.next_byte, upto)
            self._tcp.allowed = min(self._tcp.allowed + self._tcp.mss, _MOST_WINDOW)
            self._tcp.tries, self._tcp.duplicates = 0, 0
        elif upto == self._tcp.confirmed < self._tcp.most_sent and not segment.payload:
            self._tcp.duplicates += segment.window == self._tcp.window
            if self._tcp.duplicates == _DUPLICATES or (segment.window and not self._tcp.window):
                self._tcp.next_byte = self._tcp.confirmed
        self._tcp.window = segment.window
        self._arm(now)

    def _hear_data(self, segment: Segment, now: int) -> None:
        if segment.sequence == self._tcp.expected:
            self.received += len(segment.payload)
            ended = bool(segment.flags & FIN)
            self._tcp.expected = self._tcp.expected + len(segment.payload) + ended & 0xFFFF_FFFF
            if ended:
                self._answer(self._frame(b"", FIN | ACK, self._tcp.next_byte), now)
                self._close(now + self._clocks(_AGAIN_S))
                return
        self._acknowledge(now)

    def _next(self, now: int) -> tuple[int, Action]:
        """When the station sends next of itself, and what."""
        if self._mac is None:
            return self._tcp.retry_at, (arp_request(), self._asked)
        if not self._tcp.established:
            return self._tcp.retry_at, (self._frame(b"", SYN, -1), self._called)
        if self._tcp.next_byte == self._tcp.written:
            self._write(now)
        unsent = self._tcp.written - self._tcp.next_byte
        flying = self._tcp.next_byte - self._tcp.confirmed
        room = min(self._tcp.window, self._tcp.allowed) - flying
        size = min(unsent, self._tcp.mss, room)
        if size > 0 and (size == min(unsent, self._tcp.mss) or not flying):
            return max(self._tcp.ready_at, self._tcp.write_at), self._data(size)
        if flying:
            again = min(
                self._tcp.mss, self._tcp.written - self._tcp.confirmed, max(1, self._tcp.window)
            )
            return self._tcp.retry_at, self._data(again, again=True)
        return self._tcp.retry_at, self._data(1)  # a window of 0 is probed

    def _data(self, size: int, *, again: bool = False) -> Action:
        """The next `size` bytes, or the first that are not acknowledged."""
        first = self._tcp.confirmed if again else self._tcp.next_byte
        at = first % len(_PATTERN)
        payload = (_PATTERN * (size // len(_PATTERN) + 2))[at : at + size]
        frame, damaged = self._frame(payload, PUSH | ACK, first), self._lost()
        if damaged:
            frame = frame[:_SUM_AT] + bytes((frame[_SUM_AT] ^ 0x55,)) + frame[_SUM_AT + 1 :]
        connection = self._tcp

        def then(now: int) -> None:
            self.damaged += damaged
            if connection is not self._tcp:
                return
            self.sent_again += first < self._tcp.most_sent
            if again:
                self._tcp.allowed = self._tcp.mss
                self._tcp.tries += 1
                self._tcp.next_byte = self._tcp.confirmed
            self._tcp.next_byte = max(self._tcp.next_byte, first + size)
            self._tcp.most_sent = max(self._tcp.most_sent, self._tcp.next_byte)
            self._arm(now)

        return frame, then

    def _write(self, now: int) -> None:
        """The application's next writes, behind a silence."""
        most, burst, pause_us = self._writes
        silence_us = round(self._dice.uniform(0.3, 1.7) * pause_us)
        self._tcp.write_at = now + silence_us * self._hz // 1_000_000
        for _ in range(self._dice.randint(1, burst)):
            full = self._dice.random() < 0.75
            self._tcp.written += most if full else self._dice.randrange(1, most)
        self._arm(self._tcp.write_at)

    def _arm(self, now: int) -> None:
        self._tcp.retry_at = now + self._clocks(_RETRY_S * (1 << min(self._tcp.tries, _DOUBLINGS)))

    def _asked(self, now: int) -> None:
        self._arm(now)
        self._tcp.tries += 1

    def _called(self, now: int) -> None:
        if not self._tcp.established:
            self._tcp.opened = True
            self._asked(now)

    def _close(self, again_at: int) -> None:
        """Forget the connection; the next is opened at `again_at`, from another port."""
        self._tcp = self._connection(self._tcp.port + 1, again_at)

    def _connection(self, port: int, opens_at: int) -> _Connection:
        start = self._dice.randrange(1 << 32)
        return _Connection(port & 0xFFFF or _FIRST_PORT, start, opens_at, opens_at, opens_at)

    def _acknowledge(self, now: int) -> None:
        self._answer(self._frame(b"", ACK, self._tcp.next_byte), now)

    def _refuse(self, segment: Segment, now: int) -> None:
        refusal = Segment(
            segment.target,
            segment.source,
            segment.acknowledged,
            segment.sequence + len(segment.payload) + 1 & 0xFFFF_FFFF,
            RST | ACK,
        )
        self._answer(segment_frame(refusal, self._mac or BOARD_MAC, 0), now)

    def _frame(self, payload: bytes, flags: int, offset: int) -> bytes:
        """A segment of the connection that begins with byte `offset` of the data; -1: its SYN."""
        segment = Segment(
            self._tcp.port,
            PORT,
            self._tcp.start + 1 + offset & 0xFFFF_FFFF,
            self._tcp.expected if flags & ACK else 0,
            flags,
            payload=payload,
            mss=_MSS if flags & SYN else 0,
        )
        self._identification += 1
        return segment_frame(segment, self._mac or BOARD_MAC, self._identification)

    def _lost(self) -> bool:
        return self._damage > 0 and self._luck.random() < self._damage

    def _answer(self, frame: bytes, now: int) -> None:
        self._answers.append((now + self._clocks(_REACTION_S), frame))

    def _answered(self, now: int) -> None:  # noqa: ARG002
        del self._answers[0]

    def _nothing(self, now: int) -> None:
        pass

    def _clocks(self, seconds: float) -> int:
        return round(seconds * self._hz)
