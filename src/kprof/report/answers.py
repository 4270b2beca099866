"""The reports that look at single calls: trace, graph, distributions, worst cases, tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kprof.analysis.calls import Timeline, timeline
from kprof.analysis.filters import Mask, left_out
from kprof.analysis.measures import Measure
from kprof.analysis.questions import (
    around,
    calls_of,
    function_number,
    inside_of,
    intervals,
    worst_calls,
)
from kprof.analysis.stream import Stream
from kprof.capture.model import Capture
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge
from kprof.report.choose import as_json, has_filter, in_blocks, kept_mask, trigger_cost
from kprof.report.distribution import distribution_json, distribution_lines
from kprof.report.request import Request
from kprof.report.trace import trace_json, trace_lines
from kprof.report.units import Units, counted, percent, safe_name

_DEEP = 256  # calls inside each other: more than the stacks of kernels hold


def answer(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The report that `request.what` names, in parts."""
    cost = trigger_cost(capture, request)
    if request.what == "trace" and request.form == "text" and not has_filter(request):
        from kprof.report.trace_stream import trace_text

        yield from trace_text(Stream(capture, names, trigger_cost=cost, known=known))
        return
    lines = timeline(capture, names, trigger_cost=cost, known=known)
    keep = kept_mask(lines, request)
    if request.form == "json":
        value = _json(lines, keep, request)
        yield as_json(value if keep is None else {**value, "left_out": _left_out_json(lines, keep)})
        return
    yield from in_blocks(_text(lines, keep, request))
    yield from in_blocks(_uncertain(lines, request.what))
    if keep is not None:
        yield _left_out(lines, keep)


def _uncertain(lines: Timeline, what: str) -> Iterator[str]:
    """What makes the contexts and the depth of calls doubtful, below the reports that show them."""
    from kprof.report.summary import uncertain_switches

    outcome = lines.outcome
    if what in ("tasks", "graph"):
        yield from uncertain_switches(outcome.ambiguous, outcome.switches)
    if what == "graph" and outcome.deepest >= _DEEP:
        yield (
            f"calls nest {outcome.deepest + 1} deep: a recursion, or functions that are left "
            "without their exit trigger (longjmp, lost events)"
        )


def _text(lines: Timeline, keep: Mask | None, request: Request) -> Iterator[str]:
    units = Units(lines.info.clock_hz)
    what, subject = request.what, request.subject
    if what == "trace":
        yield from trace_lines(lines, keep)
    elif what == "graph":
        from kprof.report.graph import graph_lines

        yield from graph_lines(lines, subject[0] if subject else "", keep)
    elif what == "hist":
        function = function_number(lines, subject[0])
        rows = calls_of(lines, function, keep)
        name = safe_name(subject[0])
        yield from distribution_lines(
            f"{name}, total (elapsed)", Measure.of(lines.calls.elapsed[rows]), units
        )
        yield ""
        yield from distribution_lines(
            f"{name}, self (net)", Measure.of(lines.calls.net[rows]), units
        )
    elif what == "worst":
        yield from _worst(lines, subject[0], request.many, keep, units)
    elif what == "around":
        yield from trace_lines(lines, *_around(lines, request, keep))
    elif what == "between":
        times, lonely = intervals(lines, subject[0], subject[1], keep)
        title = f"{safe_name(subject[0])} to {safe_name(subject[1])}"
        yield from distribution_lines(title, Measure.of(times), units)
        if lonely:
            first, second = (safe_name(name) for name in subject)
            yield f"  {lonely} {first} without a {second} before the next {first}"
    elif what == "interrupts":
        from kprof.report.interrupts import interrupt_lines

        yield from interrupt_lines(lines, request.irqs, keep)
    else:
        from kprof.report.tasks import task_lines

        yield from task_lines(lines, keep)


def _json(lines: Timeline, keep: Mask | None, request: Request) -> dict[str, Any]:
    units = Units(lines.info.clock_hz)
    what, subject = request.what, request.subject
    if what == "graph":
        from kprof.report.graph import graph_json

        return graph_json(lines, subject[0] if subject else "", keep)
    if what == "hist":
        rows = calls_of(lines, function_number(lines, subject[0]), keep)
        return {
            "name": subject[0],
            "total": distribution_json(Measure.of(lines.calls.elapsed[rows]), units),
            "self": distribution_json(Measure.of(lines.calls.net[rows]), units),
        }
    if what == "between":
        times, lonely = intervals(lines, subject[0], subject[1], keep)
        return {**distribution_json(Measure.of(times), units), "without": lonely}
    if what == "interrupts":
        from kprof.report.interrupts import interrupts_json

        return interrupts_json(lines, request.irqs, keep)
    if what == "tasks":
        from kprof.report.tasks import tasks_json

        return tasks_json(lines, keep)
    if what == "worst":
        rows = worst_calls(lines, function_number(lines, subject[0]), request.many, keep)
        return {
            "name": subject[0],
            "worst": [trace_json(lines, _inside(lines, row, keep)) for row in rows.tolist()],
        }
    if what == "around":
        keep, _ = _around(lines, request, keep)
    return trace_json(lines, keep)


def _worst(lines: Timeline, name: str, many: int, keep: Mask | None, units: Units) -> Iterator[str]:
    rows = worst_calls(lines, function_number(lines, name), many, keep)
    for place, row in enumerate(rows.tolist()):
        if place:
            yield ""
        total, net = (units.text(int(c[row])) for c in (lines.calls.elapsed, lines.calls.net))
        yield f"# {place + 1}: {safe_name(name)}, {total} us total, {net} us net"
        span = (int(lines.calls.entry_event[row]), int(lines.calls.exit_event[row]))
        inside = _inside(lines, row, keep)
        yield from trace_lines(lines, inside, span, int(lines.calls.depth[row]))
    if not len(rows):
        yield f"{safe_name(name)}: no complete call"


def _inside(lines: Timeline, row: int, keep: Mask | None) -> Mask:
    inside = inside_of(lines, row)
    return inside if keep is None else inside & keep


def _around(lines: Timeline, request: Request, keep: Mask | None) -> tuple[Mask, tuple[int, int]]:
    """The calls that run at the events around a time, and those events."""
    import math

    from kprof.times import parse_time, to_ticks

    time = math.floor(to_ticks(parse_time(request.subject[0], "--around"), lines.info.clock_hz))
    first, last = around(lines, time, 2 * request.many)
    near: Mask = (lines.calls.entry_event <= last) & (lines.calls.exit_event >= first)
    return near if keep is None else near & keep, (first, last)


def _left_out(lines: Timeline, keep: Mask) -> str:
    count, net = left_out(lines, keep)
    units = Units(lines.info.clock_hz)
    share = percent(net, lines.ledger.elapsed)
    calls = counted(count, "call")
    return f"# left out by filters: {calls}, {units.text(net)} us net ({share:.2f}%)\n"


def _left_out_json(lines: Timeline, keep: Mask) -> dict[str, Any]:
    calls, net = left_out(lines, keep)
    return {"calls": calls, "net_us": Units(lines.info.clock_hz).value(net)}
