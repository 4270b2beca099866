"""The reports that look at single calls: trace, graph, distributions, worst cases, tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kprof.analysis.calls import Timeline, timeline
from kprof.analysis.filters import Mask, left_out
from kprof.analysis.measures import Measure
from kprof.analysis.questions import (
    around,
    function_number,
    inside_of,
    intervals,
    worst_calls,
)
from kprof.analysis.replay.compiled import pays
from kprof.analysis.selection import Selection, distributions, kept_paths
from kprof.analysis.stream import Outcome, Stream
from kprof.capture.model import Capture
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge
from kprof.report.choose import (
    as_json,
    filter_of,
    has_filter,
    in_blocks,
    kept_mask,
    trigger_cost,
)
from kprof.report.distribution import distribution_json, distribution_lines
from kprof.report.request import Request
from kprof.report.trace import trace_json, trace_lines
from kprof.report.units import Units, counted, percent, safe_name

_DEEP = 256  # calls inside each other: more than the stacks of kernels hold
_EVENTS_A_LINE = 6  # a line of the trace takes as long as so many events of the summary


def answer(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The report that `request.what` names, in parts."""
    if request.what in ("graph", "hist"):
        yield from _folded(capture, names, request, known)
        return
    cost = trigger_cost(capture, request)
    if request.what == "trace" and request.form == "text" and not has_filter(request):
        from kprof.report.trace_stream import trace_text

        fast = pays(_EVENTS_A_LINE * capture.events)
        yield from trace_text(Stream(capture, names, trigger_cost=cost, known=known, fast=fast))
        return
    if request.what == "tasks" and request.form == "text" and not has_filter(request):
        from kprof.report.tasks import stream_lines

        stream = Stream(capture, names, trigger_cost=cost, known=known)
        yield from in_blocks(stream_lines(stream))
        assert stream.outcome is not None
        yield from in_blocks(_uncertain(stream.outcome, "tasks"))
        return
    lines = timeline(capture, names, trigger_cost=cost, known=known)
    keep = kept_mask(lines, request)
    if request.form == "json":
        value = _json(lines, keep, request)
        yield as_json(value if keep is None else {**value, "left_out": _left_out_json(lines, keep)})
        return
    yield from in_blocks(_text(lines, keep, request))
    yield from in_blocks(_uncertain(lines.outcome, request.what))
    if keep is not None:
        yield _left_out(lines, keep)


def _uncertain(outcome: Outcome, what: str) -> Iterator[str]:
    """What makes the contexts and the depth of calls doubtful, below the reports that show them."""
    from kprof.report.summary import uncertain_switches

    if what in ("tasks", "graph"):
        yield from uncertain_switches(outcome.ambiguous, outcome.switches)
    if what == "graph" and outcome.deepest >= _DEEP:
        yield (
            f"calls nest {outcome.deepest + 1} deep: a recursion, or functions that are left "
            "without their exit trigger (longjmp, lost events)"
        )


def _folded(
    capture: Capture, names: NameFile, request: Request, known: CallKnowledge | None
) -> Iterator[str]:
    """A report whose memory does not grow with the capture."""
    cost = trigger_cost(capture, request)
    stream = Stream(capture, names, trigger_cost=cost, known=known)
    chosen = filter_of(stream.info, request) if has_filter(request) else None
    selection = Selection(stream, chosen)
    units = Units(stream.info.clock_hz)
    subject = request.subject[0] if request.subject else ""
    fold = _graph if request.what == "graph" else _distributions
    value, text = fold(stream, selection, subject, units, json=request.form == "json")
    left = (selection.calls, selection.net)
    if request.form == "json":
        gone = {"left_out": {"calls": left[0], "net_us": units.value(left[1])}}
        yield as_json(value if chosen is None else {**value, **gone})
        return
    yield from in_blocks(text)
    assert stream.outcome is not None
    yield from in_blocks(_uncertain(stream.outcome, request.what))
    if chosen is not None:
        yield _left_out_text(*left, stream.ledger.elapsed, units)


_Answer = tuple[dict[str, Any], Iterable[str]]


def _graph(stream: Stream, selection: Selection, function: str, _: Units, *, json: bool) -> _Answer:
    from kprof.report.graph import graph_json, graph_lines

    if function:
        function_number(stream, function)
    paths = kept_paths(stream, selection)
    if json:
        return graph_json(stream, paths, function), ()
    return {}, graph_lines(stream, paths, function)


def _distributions(
    stream: Stream, selection: Selection, function: str, units: Units, *, json: bool
) -> _Answer:
    number = function_number(stream, function)
    total, own = distributions(stream, selection, number)
    if json:
        figures = {"total": total, "self": own}
        parts = {name: distribution_json(measure, units) for name, measure in figures.items()}
        return {"name": function, **parts}, ()
    name = safe_name(function)
    lines = distribution_lines(f"{name}, total (elapsed)", total, units)
    return {}, [*lines, "", *distribution_lines(f"{name}, self (net)", own, units)]


def _text(lines: Timeline, keep: Mask | None, request: Request) -> Iterator[str]:
    units = Units(lines.info.clock_hz)
    what, subject = request.what, request.subject
    if what == "trace":
        yield from trace_lines(lines, keep)
    elif what == "worst":
        yield from _worst(lines, request, keep, units)
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
        number = function_number(lines, subject[0])
        rows = worst_calls(lines, number, request.many, keep, request.by)
        return {
            "name": subject[0],
            "worst": [trace_json(lines, _inside(lines, row, keep)) for row in rows.tolist()],
        }
    if what == "around":
        keep, _ = _around(lines, request, keep)
    return trace_json(lines, keep)


def _worst(lines: Timeline, request: Request, keep: Mask | None, units: Units) -> Iterator[str]:
    name = request.subject[0]
    rows = worst_calls(lines, function_number(lines, name), request.many, keep, request.by)
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
    return _left_out_text(count, net, lines.ledger.elapsed, Units(lines.info.clock_hz))


def _left_out_text(count: int, net: int, elapsed: int, units: Units) -> str:
    share = percent(net, elapsed)
    calls = counted(count, "call")
    return f"# left out by filters: {calls}, {units.text(net)} us net ({share:.2f}%)\n"


def _left_out_json(lines: Timeline, keep: Mask) -> dict[str, Any]:
    calls, net = left_out(lines, keep)
    return {"calls": calls, "net_us": Units(lines.info.clock_hz).value(net)}
