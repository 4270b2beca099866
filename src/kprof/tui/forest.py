"""Trees that unfold: which lines there are, and moving among them. No terminal in here.

A `Forest` is a tree of numbered nodes; what they are (calls, or paths that calls were made along)
only its maker knows. `Unfolded` is the list of its visible lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Forest:
    """Nodes with parents.

    Attributes
    ----------
    parent
        Integers, shape (nodes,); -1 for a root.
    weight
        Shape (nodes,): what `longest` compares.
    order
        All nodes, siblings in the order in which they stand; a search goes through them so.
    name
        Shape (nodes,): which name a node has; a search matches names.
    """

    parent: NDArray[np.integer[Any]]
    weight: NDArray[np.integer[Any]]
    order: NDArray[np.integer[Any]]
    name: NDArray[np.integer[Any]]

    def __post_init__(self) -> None:
        order = self.order.astype(np.int32)
        grouped = order[np.argsort(self.parent[order], kind="stable")]
        object.__setattr__(self, "_grouped", grouped)
        object.__setattr__(self, "_keys", self.parent[grouped].astype(np.int32))

    def children(self, node: int) -> list[int]:
        """The nodes whose parent is `node` (-1: the roots), in order."""
        keys: NDArray[np.int32] = self.__dict__["_keys"]
        first, last = np.searchsorted(keys, np.array([node, node + 1], np.int32))
        grouped: NDArray[np.int32] = self.__dict__["_grouped"]
        return [int(child) for child in grouped[first:last]]

    def has_children(self, node: int) -> bool:
        """Is there anything below `node`?"""
        keys: NDArray[np.int32] = self.__dict__["_keys"]
        place = int(np.searchsorted(keys, np.int32(node)))
        return place < len(keys) and int(keys[place]) == node

    def path(self, node: int) -> list[int]:
        """From the root to `node`."""
        found = [node]
        while (up := int(self.parent[found[-1]])) >= 0:
            found.append(up)
        return found[::-1]


class Unfolded:
    """The visible lines of a forest: (node, depth), the roots at first."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self.lines: list[tuple[int, int]] = [(root, 0) for root in forest.children(-1)]
        self._open: set[int] = set()

    def __len__(self) -> int:
        return len(self.lines)

    def is_open(self, line: int) -> bool:
        """Are the children of this line's node visible?"""
        return self.lines[line][0] in self._open

    def toggle(self, line: int) -> None:
        """Fold or unfold."""
        if self.is_open(line):
            self.fold(line)
        else:
            self.unfold(line)

    def unfold(self, line: int) -> int:
        """Show the children; how many lines came."""
        node, depth = self.lines[line]
        children = self.forest.children(node)
        if node in self._open or not children:
            return 0
        self._open.add(node)
        self.lines[line + 1 : line + 1] = [(child, depth + 1) for child in children]
        return len(children)

    def fold(self, line: int) -> None:
        """Hide everything below."""
        end = self._end(line)
        for node, _ in self.lines[line:end]:
            self._open.discard(node)
        del self.lines[line + 1 : end]

    def unfold_all(self, line: int, most: int = 5000) -> None:
        """Show everything below, up to `most` lines."""
        end = self._end(line)
        at = line
        while at < end and end - line < most:
            end += self.unfold(at)
            at += 1

    def fold_children(self, line: int) -> None:
        """Hide what is below the children."""
        depth = self.lines[line][1]
        at = line + 1
        while at < len(self.lines) and self.lines[at][1] > depth:
            self.fold(at)
            at += 1

    def unfold_children(self, line: int) -> None:
        """Show the children of the children."""
        self.unfold(line)
        depth = self.lines[line][1]
        at = line + 1
        while at < len(self.lines) and self.lines[at][1] > depth:
            if self.lines[at][1] == depth + 1:
                self.unfold(at)
            at += 1

    def reveal(self, node: int) -> int:
        """Unfold the way to a node; its line."""
        line = -1
        for step in self.forest.path(node):
            if line >= 0:
                self.unfold(line)
            line = self._find(step, line + 1)
        return line

    def parent(self, line: int) -> int:
        """The line of the parent, or the line itself."""
        depth = self.lines[line][1]
        return next((at for at in range(line, -1, -1) if self.lines[at][1] < depth), line)

    def sibling(self, line: int, step: int) -> int:
        """The line of the next sibling in the direction `step`, or the line itself."""
        depth = self.lines[line][1]
        at = line + step
        while 0 <= at < len(self.lines) and self.lines[at][1] >= depth:
            if self.lines[at][1] == depth:
                return at
            at += step
        return line

    def longest(self, line: int) -> int:
        """The line of the child of the most time, which is unfolded for it."""
        children = self.forest.children(self.lines[line][0])
        if not children:
            return line
        self.unfold(line)
        best = max(children, key=lambda child: int(self.forest.weight[child]))
        return self._find(best, line + 1)

    def search(self, line: int, step: int, names: set[int]) -> int | None:
        """The line of the next node, folded ones too, that has one of `names`; round the end.

        Parameters
        ----------
        step
            1 forward, -1 back.
        """
        order = self.forest.order
        found = np.flatnonzero(np.isin(self.forest.name[order], list(names)))
        if not len(found):
            return None
        here = int(np.flatnonzero(order == self.lines[line][0])[0]) if self.lines else 0
        place = int(np.searchsorted(found, here + 1 if step > 0 else here))
        place = place if step > 0 else place - 1
        return self.reveal(int(order[found[place % len(found)]]))

    def _end(self, line: int) -> int:
        depth = self.lines[line][1]
        end = line + 1
        while end < len(self.lines) and self.lines[end][1] > depth:
            end += 1
        return end

    def _find(self, node: int, start: int) -> int:
        lines: Sequence[tuple[int, int]] = self.lines
        return next(at for at in range(start, len(lines)) if lines[at][0] == node)
