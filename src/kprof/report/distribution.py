"""A distribution in the terminal: a line for every power of two, and the figures below."""

from __future__ import annotations

from typing import Any

from kprof.analysis.measures import Measure, bucket_range
from kprof.report.units import Units

_BAR = 40


def log2_rows(measure: Measure) -> list[tuple[int, int, int]]:
    """(from, up to, count) for every power of two between the extremes; ticks."""
    counts: dict[int, int] = {}
    for bucket, count in measure.histogram.items():
        power = bucket_range(bucket)[0].bit_length()
        counts[power] = counts.get(power, 0) + count
    if not counts:
        return []
    return [
        ((1 << power) >> 1, 1 << power, counts.get(power, 0))
        for power in range(min(counts), max(counts) + 1)
    ]


def distribution_lines(title: str, measure: Measure, units: Units) -> list[str]:
    """The histogram with its title and its figures."""
    if not measure.count:
        return [f"{title}: none"]
    rows = log2_rows(measure)
    labels = [f"[{units.text(low)}, {units.text(high)})" for low, high, _ in rows]
    width = max(map(len, labels))
    most = max(count for _, _, count in rows)
    digits = len(str(most))
    lines = [f"{title}: {measure.count}"]
    for label, (_, _, count) in zip(labels, rows, strict=True):
        bar = "#" * -(-count * _BAR // most)
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
            {"from_us": units.value(low), "to_us": units.value(high), "count": count}
            for low, high, count in log2_rows(measure)
        ],
    }


def _us(value: float | None, units: Units) -> float | None:
    return None if value is None else round(units.us(value), 3)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
