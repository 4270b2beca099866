"""Who calls whom: call paths summed up by function and by caller and callee."""

from __future__ import annotations

from dataclasses import dataclass, field

from kprof.export.roots import INTERRUPTS, root_label, rooted_paths
from kprof.export.view import View


@dataclass
class Node:
    """A function, or a context: calls, and its time in ticks.

    `total` is the elapsed time of the summary: of outermost calls, interrupts on top included.
    """

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


def call_graph(view: View) -> Graph:
    """Sum up paths; a function inside itself counts once in its total."""
    graph, paths = Graph(), rooted_paths(view)
    functions, parents = paths.function.tolist(), paths.parent.tolist()
    columns = (paths.calls.tolist(), paths.net.tolist(), paths.outer.tolist())
    for node, (calls, net, outer) in enumerate(zip(*columns, strict=True)):
        function, parent = functions[node], parents[node]
        found = graph.nodes.get(function)
        if found is None:
            found = graph.nodes[function] = Node(_name(view, function))
        found.calls += calls
        found.net += net
        if parent >= 0:
            edge = graph.edges.setdefault((functions[parent], function), Edge())
            edge.calls += calls
            edge.total += outer
    assert view.tree is not None
    for function, outer in zip(view.tree.function.tolist(), view.tree.outer.tolist(), strict=True):
        if function in graph.nodes:
            graph.nodes[function].total += outer
    return graph


def _name(view: View, function: int) -> str:
    if function >= INTERRUPTS:
        return root_label(view, function)
    return view.functions[function].name
