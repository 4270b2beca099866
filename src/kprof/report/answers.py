"""The reports that look at single calls: trace, graph, distributions, worst cases, tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from kprof.analysis.calls import Timeline, timeline
from kprof.analysis.filters import Mask, left_out
from kprof.analysis.measures import Measure
from kprof.analysis.ordered import Ordered
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
from kprof.errors import UsageError
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge
from kprof.report.choose import (
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


class _Calls(NamedTuple):
    """The calls of a capture, and those of them that the request's filters keep."""

    lines: Timeline
    keep: Mask | None

    @property
    def units(self) -> Units:
        return Units(self.lines.info.clock_hz)


def _calls(
    capture: Capture, names: NameFile, request: Request, known: CallKnowledge | None
) -> _Calls:
    cost = trigger_cost(capture, request)
    lines = timeline(capture, names, trigger_cost=cost, known=known)
    return _Calls(lines, kept_mask(lines, request))


def _text(calls: _Calls, request: Request, text: Iterable[str]) -> Iterator[str]:
    """The lines of a report, what makes it doubtful, and what the filters left out of it."""
    yield from in_blocks(text)
    yield from in_blocks(_uncertain(calls.lines.outcome, request.what))
    if calls.keep is not None:
        yield _left_out(calls.lines, calls.keep)


def _object(calls: _Calls, value: dict[str, Any]) -> dict[str, Any]:
    """The same of a report as an object."""
    if calls.keep is None:
        return value
    return {**value, "left_out": _left_out_json(calls.lines, calls.keep)}


def trace_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The nested trace, or the part of it around a time."""
    if request.around is None:
        from kprof.report.trace_stream import trace_text

        cost = trigger_cost(capture, request)
        fast = pays(_EVENTS_A_LINE * capture.events)
        stream = Stream(capture, names, trigger_cost=cost, known=known, fast=fast)
        ordered = Ordered(stream, filter_of(stream.info, request))
        yield from trace_text(stream, ordered)
        yield from _left_out_of(stream, ordered.selection)
        return
    calls = _calls(capture, names, request, known)
    near = _around(calls.lines, request, calls.keep)
    yield from _text(calls, request, trace_lines(calls.lines, *near))


def trace_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The calls and marks of the trace."""
    calls = _calls(capture, names, request, known)
    shown = calls.keep
    if request.around is not None:
        shown, _ = _around(calls.lines, request, calls.keep)
    return _object(calls, trace_json(calls.lines, shown))


def worst_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The trace of the slowest calls of a function."""
    calls = _calls(capture, names, request, known)
    yield from _text(calls, request, _worst(calls.lines, request, calls.keep, calls.units))


def worst_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same calls, each with all inside it."""
    calls = _calls(capture, names, request, known)
    lines, keep = calls
    number = function_number(lines, request.subject[0])
    rows = worst_calls(lines, number, request.many, keep, request.by)
    worst = [trace_json(lines, _inside(lines, row, keep)) for row in rows.tolist()]
    return _object(calls, {"name": request.subject[0], "worst": worst})


def between_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The distribution of the times from one inline trigger to another."""
    calls = _calls(capture, names, request, known)
    times, lonely = intervals(calls.lines, request.subject[0], request.subject[1], calls.keep)
    first, second = (safe_name(name) for name in request.subject)
    text = distribution_lines(f"{first} to {second}", Measure.of(times), calls.units)
    if lonely:
        text.append(f"  {lonely} {first} without a {second} before the next {first}")
    yield from _text(calls, request, text)


def between_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same distribution."""
    calls = _calls(capture, names, request, known)
    times, lonely = intervals(calls.lines, request.subject[0], request.subject[1], calls.keep)
    value = distribution_json(Measure.of(times), calls.units)
    return _object(calls, {**value, "without": lonely})


def interrupts_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """How long the interrupts take, how often they come and on top of what."""
    from kprof.report.interrupts import interrupt_lines

    calls = _calls(capture, names, request, known)
    yield from _text(calls, request, interrupt_lines(calls.lines, request.irqs, calls.keep))


