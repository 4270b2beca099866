"""The real time code path trace (paper, sections 4.3 and 5), nested, 4 columns a depth.

``-> name (N us)`` is a call with nothing inside; one with calls or inline triggers inside has its
total too, and a closing ``<-``. What was running when its context was switched out is shown, when
it ends, as the paper shows it: ``<- name (N us, T total)``, both counted from the switch in. The
calls of the switch functions themselves are shown as the switch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Calls, Timeline
from kprof.analysis.filters import Mask, kept_marks
from kprof.analysis.replay.codes import (
    MARK_IN,
    MARK_INLINE,
    MARK_OUT,
    OPEN,
    ORPHAN,
    RESUMED,
    UNWOUND,
)
from kprof.analysis.window import switching
from kprof.report.trace_text import (
    Table,
    Writer,
    entry_shape,
    exit_shape,
    mark_shape,
    stamper,
)
from kprof.report.units import Units, safe_name

_BLOCK = 1 << 12


def trace_lines(
    timeline: Timeline,
    keep: Mask | None = None,
    span: tuple[int, int] | None = None,
    margin: int = 0,
) -> Iterator[str]:
    """The lines of the trace, without line feeds.

    Parameters
    ----------
    keep
        The calls that are shown, with the inline triggers in them; None: all.
    span
        The first and last event that are shown; None: all.
    margin
        The depth that stands at the left; no call that is shown is less deep.
    """
    calls, marks = timeline.calls, timeline.marks
    shown, closing = _shape(timeline)
    marked = np.arange(len(marks))
    if keep is not None:
        shown &= keep
        marked = np.flatnonzero(kept_marks(timeline, keep))
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
                calls.depth[entered] - margin,
                calls.function[entered],
                calls.net[entered],
                calls.elapsed[entered],
            ),
            _table(
                exit_shape(calls.flags[left]),
                calls.exit[left],
                calls.depth[left] - margin,
                calls.function[left],
                calls.part[left],
                calls.exit[left] - _slice_start(timeline)[left],
            ),
            _table(
                mark_shape(marks.kind[marked]),
                marks.time[marked],
                marks.depth[marked] - margin,
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


def _table(*columns: NDArray[Any]) -> Table:
    return np.stack([column.astype(np.int64) for column in columns])


def call_line(timeline: Timeline, row: int) -> str:
    """The line of a call's entry as the trace has it, at the left.

    Of a switch function too, whose calls the trace shows as the switch.
    """
    calls = timeline.calls
    shown, closing = _shape(timeline)
    units = Units(timeline.info.clock_hz)
    name = safe_name(timeline.functions[calls.function[row]].name)
    figures = f"{units.text(int(calls.net[row]))} us"
    if closing[row] or not shown[row]:
        figures += f", {units.text(int(calls.elapsed[row]))} total"
    return f"{stamper(units)(int(calls.entry[row]))} -> {name} ({figures})"


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
