"""Call paths: all calls that were made along the same way are one node of one tree.

Graphs, flame graphs and profiles are made of it::

    tree = call_paths(stream)          # contexts stand below their calls
    tree = tree.merged()               # or paths from all contexts are one
    tree = tree.largest(20_000, 250)   # and small and deep ones are left out
    for node in range(len(tree)):
        tree.function[node], tree.parent[node], tree.calls[node], tree.elapsed[node]

A node's times are sums over its calls. Of an orphan exit only its net time counts, as in the
summary. A function's calls, `net` and `outer` times add up to the summary's.
Memory grows with the number of paths, not with the capture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.codes import INNER, LEAVE, LOST, ORPHAN
from kprof.analysis.replay.columns import Rows
from kprof.analysis.stream import Stream

CONTEXT = 1 << 20
"""`PathTree.function` of context 0; the others follow it."""

Column = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PathTree:
    """Nodes in an order in which parents come before their children; int64 columns.

    Attributes
    ----------
    function
        An index of `Stream.functions`; of a context's node its number and `CONTEXT`.
    parent
        The node that it was called from, -1 at the bottom.
    calls
        Calls that began in the capture (orphan exits are none).
    elapsed, net
        Sums over the calls, in ticks.
    outer
        What `elapsed` has of calls that are not inside another of their function.
    stacked
        The net time of the node and of all above it: its width in a flame graph. It is `elapsed`
        but where entries were not seen, or calls inside are left out.
    left_out
        How many nodes were too small to be kept.
    """

    function: Column
    parent: Column
    calls: Column
    elapsed: Column
    net: Column
    outer: Column
    stacked: Column
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def _sums(self) -> tuple[Column, Column, Column, Column, Column]:
        return self.calls, self.elapsed, self.net, self.outer, self.stacked

    def path(self, node: int) -> list[int]:
        """The functions of a node from the bottom on; the last is its own."""
        found = []
        while node >= 0:
            found.append(int(self.function[node]))
            node = int(self.parent[node])
        return found[::-1]

    def merged(self) -> PathTree:
        """The same without contexts: the paths of all of them are one."""
        return self.without(self.function >= CONTEXT)

    def without(self, gone: NDArray[np.bool_]) -> PathTree:
        """The same without some nodes: what was on top of one stands on what it stood on.

        The times of the nodes that go are not counted; shape (nodes,).
        """
        if not gone.any():
            return self
        into: list[int] = []
        made: dict[tuple[int, int], int] = {}
        columns = (self.function.tolist(), self.parent.tolist(), gone.tolist())
        for function, parent, goes in zip(*columns, strict=True):
            below = into[parent] if parent >= 0 else -1
            into.append(below if goes else made.setdefault((below, function), len(made)))
        return self._summed(np.where(gone, -1, np.array(into, np.int64)), list(made))

    def largest(self, nodes: int, depth: int) -> PathTree:
        """At most so many nodes, those of the most time; what is deeper counts at this depth.

        The lowest nodes are at depth 0. A node that is kept has its parent kept.
        """
        into: list[int] = []
        made: list[tuple[int, int]] = []
        level: list[int] = []
        for function, parent in zip(self.function.tolist(), self.parent.tolist(), strict=True):
            above = level[into[parent]] + 1 if parent >= 0 else 0
            if above >= depth:
                into.append(into[parent])
                continue
            into.append(len(made))
            made.append((into[parent] if parent >= 0 else -1, function))
            level.append(above)
        tree = self if len(made) == len(self) else self._flat(np.array(into, np.int64), made)
        return tree._most(nodes)

    def _summed(self, into: Column, made: list[tuple[int, int]]) -> PathTree:
        """The nodes `made` of (parent, function), with the sums of those that go `into` them."""
        sums = np.zeros((5, len(made)), np.int64)
        kept = into >= 0
        for row, column in zip(sums, self._sums, strict=True):
            np.add.at(row, into[kept], column[kept])
        table = np.array(made, np.int64).reshape(-1, 2)
        calls, elapsed, net, outer, stacked = sums
        return PathTree(
            table[:, 1].copy(), table[:, 0].copy(), calls, elapsed, net, outer, stacked,
            self.left_out,
        )  # fmt: skip

    def _flat(self, into: Column, made: list[tuple[int, int]]) -> PathTree:
        """As `_summed`, of nodes of which one holds what was on top of it."""
        tree = self._summed(into, made)
        own = np.full(len(made), -1, np.int64)
        own[into[::-1]] = np.arange(len(into))[::-1]  # the lowest of those that become one
        return replace(
            tree, elapsed=self.elapsed[own], outer=self.outer[own], stacked=self.stacked[own]
        )

    def _most(self, nodes: int) -> PathTree:
        if len(self) <= nodes:
            return self
        kept = np.zeros(len(self), np.bool_)
        kept[np.argsort(-self.stacked, kind="stable")[:nodes]] = True
        stays = kept.tolist()
        for node, parent in enumerate(self.parent.tolist()):
            stays[node] = stays[node] and (parent < 0 or stays[parent])
        kept = np.array(stays, np.bool_)
        number = np.append(np.cumsum(kept) - 1, -1)
        calls, elapsed, net, outer, stacked = (column[kept] for column in self._sums)
        gone = self.left_out + int(len(self) - kept.sum())
        return PathTree(
            self.function[kept],
            number[self.parent[kept]],
            calls,
            elapsed,
            net,
            outer,
            stacked,
            gone,
        )


def call_paths(stream: Stream) -> PathTree:
    """The tree of all calls of a stream, whose outcome is known afterwards."""
    sums = PathSums()
    for rows in stream.rows():
        ended = rows.select((rows.kind == LEAVE) & (rows.flags & LOST == 0))
        sums.add(ended, ended.path)
    return sums.tree(*stream.paths)


class PathSums:
    """Collects rows of calls that ended into the sums of their paths."""

    def __init__(self) -> None:
        self._table = np.zeros((5, 1024), np.int64)

    def add(self, rows: Rows, path: Column) -> None:
        """Count these LEAVE rows by the numbers of their paths."""
        if not len(rows):
            return
        wanted = int(path.max()) + 1
        if wanted > self._table.shape[1]:
            table = np.zeros((5, 2 * wanted), np.int64)
            table[:, : self._table.shape[1]] = self._table
            self._table = table
        calls, elapsed, net, outer, ended = self._table
        flags = rows.flags
        whole = rows.elapsed
        np.add.at(ended, path, 1)
        np.add.at(net, path, rows.net)
        if not flags.any():
            np.add.at(calls, path, 1)
            np.add.at(elapsed, path, whole)
            np.add.at(outer, path, whole)
            return
        orphan = (flags & ORPHAN) != 0
        whole = np.where(orphan, rows.net, whole)
        np.add.at(calls, path, (~orphan).astype(np.int64))
        np.add.at(elapsed, path, whole)
        np.add.at(outer, path, np.where((flags & INNER == 0) | orphan, whole, 0))

    def tree(self, code: Column, parent: Column) -> PathTree:
        """The tree of these paths, path 0 below all; what ends each, and what it continues."""
        sums = np.zeros((5, len(code)), np.int64)
        used = min(len(code), self._table.shape[1])
        sums[:, :used] = self._table[:, :used]
        calls, elapsed, net, outer, ended = sums[:, 1:]
        stacked, parents = net.tolist(), (parent[1:] - 1).tolist()
        for node in range(len(parents) - 1, -1, -1):
            if parents[node] >= 0:
                stacked[parents[node]] += stacked[node]
        stacks = np.array(stacked, np.int64)
        tree = PathTree(code[1:], parent[1:] - 1, calls, elapsed, net, outer, stacks)
        # An orphan that was expected and did not come has a path, but was no call.
        return tree.without((ended == 0) & (tree.function < CONTEXT))
