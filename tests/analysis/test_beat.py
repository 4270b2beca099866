"""The latency of periodic interrupts against made-up ones whose latency is known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.analysis.beat import Beat, find_beat
from kprof.analysis.measures import Measure


def beat_of(entries: np.ndarray, chunk: int = 1 << 16) -> tuple[Beat, np.ndarray] | None:
    """The beat of entries that come in chunks, and how late each is."""

    def chunks() -> Iterator[np.ndarray]:
        return (entries[start : start + chunk] for start in range(0, len(entries), chunk))

    beat = find_beat(chunks, Measure.of(np.diff(entries)))
    return beat and (beat, np.concatenate(list(beat.late(chunks))))


@pytest.mark.parametrize("seed", range(20))
def test_the_latency_is_found_again(seed: int) -> None:
    choice = np.random.default_rng(seed)
    period = float(choice.uniform(200, 20_000))
    number = np.flatnonzero(choice.random(1000) > 0.1)  # one in ten is missing
    latency = np.minimum(choice.exponential(period / 50, len(number)), period / 10)
    late_by = 7 + latency
    entries = np.floor(choice.uniform(0, 1e9) + period * number + late_by).astype(np.int64)
    found = beat_of(entries, 1 + seed * 40)
    assert found is not None
    beat, late = found
    assert beat.missed == number[-1] - number[0] + 1 - len(number)
    assert beat.period == pytest.approx(period, abs=2 * period / 1000)
    # The least latencies of the run may lie a little above 0, and a tick is cut off.
    slack = 1.5 + np.sort(latency)[:20].max()
    assert np.abs(late - latency).max() <= slack


def test_drift_between_the_clocks_is_no_latency() -> None:
    beats = np.arange(500)
    found = beat_of(np.floor(beats * 10_000.31).astype(np.int64))
    assert found is not None
    beat, late = found
    assert beat.period == pytest.approx(10_000.31, abs=0.005)
    assert late.max() <= 1


@given(st.lists(st.integers(0, 1 << 40), max_size=60))
def test_any_times(times: list[int]) -> None:
    found = beat_of(np.array(sorted(times), np.int64), 7)
    if found is not None:
        beat, late = found
        assert len(late) == len(times) >= 16
        assert late.min() == 0
        assert beat.missed >= 0


def test_what_has_no_beat() -> None:
    choice = np.random.default_rng(3)
    assert beat_of(np.cumsum(choice.exponential(1000, 300)).astype(np.int64)) is None
    steady = np.arange(0, 300_000, 1000)
    assert beat_of(steady[:15]) is None
    assert beat_of(np.zeros(40, np.int64)) is None
    # One more that does not belong to the beat.
    assert beat_of(np.sort(np.append(steady, 150_020))) is None
    assert beat_of(np.array(list(itertools.accumulate([1000] * 30 + [1600])))) is None
