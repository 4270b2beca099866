"""Interrupts in text: how long, how often, how late, and on top of what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kprof.analysis.beat import Beat
from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Mask
from kprof.analysis.interrupts import (
    interrupt_functions,
    interrupted,
    interrupts,
    marked_interrupts,
)
from kprof.analysis.measures import Measure
from kprof.report.distribution import distribution_json, distribution_lines, figures_text
from kprof.report.units import Units, counted, safe_name


def interrupts_json(
    timeline: Timeline, named: tuple[str, ...] = (), keep: Mask | None = None
) -> dict[str, Any]:
    """The interrupt functions as a JSON object; times in microseconds."""
    units = Units(timeline.info.clock_hz)
    functions = interrupt_functions(timeline, named)
    return {
        "interrupts": [
            {
                "name": timeline.functions[one.function].name,
                "duration": distribution_json(one.duration, units),
                "period": distribution_json(one.period, units),
                "nested": one.nested,
                "beat": None if one.beat is None else _beat_json(one.beat, units),
            }
            for one in interrupts(timeline, functions, keep)
        ],
        "interrupted": [
            {
                "name": timeline.functions[row.function].name,
                "total_us": units.value(row.total),
                "without_us": units.value(row.total - row.lost),
                "in_interrupts_us": units.value(row.lost),
            }
            for row in interrupted(timeline, functions, keep)
        ],
    }


def _beat_json(beat: Beat, units: Units) -> dict[str, Any]:
    return {
        "period_us": units.us(beat.period),
        "latency_above_least": distribution_json(Measure.of(beat.late), units),
        "missed": beat.missed,
    }


def interrupt_lines(
    timeline: Timeline, named: tuple[str, ...] = (), keep: Mask | None = None
) -> Iterator[str]:
    """Which functions are interrupts, how long and how often, and what they do to the others.

    What a device waited before its handler ran is not in the events, but for those that ask at a
    steady beat (`kprof.analysis.beat`); of the others it is said how regularly the handler came.
    """
    units = Units(timeline.info.clock_hz)
    functions = interrupt_functions(timeline, named)
    if not functions:
        yield (
            "no interrupts: no function was seen both alone and on two others (name it: --irq, or "
            "mark it in the name file: ^)"
        )
        return
    names = [safe_name(entry.name) for entry in timeline.functions]
    yield "interrupts ({}): {}".format(
        _evidence(timeline, functions, named), ", ".join(names[fn] for fn in functions)
    )
    for interrupt in interrupts(timeline, functions, keep):
        yield ""
        yield from distribution_lines(
            f"{names[interrupt.function]}, duration", interrupt.duration, units
        )
        if interrupt.period.count:
            yield "  period: " + figures_text(interrupt.period, units)
        if interrupt.beat is not None:
            yield from _beat_lines(interrupt.beat, units)
        yield f"  on top of at most {counted(interrupt.nested, 'other interrupt')}"
    yield ""
    yield f"{'total us':>12}  {'without':>12}  {'in interrupts':>13}  name"
    for row in interrupted(timeline, functions, keep):
        yield (
            f"{units.text(row.total):>12}  {units.text(row.total - row.lost):>12}  "
            f"{units.text(row.lost):>13}  {names[row.function]}"
        )


def _evidence(timeline: Timeline, functions: list[int], named: tuple[str, ...]) -> str:
    """Where the report has its interrupts from."""
    if named:
        return "as named"
    marked = len(marked_interrupts(timeline.functions))
    if marked:
        return "as marked" if marked == len(functions) else "marked and inferred"
    return "inferred"


def _beat_lines(beat: Beat, units: Units) -> Iterator[str]:
    yield (f"  latency, less its least: {figures_text(Measure.of(beat.late), units)}")
    missed = f"; {beat.missed} beats without it" if beat.missed else ""
    yield f"  by its beat of {units.us(beat.period):.2f} us{missed}"
