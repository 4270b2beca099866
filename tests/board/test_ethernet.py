"""The Ethernet controller and what comes over its wire."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from kprof.board.ethernet import FRAME_AT, RX_SLOTS, SLOT_BYTES, Ethernet
from kprof.board.frames import internet_checksum
from kprof.board.traffic import data_stream, tcp_frame

HZ = 20_000_000
RUN, INTEN, RX, TX, MISSED = 1, 2, 0x100, 0x200, 0x400


class Buffer:
    """The buffer memory, all slots with the controller."""

    def __init__(self) -> None:
        self.memory = bytearray(65_536)
        for slot in range(RX_SLOTS):
            self.give(slot)

    def give(self, slot: int) -> None:
        self.memory[slot * SLOT_BYTES] = 0x80

    def peek(self, at: int, size: int) -> bytes:
        return bytes(self.memory[at : at + size])

    def poke(self, at: int, data: bytes) -> None:
        self.memory[at : at + len(data)] = data


def controller(frames: list[tuple[int, bytes]]) -> tuple[Ethernet, Buffer]:
    buffer = Buffer()
    return Ethernet(HZ, buffer.peek, buffer.poke, iter(frames)), buffer


def test_a_frame_arrives_after_its_time_on_the_wire() -> None:
    chip, buffer = controller([(100, b"f" * 1000)])
    chip.write(0, RUN | INTEN, 50)
    assert chip.due() == 50 + 100 + 1024 * 16
    chip.advance(chip.due() - 1)
    assert not chip.irq()
    chip.advance(chip.due())
    assert chip.irq()
    assert chip.read(0, 0) == 0x8000 | RX | RUN | INTEN
    assert buffer.peek(0, 4) == (1000).to_bytes(4, "big")
    assert buffer.peek(FRAME_AT, 1000) == b"f" * 1000
    chip.write(0, RUN | INTEN | RX, 60_000)
    assert not chip.irq()


def test_frames_back_to_back_go_into_the_next_slots_and_then_get_lost() -> None:
    chip, buffer = controller([(0, bytes([n]) * 60) for n in range(RX_SLOTS + 3)])
    chip.write(0, RUN, 0)
    chip.advance(84 * 16 * RX_SLOTS)
    assert (chip.received, chip.missed) == (RX_SLOTS, 0)
    assert chip.read(0, 0) & MISSED == 0
    buffer.give(1)
    chip.advance(10**9)
    assert (chip.received, chip.missed, chip.read(2, 0)) == (RX_SLOTS, 3, 3)
    assert chip.read(0, 0) & MISSED
    assert [buffer.memory[n * SLOT_BYTES + FRAME_AT] for n in range(RX_SLOTS)] == list(
        range(RX_SLOTS)
    )


def test_sending() -> None:
    chip, buffer = controller([])
    chip.write(0, RUN | INTEN, 0)
    buffer.poke(RX_SLOTS * SLOT_BYTES + FRAME_AT, b"hello")
    chip.write(4, 60, 1000)
    assert chip.sent == [b"hello" + bytes(55)]
    assert chip.due() == 1000 + 84 * 16
    chip.advance(chip.due())
    assert chip.read(0, 0) & TX
    assert chip.irq()


def test_traffic_is_the_same_for_the_same_seed() -> None:
    def first(seed: int) -> list[tuple[int, bytes]]:
        return list(islice(data_stream(HZ, seed=seed), 50))

    assert first(1) == first(1)
    assert first(1) != first(2)


@given(st.integers(0, 2**32 - 1), st.binary(max_size=1024))
def test_frames_have_right_checksums(sequence: int, payload: bytes) -> None:
    frame = tcp_frame(sequence, payload)
    assert len(frame) >= 60
    ip = frame[14:]
    total = int.from_bytes(ip[2:4], "big")
    assert total == 40 + len(payload)
    assert internet_checksum(ip[:20]) == 0
    pseudo = ip[12:20] + b"\0\x06" + (total - 20).to_bytes(2, "big")
    assert internet_checksum(pseudo + ip[20:total]) == 0
