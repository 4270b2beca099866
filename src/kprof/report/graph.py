"""The call graph in text, in the manner of ``uftrace graph``."""

from __future__ import annotations

from collections.abc import Iterator

from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Mask
from kprof.analysis.graph import Node, backtraces, call_tree, callees
from kprof.analysis.questions import function_number
from kprof.report.units import Units, safe_name

_TRACES = 20
_DEEPEST = 100


def graph_lines(timeline: Timeline, function: str, keep: Mask | None = None) -> Iterator[str]:
    """The whole call tree, or with a function's name what leads to it and what it calls.

    Raises
    ------
    UsageError
        There is no such function.
    """
    writer = _Writer(timeline)
    tree = call_tree(timeline, keep)
    if not function:
        yield writer.heading()
        yield from writer.tree(tree)
        return
    number = function_number(timeline, function)
    traces = backtraces(tree, number)
    yield f"# {safe_name(function)}: {sum(node.calls for _, node in traces)} calls"
    yield ""
    yield "backtraces:"
    for above, node in traces[:_TRACES]:
        names = " <- ".join(writer.name(fn) for fn in reversed(above))
        yield f"  {writer.figures(node)}  {names}"
    if len(traces) > _TRACES:
        yield f"  and {len(traces) - _TRACES} more"
    yield ""
    yield "called from:"
    for caller, node in callers(tree, number):
        name = "(nothing)" if caller < 0 else writer.name(caller)
        yield f"  {writer.figures(node)}  {name}"
    yield ""
    yield writer.heading()
    root = Node(-1)
    root.inside[number] = callees(tree, number)
    yield from writer.tree(root)


def graph_json(timeline: Timeline, keep: Mask | None = None) -> dict[str, object]:
    """The call tree as a list of nodes, parents before what is inside; times in microseconds."""
    value = Units(timeline.info.clock_hz).value
    rows: list[dict[str, object]] = []
    waiting: list[tuple[int | None, Node]] = [
        (None, node) for node in reversed(call_tree(timeline, keep).ordered())
    ]
    while waiting:
        parent, node = waiting.pop()
        row: dict[str, object] = {
            "name": timeline.functions[node.function].name,
            "parent": parent,
            "calls": node.calls,
            "total_us": value(node.total),
            "self_us": value(node.own),
        }
        waiting += [(len(rows), inside) for inside in reversed(node.ordered())]
        rows.append(row)
    return {"graph": rows}


def callers(tree: Node, function: int) -> list[tuple[int, Node]]:
    """The direct callers of a function (-1: nothing that is known), and its figures from each."""
    found: dict[int, Node] = {}
    open_nodes = [tree]
    while open_nodes:
        node = open_nodes.pop()
        for inside in node.inside.values():
            if inside.function == function:
                found.setdefault(node.function, Node(function)).merge(inside)
            open_nodes.append(inside)
    return sorted(found.items(), key=lambda item: (-item[1].total, item[0]))


class _Writer:
    def __init__(self, timeline: Timeline) -> None:
        self._units = Units(timeline.info.clock_hz)
        self._names = [safe_name(entry.name) for entry in timeline.functions]

    def name(self, function: int) -> str:
        return self._names[function]

    def heading(self) -> str:
        return f"{'total us':>12} {'self us':>12} {'calls':>9}  call graph"

    def figures(self, node: Node) -> str:
        text = self._units.text
        return f"{text(node.total):>12} {text(node.own):>12} {node.calls:>9}"

    def tree(self, root: Node) -> Iterator[str]:
        waiting = [("", "", node) for node in reversed(root.ordered())]
        while waiting:
            prefix, branch, node = waiting.pop()
            yield f"{self.figures(node)}  {prefix}{branch}{self.name(node.function)}"
            if branch:
                prefix += "   " if branch == "`- " else "|  "
            inside = node.ordered()
            if len(prefix) > _DEEPEST * 3:
                inside = []
                yield f"{'':>35}  {prefix}..."
            waiting += [
                (prefix, "+- " if place else "`- ", child)
                for place, child in enumerate(reversed(inside))
            ]
