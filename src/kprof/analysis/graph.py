"""Who calls whom: the calls of a capture folded into a tree of call paths."""

from __future__ import annotations

from dataclasses import dataclass, field

from kprof.analysis.paths import PathTree


@dataclass
class Node:
    """All calls of one function by one path; times in ticks.

    Attributes
    ----------
    function
        Index of `Stream.functions`, or -1 for what stands above all paths.
    calls
        Calls that began in the capture (orphan exits are none).
    total, own
        Sums of their elapsed and net times.
    """

    function: int
    calls: int = 0
    total: int = 0
    own: int = 0
    inside: dict[int, Node] = field(default_factory=dict)

    def ordered(self) -> list[Node]:
        """What is called from here, the largest total first."""
        return sorted(self.inside.values(), key=lambda node: (-node.total, node.function))

    def merge(self, other: Node) -> None:
        """Add the calls of another tree."""
        waiting = [(self, other)]
        while waiting:
            into, node = waiting.pop()
            into.calls += node.calls
            into.total += node.total
            into.own += node.own
            for function, inside in node.inside.items():
                waiting.append((into.inside.setdefault(function, Node(function)), inside))


def call_tree(tree: PathTree) -> Node:
    """The tree as nodes, those of all contexts together."""
    tree = tree.merged()
    root = Node(-1)
    nodes: list[Node] = []
    columns = (tree.function, tree.parent, tree.calls, tree.elapsed, tree.net)
    for function, parent, calls, total, own in zip(*(c.tolist() for c in columns), strict=True):
        node = Node(function, calls, total, own)
        (nodes[parent] if parent >= 0 else root).inside[function] = node
        nodes.append(node)
    root.total = sum(node.total for node in root.inside.values())
    return root


def backtraces(root: Node, function: int) -> list[tuple[tuple[int, ...], Node]]:
    """Every path that leads to a function, from the outermost caller to it; by total time."""
    found: list[tuple[tuple[int, ...], Node]] = []
    open_nodes: list[tuple[tuple[int, ...], Node]] = [((), root)]
    while open_nodes:
        above, node = open_nodes.pop()
        here = (*above, node.function) if node.function >= 0 else above
        if node.function == function:
            found.append((here, node))
        open_nodes += [(here, inside) for inside in node.inside.values()]
    return sorted(found, key=lambda item: (-item[1].total, item[0]))


def callers(root: Node, function: int) -> list[tuple[int, Node]]:
    """The direct callers of a function (-1: nothing that is known), and its figures from each.

    The total from a caller counts the outermost call only where one is inside another.
    """
    found: dict[int, Node] = {}
    open_nodes: list[tuple[Node, frozenset[int]]] = [(root, frozenset())]
    while open_nodes:
        node, around = open_nodes.pop()
        for inside in node.inside.values():
            within = around
            if inside.function == function:
                row = found.setdefault(node.function, Node(function))
                row.calls += inside.calls
                row.own += inside.own
                row.total += 0 if node.function in around else inside.total
                within = around | {node.function}
            open_nodes.append((inside, within))
    return sorted(found.items(), key=lambda item: (-item[1].total, item[0]))


def callees(root: Node, function: int) -> Node:
    """One tree of all that is called from a function, whoever called it.

    A recursive call stays in the tree of the outer one.
    """
    merged = Node(function)
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        if node.function == function:
            merged.merge(node)
        else:
            open_nodes += node.inside.values()
    return merged
