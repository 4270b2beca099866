"""Two sides compared, as text, as JSON, and as folded stacks with two counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kprof.analysis.compare import LEVEL, CallChange, Difference, FunctionChange, both
from kprof.analysis.measured import OUTSIDE, MeasuredRun
from kprof.analysis.statistics import FunctionStatistics
from kprof.report.style import PLAIN, Style
from kprof.report.units import Units, counted, safe_name

_PATHS = 20
_MATTERS = 5  # calls of a path that came or went, below which it may be chance
_MOVED = 0.05  # of a mean, by one call
_SHOWN_COMMON = 0.01


def diff_lines(
    difference: Difference, *, everything: bool = False, style: Style = PLAIN
) -> Iterator[str]:
    """What changed, what matters most first; with `everything` also what did not."""
    units = Units(difference.before[0].info.clock_hz)
    one_each = len(difference.before) == len(difference.after) == 1
    for label, runs in (("before", difference.before), ("after", difference.after)):
        yield f"{label:>6}: {_runs_line(runs, units)}"
    changed = [one for one in difference.functions if one.changed]
    rest = [one for one in difference.functions if not one.changed]
    yield ""
    if changed:
        unknown = "; the noise between runs is not known" if one_each else ""
        yield (
            f"{len(changed)} changed (net time and calls; p-values corrected for all functions, "
            f"below {LEVEL:g}{unknown}):"
        )
        yield from _table(changed, difference, units, style)
    else:
        yield "no function changed its net time or its calls beyond chance"
    if abs(difference.common) > _SHOWN_COMMON:
        yield ""
        yield (
            f"the functions have a change of {100 * difference.common:+.1f}% in common, which is "
            "held against none: with one run a side it may be the machine's"
        )
    yield from _not_blamed(rest, units)
    yield from _single_calls(rest, units)
    drifting = [one.name for one in rest if one.drifts]
    if drifting:
        shown = ", ".join(map(safe_name, drifting[:5])) + (", ..." if len(drifting) > 5 else "")
        yield ""
        yield (
            f"{counted(len(drifting), 'time')} not judged, for they wander as slowly as the run is "
            f"long ({shown}): expected several captures a side"
        )
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
        in_both = [one for one in rest if one not in lonely]
        yield ""
        yield f"{len(in_both)} not changed:"
        yield from _table(in_both, difference, units, style)
    yield from _flow(difference)


def _runs_line(runs: Sequence[MeasuredRun], units: Units) -> str:
    names = ", ".join(safe_name(run.info.source) for run in runs[:3])
    more = ", ..." if len(runs) > 3 else ""
    head = f"{len(runs)} runs: {names}{more}" if len(runs) > 1 else names
    return (
        f"{head}: {counted(sum(run.events for run in runs), 'event')}, elapsed "
        f"{units.seconds(sum(run.ledger.elapsed for run in runs))}, run "
        f"{units.seconds(sum(run.ledger.run for run in runs))}"
    )


_HEADS = ("cost us", "p", "what", "median us", "avg us", "change", "p99 us", "calls", "self us")


def _table(
    changes: list[FunctionChange], difference: Difference, units: Units, style: Style
) -> Iterator[str]:
    """A line for each, calls and self a run; below it the callers that call it otherwise."""
    many, to = (len(difference.before), len(difference.after)), style.arrow
    rows = [(*_HEADS, "name")]
    for one in changes:
        sides = (one.before, one.after)
        before, after = (side.own.mean if side else None for side in sides)
        change = "-"
        if before and after is not None:
            change = f"{100 * (after - before) / before:+.1f}%"
        rows.append(
            (
                f"{units.us(one.cost):+.0f}",
                f"{one.p_value:.1g}",
                ",".join(one.what) or "-",
                _pair([side.own.percentile(50) if side else None for side in sides], units, to),
                _pair([before, after], units, to),
                change,
                _pair([side.own.percentile(99) if side else None for side in sides], units, to),
                to.join(_short(n / k) for n, k in zip(both(one, "calls"), many, strict=True)),
                to.join(
                    _short(units.us(n / k)) for n, k in zip(both(one, "net"), many, strict=True)
                ),
                safe_name(one.name),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADS))]
    for place, row in enumerate(rows):
        cells = [row[i].rjust(widths[i]) for i in range(len(widths))]
        if not place:
            yield style.title("  " + "  ".join([*cells, row[-1]]))
        else:
            one = changes[place - 1]
            paint = (style.bad if one.cost > 0 else style.good) if one.changed else style.dim
            yield f"  {paint('  '.join(cells))}  {style.name(row[-1])}"
            for call in changes[place - 1].calls:
                if call.changed:
                    yield f"      {_call_line(call)}"


def _call_line(call: CallChange) -> str:
    step = f"{_short(call.before)} > {_short(call.after)}"
    if call.caller is None:
        return f"comes {step} times a second (p {call.p_value:.1g})"
    if call.caller == OUTSIDE:
        return f"{step} of each call that nothing known made (p {call.p_value:.1g})"
    return f"{step} calls in each call of {safe_name(call.caller)} (p {call.p_value:.1g})"


def _not_blamed(rest: list[FunctionChange], units: Units) -> Iterator[str]:
    callers = [one for one in rest if one.because]
    if callers:
        yield ""
        yield "their own time moved by less than the calls that they make more or fewer take:"
    for one in callers:
        means = _pair([side.own.mean if side else None for side in (one.before, one.after)], units)
        yield f"  {safe_name(one.name)}: {means} us, with the calls of {safe_name(one.because)}"


def _single_calls(rest: list[FunctionChange], units: Units) -> Iterator[str]:
    """Means that one call moved: no change of what the function does."""
    found = []
    for one in rest:
        if one.before is None or one.after is None or one.because:
            continue
        first, second = one.before.own.mean, one.after.own.mean
        if not first or not second or abs(second / first - 1) < _MOVED:
            continue
        side, other = (one.after, first) if second > first else (one.before, second)
        most, count = side.own.most, side.own.count
        if most is None or count < _MATTERS:
            continue
        without = (side.own.total - most) / (count - 1)
        if abs(without / other - 1) < abs(second / first - 1) / 2:
            found.append((one, most))
    if found:
        yield ""
        yield "means that one call moved, which is not a change:"
    for one, most in found:
        sides = [side for side in (one.before, one.after) if side]
        means = _pair([side.own.mean for side in sides], units)
        medians = _pair([side.own.percentile(50) for side in sides], units)
        yield (
            f"  {safe_name(one.name)}: avg {means} us by one call of {units.text(most)} us; "
            f"median {medians} us"
        )


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
    units = Units(difference.before[0].info.clock_hz)
    for path in difference.paths:
        stack = ";".join(safe_name(name).replace(";", ":").replace(" ", "_") for name in path.path)
        yield f"{stack} {round(units.us(path.own_before))} {round(units.us(path.own_after))}"


def diff_json(difference: Difference) -> dict[str, Any]:
    """The comparison as a JSON object; times in microseconds, sums over all runs of a side."""
    units = Units(difference.before[0].info.clock_hz)
    rows = []
    for one in difference.functions:
        sides = (one.before, one.after)
        rows.append(
            {
                "name": one.name,
                "changed": one.changed,
                "what": list(one.what),
                "p_value": one.p_value,
                "because": one.because or None,
                "drifts": one.drifts,
                "cost_us": round(units.us(one.cost), 3),
                "calls": list(both(one, "calls")),
                "calls_per_second": [
                    _per_second(calls, runs)
                    for calls, runs in zip(
                        both(one, "calls"), (difference.before, difference.after), strict=True
                    )
                ],
                "callers": [_call_json(call) for call in one.calls],
                "median_us": [_percentile_us(side, 50, units) for side in sides],
                "avg_us": [_mean_us(side, units) for side in sides],
                "p99_us": [_percentile_us(side, 99, units) for side in sides],
                "total_us": [units.value(v) for v in both(one, "elapsed")],
                "self_us": [units.value(v) for v in both(one, "net")],
            }
        )
    return {
        "before": _side_json(difference.before),
        "after": _side_json(difference.after),
        "level": LEVEL,
        "common": difference.common,
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


def _call_json(call: CallChange) -> dict[str, Any]:
    return {
        "caller": call.caller or None,
        "unit": {None: "second", OUTSIDE: "top-level call"}.get(call.caller, "call"),
        "calls": [call.before, call.after],
        "p_value": call.p_value,
        "changed": call.changed,
    }


def _side_json(runs: Sequence[MeasuredRun]) -> dict[str, Any]:
    value = Units(runs[0].info.clock_hz).value
    return {
        "source": ", ".join(run.info.source for run in runs),
        "captures": len(runs),
        "events": sum(run.events for run in runs),
        "elapsed_us": value(sum(run.ledger.elapsed for run in runs)),
        "run_us": value(sum(run.ledger.run for run in runs)),
    }


def _per_second(calls: int, runs: Sequence[MeasuredRun]) -> float | None:
    seconds = sum(run.ledger.elapsed for run in runs) / float(runs[0].info.clock_hz)
    return round(calls / seconds, 3) if seconds else None


def _mean_us(side: FunctionStatistics | None, units: Units) -> float | None:
    mean = side.own.mean if side else None
    return None if mean is None else round(units.us(mean), 3)


def _percentile_us(side: FunctionStatistics | None, share: float, units: Units) -> float | None:
    found = side.own.percentile(share) if side else None
    return None if found is None else round(units.us(found), 3)


def _pair(values: Sequence[float | None], units: Units, to: str = ">") -> str:
    return to.join("-" if value is None else _short(units.us(value)) for value in values)


def _short(value: float) -> str:
    """At most 2 decimals, none where there is nothing in them; 4 digits of what is small."""
    if value and abs(value) < 1:
        return f"{value:.4g}"
    return f"{value:.2f}".rstrip("0").rstrip(".")
