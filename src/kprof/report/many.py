"""Several captures side by side: one line for each, and its share of every function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kprof.analysis.statistics import Statistics
from kprof.report.units import Units, percent, safe_name

_COLUMNS = 8
_LINES = 40  # captures of which each has its line
_LEFT_OUT = 10


def captures_lines(
    parts: Sequence[Statistics], left_out: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """A line for each of the first captures; below, each function's net time in each of a few."""
    units = Units(parts[0].info.clock_hz)
    captures = [capture for part in parts for capture in part.captures]
    lines = [f"{'':>4}  {'events':>10}  {'elapsed us':>12}  {'idle':>7}  capture"]
    for number, (source, events, elapsed, idle) in enumerate(captures[:_LINES], 1):
        share = f"{percent(idle, elapsed):.2f}%"
        lines.append(
            f"{f'#{number}':>4}  {events:>10}  {units.text(elapsed):>12}  {share:>7}  "
            f"{safe_name(source)}"
        )
    if len(captures) > _LINES:
        lines.append(f"... and {len(captures) - _LINES:,} more (--format json has all)")
    if left_out:
        every = len(captures) + len(left_out)
        lines += ["", f"{len(left_out):,} of {every:,} captures could not be read:"]
        lines += [f"  {safe_name(name)}" for name, _ in left_out[:_LEFT_OUT]]
        if len(left_out) > _LEFT_OUT:
            lines.append(f"  ... and {len(left_out) - _LEFT_OUT:,} more (--format json has all)")
    if not 1 < len(parts) <= _COLUMNS:
        return lines
    heads = [f"{_head(numbers):>10}" for numbers in _numbers(parts)]
    lines += ["", "net us in each:", "  ".join(heads) + "  name"]
    for name in _names(parts):
        cells = [f"{units.text(_net(part, name)):>10}" for part in parts]
        lines.append("  ".join(cells) + f"  {safe_name(name)}")
    return lines


def captures_json(
    parts: Sequence[Statistics], left_out: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    """The same values as a JSON object, of any number of captures.

    One of `parts` is of one capture, or of those that were merged when it was saved.
    """
    value = Units(parts[0].info.clock_hz).value
    names = _names(parts)
    return {
        "captures": [
            {
                "source": source,
                "events": events,
                "elapsed_us": value(elapsed),
                "idle_us": value(idle),
            }
            for part in parts
            for source, events, elapsed, idle in part.captures
        ],
        "unread": [{"capture": name, "why": why} for name, why in left_out],
        "parts": [
            {
                "captures": list(numbers),
                "net_us": {name: value(_net(part, name)) for name in names},
            }
            for part, numbers in zip(parts, _numbers(parts), strict=True)
        ],
    }


def _numbers(parts: Sequence[Statistics]) -> list[range]:
    """The numbers of the captures in each part; they count through all."""
    found = []
    first = 1
    for part in parts:
        found.append(range(first, first + len(part.captures)))
        first += len(part.captures)
    return found


def _head(numbers: range) -> str:
    return f"#{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"#{numbers.start}"


def _names(parts: Sequence[Statistics]) -> list[str]:
    """The functions that ran, the largest net time first."""
    names = {name for part in parts for name in part.functions}
    total = {name: sum(_net(part, name) for part in parts) for name in names}
    return sorted(names, key=lambda name: (-total[name], name))


def _net(part: Statistics, name: str) -> int:
    function = part.functions.get(name)
    return function.net if function else 0
