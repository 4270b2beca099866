"""What a filter decides by a call's path, and the paths of the calls that it keeps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.filters import Filter
from kprof.analysis.paths import CONTEXT
from kprof.analysis.stream import Stream

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]


class KeptPaths:
    """What is decided by a call's path, and the paths that are left.

    Attributes
    ----------
    static
        By path of the stream: the conditions on functions, depth and task hold.
    inner
        By kept path: the same function is around its end.
    """

    def __init__(self, stream: Stream, chosen: Filter) -> None:
        self._stream, self._chosen = stream, chosen
        functions = stream.functions
        self._only = chosen.named(functions, "-F", chosen.only).tolist()
        self._without = chosen.named(functions, "-N", chosen.without).tolist()
        self._hidden = chosen.named(functions, "-H", chosen.hide).tolist()
        self._tasks = frozenset(chosen.tasks)
        # By path: how deep, how far below -F (-1: not), below -N, in a task of --task; kept path.
        self._state: list[tuple[int, int, bool, bool]] = [(-2, -1, False, True)]
        self._node = [0]
        self._static = [False]
        self._made: dict[tuple[int, int], int] = {}
        self._code, self._parent, self._inner = [0], [0], [False]
        self._cut: dict[tuple[int, int], int] = {}
        self.static: Mask = np.zeros(1, np.bool_)
        self.inner: Mask = np.zeros(1, np.bool_)
        self._nodes = np.zeros(1, np.int64)

    @property
    def table(self) -> tuple[Column, Column]:
        """As `Stream.paths`."""
        return np.array(self._code, np.int64), np.array(self._parent, np.int64)

    def extend(self) -> None:
        """Decide on the paths that the stream has had since the last time."""
        codes, parents = self._stream.paths
        first = len(self._node)
        if first == len(codes):
            return
        for code, parent in zip(codes[first:].tolist(), parents[first:].tolist(), strict=True):
            self._add(code, parent)
        self.static = np.array(self._static, np.bool_)
        self._nodes = np.array(self._node, np.int64)
        self.inner = np.array(self._inner, np.bool_)

    def _add(self, code: int, parent: int) -> None:
        chosen = self._chosen
        depth, level, without, mine = self._state[parent]
        depth += 1
        stays = False
        if code >= CONTEXT:
            mine = not self._tasks or code - CONTEXT in self._tasks
        else:
            level = level + 1 if level >= 0 else 0 if chosen.only and self._only[code] else -1
            without = without or self._without[code]
            stays = mine and not without and not self._hidden[code]
            if chosen.only:
                stays = stays and level >= 0
            if chosen.depth is not None:
                stays = stays and (level if chosen.only else depth) < chosen.depth
        self._state.append((depth, level, without, mine))
        self._static.append(stays)
        below = self._node[parent]
        self._node.append(self._continued(below, code) if stays or code >= CONTEXT else below)

    def _continued(self, below: int, code: int) -> int:
        """The kept path that continues `below`."""
        node = self._made.setdefault((below, code), len(self._code))
        if node == len(self._code):
            self._code.append(code)
            self._parent.append(below)
            above = below
            while above and self._code[above] != code:
                above = self._parent[above]
            self._inner.append(above > 0)
        return node

    def of(self, path: Column, around: Column | None) -> Column:
        """The kept paths of calls; of the outermost calls `around` each none is kept."""
        nodes = self._nodes[path]
        if around is None or not (around > 0).any():
            return nodes
        for row in np.flatnonzero(around > 0).tolist():
            nodes[row] = self._above(int(path[row]), int(around[row]))
        self.inner = np.array(self._inner, np.bool_)
        return nodes

    def _above(self, path: int, around: int) -> int:
        """The kept path of `path` without its `around` outermost calls."""
        found = self._cut.get((path, around))
        if found is not None:
            return found
        codes, parents = self._stream.paths
        kept: list[int] = []
        at = path
        while self._state[at][0] >= around:
            if self._static[at]:
                kept.append(int(codes[at]))
            at = int(parents[at])
        while self._state[at][0] >= 0:
            at = int(parents[at])
        node = self._node[at]
        for code in reversed(kept):
            node = self._continued(node, code)
        self._cut[path, around] = node
        return node
