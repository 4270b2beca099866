"""Who calls whom: call paths summed up by function and by caller and callee."""

from __future__ import annotations

from dataclasses import dataclass, field

from kprof.analysis.stream import Stream
from kprof.export.labels import context_label
from kprof.export.paths import CONTEXT, Paths


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
    """Nodes by function (`Paths.function`), edges by (caller, callee)."""

    nodes: dict[int, Node] = field(default_factory=dict)
    edges: dict[tuple[int, int], Edge] = field(default_factory=dict)


def call_graph(stream: Stream, paths: Paths) -> Graph:
    """Sum up paths; a function inside itself counts once in its total."""
    graph = Graph()
    children: list[list[int]] = [[] for _ in paths.parent]
    for node, parent in enumerate(paths.parent):
        if parent >= 0:
            children[parent].append(node)
    for root in (node for node, parent in enumerate(paths.parent) if parent < 0):
        _walk(graph, stream, paths, children, root)
    return graph


def _walk(graph: Graph, stream: Stream, paths: Paths, children: list[list[int]], root: int) -> None:
    inside: dict[int, int] = {}
    todo = [root]
    while todo:
        node = todo.pop()
        if node < 0:
            inside[paths.function[~node]] -= 1
            continue
        function, parent = paths.function[node], paths.parent[node]
        outermost = not inside.get(function)
        inside[function] = inside.get(function, 0) + 1
        found = graph.nodes.get(function)
        if found is None:
            found = graph.nodes[function] = Node(_name(stream, function))
        found.calls += paths.calls[node]
        found.net += paths.net[node]
        found.total += paths.total[node] if outermost else 0
        if parent >= 0:
            edge = graph.edges.setdefault((paths.function[parent], function), Edge())
            edge.calls += paths.calls[node]
            edge.total += paths.total[node] if outermost else 0
        todo.append(~node)
        todo.extend(reversed(children[node]))


def _name(stream: Stream, function: int) -> str:
    if function >= CONTEXT:
        return context_label(function - CONTEXT)
    return stream.functions[function].name
