"""Calls summed up by call path: the tree that flame graphs, pprof and call graphs are made of.

A *node* is a path, from a context through its calls. Memory grows with the number of paths.
"""

from __future__ import annotations

from dataclasses import dataclass

from kprof.analysis import states
from kprof.analysis.stream import ENTER, LEAVE, StepStream


@dataclass(frozen=True)
class Paths:
    """The nodes of a capture, parents before children; times in ticks.

    Attributes
    ----------
    function
        An index of `StepStream.functions`; of a context's node its number and `CONTEXT`.
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


CONTEXT = 1 << 24
"""`Paths.function` of context 0."""


def call_paths(stream: StepStream) -> Paths:
    """Sum up all calls; `stream.ledger` is complete afterwards."""
    children: dict[int, int] = {}
    function: list[int] = []
    parent: list[int] = []
    calls: list[int] = []
    net: list[int] = []
    tops: dict[int, int] = {}
    context = -1
    top = -1

    def node(below: int, key: int) -> int:
        place = (below + 1) << 32 | key
        found = children.get(place)
        if found is None:
            found = children[place] = len(function)
            function.append(key)
            parent.append(below)
            calls.append(0)
            net.append(0)
        return found

    get = children.get
    for steps in stream:
        rows = steps.rows
        nets = iter(rows.net.tolist())
        counted = iter(((rows.flags & states.ORPHAN) == 0).tolist())
        chosen = steps.kind <= LEAVE
        columns = (steps.kind[chosen], steps.name[chosen], steps.context[chosen])
        for kind, name, own in zip(*(column.tolist() for column in columns), strict=True):
            if own != context:
                tops[context] = top
                context = own
                top = tops.get(own, -1)
                if top < 0:
                    top = node(-1, CONTEXT + own)
            if kind == ENTER:
                found = get((top + 1) << 32 | name)
                top = node(top, name) if found is None else found
            else:
                net[top] += next(nets)
                calls[top] += next(counted)
                top = parent[top]
    total = net.copy()
    for child in range(len(total) - 1, -1, -1):
        if parent[child] >= 0:
            total[parent[child]] += total[child]
    return Paths(function, parent, calls, net, total)
