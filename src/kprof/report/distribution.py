"""A distribution in the terminal: a line for every power of two, and the figures below."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from kprof.analysis.measures import Measure
from kprof.report.style import PLAIN, Style
from kprof.report.units import Units

_BAR = 40


def log2_rows(measure: Measure, units: Units) -> list[tuple[Fraction, Fraction, int]]:
    """(from, up to, count) for every power of two between the extremes; microseconds.

    Where there are zeros the first row begins there, and ends at 1 us or earlier.
    """
    values, counts = measure.distinct()
    if not len(values):
        return []
    above = values[values > 0].tolist()
    last = _power(units.exact(above[-1])) if above else -1
    first = _power(units.exact(above[0])) if above else 0
    edges = [Fraction(0)] if len(above) < len(values) else []
    edges += [Fraction(2) ** power for power in range(min(first, 0) if edges else first, last + 2)]
    ticks = [math.ceil(edge / units.exact(1)) for edge in edges]
    before = np.concatenate([[0], np.cumsum(counts)])[np.searchsorted(values, ticks)]
    return list(zip(edges[:-1], edges[1:], np.diff(before).tolist(), strict=True))


def _power(value: Fraction) -> int:
    """The greatest power of two that a value above 0 is not below."""
    power = value.numerator.bit_length() - value.denominator.bit_length()
    return power if Fraction(2) ** power <= value else power - 1


def distribution_lines(
    title: str, measure: Measure, units: Units, style: Style = PLAIN
) -> list[str]:
    """The histogram with its title and its figures."""
    if not measure.count:
        return [f"{title}: none"]
    rows = log2_rows(measure, units)
    labels = [f"[{_edge(low)}, {_edge(high)})" for low, high, _ in rows]
    width = max(map(len, labels))
    most = max(count for _, _, count in rows)
    digits = len(str(most))
    lines = [style.title(f"{title}: {measure.count}")]
    columns = _BAR if style.width is None else max(8, min(_BAR, style.width - width - digits - 9))
    for label, (_, _, count) in zip(labels, rows, strict=True):
        bar = style.bar(count, most, columns)
        bar = style.share(bar, count, measure.count)
        lines.append(f"  {label:>{width}} us  {count:>{digits}}  {bar}".rstrip())
    lines.append("  " + figures_text(measure, units))
    return lines


def figures_text(measure: Measure, units: Units) -> str:
    """``min 3 us, avg 3.2, p50 3, p90 4, p99 5, max 9``."""
    shares = [(f"p{share:g}", measure.percentile(share)) for share in (50, 90, 99)]
    mean = units.us(measure.mean or 0)
    parts = [f"min {units.text(measure.least)} us", f"avg {_number(mean)}"]
    parts += [f"{name} {_number(units.us(value or 0))}" for name, value in shares]
    return ", ".join([*parts, f"max {units.text(measure.most)}"])


def distribution_json(measure: Measure, units: Units) -> dict[str, Any]:
    """The same values as a JSON object."""
    return {
        "count": measure.count,
        "min_us": units.value(measure.least),
        "avg_us": None if measure.mean is None else round(units.us(measure.mean), 3),
        "max_us": units.value(measure.most),
        "p50_us": _us(measure.percentile(50), units),
        "p90_us": _us(measure.percentile(90), units),
        "p99_us": _us(measure.percentile(99), units),
        "log2": [
            {"from_us": _edge(low), "to_us": _edge(high), "count": count}
            for low, high, count in log2_rows(measure, units)
        ],
    }


def _edge(us: Fraction) -> int | float:
    return int(us) if us.denominator == 1 else float(us)


def _us(value: float | None, units: Units) -> float | None:
    return None if value is None else round(units.us(value), 3)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
