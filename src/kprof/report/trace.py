"""The real time code path trace (paper, sections 4.3 and 5), nested, 4 columns a depth.

``-> name (N us)`` is a call with nothing inside; one with calls or inline triggers inside has its
total too, and a closing ``<-``. What was running when its context was switched out is shown, when
it ends, as the paper shows it: ``<- name (N us, T total)``, both counted from the switch in. The
calls of the switch functions themselves are shown as the switch.

A stream is made into lines, or into JSON, part by part (`kprof.analysis.ordered`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.ordered import Carried, Ordered, Part
from kprof.analysis.replay.codes import (
    LOST,
    MARK_IN,
    MARK_INLINE,
    MARK_OUT,
    OPEN,
    ORPHAN,
    RESUMED,
    UNWOUND,
)
from kprof.analysis.replay.columns import Rows
from kprof.analysis.stream import Stream
from kprof.report.lazy_json import Items, Spool
from kprof.report.style import PLAIN, Style
from kprof.report.trace_text import (
    DEPTH,
    FIELDS,
    FIRST,
    INDENT,
    NAME,
    SHAPE,
    TIME,
    TOTAL,
    Table,
    Writer,
    entry_shape,
    exit_shape,
    mark_shape,
    stamper,
)
from kprof.report.units import Units, safe_name

CLOSES = RESUMED | ORPHAN | UNWOUND
_LAST = (1 << 31) - 1  # ranks of the lines at one event are below
_EVENT = FIELDS  # a row of waiting exits, below the fields
_FLAG_NAMES = {OPEN: "open", ORPHAN: "orphan", RESUMED: "resumed", UNWOUND: "unwound"}
_KINDS = {MARK_INLINE: "inline", MARK_IN: "switch_in", MARK_OUT: "switch_out"}

Mask = NDArray[np.bool_]
Column = NDArray[np.int64]


def trace_text(
    stream: Stream,
    ordered: Ordered | None = None,
    span: tuple[int, int] | None = None,
    style: Style = PLAIN,
    indent: int = INDENT,
) -> Iterator[str]:
    """The lines of the trace, each with its line feed, in large pieces.

    Parameters
    ----------
    ordered
        The stream with a filter at work; None: all of it.
    span
        The first and last event that are shown; None: all.
    indent
        Columns for each level of calls.
    """
    writer = Writer(
        stream.functions,
        stream.inlines,
        stream.info.clock_hz,
        fast=stream.compiled,
        style=style,
        indent=indent,
    )
    for table in trace_tables(ordered or Ordered(stream), span):
        text = writer.text(table)
        if text:
            yield text


def trace_tables(ordered: Ordered, span: tuple[int, int] | None = None) -> Iterator[Table]:
    """The lines of the trace in tables, see `kprof.report.trace_text`."""
    lines = Lines(span, counted=ordered.filters)
    for part in ordered:
        yield lines.of(part, part.keep, ordered.kept_marks(part))


class Lines:
    """Makes the lines of parts, one after another.

    Parameters
    ----------
    span
        The first and last event that are shown; None: all.
    counted
        The depth of a call is the number of calls around it that have a line themselves; else that
        of its stack.
    """

    def __init__(self, span: tuple[int, int] | None = None, *, counted: bool = False) -> None:
        self._span, self._counted = span, counted
        self._around = Carried()
        self._exits = np.empty((FIELDS + 1, 0), np.int64)  # lines of exits in later parts
        self._switched = 0  # the time of the last switch

    def of(self, part: Part, keep: Mask, kept: Mask) -> Table:
        """The lines of a part, with these of its calls and of its marks."""
        marks = part.marks
        if self._counted:
            part = self._with_counted_depth(part, keep)
            marks = part.marks
        switch = marks.kind != MARK_INLINE
        events, times = marks.leave[switch], marks.time[switch]
        entered, entries = self._entries(part, keep)
        exits = self._exits_in(part, keep)
        begun = np.concatenate([[self._switched], times])
        self._switched = int(begun[-1])
        exits[TOTAL] = exits[TIME] - begun[np.searchsorted(events, exits[_EVENT], "right")]
        marks = marks.select(kept)
        marked = np.zeros((FIELDS, len(marks)), np.int64)
        marked[SHAPE], marked[TIME] = mark_shape(marks.kind), marks.time
        marked[DEPTH], marked[NAME], marked[FIRST] = marks.depth, marks.fn, marks.elapsed
        # At one event: first the switch, then exits from the deepest up, then the entry.
        event = np.concatenate([marks.leave, exits[_EVENT], entered])
        rank = np.zeros(len(event), np.int64)
        left = len(marks) + exits.shape[1]
        rank[len(marks) : left] = _LAST - 1 - np.minimum(exits[DEPTH], _LAST - 2)
        rank[left:] = _LAST
        order = np.argsort(event << 31 | rank, kind="stable")
        if self._span is not None:
            first, last = self._span
            order = order[(event[order] >= first) & (event[order] <= last)]
        table: Table = np.concatenate([marked, exits[:FIELDS], entries], axis=1)[:, order]
        return table

    def _with_counted_depth(self, part: Part, keep: Mask) -> Part:
        """The part with the number of shown calls around each call and mark for its depth."""
        calls, marks = part.calls, part.marks
        shown = keep & ~part.hidden
        if self._span is not None:
            first, last = self._span
            entered = (calls.entry >= first) & (calls.entry <= last)
            shown &= entered | ((calls.leave >= first) & (calls.leave <= last))
        # Of each call, itself included: first what was around the part, then by doubled steps.
        count = shown.astype(np.int64)
        inside = calls.parent >= part.first
        count[~inside] += np.maximum(self._around.of(part, count, calls.parent[~inside]), 0)
        above = np.where(inside, calls.parent - part.first, -1)
        while len(going := np.flatnonzero(above >= 0)):
            step = above[going]
            count[going] += count[step]
            above[going] = above[step]
        around = np.maximum(self._around.of(part, count, marks.parent), 0)
        self._around.carry(part, count)
        calls, marks = Rows(calls.table.copy()), Rows(marks.table.copy())
        calls.depth[:], marks.depth[:] = count - shown, around
        return part._replace(calls=calls, marks=marks)

    def _entries(self, part: Part, keep: Mask) -> tuple[NDArray[np.int64], Table]:
        """The events of the entries, and their lines."""
        shown = keep & ~part.hidden & (part.calls.flags & (ORPHAN | LOST) == 0)
        calls = part.calls.select(shown)
        closing = part.holds[shown] | (calls.flags & CLOSES != 0)
        table = np.empty((FIELDS, len(calls)), np.int64)
        table[SHAPE], table[TIME] = entry_shape(calls.flags, closing), part.entry[shown]
        table[DEPTH], table[NAME] = calls.depth, calls.fn
        table[FIRST], table[TOTAL] = calls.net, calls.elapsed
        return calls.entry, table

    def _exits_in(self, part: Part, keep: Mask) -> Table:
        """The lines of exits in the part, and below each its event; the others wait."""
        flags = part.calls.flags
        closing = part.holds | (flags & CLOSES != 0)
        calls = part.calls.select(keep & ~part.hidden & closing & (flags & (OPEN | LOST) == 0))
        table = np.zeros((FIELDS + 1, len(calls)), np.int64)
        table[SHAPE], table[TIME], table[_EVENT] = exit_shape(calls.flags), calls.time, calls.leave
        table[DEPTH], table[NAME], table[FIRST] = calls.depth, calls.fn, calls.part
        table = np.concatenate([self._exits, table], axis=1)
        now = table[_EVENT] < part.stop
        self._exits = table[:, ~now]
        return table[:, now]


def call_line(stream: Stream, call: Rows, shown: bool, holds: bool) -> str:
    """The line of a call's entry as the trace has it, at the left.

    Parameters
    ----------
    call
        Its LEAVE row.
    shown
        The trace shows it as a call; the call of a switch function is shown as the switch.
    holds
        It has something inside.
    """
    units = Units(stream.info.clock_hz)
    elapsed, net = int(call.elapsed[0]), int(call.net[0])
    entry = int(call.time[0] - call.away[0]) - elapsed
    figures = f"{units.text(net)} us"
    if holds or not shown or call.flags[0] & CLOSES:
        figures += f", {units.text(elapsed)} total"
    name = safe_name(stream.functions[call.fn[0]].name)
    return f"{stamper(units)(entry)} -> {name} ({figures})"


def trace_json(stream: Stream, ordered: Ordered) -> dict[str, Any]:
    """The calls and marks as a JSON object; times in microseconds, rows in the order of entry.

    Of marks in calls that are left out, `parent` is the nearest call that stays. The object is
    written while the stream is read, see `kprof.report.lazy_json`.
    """
    marks = Spool()

    def calls() -> Iterator[str]:
        made = Objects(stream)
        for part in ordered:
            texts, more = made.of(part, part.keep, ordered.kept_marks(part))
            marks.extend(more)
            yield from texts

    return {"calls": Items(calls()), "marks": marks, "tasks": lambda: task_names(stream)}


def task_names(stream: Stream) -> dict[str, str]:
    """The names of tasks by their contexts; when the stream has been read."""
    return {str(context): name for context, name in sorted(stream.task_names.items())}


class Objects:
    """Makes the JSON texts of the calls and marks of parts, one after another."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._units = Units(stream.info.clock_hz)
        self._functions = [json.dumps(entry.name) for entry in stream.functions]
        self._inlines = [json.dumps(entry.name) for entry in stream.inlines]
        self._flags = [_flags_text(flags) for flags in range(64)]
        self._rows = 0  # calls so far
        self._open = Carried()

    def of(self, part: Part, keep: Mask, kept: Mask) -> tuple[list[str], list[str]]:
        """The texts of the calls of a part that stay, and those of its marks."""
        own = np.full(len(keep), -1, np.int64)
        own[keep] = np.arange(self._rows, self._rows + np.count_nonzero(keep))
        self._rows += int(np.count_nonzero(keep))
        around = self._open.nearest(part, own)
        calls = part.calls.select(keep)
        marks = part.marks.select(kept)
        parent = self._open.of(part, around, calls.parent)
        mark_parent = self._open.of(part, around, marks.parent)
        self._open.carry(part, around)
        entry = part.entry[keep]
        exits = calls.time
        us = [self._us(c) for c in (entry, exits, calls.elapsed, calls.net, exits - entry)]
        places = (c.tolist() for c in (calls.depth, parent, calls.context))
        names = [self._functions[fn] for fn in calls.fn.tolist()]
        flags = [self._flags[bits] for bits in (calls.flags & 63).tolist()]
        texts = [_CALL % row for row in zip(names, *us, *places, flags, strict=True)]
        return texts, self._marks(marks, mark_parent)

    def _marks(self, marks: Rows, parent: Column) -> list[str]:
        tasks = self._stream.task_names
        columns = (marks.kind, marks.fn, marks.context, marks.depth, parent)
        us = [self._us(c) for c in (marks.time, marks.elapsed)]
        rows = zip(*(c.tolist() for c in columns), *us, strict=True)
        return [
            _MARK
            % (
                _KINDS[kind],
                self._name(kind, fn, tasks.get(context, "")),
                time,
                since,
                depth,
                up,
                context,
            )
            for kind, fn, context, depth, up, time, since in rows
        ]

    def _name(self, kind: int, number: int, task: str) -> str:
        """The inline trigger, the switch function, or the task whose mark it is."""
        if number < 0:
            return json.dumps(task)
        return (self._inlines if kind == MARK_INLINE else self._functions)[number]

    def _us(self, ticks: Column) -> Sequence[Any]:
        values = ticks.tolist()
        return values if self._units.whole else [self._units.value(value) for value in values]


_CALL = """{
 "name": %s,
 "entry_us": %s,
 "exit_us": %s,
 "elapsed_us": %s,
 "net_us": %s,
 "wall_us": %s,
 "depth": %s,
 "parent": %s,
 "context": %s,
 "flags": %s
}"""
_MARK = """{
 "kind": "%s",
 "name": %s,
 "time_us": %s,
 "since_us": %s,
 "depth": %s,
 "parent": %s,
 "context": %s
}"""


def _flags_text(flags: int) -> str:
    names = [json.dumps(name) for flag, name in _FLAG_NAMES.items() if flags & flag]
    return "[\n  " + ",\n  ".join(names) + "\n ]" if names else "[]"
