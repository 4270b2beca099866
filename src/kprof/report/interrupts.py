"""Interrupts in text: how long, how often, how late, and on top of what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kprof.analysis.interrupts import Interrupt, Interrupts
from kprof.analysis.recognise import marked_interrupts
from kprof.analysis.stream import Stream
from kprof.report.distribution import distribution_json, distribution_lines, figures_text
from kprof.report.style import PLAIN, Style
from kprof.report.units import Units, counted, safe_name


def interrupts_json(stream: Stream, found: Interrupts) -> dict[str, Any]:
    """The interrupt functions as a JSON object; times in microseconds."""
    units = Units(stream.info.clock_hz)
    names = [entry.name for entry in stream.functions]
    return {
        "interrupts": [
            {
                "name": names[one.function],
                "duration": distribution_json(one.duration, units),
                "period": distribution_json(one.period, units),
                "nested": one.nested,
                "beat": _beat_json(one, units),
            }
            for one in found.each
        ],
        "interrupted": [
            {
                "name": names[row.function],
                "total_us": units.value(row.total),
                "without_us": units.value(row.total - row.lost),
                "in_interrupts_us": units.value(row.lost),
            }
            for row in found.interrupted
        ],
    }


def _beat_json(interrupt: Interrupt, units: Units) -> dict[str, Any] | None:
    beat = interrupt.beat
    if beat is None:
        return None
    return {
        "period_us": units.us(beat.period),
        "latency_above_least": distribution_json(interrupt.late, units),
        "missed": beat.missed,
    }


def interrupt_lines(
    stream: Stream, found: Interrupts, named: tuple[str, ...] = (), style: Style = PLAIN
) -> Iterator[str]:
    """Which functions are interrupts, how long and how often, and what they do to the others.

    What a device waited before its handler ran is not in the events, but for those that ask at a
    steady beat (`kprof.analysis.beat`); of the others it is said how regularly the handler came.
    """
    units = Units(stream.info.clock_hz)
    if not found.functions:
        yield (
            "no interrupts: no function was seen both alone and on two others (name it: --irq, or "
            "mark it in the name file: ^)"
        )
        return
    names = [safe_name(entry.name) for entry in stream.functions]
    yield "interrupts ({}): {}".format(
        _evidence(stream, found.functions, named), ", ".join(names[fn] for fn in found.functions)
    )
    for interrupt in found.each:
        yield ""
        yield from distribution_lines(
            f"{names[interrupt.function]}, duration", interrupt.duration, units, style
        )
        if interrupt.period.count:
            yield "  period: " + figures_text(interrupt.period, units)
        if interrupt.beat is not None:
            beat = interrupt.beat
            yield f"  latency, less its least: {figures_text(interrupt.late, units)}"
            missed = f"; {beat.missed} beats without it" if beat.missed else ""
            yield f"  by its beat of {units.us(beat.period):.2f} us{missed}"
        yield f"  on top of at most {counted(interrupt.nested, 'other interrupt')}"
    yield ""
    yield style.title(f"{'total us':>12}  {'without':>12}  {'in interrupts':>13}  name")
    for row in found.interrupted:
        yield (
            f"{units.text(row.total):>12}  {units.text(row.total - row.lost):>12}  "
            f"{style.share(f'{units.text(row.lost):>13}', row.lost, row.total)}  "
            f"{style.name(names[row.function])}"
        )


def _evidence(stream: Stream, functions: list[int], named: tuple[str, ...]) -> str:
    """Where the report has its interrupts from."""
    if named:
        return "as named"
    marked = len(marked_interrupts(stream.functions))
    if marked:
        return "as marked" if marked == len(functions) else "marked and inferred"
    return "inferred"
