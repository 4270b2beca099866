"""From the replay's rows to the columns of `Calls` and `Marks`: order, places, parents, depths.

The replay knows a call's parent by the event that it began with. Calls whose entry was not seen
(orphans) are only known when they end; what ran at the base of their context in the same slice
before that ran inside them, and is linked here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis import states
from kprof.analysis.machine import Rows

Column = NDArray[np.int64]


class Linker:
    """The rows of a whole capture, with detail, made into ordered columns.

    Parameters
    ----------
    first
        The context that ran before the first switch.

    Attributes
    ----------
    calls, marks
        The columns of `kprof.analysis.calls.Calls` and `Marks`, by name.
    """

    def __init__(self, rows: Rows, times: Column, first: int) -> None:
        self._times = times
        self._first = first
        self._events = len(times)
        is_mark = rows.flags >= states.MARK_INLINE
        self._switches = np.sort(rows.leave[rows.flags >= states.MARK_OUT])
        self.calls = self._link_calls(rows, np.flatnonzero(~is_mark))
        self.marks = self._link_marks(rows, np.flatnonzero(is_mark))

    def _link_calls(self, rows: Rows, kept: Column) -> dict[str, Column]:
        flags = rows.flags[kept]
        orphan = (flags & states.ORPHAN) != 0
        entry, leave = rows.entry[kept], rows.leave[kept]
        leave = np.where(leave < 0, self._events, leave)
        at_base = orphan & (rows.parent[kept] < 0)
        entry = np.where(orphan, np.where(at_base, self._slice_start(leave), leave), entry)
        # An orphan comes after the switch that it is counted from, before all else of its slice.
        place = np.where(at_base, np.where(self._switched(leave), 2 * entry + 1, -1), 2 * entry)
        order = np.lexsort((-leave, place))
        kept, flags, entry, leave = kept[order], flags[order], entry[order], leave[order]
        orphan, at_base = orphan[order], at_base[order]
        seen = np.flatnonzero(~orphan)
        self._seen_entry, self._seen_row = entry[seen], seen
        context = self._context(rows, kept)
        began = np.where(orphan, leave, entry)
        self._index_orphans(context, leave, at_base)
        inner, outer = self._orphans_around(context, began)
        stacked = self._row_of(rows.parent[kept])
        parent = np.where(stacked < 0, inner, stacked)
        self._depth = rows.depth[kept] + self._below(stacked, outer)
        last = np.append(self._times, self._times[-1:] if self._events else np.int64(0))
        return {
            "function": rows.fn[kept].astype(np.int32),
            "entry_event": entry,
            "exit_event": leave,
            "entry": np.where(orphan, last[leave] - rows.elapsed[kept], last[entry]),
            "exit": last[leave],
            "elapsed": rows.elapsed[kept],
            "net": rows.net[kept],
            "wall": rows.elapsed[kept] + rows.away[kept],
            "part": rows.part[kept],
            "depth": self._depth.astype(np.int32),
            "parent": parent,
            "context": context.astype(np.int32),
            "flags": flags.astype(np.uint8),
        }

    def _link_marks(self, rows: Rows, kept: Column) -> dict[str, Column]:
        kept = kept[np.argsort(rows.leave[kept], kind="stable")]
        event = rows.leave[kept]
        context = self._context(rows, kept)
        inner, _ = self._orphans_around(context, event)
        parent = self._row_of(rows.parent[kept])
        parent = np.where(parent < 0, inner, parent)
        depth = np.zeros(len(parent), np.int64)
        depth[parent >= 0] = self._depth[parent[parent >= 0]] + 1
        return {
            "kind": rows.flags[kept].astype(np.uint8),
            "name": rows.fn[kept].astype(np.int32),
            "event": event,
            "time": self._times[event] if len(event) else np.empty(0, np.int64),
            "since": rows.elapsed[kept],
            "depth": depth.astype(np.int32),
            "parent": parent,
            "context": context.astype(np.int32),
        }

    def _context(self, rows: Rows, kept: Column) -> Column:
        context = rows.context[kept]
        return np.where(context < 0, self._first, context)

    def _slice_start(self, event: Column) -> Column:
        """The event of the last switch up to these events; 0 where there is none."""
        if not len(self._switches):
            return np.zeros(len(event), np.int64)
        place = np.searchsorted(self._switches, event, "right") - 1
        return np.where(place >= 0, self._switches[np.maximum(place, 0)], 0)

    def _switched(self, event: Column) -> NDArray[np.bool_]:
        """Was there a switch up to these events?"""
        first = self._switches[0] if len(self._switches) else self._events + 1
        return event >= first

    def _row_of(self, entry: Column) -> Column:
        """The row of the call that began with these events; -1 for -1."""
        if not len(self._seen_row):
            return np.full(len(entry), -1, np.int64)
        place = np.searchsorted(self._seen_entry, entry)
        found: Column = np.where(
            entry >= 0, self._seen_row[np.minimum(place, len(self._seen_row) - 1)], -1
        )
        return found

    def _index_orphans(self, context: Column, leave: Column, at_base: NDArray[np.bool_]) -> None:
        rows = np.flatnonzero(at_base)
        key = self._key(context[rows], leave[rows])
        order = np.argsort(key, kind="stable")
        self._orphan_key, self._orphan_row = key[order], rows[order]

    def _below(self, stacked: Column, outer: Column) -> Column:
        """The `outer` of the lowest call of each one's stack."""
        if not outer.any():
            return outer
        root = np.where(stacked < 0, np.arange(len(stacked)), stacked)
        while True:
            deeper = root[root]
            if np.array_equal(deeper, root):
                return outer[root]
            root = deeper

    def _orphans_around(self, context: Column, event: Column) -> tuple[Column, Column]:
        """The innermost orphan that was open in its context at each event, and how many were."""
        if not len(self._orphan_row):
            return np.full(len(event), -1, np.int64), np.zeros(len(event), np.int64)
        key = self._key(context, event)
        first = np.searchsorted(self._orphan_key, key, "right")
        end = np.searchsorted(self._orphan_key, key - event + self._events, "right")
        row = self._orphan_row[np.minimum(first, len(self._orphan_row) - 1)]
        return np.where(first < end, row, -1), end - first

    def _key(self, context: Column, event: Column) -> Column:
        """One number that orders by context and slice, then event."""
        pieces = len(self._switches) + 1
        group = context * pieces + np.searchsorted(self._switches, event, "right")
        key: Column = group * np.int64(self._events + 1) + event
        return key
