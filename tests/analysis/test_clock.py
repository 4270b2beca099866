"""Taking out what the triggers cost: against one interval at a time, and costs that cannot be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kprof.analysis import summarise, timeline
from kprof.analysis.replay.clock import Clock
from kprof.analysis.statistics import statistics
from kprof.capture import Capture
from kprof.capture.model import CaptureInfo
from kprof.errors import UsageError
from kprof.names import parse_names

NAMES = parse_names("a/2\n")


def _one_by_one(steps: list[int], cost: Fraction) -> tuple[list[Fraction], int]:
    """The times without the triggers, and how many steps are too short, by the definition."""
    times, short = [Fraction(0)], 0
    for step in steps:
        times.append(times[-1] + step - cost)
        short += step < cost - 1
    return times, short


@pytest.mark.parametrize("cost", [Fraction(3, 10), Fraction(2), Fraction(17, 4)])
def test_what_is_taken_is_that_of_one_interval_at_a_time(cost: Fraction) -> None:
    rng = np.random.default_rng(7)
    steps = rng.geometric(0.15, 999) - 1
    ticks = np.concatenate([[5], 5 + np.cumsum(steps)])
    times, short = _one_by_one(steps.tolist(), cost)
    clock = Clock(CaptureInfo(), cost)
    found = np.concatenate([clock.advance(part) for part in np.split(ticks, [1, 2, 300, 301])])
    clock.finish()
    assert [Fraction(t, 1000) for t in found.tolist()] == times
    assert (clock.info.step, clock.intervals, clock.short) == (1000, 999, short)
    assert Fraction(clock.taken, 1000) == int(steps.sum()) - times[-1]


def _short_calls(last: int) -> Capture:
    """100 intervals of 10 us, then `last` of 2 us."""
    steps = [10] * 100 + [2] * last
    times = np.concatenate([[0], np.cumsum(steps)])
    return Capture.from_events(times, [2, 3] * (len(times) // 2) + [2] * (len(times) % 2))


@pytest.mark.parametrize(
    ("last", "cost", "said"),
    [
        # 300 * 100 us of 1400 us: more than there is.
        (200, 100, "the last 300 of its 300 intervals are 4.666 us long"),
        (200, 10**12, "the last 300 of its 300 intervals are 4.666 us long"),
        # 300 * 4 us of 1400 us, but 400 of the 1200 us are owed at the end.
        (200, 4, "the last 200 of its 300 intervals are 2 us long"),
        # 11 of 205 intervals lack 1 of 3 us each: 5 of 333 us.
        (5, 3, ""),
        (5, 12, "the last 105 of its 105 intervals are 9.619 us long"),
    ],
)
def test_a_cost_that_the_capture_has_no_time_for_is_refused(
    last: int, cost: int, said: str
) -> None:
    capture = _short_calls(last)
    for way in (summarise, statistics, timeline):
        if not said:
            way(capture, NAMES, trigger_cost=Fraction(cost))  # type: ignore[operator]
            continue
        with pytest.raises(UsageError) as caught:
            way(capture, NAMES, trigger_cost=Fraction(cost))  # type: ignore[operator]
        assert f"<memory>: a trigger cost of {float(cost):.9g} us cannot be taken out" in str(
            caught.value
        )
        assert said in str(caught.value)


def test_an_interval_may_be_a_tick_short_by_its_rounding() -> None:
    # Two triggers of 0.9 us in one tick of the clock, and a run of no time at all.
    for ticks in ([0, 1], [0, 1, 1, 9]):
        summary = summarise(
            Capture.from_events(ticks, [2, 3] * (len(ticks) // 2)),
            NAMES,
            trigger_cost=Fraction(9, 10),
        )
        assert (summary.short, summary.taken) == (0, 2700 if len(ticks) > 2 else 900)


@pytest.mark.parametrize("cost", [Fraction(-1), Fraction(1, 10000)])
def test_a_cost_that_times_cannot_hold_is_refused(cost: Fraction) -> None:
    with pytest.raises(UsageError, match=r"expected at least a thousandth of a tick, 0\.001 us"):
        summarise(_short_calls(0), NAMES, trigger_cost=cost)


def test_a_cost_is_taken_from_a_capture_of_one_event_and_of_none() -> None:
    for ticks in ([], [7]):
        capture = Capture.from_events(ticks, [2] * len(ticks))
        assert summarise(capture, NAMES, trigger_cost=Fraction(5)).taken == 0


@pytest.mark.parametrize("cost", [0.3, 1.7])
@pytest.mark.parametrize("leaf", [0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.2, 3.7, 5.0, 7.1, 10.0])
def test_a_trigger_cost_leaves_sums_unbiased(leaf: float, cost: float) -> None:
    """100,000 calls of one length, begun anywhere between two steps of a clock of 1 us."""
    rng = np.random.default_rng(11)
    calls = 100_000
    steps = np.stack([leaf + cost + np.zeros(calls), cost + rng.uniform(0, 9, calls)], axis=1)
    ticks = np.floor(rng.uniform() + np.cumsum(np.append(0, steps.ravel()[:-1]))).astype(np.int64)
    capture = Capture.from_events(ticks, [2, 3] * calls)
    found = summarise(capture, NAMES, trigger_cost=Fraction(cost).limit_denominator(10))
    mean = found.functions[0].net / calls / found.info.step
    assert abs(mean - leaf) < max(0.03 * leaf, 0.01)
