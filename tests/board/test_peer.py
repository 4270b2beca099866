"""The TCP peer at the other end of the wire, against a receiver of a few lines."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.board.counter import NEVER
from kprof.board.ethernet import FRAME_AT, RX_SLOTS, SLOT_BYTES, Ethernet
from kprof.board.frames import (
    ACK,
    BOARD,
    BOARD_MAC,
    FIN,
    PUSH,
    RST,
    STATION,
    STATION_MAC,
    SYN,
    Segment,
    internet_checksum,
    read_arp,
    read_segment,
    segment_frame,
)
from kprof.board.peer import TcpPeer

HZ = 20_000_000


def swapped(frame: bytes) -> bytes:
    """The same frame with the addresses of board and station exchanged, so that checksums stay."""
    ip = frame[14:26] + frame[30:34] + frame[26:30] + frame[34:]
    return frame[6:12] + frame[:6] + frame[12:14] + ip


class Receiver:
    """A board's side of the wire: RFC 793 as far as a data sink needs it."""

    def __init__(self, window: int = 4096, mss: int = 1000, loss: float = 0, seed: int = 0) -> None:
        self.data = bytearray()
        self.window, self.mss, self.loss = window, mss, loss
        self.luck = random.Random(seed)
        self.next = 0
        self.segments: list[Segment] = []
        self.asked = 0

    def take(self, frame: bytes) -> list[bytes]:
        """What the board sends for a frame."""
        if frame[12:14] == b"\x08\x06":
            self.asked += 1
            head = frame[14:20]
            reply = head + b"\0\2" + BOARD_MAC + BOARD + STATION_MAC + STATION
            return [STATION_MAC + BOARD_MAC + b"\x08\x06" + reply + bytes(18)]
        assert frame[:6] == BOARD_MAC
        segment = read_segment(swapped(frame))
        if segment is None or self.luck.random() < self.loss:
            return []
        self.segments.append(segment)
        if segment.flags & SYN:
            self.next = segment.sequence + 1 & 0xFFFF_FFFF
            self.data.clear()
            return [self.answer(segment, SYN | ACK)]
        if segment.sequence == self.next and len(segment.payload) <= self.window:
            self.data += segment.payload
            self.next = self.next + len(segment.payload) & 0xFFFF_FFFF
        return [self.answer(segment, ACK)] if segment.payload else []

    def answer(self, segment: Segment, flags: int) -> bytes:
        mss = self.mss if flags & SYN else 0
        back = Segment(
            segment.target, segment.source, 7777 + (not flags & SYN), self.next, flags, self.window
        )
        back = Segment(**{**vars(back), "mss": mss})
        return swapped(segment_frame(back, STATION_MAC, 1))


def talk(peer: TcpPeer, board: Receiver, seconds: float) -> None:
    """Both ends wired to each other, a frame after the other."""
    now = 0
    while True:
        gap, frame = peer.plan(now)
        if gap == NEVER or now + gap > seconds * HZ:
            return
        now += gap + 20_000
        peer.sent(now)
        for answer in board.take(frame):
            peer.hear(answer, now)


def expected(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def test_it_asks_connects_and_sends() -> None:
    peer, board = TcpPeer(HZ), Receiver()
    talk(peer, board, 2)
    assert board.asked == 1
    assert [one.flags for one in board.segments[:3]] == [SYN, ACK, PUSH | ACK]
    assert board.segments[0].mss == 1460
    assert max(len(one.payload) for one in board.segments) == 1000
    assert len(board.data) > 50_000
    assert bytes(board.data) == expected(len(board.data))
    assert (peer.connections, peer.resets, peer.sent_again) == (1, 0, 0)
    assert peer.acknowledged == len(board.data)


def test_writes_are_paced_or_not() -> None:
    paced, eager = Receiver(), Receiver()
    talk(TcpPeer(HZ), paced, 2)
    talk(TcpPeer(HZ, pause_us=0), eager, 2)
    assert len(eager.data) > 5 * len(paced.data)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 1000), st.floats(0, 0.3), st.floats(0, 0.3), st.integers(1, 9000))
def test_what_is_damaged_is_sent_again(seed: int, damage: float, loss: float, window: int) -> None:
    peer = TcpPeer(HZ, seed=seed, damage=damage)
    board = Receiver(window, loss=loss, seed=seed)
    talk(peer, board, 3)
    assert bytes(board.data) == expected(len(board.data))
    assert peer.acknowledged <= len(board.data)
    assert peer.connections == 0 or damage + loss > 0 or len(board.data) > 0
    for before, after in zip(board.segments, board.segments[1:], strict=False):
        if not after.flags & SYN and before.payload:
            assert len(after.payload) <= max(window, 1)


def test_a_bad_wire_costs_time_and_no_data() -> None:
    good, bad = Receiver(), Receiver(loss=0.05)
    talk(TcpPeer(HZ), good, 10)
    peer = TcpPeer(HZ, damage=0.05)
    talk(peer, bad, 10)
    assert peer.damaged > 5
    assert peer.sent_again >= peer.damaged
    assert len(good.data) > len(bad.data) > len(good.data) / 20
    assert bytes(bad.data) == expected(len(bad.data))


