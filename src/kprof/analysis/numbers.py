"""Numbers for the calls of a stream that stay: without gaps, in the order of their entries.

A filter leaves calls out, and an orphan exit that was expected and did not come has a place in the
stream but is no call. Which, is known when the stream has been read once; a bit a call remembers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.codes import ENTER, LEAVE, LOST
from kprof.analysis.replay.columns import Rows

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]
_POPULATION = np.array([n.bit_count() for n in range(256)], np.uint8)


class Numbers:
    """The numbers of the calls that stay; see the module.

    Attributes
    ----------
    count
        How many calls stay.
    places
        How many calls the stream has numbered.
    lost
        Expected orphans that did not come, by the numbers of their places in the stream, ascending.
    """

    def __init__(self, events: int, *, filtered: bool) -> None:
        self.count = self.places = 0
        self.lost: Column = np.empty(0, np.int64)
        self._filtered = filtered
        self._kept: Mask = np.zeros(events + 8 if filtered else 0, np.bool_)
        self._lost: list[Rows] = []
        self._whole: dict[int, bool] = {}
        self._all = True

    def add(self, rows: Rows, ended: Rows, keep: Mask) -> None:
        """Take down which of the calls that `ended` in these rows stay."""
        self.count += int(np.count_nonzero(keep))
        lost = (rows.kind == LEAVE) & (rows.flags & LOST != 0)
        if lost.any():
            self._lost.append(rows.select(lost))
        most = int(rows.call[rows.kind == LEAVE].max(initial=-1))
        self.places = max(self.places, most + 1)
        if not self._filtered or not len(ended):
            return
        if most >= len(self._kept):
            more = np.zeros(2 * most + 1 - len(self._kept), np.bool_)
            self._kept = np.concatenate([self._kept, more])
        self._kept[ended.call[keep]] = True
        if keep.all():
            return
        self._all = False
        for context in np.unique(ended.context[~keep]).tolist():
            self._whole[context] = False

    def finish(self, contexts_seen: frozenset[int]) -> None:
        """All rows have been added; `contexts_seen` had calls."""
        self._seen = contexts_seen
        if not self._lost:
            rows = np.empty((0, 3), np.int64)
        else:
            parts = [np.stack([r.call, r.parent, r.context], axis=1) for r in self._lost]
            rows = np.concatenate(parts)
        rows = rows[np.argsort(rows[:, 0])]
        self._lost_parent: Column
        self._lost_context: Column
        self.lost, self._lost_parent, self._lost_context = rows.T
        if not self._filtered and len(self.lost):
            self._kept = np.ones(self.places + 1, np.bool_)
            self._kept[self.lost] = False
        self._bits = np.packbits(self._kept, bitorder="little")
        self._kept = np.zeros(0, np.bool_)
        before = np.cumsum(_POPULATION[self._bits], dtype=np.int64)
        self._before = np.concatenate([[0], before])[:-1].astype(np.uint32)

    def whole(self, context: int) -> bool:
        """Do all calls of a context stay? Of one without calls, where all calls do."""
        return self._whole.get(context, True) if context in self._seen else self._all

    def of(self, call: Column) -> Column:
        """The numbers of calls of the stream; -1 where one does not stay."""
        if not len(self._bits):
            return call
        place, bit = call >> 3, (call & 7).astype(np.uint8)
        here = self._bits[place]
        low = (np.uint8(1) << bit) - np.uint8(1)
        number = self._before[place] + _POPULATION[here & low].astype(np.int64)
        result: Column = np.where((here >> bit) & 1 & (call >= 0), number, -1)
        return result

    def stay(self, places: int) -> Mask | None:
        """Which of the calls of the stream stay, shape (places,); None: all."""
        if not len(self._bits):
            return None
        return np.unpackbits(self._bits, count=places, bitorder="little").astype(np.bool_)

    def real(self, call: Column) -> Column:
        """The same calls; for what was lost, what it stood in (-1: nothing)."""
        if not len(self.lost):
            return call
        found: Column = call.copy()
        while True:
            place = np.minimum(np.searchsorted(self.lost, found), len(self.lost) - 1)
            is_lost: Mask = self.lost[place] == found
            if not is_lost.any():
                return found
            found[is_lost] = self._lost_parent[place[is_lost]]

    def lost_contexts(self, call: Column) -> tuple[Mask, Column]:
        """Which of these calls were lost, and the contexts of those."""
        if not len(self.lost):
            return np.zeros(len(call), np.bool_), np.empty(0, np.int64)
        place = np.minimum(np.searchsorted(self.lost, call), len(self.lost) - 1)
        is_lost = self.lost[place] == call
        return is_lost, self._lost_context[place[is_lost]]


class Ghosts:
    """How many expected orphans that did not come each row stands on: they are no calls."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._open: dict[int, int] = {}

    def below(self, rows: Rows) -> Column:
        """For each of the next rows of the stream, shape (rows,)."""
        result = np.zeros(len(rows), np.int64)
        if not len(self._numbers.lost):
            return result
        calls = np.where(rows.kind <= LEAVE, rows.call, -1)
        is_lost, contexts = self._numbers.lost_contexts(calls)
        steps = np.where(rows.kind[is_lost] == ENTER, 1, -1)
        for context in {*self._open, *np.unique(contexts).tolist()}:
            mine = contexts == context
            change = np.zeros(len(rows), np.int64)
            change[np.flatnonzero(is_lost)[mine]] = steps[mine]
            level = np.cumsum(change) + self._open.get(context, 0)
            here = rows.context == context
            result[here] = level[here]
            self._open[context] = int(level[-1]) if len(level) else 0
        self._open = {context: n for context, n in self._open.items() if n}
        return result
