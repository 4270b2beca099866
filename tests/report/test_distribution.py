"""Distributions in text and JSON: rows in powers of two of microseconds, exact percentiles."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.analysis.measures import Measure
from kprof.report.distribution import distribution_json, distribution_lines, log2_rows
from kprof.report.units import Units

MHZ = Fraction(1_000_000)


def _rows(values: list[int], clock_hz: Fraction = MHZ) -> list[tuple[Any, Any, int]]:
    shown = distribution_json(Measure.of(np.array(values, np.int64)), Units(clock_hz))["log2"]
    return [(row["from_us"], row["to_us"], row["count"]) for row in shown]


def test_rows_are_powers_of_two_of_microseconds_on_any_clock() -> None:
    assert _rows([3, 4, 4, 9]) == [(2, 4, 1), (4, 8, 2), (8, 16, 1)]
    assert _rows([0, 1, 5]) == [(0, 1, 1), (1, 2, 1), (2, 4, 0), (4, 8, 1)]
    # Thousandths of a microsecond, as with a trigger cost: 4.000 is in the row from 4, not below.
    assert _rows([3999, 4000, 4095, 4097], 1000 * MHZ) == [(2, 4, 1), (4, 8, 3)]
    assert _rows([0, 300, 2000], 1000 * MHZ) == [(0, 0.25, 1), (0.25, 0.5, 1), (0.5, 1, 0),
                                                 (1, 2, 0), (2, 4, 1)]  # fmt: skip
    assert _rows([0, 0, 7000], 1000 * MHZ) == [(0, 1, 2), (1, 2, 0), (2, 4, 0), (4, 8, 1)]
    assert _rows([1, 3], 3 * MHZ) == [(0.25, 0.5, 1), (0.5, 1, 0), (1, 2, 1)]
    assert (_rows([0, 0]), _rows([])) == ([(0, 1, 2)], [])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 1 << 40), min_size=1, max_size=40),
    st.fractions(Fraction(1, 1000), 10**10).filter(bool),
)
def test_every_value_is_in_its_row(values: list[int], clock_hz: Fraction) -> None:
    units = Units(clock_hz)
    rows = log2_rows(Measure.of(np.array(values, np.int64)), units)
    assert sum(count for _, _, count in rows) == len(values)
    for low, high, count in rows:
        assert count == sum(low <= units.exact(value) < high for value in values)
        assert low == 0 or high == 2 * low
        assert rows[0][2]
        assert rows[-1][2]


def test_percentiles_are_values_that_were_there() -> None:
    # 157 values: the median is the 79th, p90 the 142nd, p99 the 156th.
    values = np.arange(500, 500 + 157)[::-1]
    text = "\n".join(distribution_lines("x", Measure.of(values), Units(MHZ)))
    assert text.splitlines()[-1] == "  min 500 us, avg 578, p50 578, p90 641, p99 655, max 656"


@pytest.mark.parametrize("clock_hz", [MHZ, 1000 * MHZ])
def test_a_merged_distribution_has_rows_too(clock_hz: Fraction) -> None:
    merged = Measure()
    scale = int(clock_hz / MHZ)
    merged.merge(Measure.of(np.array([3, 5, 6, 40]) * scale))
    rows = [(int(low), int(high), count) for low, high, count in log2_rows(merged, Units(clock_hz))]
    assert rows == [(2, 4, 1), (4, 8, 2), (8, 16, 0), (16, 32, 0), (32, 64, 1)]
