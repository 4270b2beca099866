"""The merged call tree: all calls that were made along the same path are one node.

The flame graphs are drawn of it. A node's elapsed time is its net time and that of all on top of
it: time on the processor. A call whose entry was not seen (orphan exit) is counted with its time,
and not as a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Calls
from kprof.analysis.replay.codes import ORPHAN

MAX_DEPTH = 250
"""Calls deeper than this are counted to the call at this depth."""
MAX_NODES = 20_000
"""The nodes that are kept: those of the most time."""


@dataclass(frozen=True, eq=False)
class PathTree:
    """Nodes in an order in which parents come before their children.

    Attributes
    ----------
    parent
        int64: the node that it was called from, -1 at the bottom.
    function
        int64, the index in `Calls.function`.
    calls, elapsed, net
        int64: sums over its calls, in ticks.
    left_out
        How many nodes were too small to be kept.
    """

    parent: NDArray[np.int64]
    function: NDArray[np.int64]
    calls: NDArray[np.int64]
    elapsed: NDArray[np.int64]
    net: NDArray[np.int64]
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.parent)


def path_tree(calls: Calls, *, max_nodes: int = MAX_NODES) -> PathTree:
    """Merge the calls by their paths, one depth after another."""
    node = np.full(len(calls), -1, np.int64)
    above = np.full(len(calls), -1, np.int64)
    parents: list[NDArray[np.int64]] = []
    functions: list[NDArray[np.int64]] = []
    made = 0
    starts = [0]
    span = int(calls.function.max()) + 1 if len(calls) else 1
    rows = np.flatnonzero(calls.parent < 0)
    order = np.argsort(calls.parent, kind="stable")
    by_parent = calls.parent[order]
    depth = 0
    while len(rows):
        if depth < MAX_DEPTH:
            key = (above[rows] + 1) * span + calls.function[rows]
            distinct, which = np.unique(key, return_inverse=True)
            parents.append(distinct // span - 1)
            functions.append(distinct % span)
            node[rows] = made + which.reshape(-1)
            made += len(distinct)
            starts.append(made)
        else:
            node[rows] = above[rows]
        rows = _children(order, by_parent, rows)
        above[rows] = node[calls.parent[rows]]
        depth += 1
    if not made:
        none = np.empty(0, np.int64)
        return PathTree(none, none, none, none, none)
    parent, function = np.concatenate(parents), np.concatenate(functions)
    seen = (calls.flags & ORPHAN) == 0
    count = np.bincount(node[seen], minlength=made).astype(np.int64)
    net = np.zeros(made, np.int64)
    np.add.at(net, node, calls.net)
    elapsed = net.copy()
    for first, last in reversed(list(pairwise(starts))):
        up = parent[first:last]
        np.add.at(elapsed, up[up >= 0], elapsed[first:last][up >= 0])
    return _largest(PathTree(parent, function, count, elapsed, net), max_nodes)


def _children(
    order: NDArray[np.int64], by_parent: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    start = np.searchsorted(by_parent, rows, "left")
    counts = np.searchsorted(by_parent, rows, "right") - start
    begin = np.repeat(start - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return order[begin + np.arange(int(counts.sum()))]


def _largest(tree: PathTree, most: int) -> PathTree:
    """The `most` nodes of the most elapsed time; a kept node's parent is kept."""
    if len(tree) <= most:
        return tree
    kept = np.zeros(len(tree), np.bool_)
    kept[np.argsort(-tree.elapsed, kind="stable")[:most]] = True
    for node in range(len(tree)):
        above = tree.parent[node]
        kept[node] &= above < 0 or kept[above]
    number = np.cumsum(kept) - 1
    parent = tree.parent[kept]
    return PathTree(
        np.where(parent < 0, -1, number[parent]),
        tree.function[kept],
        tree.calls[kept],
        tree.elapsed[kept],
        tree.net[kept],
        int(len(tree) - kept.sum()),
    )
