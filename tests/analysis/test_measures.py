"""Distributions: exact sums, mergeable in any order, percentiles within a bucket."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.analysis.measures import Measure, bucket_of, bucket_range, measures_of


def _merged(values: list[int]) -> Measure:
    """A measure that has only a histogram."""
    measure = Measure()
    measure.merge(Measure.of(np.array(values, np.int64)))
    return measure


VALUES = st.lists(st.integers(0, 1 << 44), min_size=1, max_size=60)


@settings(deadline=None)
@given(st.integers(0, (1 << 50)))
def test_a_bucket_holds_its_values(value: int) -> None:
    low, high = bucket_range(int(bucket_of(np.array([value]))[0]))
    assert low <= value < high
    assert value < 64 or (high - low) * 32 <= 2 * value


def test_buckets_are_in_order_without_gaps() -> None:
    edges = [bucket_range(bucket) for bucket in range(1500)]
    assert edges[0] == (0, 1)
    assert all(a[1] == b[0] for a, b in itertools.pairwise(edges))


@settings(deadline=None, max_examples=60)
@given(VALUES)
def test_the_figures_are_numpys(values: list[int]) -> None:
    array = np.array(values, np.int64)
    measure = Measure.of(array)
    assert (measure.count, measure.total) == (len(values), sum(values))
    assert (measure.least, measure.most) == (min(values), max(values))
    assert measure.squares == sum(v * v for v in values)
    exact = np.percentile(array, [50, 90, 99], method="inverted_cdf")
    for share, wanted in zip((50, 90, 99), exact, strict=True):
        assert measure.percentile(share) == wanted
        found = _merged(values).percentile(share)
        assert found is not None
        assert abs(found - wanted) <= 0.016 * wanted + 0.5


@settings(deadline=None, max_examples=60)
@given(VALUES)
def test_the_values_are_told_apart_as_far_as_they_are_known(values: list[int]) -> None:
    for measure in (Measure.of(np.array(values, np.int64)), _merged(values)):
        found, counts = measure.distinct()
        assert int(counts.sum()) == len(values)
        assert (np.diff(found) > 0).all()
        if measure.values is not None:
            assert np.repeat(found, counts).tolist() == sorted(values)
        assert int(found[0]) == min(values)


@settings(deadline=None, max_examples=60)
@given(VALUES, VALUES, VALUES)
def test_merging_is_exact_in_any_order(a: list[int], b: list[int], c: list[int]) -> None:
    parts = [Measure.of(np.array(v, np.int64)) for v in (a, b, c)]
    forward, backward = Measure(), Measure()
    for part in parts:
        forward.merge(part)
    for part in reversed(parts):
        backward.merge(part)
    assert forward == backward == Measure.of(np.array(a + b + c, np.int64))


def test_nothing_has_no_figures() -> None:
    nothing = Measure.of(np.array([], np.int64))
    assert (nothing.mean, nothing.deviation, nothing.percentile(50)) == (None, None, None)
    nothing.merge(Measure())
    assert nothing == Measure()


def test_the_deviation_is_that_of_all_values() -> None:
    values = np.array([1, 2, 3, 4, 100])
    assert Measure.of(values).deviation == pytest.approx(values.std())


@given(st.lists(VALUES, min_size=1, max_size=6), st.sampled_from([1 << 44, 1 << 30, 1000]))
def test_groups_are_measured_as_each_alone(groups: list[list[int]], most: int) -> None:
    parts = [np.array(group, np.int64) % most for group in groups]
    starts = np.cumsum([0, *map(len, parts[:-1])])
    for part, found in zip(parts, measures_of(np.concatenate(parts), starts), strict=True):
        alone = Measure.of(part)
        assert found == alone
        assert list(found.histogram) == sorted(alone.histogram)
