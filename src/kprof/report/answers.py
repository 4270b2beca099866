"""The reports that look at single calls: trace, graph, distributions, worst cases, tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from kprof.analysis.filters import Mask
from kprof.analysis.ordered import Ordered
from kprof.analysis.questions import WorstCalls, around, function_number, intervals
from kprof.analysis.replay.codes import OPEN
from kprof.analysis.replay.columns import Rows
from kprof.analysis.replay.compiled import pays
from kprof.analysis.selection import Selection, distributions, kept_paths
from kprof.analysis.stream import Stream
from kprof.capture.model import Capture
from kprof.errors import UsageError
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge
from kprof.report.choose import filter_of, in_blocks, trigger_cost
from kprof.report.distribution import distribution_json, distribution_lines
from kprof.report.request import Request
from kprof.report.style import Style
from kprof.report.trace import trace_json, trace_text
from kprof.report.units import Units, counted, percent, safe_name
from kprof.times import parse_time, to_ticks

_DEEP = 256  # calls inside each other: more than the stacks of kernels hold
_EVENTS_A_LINE = 6  # a line of the trace takes as long as so many events of the summary


def trace_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The nested trace, or the part of it around a time."""
    stream, ordered, span = _ordered(capture, names, request, known)
    yield from trace_text(stream, ordered, span, request.style, int(request.indent))
    yield from _left_out(stream, ordered.selection)


def trace_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The calls and marks of the trace."""
    stream, ordered, _ = _ordered(capture, names, request, known)
    return _object(stream, ordered.selection, trace_json(stream, ordered))


def worst_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The trace of the slowest calls of a function."""
    from kprof.report.worst import worst_text

    stream, worst = _worst(capture, names, request, known)
    yield from worst_text(stream, worst, request.subject[0], request.style, int(request.indent))
    yield from _left_out(stream, worst.selection)


def worst_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same calls, each with all inside it."""
    from kprof.report.worst import worst_json

    stream, worst = _worst(capture, names, request, known)
    return _object(stream, worst.selection, worst_json(stream, worst, request.subject[0]))


def between_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The distribution of the times from one inline trigger to another."""
    stream = _stream(capture, names, request, known)
    times, lonely, selection = intervals(stream, filter_of(stream.info, request), *request.subject)
    first, second = (safe_name(name) for name in request.subject)
    units = Units(stream.info.clock_hz)
    text = distribution_lines(f"{first} to {second}", times, units, request.style)
    if lonely:
        text.append(f"  {lonely} {first} without a {second} before the next {first}")
    yield from in_blocks(text)
    yield from _left_out(stream, selection)


def between_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same distribution."""
    stream = _stream(capture, names, request, known)
    times, lonely, selection = intervals(stream, filter_of(stream.info, request), *request.subject)
    value = distribution_json(times, Units(stream.info.clock_hz))
    return _object(stream, selection, {**value, "without": lonely})


def interrupts_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """How long the interrupts take, how often they come and on top of what."""
    from kprof.analysis.interrupts import interrupts
    from kprof.report.interrupts import interrupt_lines

    stream = _stream(capture, names, request, known)
    found = interrupts(stream, request.irqs, filter_of(stream.info, request))
    yield from in_blocks(interrupt_lines(stream, found, request.irqs, request.style))
    yield from _left_out(stream, found.selection)


def interrupts_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same figures."""
    from kprof.analysis.interrupts import interrupts
    from kprof.report.interrupts import interrupts_json

    stream = _stream(capture, names, request, known)
    found = interrupts(stream, request.irqs, filter_of(stream.info, request))
    return _object(stream, found.selection, interrupts_json(stream, found))


def tasks_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """Each context with its run time, and a time line."""
    from kprof.report.tasks import task_lines, usage_of

    stream = _stream(capture, names, request, known)
    usage = usage_of(stream, filter_of(stream.info, request))
    yield from in_blocks(task_lines(stream, usage, request.style))
    yield from in_blocks(_uncertain(stream, "tasks"))
    yield from _left_out(stream, usage.selection)


def tasks_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same figures, and the parts of the run."""
    from kprof.report.tasks import tasks_json

    stream = _stream(capture, names, request, known)
    value, selection = tasks_json(stream, filter_of(stream.info, request))
    return _object(stream, selection, value)


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
    return _folded_text(capture, names, request, known, partial(_distributions, request.style))


def hist_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The same distributions."""
    return _folded_object(capture, names, request, known, partial(_distributions, request.style))


