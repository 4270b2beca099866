"""Calls summed up by call path: the tree that flame graphs, pprof and call graphs are made of.

A *node* is a path, from a context through its calls. Memory grows with the number of paths. The
nodes are found by a hash table of (parent, function) with open addressing; `follow` is written for
plain lists and, unchanged, for numba's compiler.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from kprof.analysis.replay import codes as states
from kprof.analysis.stream import LEAVE, Stream

CONTEXT = 1 << 24
"""`Paths.function` of context 0."""

_NODES, _SLOTS = 0, 1  # places in the tree's counters: nodes, size of the hash table


@dataclass(frozen=True)
class Paths:
    """The nodes of a capture, parents before children; times in ticks.

    Attributes
    ----------
    function
        An index of `Stream.functions`; of a context's node its number and `CONTEXT`.
    parent
        The node below, -1 of a context.
    calls
        Calls that began in the capture.
    net
        Their net time, and that of orphans.
    total
        `net` of the node and all above it.
    """

    function: list[int]
    parent: list[int]
    calls: list[int]
    net: list[int]
    total: list[int]

    def path(self, node: int) -> list[int]:
        """The functions of a node from the context on; the last is its own."""
        found = []
        while node >= 0:
            found.append(self.function[node])
            node = self.parent[node]
        return found[::-1]


def call_paths(stream: Stream) -> Paths:
    """Sum up all calls; `stream.ledger` is complete afterwards."""
    tree = _Tree(compiled=stream.compiled)
    for steps in stream:
        rows = steps.rows
        chosen = steps.kind <= LEAVE
        whole = bool(chosen.all())
        kind, name, context = (
            column if whole else column[chosen]
            for column in (steps.kind, steps.name, steps.context)
        )
        counted = ((rows.flags & states.ORPHAN) == 0).astype(np.int64)
        turns = np.flatnonzero(np.diff(context, prepend=-1))
        contexts = context[turns].tolist()
        tree.add(kind, name, rows.net, counted, [*turns.tolist(), len(kind)], contexts)
    return tree.paths()


class _Tree:
    def __init__(self, *, compiled: bool) -> None:
        self._compiled = compiled
        self._follow: Any = _compiled() if compiled else follow
        self._counters = self._column(2)
        self._counters[_SLOTS] = 1
        self._nodes: tuple[Any, ...] = tuple(self._column(0) for _ in range(4))
        self._slots = self._column(1)
        self._tops: dict[int, int] = {}

    def _column(self, size: int) -> Any:
        return np.zeros(size, np.int64) if self._compiled else [0] * size

    def add(
        self, kind: Any, name: Any, net: Any, counted: Any, turns: list[int], contexts: list[int]
    ) -> None:
        """Follow steps; those from ``turns[k]`` on are in ``contexts[k]``."""
        if not self._compiled:
            kind, name, net, counted = (c.tolist() for c in (kind, name, net, counted))
        row = 0
        self._grow(len(kind) + len(contexts))
        for context, start, stop in zip(contexts, turns, turns[1:], strict=False):
            top = self._tops.get(context, -1)
            if top < 0:
                top, _ = self._one(CONTEXT + context)
            top, row = self._follow(
                kind, name, net, counted, start, stop, row, top, self._counters, self._slots,
                *self._nodes,
            )  # fmt: skip
            self._tops[context] = top

    def _one(self, key: int) -> tuple[int, int]:
        one: Any = np.array([key]) if self._compiled else [key]
        kind: Any = np.zeros(1, np.uint8) if self._compiled else [0]
        empty = self._column(0)
        found: tuple[int, int] = self._follow(
            kind, one, empty, empty, 0, 1, 0, -1, self._counters, self._slots, *self._nodes
        )
        return found

    def _grow(self, more: int) -> None:
        """Room for `more` nodes; the hash table stays at most half full."""
        wanted = int(self._counters[_NODES]) + more
        if wanted <= len(self._nodes[0]):
            return
        size = max(1024, len(self._nodes[0]))
        while size < wanted:
            size *= 2
        used = int(self._counters[_NODES])
        grown = []
        for column in self._nodes:
            bigger = self._column(size)
            bigger[:used] = column[:used]
            grown.append(bigger)
        self._nodes = tuple(grown)
        self._counters[_SLOTS] = 2 * size
        self._slots = self._column(2 * size)
        function, parent = self._nodes[:2]
        for node in range(used):
            place = hashed(int(parent[node]), int(function[node]), 2 * size)
            while self._slots[place]:
                place = (place + 1) % (2 * size)
            self._slots[place] = node + 1

    def paths(self) -> Paths:
        """What was found."""
        used = int(self._counters[_NODES])
        function, parent, calls, net = (list(map(int, c[:used])) for c in self._nodes)
        total = net.copy()
        for child in range(used - 1, -1, -1):
            if parent[child] >= 0:
                total[parent[child]] += total[child]
        return Paths(function, parent, calls, net, total)


def hashed(parent: int, function: int, size: int) -> int:
    """Where in a table of `size` (a power of two) to look first."""
    mixed = (parent + 1) * 0x9E3779B1 + function * 0x85EBCA6B
    return (mixed ^ (mixed >> 15)) & (size - 1)


def follow(
    kind: Any,
    name: Any,
    net: Any,
    counted: Any,
    start: int,
    stop: int,
    row: int,
    top: int,
    counters: Any,
    slots: Any,
    function: Any,
    parent: Any,
    calls: Any,
    nets: Any,
) -> Any:
    """Follow the entries and exits from `start` to `stop` of one context, from the node `top`.

    `row` is the next row of `net` and `counted`. Returns (top, row) at the end.
    """
    used = counters[0]
    size = counters[1]
    for i in range(start, stop):
        if kind[i] == 0:
            fn = name[i]
            mixed = (top + 1) * 0x9E3779B1 + fn * 0x85EBCA6B
            place = (mixed ^ (mixed >> 15)) & (size - 1)
            while True:
                node = slots[place] - 1
                if node < 0:
                    node = used
                    slots[place] = used + 1
                    function[used] = fn
                    parent[used] = top
                    used += 1
                    break
                if function[node] == fn and parent[node] == top:
                    break
                place = (place + 1) & (size - 1)
            top = node
        else:
            nets[top] += net[row]
            calls[top] += counted[row]
            top = parent[top]
            row += 1
    counters[0] = used
    return top, row


@functools.cache
def _compiled() -> Any:
    import numba

    return numba.njit(follow, cache=True, nogil=True)
