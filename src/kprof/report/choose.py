"""Which report: from captures and a request to text, in parts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kprof.capture.model import Capture, CaptureInfo
from kprof.errors import UsageError
from kprof.names import NameFile
from kprof.report.registry import REPORTS
from kprof.report.request import Request

if TYPE_CHECKING:
    from fractions import Fraction

    from kprof.analysis.filters import Filter
    from kprof.analysis.statistics import Statistics
    from kprof.names.calls import CallKnowledge

_LINES = 4096
_SUMMARY_SORTS = {None, "self", "net"}


def report_parts(
    capture: Capture,
    names: NameFile,
    request: Request | None = None,
    *,
    known: CallKnowledge | None = None,
) -> Iterator[str]:
    """The report of one capture as pieces of text to be written one after another.

    Parameters
    ----------
    known
        What can call what in the program, where that is known.

    Raises
    ------
    UsageError
        The request names what is not there.
    """
    request = request or Request()
    report = REPORTS[request.what]
    if request.form == "json":
        from kprof.report.lazy_json import json_parts

        yield from json_parts(_function(report.json)(capture, names, request, known=known))
    else:
        yield from _function(report.text)(capture, names, request, known=known)


def _function(place: str) -> Callable[..., Any]:
    """The function that a report names as ``module:function``."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def merged_parts(
    parts: Sequence[Statistics], request: Request, left_out: Sequence[tuple[str, str]] = ()
) -> Iterator[str]:
    """The summary of several captures: the merged figures, and a line for every capture.

    Parameters
    ----------
    left_out
        Captures that could not be read, and why.
    """
    from kprof.analysis.statistics import merge_statistics
    from kprof.report.many import captures_json, captures_lines

    merged = merge_statistics(parts)
    if request.form == "json":
        yield as_json({**_statistics_json(merged, request), **captures_json(parts, left_out)})
        return
    yield from _statistics_text(merged, request)
    yield "\n" + "\n".join(captures_lines(parts, left_out)) + "\n"


def statistics_of(
    capture: Capture,
    names: NameFile,
    request: Request,
    *,
    known: CallKnowledge | None = None,
    fast: bool | None = None,
) -> Statistics:
    """The statistics that a request asks for, its filters applied.

    Parameters
    ----------
    fast
        See `kprof.analysis.statistics.statistics`; filters go their own way.
    """
    from kprof.analysis.statistics import statistics

    cost = trigger_cost(capture, request)
    if has_filter(request):
        from kprof.analysis.selection import filtered_statistics

        return filtered_statistics(
            capture, names, lambda info: filter_of(info, request), trigger_cost=cost, known=known
        )
    return statistics(capture, names, trigger_cost=cost, known=known, fast=fast)


def filter_of(info: CaptureInfo, request: Request) -> Filter:
    """The filter of a request, its times in ticks of the clock of `info`."""
    import math

    from kprof.analysis.filters import Filter
    from kprof.times import parse_range, parse_time, to_ticks

    hz = info.clock_hz
    least = start = end = None
    if request.least is not None:
        least = math.ceil(to_ticks(parse_time(request.least, "-t"), hz))
    if request.slower is not None:
        ticks = to_ticks(parse_time(request.slower, "--slower-than"), hz)
        least = max(least or 0, math.floor(ticks) + 1)
    if request.span is not None:
        first, last = parse_range(request.span, "-r")
        start = None if first is None else math.ceil(to_ticks(first, hz))
        end = None if last is None else math.floor(to_ticks(last, hz))
    return Filter(
        only=request.only,
        without=request.without,
        callers=request.callers,
        hide=request.hide,
        depth=request.depth,
        least=least,
        start=start,
        end=end,
        tasks=request.tasks,
        match=request.match,
    )


def trigger_cost(capture: Capture, request: Request) -> Fraction:
    """What a trigger costs by the request, in ticks; 0 where it does not say."""
    from fractions import Fraction

    if request.trigger_cost is None:
        return Fraction(0)
    from kprof.times import parse_time, to_ticks

    return to_ticks(parse_time(request.trigger_cost, "--trigger-cost"), capture.info.clock_hz)