def _uncertain(stream: Stream, what: str) -> Iterator[str]:
    """What makes the contexts and the depth of calls doubtful, below the reports that show them."""
    from kprof.report.summary import uncertain_switches

    outcome = stream.outcome
    assert outcome is not None
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
    stream = _stream(capture, names, request, known)
    selection = Selection(stream, filter_of(stream.info, request))
    units = Units(stream.info.clock_hz)
    _, text = fold(stream, selection, "".join(request.subject), units, json=False)
    yield from in_blocks(text)
    yield from in_blocks(_uncertain(stream, request.what))
    yield from _left_out(stream, selection)


def _folded_object(
    capture: Capture, names: NameFile, request: Request, known: CallKnowledge | None, fold: _Fold
) -> dict[str, Any]:
    stream = _stream(capture, names, request, known)
    selection = Selection(stream, filter_of(stream.info, request))
    units = Units(stream.info.clock_hz)
    value, _ = fold(stream, selection, "".join(request.subject), units, json=True)
    return _object(stream, selection, value)


def _stream(
    capture: Capture,
    names: NameFile,
    request: Request,
    known: CallKnowledge | None,
    *,
    fast: bool | None = None,
) -> Stream:
    cost = trigger_cost(capture, request)
    return Stream(capture, names, trigger_cost=cost, known=known, fast=fast)


def _graph_of(request: Request, known: CallKnowledge | None) -> _Fold:
    """The graph that is asked for.

    Raises
    ------
    UsageError
        It is that of the sources, and nothing is known of them.
    """
    if not request.static:
        return partial(_graph, request.style)
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


def _graph(
    style: Style,
    stream: Stream,
    selection: Selection,
    function: str,
    _: Units,
    *,
    json: bool,
) -> _Answer:
    from kprof.report.graph import graph_json, graph_lines

    if function:
        function_number(stream, function)
    paths = kept_paths(stream, selection)
    if json:
        return graph_json(stream, paths, function), ()
    return {}, graph_lines(stream, paths, function, style)


def _distributions(
    style: Style,
    stream: Stream,
    selection: Selection,
    function: str,
    units: Units,
    *,
    json: bool,
) -> _Answer:
    number = function_number(stream, function)
    total, own = distributions(stream, selection, number)
    if json:
        figures = {"total": total, "self": own}
        parts = {name: distribution_json(measure, units) for name, measure in figures.items()}
        return {"name": function, **parts}, ()
    name = safe_name(function)
    lines = distribution_lines(f"{name}, total (elapsed)", total, units, style)
    return {}, [*lines, "", *distribution_lines(f"{name}, self (net)", own, units, style)]


def _ordered(
    capture: Capture, names: NameFile, request: Request, known: CallKnowledge | None
) -> tuple[Stream, Ordered, tuple[int, int] | None]:
    """The calls that a trace shows; of one around a time, its first and last event."""
    fast = pays(_EVENTS_A_LINE * capture.events) if request.form == "text" else None
    stream = _stream(capture, names, request, known, fast=fast)
    chosen = filter_of(stream.info, request)
    if request.around is None:
        return stream, Ordered(stream, chosen), None
    time = math.floor(to_ticks(parse_time(request.around, "--around"), stream.info.clock_hz))
    first, last = around(stream, time, 2 * request.many)

    def runs(calls: Rows) -> Mask:
        result: Mask = (calls.entry <= last) & ((calls.leave >= first) | (calls.flags & OPEN != 0))
        return result

    return stream, Ordered(stream, chosen, runs), (first, last)


def _worst(
    capture: Capture, names: NameFile, request: Request, known: CallKnowledge | None
) -> tuple[Stream, WorstCalls]:
    stream = _stream(capture, names, request, known)
    number = function_number(stream, request.subject[0])
    chosen = filter_of(stream.info, request)
    return stream, WorstCalls(stream, chosen, number, request.many, request.by)


def _left_out(stream: Stream, selection: Selection) -> Iterator[str]:
    """What the filters left out of a report, below it."""
    if selection.chosen:
        units, calls = Units(stream.info.clock_hz), counted(selection.calls, "call")
        share = percent(selection.net, stream.ledger.elapsed)
        net = units.text(selection.net)
        yield f"# left out by filters: {calls}, {net} us net ({share:.2f}%)\n"


def _object(stream: Stream, selection: Selection, value: dict[str, Any]) -> dict[str, Any]:
    """The same in an object; it is asked for when what stands before it has been made."""
    if not selection.chosen:
        return value
    net = Units(stream.info.clock_hz).value
    return {**value, "left_out": lambda: {"calls": selection.calls, "net_us": net(selection.net)}}
