"""Uploads over simulated lines with faults both ways: the right file or an error."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.upload.mixes import run_mix, steady


def test_300_random_mixes() -> None:
    ended = Counter(run_mix(seed).how for seed in range(300))
    assert ended["right"] > 200, ended


@pytest.mark.parametrize(("rate", "least"), [(1e-4, 1.0), (1e-3, 0.95)])
def test_errors_at_a_steady_rate(rate: float, least: float) -> None:
    ended = Counter(steady(rate, seed).how for seed in range(40))
    assert ended["right"] >= least * 40, ended


@pytest.mark.long
def test_10_000_random_mixes() -> None:
    ended = Counter(run_mix(1_000_000 + seed).how for seed in range(10_000))
    print(ended)
    assert ended["right"] > 6_600, ended


@pytest.mark.long
@pytest.mark.parametrize(("rate", "least"), [(1e-4, 0.999), (1e-3, 0.95)])
def test_errors_at_a_steady_rate_at_length(rate: float, least: float) -> None:
    ended = Counter(steady(rate, seed).how for seed in range(1000))
    print(rate, ended)
    assert ended["right"] >= least * 1000, ended
