"""Noise: p-values, variances of correlated series, what functions lend each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.analysis.noisy import ar1

from kprof.analysis.noise import (
    holm,
    lend,
    likeness,
    p_of_two,
    ratio_noise,
    scatter,
    t_tail,
)

BATCHES = 100


# Two-sided tails of Student's t from printed tables (Abramowitz and Stegun, table 26.10).
@pytest.mark.parametrize(
    ("freedom", "t", "tail"),
    [
        (2, 4.303, 0.05), (2, 9.925, 0.01), (4, 4.604, 0.01), (4, 8.610, 0.001),
        (8, 2.306, 0.05), (8, 5.041, 0.001), (30, 3.646, 0.001), (1e9, 3.291, 0.001),
    ],
)  # fmt: skip
def test_the_tail_of_t_is_that_of_the_tables(freedom: float, t: float, tail: float) -> None:
    """Of few degrees of freedom it is too large, which calls less changed."""
    assert 0.99 * tail <= t_tail(t, freedom) <= (1.4 if freedom < 8 else 1.05) * tail
    assert t_tail(-t, freedom) == t_tail(t, freedom)


def test_the_tail_ends() -> None:
    assert t_tail(0.0, 5) == 1.0
    assert t_tail(math.inf, 5) == 0.0


def test_holm_multiplies_by_what_is_left() -> None:
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.9})
    assert found == pytest.approx({"a": 0.04, "c": 0.09, "b": 0.09, "d": 0.9})


def test_the_variance_of_a_mean_of_independent_batches() -> None:
    rng = np.random.default_rng(1)
    whole = np.full(BATCHES, 10.0)
    found = []
    for _ in range(300):
        noise = ratio_noise(whole * 5 + rng.standard_normal(BATCHES), whole)
        assert noise is not None
        found.append(noise.variances[32])
    assert 1 <= np.mean(found) * 100 * BATCHES < 1.25  # it errs to the safe side


def test_slow_noise_is_not_taken_for_many_independent_calls() -> None:
    """An AR(1) of 0.9 has 19 times the variance of white noise of the same spread."""
    rng = np.random.default_rng(2)
    whole = np.ones(2000)
    quiet = []
    for _ in range(200):
        series = ar1(rng, 2000, 0.9).reshape(BATCHES, -1).sum(1)
        noise = ratio_noise(series, whole.reshape(BATCHES, -1).sum(1))
        assert noise is not None
        quiet.append(noise.variances[8])
    assert np.mean(quiet) == pytest.approx(19 / 2000, rel=0.25)


def test_what_wanders_as_slowly_as_the_run_is_not_judged() -> None:
    rng = np.random.default_rng(3)
    whole = np.ones(BATCHES)
    drift = [ratio_noise(ar1(rng, BATCHES, 0.995), whole) for _ in range(100)]
    white = [ratio_noise(rng.standard_normal(BATCHES), whole) for _ in range(100)]
    assert sum(noise.drifts for noise in drift if noise) >= 80
    assert sum(noise.drifts for noise in white if noise) <= 5
    slow = next(noise for noise in drift if noise and noise.drifts)
    assert p_of_two(1000.0, slow, slow, 0.0, math.inf) == 1.0


def test_too_few_batches_tell_nothing() -> None:
    assert ratio_noise(np.ones(4), np.ones(4)) is None
    assert ratio_noise(np.zeros(50), np.zeros(50)) is None
    one = np.zeros(50)
    one[7] = 100.0
    assert ratio_noise(one, one) is None


def test_one_outlier_is_no_step() -> None:
    rng = np.random.default_rng(4)
    whole = np.full(BATCHES, 10.0)
    series = [100 + rng.standard_normal(BATCHES) for _ in range(2)]
    series[1][60] += 9400  # the mean moves by 94%
    noises = [ratio_noise(one, whole) for one in series]
    assert noises[0] is not None
    assert noises[1] is not None
    step = (series[1].sum() - series[0].sum()) / whole.sum()
    assert step > 0.9 * 10
    assert p_of_two(step, noises[0], noises[1], 0.0, math.inf) > 0.2


def test_functions_that_scatter_more_than_they_know_tell_the_noise_between_runs() -> None:
    rng = np.random.default_rng(5)
    variances = np.full(40, 0.01**2)
    quiet = [scatter(rng.normal(0, 0.01, 40), variances, 0.0)[0] for _ in range(50)]
    loud = [scatter(rng.normal(0, 0.05, 40), variances, 0.0)[0] for _ in range(50)]
    assert np.median(quiet) < 0.006**2
    assert np.median(np.sqrt(loud)) == pytest.approx(0.05, rel=0.25)
    few = rng.normal(0, 0.01, 40)
    few[:4] = 1.0  # four that have changed
    assert scatter(few, variances, 0.0)[0] < 0.02**2


def test_functions_lend_what_they_know_but_not_to_one_that_is_louder() -> None:
    rng = np.random.default_rng(6)
    expected = np.full(40, 2.0)
    own = 2.0 * rng.chisquare(8, 40) / 8
    own[3], own[4] = 0.01, 60.0
    variances, freedom = lend(own, expected, 8.0)
    assert variances[3] >= 2.0
    assert variances[4] == 60.0
    assert (freedom[3] > 30, freedom[4]) == (True, 8.0)


def test_functions_that_move_together_lend_little() -> None:
    rng = np.random.default_rng(7)
    alone = rng.standard_normal((40, 10))
    together = rng.standard_normal(10) + 0.1 * alone
    assert likeness(alone - alone.mean(1, keepdims=True)) < 3
    assert likeness(together - together.mean(1, keepdims=True)) > 30
