"""Who calls whom: call paths summed up by function and by caller and callee."""

from __future__ import annotations

from dataclasses import dataclass, field

from kprof.analysis.paths import PathTree
from kprof.analysis.stream import Stream
from kprof.export.roots import INTERRUPTS, root_label


@dataclass
class Node:
    """A function, or a context: calls, and its time in ticks; `total` of outermost calls only."""

    name: str
    calls: int = 0
    net: int = 0
    total: int = 0


@dataclass
class Edge:
    """Calls of one function by another; `total` of calls that are outermost of their function."""

    calls: int = 0
    total: int = 0


@dataclass(frozen=True)
class Graph:
    """Nodes by function (`PathTree.function`), edges by (caller, callee)."""

    nodes: dict[int, Node] = field(default_factory=dict)
    edges: dict[tuple[int, int], Edge] = field(default_factory=dict)


def call_graph(stream: Stream, paths: PathTree) -> Graph:
    """Sum up paths; a function inside itself counts once in its total."""
    graph = Graph()
    functions, parents = paths.function.tolist(), paths.parent.tolist()
    columns = (paths.calls.tolist(), paths.net.tolist(), paths.outer.tolist())
    for node, (calls, net, outer) in enumerate(zip(*columns, strict=True)):
        function, parent = functions[node], parents[node]
        found = graph.nodes.get(function)
        if found is None:
            found = graph.nodes[function] = Node(_name(stream, function))
        found.calls += calls
        found.net += net
        found.total += outer
        if parent >= 0:
            edge = graph.edges.setdefault((functions[parent], function), Edge())
            edge.calls += calls
            edge.total += outer
    return graph


def _name(stream: Stream, function: int) -> str:
    if function >= INTERRUPTS:
        return root_label(stream, function)
    return stream.functions[function].name
