"""The reports of a whole timeline at once: what those of the stream are held against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.analysis.whole import inside_of, kept_marks, running, tasks, worst_calls

from kprof.analysis.calls import Calls, Timeline
from kprof.analysis.replay.codes import (
    MARK_IN,
    MARK_INLINE,
    MARK_OUT,
    OPEN,
    ORPHAN,
    RESUMED,
    UNWOUND,
)
from kprof.analysis.tasks import IDLE, LEFT_OUT
from kprof.analysis.window import switching
from kprof.report.trace_text import Table, Writer, entry_shape, exit_shape, mark_shape
from kprof.report.units import Units, safe_name

Mask = NDArray[np.bool_]
_BLOCK = 1 << 12
_LABELS = {0: "system", IDLE: "idle", LEFT_OUT: "others"}


def trace_lines(
    timeline: Timeline,
    keep: Mask | None = None,
    span: tuple[int, int] | None = None,
) -> Iterator[str]:
    """The lines of the trace, without line feeds.

    Parameters
    ----------
    keep
        The calls that are shown, with the inline triggers in them; None: all.
    span
        The first and last event that are shown; None: all.
    """
    calls, marks = timeline.calls, timeline.marks
    shown, closing = _shape(timeline)
    marked = np.arange(len(marks))
    if keep is not None:
        shown &= keep
        marked = np.flatnonzero(kept_marks(timeline, keep))
    depth, mark_depth = calls.depth, marks.depth
    if keep is not None:
        depth, mark_depth = _shown_around(timeline, shown, span)
    entered = np.flatnonzero(shown & ((calls.flags & ORPHAN) == 0))
    left = np.flatnonzero(shown & closing & ((calls.flags & OPEN) == 0))
    event = np.concatenate(
        [calls.entry_event[entered], calls.exit_event[left], marks.event[marked]]
    )
    # At one event: first the switch, then exits from the deepest up, then the entry.
    rank = np.concatenate(
        [
            np.full(len(entered), 1),
            -calls.depth[left].astype(np.int64),
            np.full(len(marked), -(1 << 40)),
        ]
    )
    order = np.lexsort((rank, event))
    if span is not None:
        ordered = event[order]
        order = order[(ordered >= span[0]) & (ordered <= span[1])]
    table = np.concatenate(
        [
            _table(
                entry_shape(calls.flags[entered], closing[entered]),
                calls.entry[entered],
                depth[entered],
                calls.function[entered],
                calls.net[entered],
                calls.elapsed[entered],
            ),
            _table(
                exit_shape(calls.flags[left]),
                calls.exit[left],
                depth[left],
                calls.function[left],
                calls.part[left],
                calls.exit[left] - _slice_start(timeline)[left],
            ),
            _table(
                mark_shape(marks.kind[marked]),
                marks.time[marked],
                mark_depth[marked],
                marks.name[marked],
                marks.since[marked],
                np.zeros(len(marked), np.int64),
            ),
        ],
        axis=1,
    )
    writer = Writer(timeline.functions, timeline.inlines, timeline.info.clock_hz)
    for start in range(0, len(order), _BLOCK):
        yield from writer.lines(table[:, order[start : start + _BLOCK]])


def _shown_around(
    timeline: Timeline, shown: Mask, span: tuple[int, int] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many calls with a line of their own are around each call, and around each mark."""
    calls, marks = timeline.calls, timeline.marks
    count: list[int] = []
    for i, parent in enumerate(calls.parent.tolist()):
        events = (int(calls.entry_event[i]), int(calls.exit_event[i]))
        lined = bool(shown[i])
        if span is not None:
            lined &= any(span[0] <= event <= span[1] for event in events)
        count.append(lined + (count[parent] if parent >= 0 else 0))
    around = [count[parent] if parent >= 0 else 0 for parent in calls.parent.tolist()]
    marked = [count[parent] if parent >= 0 else 0 for parent in marks.parent.tolist()]
    return np.array(around, np.int64), np.array(marked, np.int64)


def _table(*columns: NDArray[Any]) -> Table:
    return np.stack([column.astype(np.int64) for column in columns])


def trace_json(timeline: Timeline, keep: Mask | None = None) -> dict[str, Any]:
    """The calls and marks as a JSON object; times in microseconds, rows in the order of entry.

    Of marks in calls that are left out, `parent` is the nearest call that stays.
    """
    calls, marks = timeline.calls, timeline.marks
    mark_parent = marks.parent
    if keep is not None:
        kept = np.flatnonzero(kept_marks(timeline, keep))
        mark_parent = _row_after(calls, keep, marks.parent)
        calls = calls.select(keep)
    else:
        kept = np.arange(len(marks))
    value = Units(timeline.info.clock_hz).value
    kinds = {MARK_INLINE: "inline", MARK_IN: "switch_in", MARK_OUT: "switch_out"}
    flag_names = {OPEN: "open", ORPHAN: "orphan", RESUMED: "resumed", UNWOUND: "unwound"}
    return {
        "calls": [
            {
                "name": timeline.functions[calls.function[i]].name,
                "entry_us": value(int(calls.entry[i])),
                "exit_us": value(int(calls.exit[i])),
                "elapsed_us": value(int(calls.elapsed[i])),
                "net_us": value(int(calls.net[i])),
                "wall_us": value(int(calls.wall[i])),
                "depth": int(calls.depth[i]),
                "parent": int(calls.parent[i]),
                "context": int(calls.context[i]),
                "flags": [name for flag, name in flag_names.items() if calls.flags[i] & flag],
            }
            for i in range(len(calls))
        ],
        "marks": [
            {
                "kind": kinds[int(marks.kind[i])],
                "name": _mark_name(timeline, i),
                "time_us": value(int(marks.time[i])),
                "since_us": value(int(marks.since[i])),
                "depth": int(marks.depth[i]),
                "parent": int(mark_parent[i]),
                "context": int(marks.context[i]),
            }
            for i in kept.tolist()
        ],
        "tasks": {str(context): name for context, name in sorted(timeline.task_names.items())},
    }


