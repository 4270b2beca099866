"""The latency of periodic interrupts against made-up ones whose latency is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.analysis.beat import find_beat


@pytest.mark.parametrize("seed", range(20))
def test_the_latency_is_found_again(seed: int) -> None:
    choice = np.random.default_rng(seed)
    period = float(choice.uniform(200, 20_000))
    number = np.flatnonzero(choice.random(1000) > 0.1)  # one in ten is missing
    latency = np.minimum(choice.exponential(period / 50, len(number)), period / 10)
    late_by = 7 + latency
    entries = np.floor(choice.uniform(0, 1e9) + period * number + late_by).astype(np.int64)
    beat = find_beat(entries)
    assert beat is not None
    assert beat.missed == number[-1] - number[0] + 1 - len(number)
    assert beat.period == pytest.approx(period, abs=2 * period / 1000)
    # The least latencies of the run may lie a little above 0, and a tick is cut off.
    slack = 1.5 + np.sort(latency)[:20].max()
    assert np.abs(beat.late - latency).max() <= slack


def test_drift_between_the_clocks_is_no_latency() -> None:
    beats = np.arange(500)
    beat = find_beat(np.floor(beats * 10_000.31).astype(np.int64))
    assert beat is not None
    assert beat.period == pytest.approx(10_000.31, abs=0.005)
    assert beat.late.max() <= 1


@given(st.lists(st.integers(0, 1 << 40), max_size=60))
def test_any_times(times: list[int]) -> None:
    beat = find_beat(np.array(sorted(times), np.int64))
    if beat is not None:
        assert len(beat.late) == len(times) >= 16
        assert beat.late.min() == 0
        assert beat.missed >= 0


def test_what_has_no_beat() -> None:
    choice = np.random.default_rng(3)
    assert find_beat(np.cumsum(choice.exponential(1000, 300)).astype(np.int64)) is None
    steady = np.arange(0, 300_000, 1000)
    assert find_beat(steady[:15]) is None
    assert find_beat(np.zeros(40, np.int64)) is None
    # One more that does not belong to the beat.
    assert find_beat(np.sort(np.append(steady, 150_020))) is None
    assert find_beat(np.array(list(itertools.accumulate([1000] * 30 + [1600])))) is None
