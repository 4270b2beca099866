"""A run in batches: what each function did in every piece of the run, for judging its noise.

Calls that follow each other are alike: they share a cache, a load, a phase of the program. A mean
of n such calls is not as sure as n independent ones would make it. So the run is cut into 64 to 128
*batches*, each of the same number of calls one after another, and each function's calls, net times
and callers are counted batch by batch. How much these vary from batch to batch, and how slowly,
tells how sure the figures of the whole run are (`kprof.analysis.noise`).

The number of calls in a batch doubles when there are too many batches, so memory does not grow
with the capture: it is a few hundred bytes for each function, for each bucket of each function's
histogram, and for each pair of a caller and what it calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.measures import bucket_of, bucket_range
from kprof.analysis.replay.codes import OPEN, ORPHAN

MOST = 128
"""Batches when they are halved: there are from 64 to 127 of any capture that has so many calls."""

TOP = -1
"""The caller of a call with nothing known below it."""

_BUCKET_BITS = 20
_PENDING = 1 << 16
Column = NDArray[np.int64]


class CallColumns(NamedTuple):
    """Calls in the order of their ends; int64 columns of one length.

    Attributes
    ----------
    fn, net, flags
        See `kprof.analysis.replay.columns.Rows`.
    call, parent
        A number of the call's own, and that of the call that it is in, or -1.
    """

    fn: Column
    net: Column
    flags: Column
    call: Column
    parent: Column


class _Counts:
    """Sums by a key and a batch; float64, exact up to 2**53."""

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.table = np.zeros((64, MOST))

    def add(self, keys: Column, batch: Column, weights: Column | None = None) -> None:
        if not len(keys):
            return
        unique, inverse = np.unique(keys, return_inverse=True)
        place = np.array([self.rows.setdefault(key, len(self.rows)) for key in unique.tolist()])
        while len(self.rows) > len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        flat = inverse * MOST + batch
        sums = np.bincount(flat, weights, len(unique) * MOST)
        self.table[place] += sums.reshape(len(unique), MOST)

    def halve(self) -> None:
        half = self.table[:, 0::2] + self.table[:, 1::2]
        self.table[:, : MOST // 2] = half
        self.table[:, MOST // 2 :] = 0


@dataclass(frozen=True)
class Batched:
    """One function by batches; every array has the shape (batches,) but `histogram`.

    Attributes
    ----------
    calls
        Calls that began in the capture.
    complete, net
        Calls that began and ended in it, and the sum of their net times.
    values
        The middle of every bucket of the histogram, shape (buckets,), ascending.
    histogram
        Complete calls by bucket, shape (buckets, batches).
    """

    calls: NDArray[np.float64]
    complete: NDArray[np.float64]
    net: NDArray[np.float64]
    values: NDArray[np.float64]
    histogram: NDArray[np.float64]


@dataclass(frozen=True)
class RunBatches:
    """A run by batches.

    Attributes
    ----------
    functions
        By the number of the function.
    callers
        By caller (or `TOP`) and callee, how often one called the other; shape (batches,).
    lasted
        Ticks that each batch lasted, idle time included.
    """

    functions: dict[int, Batched] = field(default_factory=dict)
    callers: dict[tuple[int, int], NDArray[np.float64]] = field(default_factory=dict)
    lasted: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


class Batches:
    """Folds the calls of a run, a block at a time, into batches."""

    def __init__(self) -> None:
        self._size = 1  # calls in a batch
        self._seen = 0
        self._calls, self._complete, self._net = _Counts(), _Counts(), _Counts()
        self._buckets, self._callers = _Counts(), _Counts()
        self._ends = np.zeros(MOST)
        none = np.empty(0, np.int64)
        # Calls whose caller has not ended: its number, what was called, the batch, how often.
        self._open: tuple[Column, Column, Column, Column] = (none, none, none, none)

    def add(self, rows: CallColumns, ended: Column) -> None:
        """Count calls; `ended` is when each ended, in ticks since the first event."""
        fn, net, flags = rows.fn, rows.net, rows.flags
        if not len(fn):
            return
        while self._seen + len(fn) > MOST * self._size:
            self._halve()
        batch = (self._seen + np.arange(len(fn))) // self._size
        self._seen += len(fn)
        np.maximum.at(self._ends, batch, ended)
        began = (flags & ORPHAN) == 0
        done = (flags & (ORPHAN | OPEN)) == 0
        self._calls.add(fn[began], batch[began])
        self._complete.add(fn[done], batch[done])
        self._net.add(fn[done], batch[done], net[done])
        self._buckets.add((fn[done] << _BUCKET_BITS) + bucket_of(net[done]), batch[done])
        call, parent = rows.call[began], rows.parent[began]
        self._add_callers(fn[began], call, parent, batch[began])

    def finish(self) -> RunBatches:
        """The batches of all that was added."""
        _, fn, batch, many = self._open
        self._count_callers(np.full(len(fn), TOP, np.int64), fn, batch, many)
        used = -(-self._seen // self._size)
        split: dict[int, tuple[list[int], list[int]]] = {}
        for key, row in self._buckets.rows.items():
            buckets, places = split.setdefault(key >> _BUCKET_BITS, ([], []))
            buckets.append(key & ((1 << _BUCKET_BITS) - 1))
            places.append(row)
        functions = {}
        nothing = np.zeros(used)
        for fn_, row in self._calls.rows.items():
            buckets, places = split.get(fn_, ([], []))
            order = np.argsort(buckets)
            ranges = [bucket_range(buckets[i]) for i in order.tolist()]
            done = self._complete.rows.get(fn_)
            functions[fn_] = Batched(
                calls=self._calls.table[row, :used].copy(),
                complete=nothing if done is None else self._complete.table[done, :used].copy(),
                net=nothing if done is None else self._net.table[done, :used].copy(),
                values=np.array([(low + high - 1) / 2 for low, high in ranges]),
                histogram=self._buckets.table[np.array(places, np.int64)[order], :used],
            )
        callers = {
            ((key >> 32) + TOP, key & 0xFFFFFFFF): self._callers.table[row, :used].copy()
            for key, row in self._callers.rows.items()
        }
        return RunBatches(functions, callers, np.diff(self._ends[:used], prepend=0.0))

    def _add_callers(self, fn: Column, entry: Column, parent: Column, batch: Column) -> None:
        """Count calls by caller; the caller is known when it ends, after what it called."""
        order = np.argsort(entry, kind="stable")
        known, names = entry[order], fn[order]
        waiting = (parent, fn, batch, np.ones(len(fn), np.int64))
        parent, callee, at, many = map(np.concatenate, zip(self._open, waiting, strict=True))
        place = np.minimum(np.searchsorted(known, parent), max(0, len(known) - 1))
        found = known[place] == parent if len(known) else np.zeros(len(parent), np.bool_)
        top = parent < 0
        self._count_callers(np.full(int(top.sum()), TOP), callee[top], at[top], many[top])
        found &= ~top
        self._count_callers(names[place[found]], callee[found], at[found], many[found])
        left = ~found & ~top
        self._open = (parent[left], callee[left], at[left], many[left])
        if len(self._open[0]) > _PENDING:
            self._compress()

    def _count_callers(self, caller: Column, callee: Column, batch: Column, many: Column) -> None:
        self._callers.add(((caller - TOP) << 32) + callee, batch, many)

    def _compress(self) -> None:
        parent, callee, batch, many = self._open
        order = np.lexsort((batch, callee, parent))
        parent, callee, batch, many = (c[order] for c in (parent, callee, batch, many))
        new = np.ones(len(parent), np.bool_)
        new[1:] = (np.diff(parent) != 0) | (np.diff(callee) != 0) | (np.diff(batch) != 0)
        first = np.flatnonzero(new)
        self._open = (parent[first], callee[first], batch[first], np.add.reduceat(many, first))

    def _halve(self) -> None:
        self._size *= 2
        for counts in (self._calls, self._complete, self._net, self._buckets, self._callers):
            counts.halve()
        self._ends[: MOST // 2] = np.maximum(self._ends[0::2], self._ends[1::2])
        self._ends[MOST // 2 :] = 0
        parent, callee, batch, many = self._open
        self._open = (parent, callee, batch // 2, many)