def interrupts_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same figures."""
    from kprof.report.interrupts import interrupts_json

    calls = _calls(capture, names, request, known)
    return _object(calls, interrupts_json(calls.lines, request.irqs, calls.keep))


def tasks_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """Each context with its run time, and a time line."""
    if has_filter(request):
        from kprof.report.tasks import task_lines

        calls = _calls(capture, names, request, known)
        yield from _text(calls, request, task_lines(calls.lines, calls.keep))
        return
    from kprof.report.tasks import stream_lines

    cost = trigger_cost(capture, request)
    stream = Stream(capture, names, trigger_cost=cost, known=known)
    yield from in_blocks(stream_lines(stream))
    assert stream.outcome is not None
    yield from in_blocks(_uncertain(stream.outcome, "tasks"))


def tasks_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same figures, and the parts of the run."""
    from kprof.report.tasks import tasks_json

    calls = _calls(capture, names, request, known)
    return _object(calls, tasks_json(calls.lines, calls.keep))


def graph_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The tree of calls, or the callers and callees of one function."""
    return _folded_text(capture, names, request, known, _graph_of(request, known))


def graph_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same tree."""
    return _folded_object(capture, names, request, known, _graph_of(request, known))


def hist_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The distributions of a function's total and net time."""
    return _folded_text(capture, names, request, known, _distributions)


def hist_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same distributions."""
    return _folded_object(capture, names, request, known, _distributions)


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


_Answer = tuple[dict[str, Any], Iterable[str]]
_Fold = Callable[..., _Answer]


def _folded_text(
    capture: Capture, names: NameFile, request: Request, known: CallKnowledge | None, fold: _Fold
) -> Iterator[str]:
    """A report whose memory does not grow with the capture."""
    stream, selection = _stream(capture, names, request, known)
    units = Units(stream.info.clock_hz)
    _, text = fold(stream, selection, "".join(request.subject), units, json=False)
    yield from in_blocks(text)
    assert stream.outcome is not None
    yield from in_blocks(_uncertain(stream.outcome, request.what))
    if has_filter(request):
        yield _left_out_text(selection.calls, selection.net, stream.ledger.elapsed, units)


def _folded_object(
    capture: Capture, names: NameFile, request: Request, known: CallKnowledge | None, fold: _Fold
) -> dict[str, Any]:
    stream, selection = _stream(capture, names, request, known)
    units = Units(stream.info.clock_hz)
    value, _ = fold(stream, selection, "".join(request.subject), units, json=True)
    if not has_filter(request):
        return value
    return {**value, "left_out": {"calls": selection.calls, "net_us": units.value(selection.net)}}


def _stream(
    capture: Capture, names: NameFile, request: Request, known: CallKnowledge | None
) -> tuple[Stream, Selection]:
    cost = trigger_cost(capture, request)
    stream = Stream(capture, names, trigger_cost=cost, known=known)
    chosen = filter_of(stream.info, request) if has_filter(request) else None
    return stream, Selection(stream, chosen)


def _graph_of(request: Request, known: CallKnowledge | None) -> _Fold:
    """The graph that is asked for.

    Raises
    ------
    UsageError
        It is that of the sources, and nothing is known of them.
    """
    if not request.static:
        return _graph
    if known is None:
        raise UsageError(
            "no call knowledge (NAMES.calls) is beside the name file; expected it for --static: "
            "kprof cc and kprof instrument write it"
        )
    return partial(_static, known)


def _static(
    known: CallKnowledge,
    stream: Stream,
    selection: Selection,
    function: str,
    _: Units,
    *,
    json: bool,
) -> _Answer:
    from kprof.analysis.graph import call_tree
    from kprof.report.static import StaticGraph, static_json, static_lines

    if function:
        function_number(stream, function)
    tree = call_tree(kept_paths(stream, selection))
    graph = StaticGraph(known, [entry.name for entry in stream.functions], tree)
    if json:
        return static_json(graph, function), ()
    return {}, static_lines(graph, function)


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

    time = math.floor(to_ticks(parse_time(request.around or "", "--around"), lines.info.clock_hz))
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


def _left_out_of(stream: Stream, selection: Selection) -> Iterator[str]:
    if selection.chosen:
        elapsed, units = stream.ledger.elapsed, Units(stream.info.clock_hz)
        yield _left_out_text(selection.calls, selection.net, elapsed, units)


def _left_out_json(lines: Timeline, keep: Mask) -> dict[str, Any]:
    calls, net = left_out(lines, keep)
    return {"calls": calls, "net_us": Units(lines.info.clock_hz).value(net)}
