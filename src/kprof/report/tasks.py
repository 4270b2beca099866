"""Tasks and interrupts in text: who ran when, for how long, and on top of what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kprof.analysis.beat import Beat
from kprof.analysis.calls import Timeline
from kprof.analysis.measures import Measure
from kprof.analysis.tasks import (
    IDLE,
    interrupt_functions,
    interrupted,
    interrupts,
    running,
    slices,
    tasks,
)
from kprof.report.distribution import distribution_json, distribution_lines, figures_text
from kprof.report.units import Units, percent, safe_name

_COLUMNS = 64
_SIGNS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def task_lines(timeline: Timeline) -> Iterator[str]:
    """A line of figures for every context, and a strip of time that shows which ran."""
    units = Units(timeline.info.clock_hz)
    elapsed = timeline.ledger.elapsed
    heads = f"{'run us':>12}  {'% real':>7}  {'slices':>7}  {'longest':>9}  {'away':>9}"
    yield f"{'task':>6}  {heads}  name"
    for task in tasks(timeline):
        label = "system" if task.context == 0 else str(task.context)
        name = safe_name(task.name) or "-"
        yield (
            f"{label:>6}  {units.text(task.run):>12}  {percent(task.run, elapsed):>6.2f}%  "
            f"{task.slices:>7}  {units.text(task.longest):>9}  {units.text(task.longest_away):>9}  "
            f"{name}"
        )
    idle = timeline.ledger.idle
    yield f"  idle  {units.text(idle):>12}  {percent(idle, elapsed):>6.2f}%"
    yield ""
    yield (
        f"each column {_number(units.us(elapsed / _COLUMNS))} us: what ran most of it, "
        "a task by its number, . the system context, _ idle"
    )
    yield "|" + strip(timeline, _COLUMNS) + "|"


def tasks_json(timeline: Timeline) -> dict[str, Any]:
    """The contexts and their slices as a JSON object; times in microseconds."""
    value = Units(timeline.info.clock_hz).value
    rows = slices(timeline)
    return {
        "tasks": [
            {
                "context": task.context,
                "name": task.name,
                "run_us": value(task.run),
                "slices": task.slices,
                "longest_us": value(task.longest),
                "longest_away_us": value(task.longest_away),
            }
            for task in tasks(timeline)
        ],
        "idle_us": value(timeline.ledger.idle),
        "slices": [
            {"start_us": value(start), "end_us": value(end), "context": context}
            for start, end, context in zip(
                rows.start.tolist(), rows.end.tolist(), rows.context.tolist(), strict=True
            )
        ],
    }


def interrupts_json(timeline: Timeline, named: tuple[str, ...] = ()) -> dict[str, Any]:
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
            for one in interrupts(timeline, functions)
        ],
        "interrupted": [
            {
                "name": timeline.functions[row.function].name,
                "total_us": units.value(row.total),
                "without_us": units.value(row.total - row.lost),
                "in_interrupts_us": units.value(row.lost),
            }
            for row in interrupted(timeline, functions)
        ],
    }


def _beat_json(beat: Beat, units: Units) -> dict[str, Any]:
    return {
        "period_us": units.us(beat.period),
        "latency_above_least": distribution_json(Measure.of(beat.late), units),
        "missed": beat.missed,
    }


def strip(timeline: Timeline, columns: int) -> str:
    """One character for each of `columns` equal parts of the run: what ran most of it.

    ``.`` is the system context, ``_`` idle; a task has its number, or a letter.
    """
    rows = running(timeline)
    total = max(1, timeline.ledger.elapsed)
    edges = np.linspace(0, total, columns + 1)
    best = np.zeros(columns)
    sign = np.full(columns, " ")
    for context in np.unique(rows.context).tolist():
        mine = rows.context == context
        spent = np.concatenate([[0], np.cumsum((rows.end - rows.start)[mine])]).astype(float)
        points = np.concatenate([rows.start[mine], rows.end[mine][-1:]]).astype(float)
        # Time of the context up to each edge: whole slices before it and a part of one.
        place = np.searchsorted(points, edges, "right") - 1
        place = np.clip(place, 0, mine.sum() - 1)
        inside = np.clip(edges - rows.start[mine][place], 0, (rows.end - rows.start)[mine][place])
        share = np.diff(spent[place] + inside)
        char = {IDLE: "_", 0: "."}.get(context) or _SIGNS[(context - 1) % len(_SIGNS)]
        sign[share > best] = char
        best = np.maximum(best, share)
    return "".join(sign.tolist())


def interrupt_lines(timeline: Timeline, named: tuple[str, ...] = ()) -> Iterator[str]:
    """Which functions are interrupts, how long and how often, and what they do to the others.

    What a device waited before its handler ran is not in the events, but for those that ask at a
    steady beat (`kprof.analysis.beat`); of the others it is said how regularly the handler came.
    """
    units = Units(timeline.info.clock_hz)
    functions = interrupt_functions(timeline, named)
    if not functions:
        yield "no interrupts: no function was seen both alone and on two others (name it: --irq)"
        return
    names = [safe_name(entry.name) for entry in timeline.functions]
    yield "interrupts ({}): {}".format(
        "as named" if named else "inferred", ", ".join(names[fn] for fn in functions)
    )
    for interrupt in interrupts(timeline, functions):
        yield ""
        yield from distribution_lines(
            f"{names[interrupt.function]}, duration", interrupt.duration, units
        )
        if interrupt.period.count:
            yield "  period: " + figures_text(interrupt.period, units)
        if interrupt.beat is not None:
            yield from _beat_lines(interrupt.beat, units)
        yield f"  on top of at most {interrupt.nested} other interrupts"
    yield ""
    yield from _without(timeline, functions, names, units)


def _beat_lines(beat: Beat, units: Units) -> Iterator[str]:
    yield (f"  latency, less its least: {figures_text(Measure.of(beat.late), units)}")
    missed = f"; {beat.missed} beats without it" if beat.missed else ""
    yield f"  by its beat of {units.us(beat.period):.2f} us{missed}"


def _without(
    timeline: Timeline, functions: list[int], names: list[str], units: Units
) -> Iterator[str]:
    """Elapsed time of the functions that were interrupted, with and without the interrupts."""
    yield f"{'total us':>12}  {'without':>12}  {'in interrupts':>13}  name"
    for row in interrupted(timeline, functions):
        yield (
            f"{units.text(row.total):>12}  {units.text(row.total - row.lost):>12}  "
            f"{units.text(row.lost):>13}  {names[row.function]}"
        )


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
