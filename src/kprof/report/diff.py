"""Two runs compared, as text, as JSON, and as folded stacks with two counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kprof.analysis.calls import Timeline
from kprof.analysis.compare import Difference, FunctionChange, as_mapping
from kprof.analysis.statistics import FunctionStatistics
from kprof.report.units import Units, counted, safe_name

_PATHS = 20
_MATTERS = 5  # calls of a path that came or went, below which it may be chance


def diff_lines(difference: Difference, *, everything: bool = False) -> Iterator[str]:
    """What changed, what matters most first; with `everything` also what did not."""
    units = Units(difference.before.info.clock_hz)
    for label, line in (("before", difference.before), ("after", difference.after)):
        ledger = line.ledger
        yield (
            f"{label:>6}: {safe_name(line.info.source)}: {counted(line.events, 'event')}, elapsed "
            f"{units.seconds(ledger.elapsed)}, run {units.seconds(ledger.run)}"
        )
    changed = [one for one in difference.functions if one.changed]
    rest = [one for one in difference.functions if not one.changed]
    yield ""
    if changed:
        yield f"{len(changed)} changed (net time; 1 chance in 100 that any of them is by accident):"
        yield from _table(changed, units)
    else:
        yield "no function changed its net time beyond chance"
    lonely = [one for one in rest if one.before is None or one.after is None]
    if lonely:
        yield ""
        yield "ran in one of the two only:"
        for one in lonely:
            side = "after" if one.before is None else "before"
            there = one.after or one.before
            calls = there.calls if there else 0
            yield f"  only {side}: {safe_name(one.name)}, {counted(calls, 'call')}"
    if everything:
        both = [one for one in rest if one not in lonely]
        yield ""
        yield f"{len(both)} not changed:"
        yield from _table(both, units)
    yield from _flow(difference)


def _table(changes: list[FunctionChange], units: Units) -> Iterator[str]:
    heads = ("avg before", "avg after", "change", "cost us", "calls", "total us", "self us", "name")
    rows = [heads]
    for one in changes:
        before = one.before.own.mean if one.before else None
        after = one.after.own.mean if one.after else None
        change = "-"
        if before and after is not None:
            change = f"{100 * (after - before) / before:+.1f}%"
        values = as_mapping(one)
        rows.append(
            (
                _number(before, units),
                _number(after, units),
                change,
                f"{units.us(one.cost):+.0f}",
                "{}>{}".format(*values["calls"]),
                "{}>{}".format(*map(units.text, values["elapsed"])),
                "{}>{}".format(*map(units.text, values["net"])),
                safe_name(one.name),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads) - 1)]
    for row in rows:
        cells = [row[i].rjust(widths[i]) for i in range(len(widths))]
        yield "  " + "  ".join([*cells, row[-1]])


def _flow(difference: Difference) -> Iterator[str]:
    """Call paths that appeared and vanished, the most called first."""
    kinds = (
        ("appeared", [p for p in difference.paths if not p.calls_before and p.calls_after]),
        ("vanished", [p for p in difference.paths if p.calls_before and not p.calls_after]),
    )
    for kind, found in kinds:
        many = [p for p in found if p.calls_before + p.calls_after >= _MATTERS]
        if not many:
            continue
        many.sort(key=lambda p: (-(p.calls_before + p.calls_after), p.path))
        yield ""
        yield f"call paths that {kind} ({len(many)}):"
        for path in many[:_PATHS]:
            names = " > ".join(safe_name(name) for name in path.path)
            yield f"  {path.calls_before + path.calls_after:>7} calls  {names}"
        if len(many) > _PATHS:
            yield f"  and {len(many) - _PATHS} more"


def folded_lines(difference: Difference) -> Iterator[str]:
    """``a;b;c BEFORE AFTER`` in net microseconds: what differential flame graphs are made of."""
    units = Units(difference.before.info.clock_hz)
    for path in difference.paths:
        stack = ";".join(safe_name(name).replace(";", ":").replace(" ", "_") for name in path.path)
        yield f"{stack} {round(units.us(path.own_before))} {round(units.us(path.own_after))}"


def diff_json(difference: Difference) -> dict[str, Any]:
    """The comparison as a JSON object; times in microseconds, `avg_us` as in the text."""
    units = Units(difference.before.info.clock_hz)
    rows = []
    for one in difference.functions:
        values = as_mapping(one)
        rows.append(
            {
                "name": one.name,
                "changed": one.changed,
                "chance": one.chance,
                "cost_us": round(units.us(one.cost), 3),
                "calls": list(values["calls"]),
                "avg_us": [_mean_us(side, units) for side in (one.before, one.after)],
                "total_us": [units.value(v) for v in values["elapsed"]],
                "self_us": [units.value(v) for v in values["net"]],
            }
        )
    return {
        "before": _run_json(difference.before),
        "after": _run_json(difference.after),
        "functions": rows,
        "paths": [
            {
                "path": list(path.path),
                "calls": [path.calls_before, path.calls_after],
                "self_us": [units.value(path.own_before), units.value(path.own_after)],
            }
            for path in difference.paths
        ],
    }


def _run_json(line: Timeline) -> dict[str, Any]:
    value = Units(line.info.clock_hz).value
    return {
        "source": line.info.source,
        "events": line.events,
        "elapsed_us": value(line.ledger.elapsed),
        "run_us": value(line.ledger.run),
    }


def _mean_us(side: FunctionStatistics | None, units: Units) -> float | None:
    mean = side.own.mean if side else None
    return None if mean is None else round(units.us(mean), 3)


def _number(value: float | None, units: Units) -> str:
    return "-" if value is None else f"{units.us(value):.2f}"