def _mark_name(timeline: Timeline, i: int) -> str:
    """The inline trigger, the switch function, or the task whose mark it is."""
    marks = timeline.marks
    if marks.name[i] < 0:
        return timeline.task_names.get(int(marks.context[i]), "")
    known = timeline.inlines if marks.kind[i] == MARK_INLINE else timeline.functions
    return known[int(marks.name[i])].name


def _row_after(calls: Calls, keep: Mask, parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of calls as they are numbered when only `keep` stay."""
    number = np.append(np.cumsum(keep) - 1, -1)
    parent = parent.copy()
    while (lost := (parent >= 0) & ~np.append(keep, True)[parent]).any():
        parent[lost] = calls.parent[parent[lost]]
    result: NDArray[np.int64] = np.where(parent >= 0, number[parent], -1)
    return result


def _shape(timeline: Timeline) -> tuple[Any, Any]:
    """Which calls are shown, and which of them have a closing line."""
    calls, marks = timeline.calls, timeline.marks
    switched = marks.event[marks.kind != MARK_INLINE]
    at_switch = np.isin(calls.entry_event, switched) | np.isin(calls.exit_event, switched)
    orphan = (calls.flags & ORPHAN) != 0
    hidden = switching(timeline.functions)[calls.function] & (at_switch | orphan)
    closing = (calls.flags & (RESUMED | ORPHAN | UNWOUND)) != 0
    inside = calls.parent[(calls.parent >= 0) & ~hidden]
    closing[inside] = True
    marked = marks.parent[(marks.kind == MARK_INLINE) & (marks.parent >= 0)]
    closing[marked] = True
    return ~hidden, closing


def _slice_start(timeline: Timeline) -> Any:
    """When the slice began that each call ended in."""
    calls, marks = timeline.calls, timeline.marks
    switch = marks.kind != MARK_INLINE
    if not switch.any():
        return np.zeros(len(calls), np.int64)
    events, times = marks.event[switch], marks.time[switch]
    place = np.searchsorted(events, calls.exit_event, "right") - 1
    return np.where(place >= 0, times[np.maximum(place, 0)], 0)


def worst_lines(lines: Timeline, name: str, many: int, by: str, keep: Mask | None) -> Iterator[str]:
    units = Units(lines.info.clock_hz)
    number = [entry.name for entry in lines.functions].index(name)
    rows = worst_calls(lines, number, many, keep, by)
    for place, row in enumerate(rows.tolist()):
        if place:
            yield ""
        total, net = (units.text(int(c[row])) for c in (lines.calls.elapsed, lines.calls.net))
        yield f"# {place + 1}: {safe_name(name)}, {total} us total, {net} us net"
        span = (int(lines.calls.entry_event[row]), int(lines.calls.exit_event[row]))
        within = inside(lines, row, keep)
        yield from trace_lines(lines, within, span)
    if not len(rows):
        yield f"{safe_name(name)}: no complete call"


def inside(lines: Timeline, row: int, keep: Mask | None) -> Mask:
    inside = inside_of(lines, row)
    return inside if keep is None else inside & keep


def tasks_json(timeline: Timeline, keep: Mask | None = None) -> dict[str, Any]:
    """The contexts, and the whole run in parts, as a JSON object; times in microseconds.

    A part is of one context by its number, or ``idle``; with `keep` it is ``others`` where none of
    these calls was open in the context that ran.
    """
    value = Units(timeline.info.clock_hz).value
    rows = running(timeline, keep)
    # Where one and the same goes on, calls that begin and end in it are no new part.
    first = np.flatnonzero(np.diff(rows.context, prepend=min(IDLE, LEFT_OUT) - 1))
    ends = [*rows.start[first[1:]].tolist(), timeline.ledger.elapsed]
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
            for task in tasks(timeline, keep)
        ],
        "idle_us": value(timeline.ledger.idle),
        "switches": timeline.outcome.switches,
        "ambiguous_switches": timeline.outcome.ambiguous,
        "parts": [
            {
                "start_us": value(start),
                "end_us": value(end),
                "context": context if context >= 0 else _LABELS[context],
            }
            for start, end, context in zip(
                rows.start[first].tolist(),
                ends[: len(first)],
                rows.context[first].tolist(),
                strict=True,
            )
        ],
    }
