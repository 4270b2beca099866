"""The Profiler against a naive model of it, under random sequences."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kprof.board.profiler import CAPACITY, Profiler, Switch, power_up_noise
from kprof.errors import BoardError

HZ = 20_000_000


class Reference:
    """The Profiler in as few words as possible."""

    def __init__(self, ppm: int, phase: Fraction) -> None:
        noise = power_up_noise()
        self.ram = [noise[i : i + 5] for i in range(0, CAPACITY * 5, 5)]
        self.switch, self.stored, self.zero, self.bank = Switch.OFF, 0, 0, 0
        self.rate = Fraction(1_000_000 + ppm, HZ)
        self.phase = phase

    def turn(self, switch: Switch, now: int) -> None:
        if switch is Switch.RUN and self.switch is not Switch.RUN:
            self.stored, self.zero = 0, now
        self.switch = switch

    def select(self, address: int, now: int) -> int | None:
        if self.switch is Switch.RUN and self.stored < CAPACITY:
            time = int((now - self.zero) * self.rate + self.phase) % 2**24
            self.ram[self.stored] = time.to_bytes(3, "big") + address.to_bytes(2, "big")
            self.stored += 1
        if self.switch is not Switch.READ or address < 0x8000:
            return None
        if address >= 0xC000:
            self.bank = address % 8
            return None
        count = self.stored % CAPACITY
        full = 128 if self.stored == CAPACITY else 0
        status = [full + count // 256, count % 256, ord("K")]
        return [*self.ram[address % CAPACITY], *status][self.bank]


addresses = st.integers(0, 0xFFFF) | st.integers(0x8000, 0x8010) | st.integers(0xC000, 0xC007)
steps = st.lists(
    st.tuples(st.integers(0, 400_000_000), addresses | st.sampled_from(Switch)), max_size=60
)


@settings(deadline=None, max_examples=30, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    steps,
    st.integers(-200, 200),
    st.fractions(0, Fraction(99, 100), max_denominator=100),
    st.sampled_from([0, CAPACITY - 20, CAPACITY, CAPACITY + 5]),
)
def test_equals_the_reference(
    sequence: list[tuple[int, int | Switch]], ppm: int, phase: Fraction, before: int
) -> None:
    real, model = Profiler(HZ, ppm=ppm, phase=phase), Reference(ppm, phase)
    now = 7
    for both in (real, model):
        both.turn(Switch.RUN, now)
        for number in range(before):
            both.select(number % 1000, now + number)
    for wait, step in sequence:
        now += wait
        if isinstance(step, Switch):
            real.turn(step, now)
            model.turn(step, now)
        else:
            assert real.select(step, now) == model.select(step, now)
        assert real.count == model.stored
        assert real.full == (model.stored == CAPACITY)
        assert real.active == (model.switch is Switch.RUN and not real.full)
    assert real.image() == b"".join(model.ram)


def test_a_full_ram_keeps_its_events_until_the_next_run() -> None:
    profiler = Profiler(HZ)
    profiler.turn(Switch.RUN, 0)
    for number in range(CAPACITY + 100):
        profiler.select(number, number * 20)
    image = profiler.image()
    assert image[-5:] == (16383 << 16 | 16383).to_bytes(5, "big")
    assert profiler.full
    assert not profiler.active
    profiler.turn(Switch.OFF, 10**6)
    profiler.turn(Switch.RUN, 2 * 10**6)
    assert not profiler.full
    profiler.select(0x1234, 2 * 10**6 + 40)
    assert profiler.image() == bytes.fromhex("0000021234") + image[5:]


def test_time_wraps_at_24_bits() -> None:
    profiler = Profiler(HZ)
    profiler.turn(Switch.RUN, 0)
    assert profiler.ticks((2**24 - 1) * 20) == 2**24 - 1
    assert profiler.ticks(2**24 * 20) == 0


def test_the_status_banks() -> None:
    profiler = Profiler(HZ)

    def status() -> list[int | None]:
        profiler.turn(Switch.READ, 0)
        banks = []
        for bank in (5, 6, 7):
            profiler.select(0xC000 + bank, 0)
            banks.append(profiler.select(0x8000, 0))
        return banks

    for events, expected in [(0, [0, 0]), (0x1234, [0x12, 0x34]), (CAPACITY, [0x80, 0])]:
        profiler.turn(Switch.RUN, 0)
        for _ in range(events):
            profiler.select(0, 0)
        assert status() == [*expected, ord("K")]


def test_ppm_and_phase() -> None:
    fast = Profiler(HZ, ppm=100)
    assert fast.ticks(10_000 * 20) == 10_001
    late = Profiler(HZ, phase=Fraction(19, 20))
    assert (late.ticks(0), late.ticks(1), late.ticks(20), late.ticks(21)) == (0, 1, 1, 2)


def test_moving_the_switch_to_where_it_stands_does_nothing() -> None:
    profiler = Profiler(HZ)
    profiler.turn(Switch.RUN, 0)
    profiler.select(1, 200)
    profiler.turn(Switch.RUN, 400)
    assert profiler.count == 1


def test_every_select_is_reported_wherever_the_switch_stands() -> None:
    seen: list[tuple[int, int]] = []
    profiler = Profiler(HZ, on_select=lambda now, address: seen.append((now, address)))
    for now, switch in enumerate([Switch.OFF, Switch.RUN, Switch.READ]):
        profiler.turn(switch, now)
        profiler.select(5, now)
    assert seen == [(0, 5), (1, 5), (2, 5)]


def test_wrong_settings() -> None:
    with pytest.raises(BoardError, match="less than 1"):
        Profiler(HZ, phase=1)
    with pytest.raises(BoardError, match="81920"):
        Profiler(HZ, ram=b"x")
