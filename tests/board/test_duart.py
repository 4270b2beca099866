"""The DUART: its two lines and its timer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.board.duart import Duart
from kprof.board.serial_channel import NEVER

HZ = 20_000_000
BYTE = HZ * 10 // 115_200
TIMER_100_HZ = 18_432


def duart() -> Duart:
    """A DUART with channel B at 115200 baud, on."""
    chip = Duart(HZ)
    chip.write(9, 0xEE, 0)
    chip.write(10, 0x05, 0)
    return chip


def start_timer(chip: Duart, now: int) -> None:
    chip.write(4, 0x60, now)
    chip.write(6, TIMER_100_HZ >> 8, now)
    chip.write(7, TIMER_100_HZ & 0xFF, now)
    chip.read(14, now)


def test_sending_takes_its_time_and_has_a_holding_register() -> None:
    chip = duart()
    assert chip.read(9, 0) & 0x0C == 0x0C
    chip.write(11, ord("a"), 1000)
    assert chip.read(9, 1000) & 0x0C == 0x04
    chip.write(11, ord("b"), 1001)
    assert chip.read(9, 1001) & 0x0C == 0
    assert chip.read(9, 1000 + BYTE) & 0x0C == 0x04
    assert chip.read(9, 1000 + 2 * BYTE) & 0x0C == 0x0C
    assert bytes(chip.b.sent) == b"ab"


def test_receiving_fills_the_fifo_and_then_loses() -> None:
    chip = duart()
    chip.b.feed(b"12345", 0)
    assert chip.read(9, BYTE - 1) & 0x01 == 0
    assert chip.read(9, BYTE) & 0x03 == 0x01
    assert chip.read(9, 3 * BYTE) & 0x13 == 0x03
    assert chip.read(9, 4 * BYTE) & 0x13 == 0x03  # the fourth is in the shift register
    assert chip.read(9, 5 * BYTE) & 0x13 == 0x13
    assert bytes(chip.read(11, 5 * BYTE) for _ in range(5)) == b"1235\0"
    assert chip.b.lost == 1
    chip.write(10, 0x40, 5 * BYTE)
    assert chip.read(9, 5 * BYTE) & 0x10 == 0


@given(st.lists(st.tuples(st.binary(max_size=5), st.integers(0, 5000)), max_size=20))
def test_a_reader_that_is_fast_enough_gets_everything(pieces: list[tuple[bytes, int]]) -> None:
    chip = duart()
    now, got = 0, bytearray()
    for data, wait in pieces:
        chip.b.feed(data, now)
        now += wait
        while chip.read(9, now) & 1:
            got.append(chip.read(11, now))
    while not chip.b.line_idle:
        now = chip.b.next_arrival(now)
        while chip.read(9, now) & 1:
            got.append(chip.read(11, now))
    assert bytes(got) == b"".join(data for data, _ in pieces)


def test_the_timer_interrupts_every_10_ms_without_drift() -> None:
    chip = duart()
    start_timer(chip, 123)
    chip.write(5, 0x08, 123)
    now, seen = 123, []
    for _ in range(1000):
        now = chip.due(now)
        assert not chip.irq(now - 1)
        assert chip.irq(now)
        seen.append(now)
        chip.read(15, now + 50)
        assert not chip.irq(now + 50)
    assert seen == [123 + 200_000 * (number + 1) for number in range(1000)]


def test_a_late_handler_sees_one_interrupt_for_several() -> None:
    chip = duart()
    start_timer(chip, 0)
    chip.write(5, 0x08, 0)
    assert chip.irq(1_000_000)
    chip.read(15, 1_000_000)
    assert not chip.irq(1_000_000)
    assert chip.due(1_000_000) == 1_200_000


def test_a_counter_counts_once() -> None:
    chip = duart()
    chip.write(4, 0x30, 0)  # counter, crystal / 16: 230.4 kHz
    chip.write(6, 0, 0)
    chip.write(7, 230, 0)
    chip.read(14, 0)
    assert chip.read(7, HZ // 230_400 * 100 + 100) == 130
    ready = -(-230 * 16 * HZ // 3_686_400)
    assert chip.read(5, ready - 1) & 0x08 == 0
    assert chip.read(5, ready) & 0x08
    chip.read(15, ready)
    assert chip.read(5, 10 * ready) & 0x08 == 0


def test_due_tells_when_an_enabled_interrupt_comes() -> None:
    chip = duart()
    assert chip.due(0) == NEVER
    chip.b.feed(b"x", 0)
    assert chip.due(0) == NEVER
    chip.write(5, 0x20, 0)
    assert chip.due(0) == BYTE
    assert not chip.irq(BYTE - 1)
    assert chip.irq(BYTE)
    chip.read(11, BYTE)
    chip.write(5, 0x10, BYTE)
    assert chip.irq(BYTE)
    chip.write(11, 0, BYTE)
    chip.write(11, 0, BYTE)
    assert chip.due(BYTE) == 2 * BYTE


def test_changes_are_told_when_they_can_matter() -> None:
    chip = duart()
    told: list[int] = []
    chip.changed = lambda: told.append(1)
    chip.write(11, 0, 0)
    chip.read(11, 0)
    assert not told
    chip.write(5, 0x30, 0)
    chip.write(11, 0, 0)
    chip.read(11, 0)
    assert len(told) == 3


def test_a_byte_written_over_the_holding_register_replaces_what_is_in_it() -> None:
    chip = duart()
    for byte in b"abc":
        chip.write(11, byte, 100)
    assert bytes(chip.b.sent) == b"ac"
    assert chip.b.overwritten == 1
    assert chip.read(9, 100 + BYTE) & 0x0C == 0x04
    assert chip.read(9, 100 + 2 * BYTE) & 0x0C == 0x0C


def test_the_halves_of_a_clock_select_and_the_two_sets_of_rates() -> None:
    chip = Duart(HZ)
    chip.write(2, 5, 0)
    chip.write(1, 0xB6, 0)  # receives at 9600 baud, sends at 1200
    chip.write(3, 0, 0)
    chip.a.feed(b"x", 0)
    assert chip.a.next_arrival(0) == HZ * 10 // 9600
    assert chip.a.quiet_until(HZ * 10 // 9600) == HZ * 10 // 1200
    chip.write(4, 0x80, 0)
    chip.write(1, 0xAA, HZ)  # 1800 baud in the second set, 7200 in the first
    chip.a.feed(b"y", HZ)
    assert chip.a.next_arrival(HZ) == HZ + HZ * 10 // 1800


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from([0x60, 0x70, 0x30]),
    st.lists(st.tuples(st.integers(1, 40_000), st.sampled_from(["load", "start", "stop"]))),
    st.integers(1, 3000),
)
def test_the_counter_against_one_that_counts(
    acr: int, steps: list[tuple[int, str]], preload: int
) -> None:
    """Tick by tick, as the data sheet has it, for a board of the crystal's own frequency."""
    hz = 3_686_400
    each = 16 if acr & 0x10 else 1
    chip = Duart(hz)
    chip.write(6, preload >> 8, 0)
    chip.write(7, preload & 0xFF, 0)
    chip.write(4, acr, 0)
    chip.read(14, 0)
    slow = SlowCounter(acr & 0x40 != 0, preload)
    slow.start()
    now, ticks, began = 0, 0, 0
    for wait, what in steps[:6]:
        now += wait
        while (now - began) // each > ticks:
            slow.tick()
            ticks += 1
        assert bool(chip.read(5, now) & 8) == slow.ready
        if what == "load":
            slow.preload = preload = preload % 2999 + 1
            chip.write(6, preload >> 8, now)
            chip.write(7, preload & 0xFF, now)
        elif what == "start":
            chip.read(14, now)
            slow.start()
            ticks, began = 0, now
        else:
            chip.read(15, now)
            slow.stop()


class SlowCounter:
    """The counter/timer, one count at a time."""

    def __init__(self, timer: bool, preload: int) -> None:
        self.timer, self.preload = timer, preload
        self.left, self.half, self.ready, self.runs = 0, 0, False, False

    def start(self) -> None:
        self.left, self.half, self.ready, self.runs = self.preload, 0, False, True

    def stop(self) -> None:
        self.ready = False
        self.runs = self.timer

    def tick(self) -> None:
        if not self.runs:
            return
        self.left -= 1
        if self.left:
            return
        self.left = self.preload if self.timer else 0x1_0000
        self.half ^= 1
        self.ready = self.ready or not self.timer or not self.half


def test_output_port() -> None:
    chip = duart()
    chip.write(14, 0x81, 0)
    chip.write(15, 0x01, 0)
    assert chip.output == 0x80
