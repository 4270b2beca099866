"""One function of the merged call tree: what it calls, and from where it is called."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.paths import PathTree


def focus(tree: PathTree, function: int) -> tuple[PathTree, int]:
    """Two trees in one: the function with all that it calls, and the function with its callers.

    In the first a call inside a call of its own function counts where it was made; in the second
    each node has what its paths spent in the function.

    Returns
    -------
    PathTree, int
        The trees, and the root of the second; the first has node 0. Both are empty where the
        function is not in `tree`.
    """
    made = _Merged()
    parents, functions = tree.parent.tolist(), tree.function.tolist()
    place: dict[int, int] = {}
    for node, (up, fn) in enumerate(zip(parents, functions, strict=True)):
        if up in place:
            place[node] = made.child(place[up], fn)
        elif fn == function:
            place[node] = made.child(-1, fn)
        else:
            continue
        made.add(place[node], tree, node, tree.elapsed if place[node] else tree.outer)
        if place[node] and fn == function:
            made.elapsed(0, int(tree.outer[node]))
    second = len(made.parent)
    for node, fn in enumerate(functions):
        if fn != function:
            continue
        at = made.child(-2, fn)
        made.add(at, tree, node, tree.outer)
        up = parents[node]
        while up >= 0:
            at = made.child(at, functions[up])
            made.add(at, tree, node, tree.outer)
            up = parents[up]
    return made.tree(), second


class _Merged:
    """Nodes by parent and function, with their sums."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self._function: list[int] = []
        self._sums: list[list[int]] = []
        self._known: dict[tuple[int, int], int] = {}

    def child(self, parent: int, function: int) -> int:
        key = (parent, function)
        if key not in self._known:
            self._known[key] = len(self.parent)
            self.parent.append(max(parent, -1))
            self._function.append(function)
            self._sums.append([0, 0, 0])
        return self._known[key]

    def add(self, at: int, tree: PathTree, node: int, elapsed: NDArray[np.int64]) -> None:
        sums = self._sums[at]
        sums[0] += int(tree.calls[node])
        sums[2] += int(tree.net[node])
        self.elapsed(at, int(elapsed[node]))

    def elapsed(self, at: int, ticks: int) -> None:
        self._sums[at][1] += ticks

    def tree(self) -> PathTree:
        sums = np.array(self._sums, np.int64).reshape(-1, 3)
        calls, elapsed, net = sums.T
        parent, function = np.array(self.parent, np.int64), np.array(self._function, np.int64)
        return PathTree(function, parent, calls, elapsed, net, elapsed, elapsed)