def in_blocks(lines: Iterable[str]) -> Iterator[str]:
    """Lines as larger pieces of text."""
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == _LINES:
            yield "\n".join(block) + "\n"
            block.clear()
    if block:
        yield "\n".join(block) + "\n"


def as_json(value: dict[str, Any]) -> str:
    """An object as indented JSON text."""
    import json

    return json.dumps(value, indent=1) + "\n"


def summary_text_parts(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> Iterator[str]:
    """The summary of one capture."""
    if not _is_plain(request):
        yield from _statistics_text(statistics_of(capture, names, request, known=known), request)
        return
    from kprof.analysis.summary import summarise
    from kprof.report.summary import summary_text

    cost = trigger_cost(capture, request)
    summary = summarise(capture, names, trigger_cost=cost, known=known)
    yield summary_text(summary, style=request.style)


def summary_object(
    capture: Capture, names: NameFile, request: Request, *, known: CallKnowledge | None = None
) -> dict[str, Any]:
    """The figures of the summary of one capture."""
    if not _is_plain(request):
        return _statistics_json(statistics_of(capture, names, request, known=known), request)
    from kprof.analysis.summary import summarise
    from kprof.report.summary import summary_json

    cost = trigger_cost(capture, request)
    return summary_json(summarise(capture, names, trigger_cost=cost, known=known))


def _is_plain(request: Request) -> bool:
    """Is the paper's summary enough, which needs no distributions?"""
    plain = request.fields is None and request.sort in _SUMMARY_SORTS and not request.never
    return plain and not has_filter(request)


def has_filter(request: Request) -> bool:
    """Does the request leave out any calls?"""
    plain = Request()
    names = ("only", "without", "callers", "hide", "depth", "least", "slower", "span", "tasks")
    return any(getattr(request, name) != getattr(plain, name) for name in names)


def _statistics_text(statistics: Statistics, request: Request) -> Iterator[str]:
    from kprof.report.fields import field_table, parse_fields, sort_rows
    from kprof.report.summary import summary_text

    keys = _sort_keys(request)
    sizes = _sizes(request)
    summary = statistics.summary()
    if request.fields is None:
        order = {f.entry.name: i for i, f in enumerate(sort_rows(statistics, keys, sizes))}
        rows = sorted(summary.functions, key=lambda row: order[row.entry.name])
        yield summary_text(summary._replace(functions=tuple(rows)), style=request.style)
    else:
        fields = parse_fields(request.fields)
        table = field_table(statistics, fields, keys, sizes, request.style)
        yield summary_text(summary, table, request.style)
    if request.never:
        from kprof.report.units import safe_name

        yield f"\nnever ran ({len(statistics.never)}):\n"
        yield "".join(f"  {safe_name(entry.name)}\n" for entry in statistics.never)


def _statistics_json(statistics: Statistics, request: Request) -> dict[str, Any]:
    from kprof.report.fields import field_rows, parse_fields, sort_rows
    from kprof.report.summary import summary_json

    keys = _sort_keys(request)
    sizes = _sizes(request)
    order = {f.entry.name: i for i, f in enumerate(sort_rows(statistics, keys, sizes))}
    value = summary_json(statistics.summary())
    value["functions"].sort(key=lambda row: order[row["name"]])
    if request.fields is not None:
        value["fields"] = field_rows(statistics, parse_fields(request.fields), keys, sizes)
    if request.never:
        value["never"] = [entry.name for entry in statistics.never]
    return value


def _sort_keys(request: Request) -> list[str]:
    if request.sort is None:
        return []
    keys = [key for key in request.sort.split(",") if key]
    if not keys:
        raise UsageError("-s: names no field; expected such as self,call")
    return keys


def _sizes(request: Request) -> dict[str, int] | None:
    if request.elf is None:
        return None
    from kprof.symbols import function_sizes

    return function_sizes(request.elf)
