"""The real time code path trace (paper, sections 4.3 and 5), nested, 4 columns a depth.

``-> name (N us)`` is a call with nothing inside; one with calls or inline triggers inside has its
total too, and a closing ``<-``. What was running when its context was switched out is shown, when
it ends, as the paper shows it: ``<- name (N us, T total)``, both counted from the switch in. The
calls of the switch functions themselves are shown as the switch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from kprof.names import Modifier
from kprof.report.units import Units, safe_name

INDENT = "    "
_DIGITS = [f"{n:03d}" for n in range(1000)]
_ENTER, _LEAVE, _MARK = 0, 1, 2
_DEEP = 2000


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
    units = Units(timeline.info.clock_hz)
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
    what = np.concatenate(
        [
            np.full(len(entered), _ENTER),
            np.full(len(left), _LEAVE),
            np.full(len(marked), _MARK),
        ]
    )
    row = np.concatenate([entered, left, marked])
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
    functions = [safe_name(entry.name) for entry in timeline.functions]
    inlines = [safe_name(entry.name) for entry in timeline.inlines]
    slice_start = _slice_start(timeline)
    stamp = _stamper(units)
    text = str if units.whole else units.text
    columns: dict[str, Any] = {
        name: getattr(calls, name).tolist()
        for name in ("function", "elapsed", "net", "part", "flags", "entry", "exit")
    }
    fn, elapsed, net, part = (columns[k] for k in ("function", "elapsed", "net", "part"))
    flags, began, ended = (columns[k] for k in ("flags", "entry", "exit"))
    depth = (calls.depth - margin).tolist()
    closes = closing.tolist()
    deepest = max(int(calls.depth.max(initial=0)), int(marks.depth.max(initial=0)))
    indent = _Indents() if deepest > _DEEP else [INDENT * level for level in range(deepest + 1)]
    start = slice_start.tolist()
    mark_rows = list(
        zip(
            marks.kind.tolist(),
            marks.name.tolist(),
            marks.time.tolist(),
            marks.since.tolist(),
            (marks.depth - margin).tolist(),
            strict=True,
        )
    )
    for kind, i in zip(what[order].tolist(), row[order].tolist(), strict=True):
        if kind == _ENTER:
            head = f"{stamp(began[i])} {indent[depth[i]]}-> {functions[fn[i]]} ({text(net[i])} us"
            if flags[i] & OPEN:
                yield f"{head}, {text(elapsed[i])} total) open"
            elif closes[i]:
                yield f"{head}, {text(elapsed[i])} total)"
            else:
                yield head + ")"
        elif kind == _LEAVE:
            head = f"{stamp(ended[i])} {indent[depth[i]]}<-"
            if flags[i] & (RESUMED | ORPHAN):
                total = ended[i] - start[i]
                head += f" {functions[fn[i]]} ({text(part[i])} us, {text(total)} total)"
            yield head + " unwound" if flags[i] & UNWOUND else head
        else:
            sort, name, time, since, level = mark_rows[i]
            if sort == MARK_INLINE:
                yield f"{stamp(time)} {indent[level]}== {inlines[name]} ({text(since)} us)"
            elif sort == MARK_IN:
                yield f"{stamp(time)} ---- Context switch in ----"
            else:
                yield f"{stamp(time)} ---- Context switch out ----"


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
    return f"{_stamper(units)(int(calls.entry[row]))} -> {name} ({figures})"


class _Indents:
    """The indents of a trace too deep to keep them all."""

    def __getitem__(self, depth: int) -> str:
        return INDENT * depth


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
                "name": (timeline.inlines if marks.kind[i] == MARK_INLINE else timeline.functions)[
                    marks.name[i]
                ].name,
                "time_us": value(int(marks.time[i])),
                "since_us": value(int(marks.since[i])),
                "depth": int(marks.depth[i]),
                "parent": int(mark_parent[i]),
                "context": int(marks.context[i]),
            }
            for i in kept.tolist()
        ],
    }


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
    switching = np.array(
        [
            e.modifier in (Modifier.SWITCH_OUT, Modifier.SWITCH_IN, Modifier.SWTCH)
            for e in timeline.functions
        ]
        or [False]
    )
    switched = marks.event[marks.kind != MARK_INLINE]
    at_switch = np.isin(calls.entry_event, switched) | np.isin(calls.exit_event, switched)
    orphan = (calls.flags & ORPHAN) != 0
    hidden = switching[calls.function] & (at_switch | orphan)
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


def _stamper(units: Units) -> Callable[[int], str]:
    """How a time is written: ``S:mmm uuu``, with nanoseconds for a clock faster than 1 MHz."""
    last, prefix = -1, ""

    def whole(us: int) -> str:
        nonlocal last, prefix
        ms = us // 1000
        if ms != last:  # most lines share their millisecond with the line before
            last, prefix = ms, f"{ms // 1000}:{ms % 1000:03d} "
        return prefix + _DIGITS[us - 1000 * ms]

    def fine(ticks: int) -> str:
        us, rest = divmod(units.nanoseconds(ticks), 1000)
        return f"{whole(us)}.{rest:03d}"

    return whole if units.whole else fine