def test_a_window_of_0_is_probed_until_it_opens() -> None:
    peer, board = TcpPeer(HZ), Receiver(window=0)
    talk(peer, board, 4)
    probes = [one for one in board.segments if one.payload]
    assert 2 <= len(probes) <= 6
    assert {len(one.payload) for one in probes} == {1}
    assert not board.data
    board.window = 3000
    board.loss = 0
    peer.hear(board.answer(probes[0], ACK), 4 * HZ)
    gap, frame = peer.plan(4 * HZ)
    assert gap <= HZ // 1000
    first = read_segment(swapped(frame))
    assert first is not None
    assert (first.sequence, len(first.payload)) == (board.next, 1000)


def test_a_refused_connection_is_tried_again_from_another_port() -> None:
    peer, board = TcpPeer(HZ), Receiver()

    def refuse(segment: Segment, flags: int) -> bytes:  # noqa: ARG001
        back = Segment(segment.target, segment.source, 0, segment.sequence + 1, RST | ACK)
        return swapped(segment_frame(back, STATION_MAC, 1))

    answer, board.answer = board.answer, refuse  # type: ignore[method-assign]
    talk(peer, board, 1)
    ports = [one.source for one in board.segments]
    assert len(ports) == len(set(ports)) == peer.resets == pytest.approx(10, abs=2)
    board.answer = answer  # type: ignore[method-assign]
    talk(peer, board, 3)
    assert peer.connections == 1


def test_the_end_of_the_board_is_answered_and_a_new_connection_opened() -> None:
    peer, board = TcpPeer(HZ), Receiver()
    talk(peer, board, 0.2)
    port = board.segments[-1].source
    peer.hear(board.answer(board.segments[-1], FIN | ACK), HZ)
    _, frame = peer.plan(HZ)
    last = read_segment(swapped(frame))
    assert last is not None
    assert (last.flags, last.source, last.acknowledged) == (FIN | ACK, port, 7779)
    peer.sent(HZ)
    talk(peer, board, 2)
    assert peer.connections == 2
    assert board.segments[-1].source == port + 1


def test_the_board_asks_and_is_answered_and_a_segment_of_no_connection_is_refused() -> None:
    peer = TcpPeer(HZ)
    _, request = peer.plan(0)
    assert request[:6] == b"\xff" * 6
    asking = swapped_arp(request)
    assert peer.hear(asking, 100)
    gap, reply = peer.plan(100)
    assert gap == HZ // 10_000
    assert reply[:12] == BOARD_MAC + STATION_MAC
    assert reply[20:22] == b"\0\2"
    assert reply[22:42] == STATION_MAC + STATION + BOARD_MAC + BOARD
    peer.sent(3000)
    stray = Segment(99, 98, 5, 6, ACK, payload=b"stray")
    peer.hear(swapped(segment_frame(stray, STATION_MAC, 1)), 4000)
    _, frame = peer.plan(4000)
    refusal = read_segment(swapped(frame))
    assert refusal is not None
    assert (refusal.source, refusal.target, refusal.flags) == (98, 99, RST | ACK)


def swapped_arp(request: bytes) -> bytes:
    """The board asks for the station as the station asked for the board."""
    asked = request[20:22] + BOARD_MAC + BOARD + bytes(6) + STATION
    return b"\xff" * 6 + BOARD_MAC + request[12:20] + asked + bytes(18)


def test_frames_that_are_not_for_the_station_are_not_read() -> None:
    assert read_arp(b"") is None
    assert read_segment(bytes(60)) is None
    good = swapped(segment_frame(Segment(1, 2, 3, payload=b"data"), STATION_MAC, 1))
    assert read_segment(good) is not None
    for at in (*range(24, 26), 50, 54):
        wrong = good[:at] + bytes((good[at] ^ 1,)) + good[at + 1 :]
        assert read_segment(wrong) is None
    assert internet_checksum(good[14:34]) == 0


def test_the_controller_asks_the_station_anew_when_it_has_heard_a_frame() -> None:
    memory = bytearray(65_536)
    for slot in range(RX_SLOTS):
        memory[slot * SLOT_BYTES] = 0x80

    def poke(at: int, data: bytes) -> None:
        memory[at : at + len(data)] = data

    peer = TcpPeer(HZ)
    chip = Ethernet(HZ, lambda at, size: bytes(memory[at : at + size]), poke, peer)
    chip.write(0, 3, 0)
    chip.advance(chip.due())
    assert chip.received == 1
    assert chip.due() == pytest.approx(0.3 * HZ, rel=0.01)
    asked = bytes(memory[FRAME_AT : FRAME_AT + 60])
    head = asked[14:20]
    reply = head + b"\0\2" + BOARD_MAC + BOARD + STATION_MAC + STATION
    poke(RX_SLOTS * SLOT_BYTES + FRAME_AT, STATION_MAC + BOARD_MAC + b"\x08\x06" + reply)
    chip.write(4, 60, 5000)
    heard = chip.due()
    chip.advance(heard)
    assert chip.due() == heard + HZ // 10_000 + chip.wire_clocks(60)
