"""The call graph in text, in the manner of ``uftrace graph``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kprof.analysis.graph import Node, backtraces, call_tree, callees, callers
from kprof.analysis.paths import PathTree
from kprof.analysis.questions import function_number
from kprof.analysis.stream import Stream
from kprof.report.style import PLAIN, Style
from kprof.report.units import Units, counted, safe_name

_TRACES = 20
_DEEPEST = 100


def graph_lines(
    stream: Stream, paths: PathTree, function: str = "", style: Style = PLAIN
) -> Iterator[str]:
    """The whole call tree, or with a function's name what leads to it and what it calls.

    Raises
    ------
    UsageError
        There is no such function.
    """
    writer = _Writer(stream, style)
    tree = call_tree(paths)
    if not function:
        yield writer.heading()
        yield from writer.tree(tree)
        return
    number = function_number(stream, function)
    traces = backtraces(tree, number)
    yield f"# {safe_name(function)}: {counted(sum(node.calls for _, node in traces), 'call')}"
    yield ""
    yield writer.heading("backtraces")
    for above, node in traces[:_TRACES]:
        names = " <- ".join(writer.name(fn) for fn in reversed(above))
        yield f"{writer.figures(node)}  {names}"
    if len(traces) > _TRACES:
        yield f"{'':>35}  and {len(traces) - _TRACES} more"
    yield ""
    yield writer.heading("called from")
    for caller, node in callers(tree, number):
        name = "(nothing)" if caller < 0 else writer.name(caller)
        yield f"{writer.figures(node)}  {name}"
    yield ""
    yield writer.heading()
    yield from writer.tree(_callee_tree(tree, number))


def graph_json(stream: Stream, paths: PathTree, function: str = "") -> dict[str, object]:
    """The call tree as a list of nodes, parents before what is inside; times in microseconds.

    With it what makes it doubtful: ambiguous switches, and how many calls were inside each other.

    Of one function: its backtraces, its figures by caller, and the tree of what it calls.
    """
    names = [entry.name for entry in stream.functions]
    value = Units(stream.info.clock_hz).value
    tree = call_tree(paths)

    def figures(node: Node) -> dict[str, object]:
        return {
            "calls": node.calls,
            "total_us": value(node.total),
            "self_us": value(node.own),
        }

    outcome = stream.outcome
    assert outcome is not None
    doubts = {
        "switches": outcome.switches,
        "ambiguous_switches": outcome.ambiguous,
        "deepest": outcome.deepest + 1,
    }
    if function:
        number = function_number(stream, function)
        return {
            "name": function,
            "backtraces": [
                {"path": [names[fn] for fn in above], **figures(node)}
                for above, node in backtraces(tree, number)
            ],
            "called_from": [
                {"name": None if caller < 0 else names[caller], **figures(node)}
                for caller, node in callers(tree, number)
            ],
            "graph": _rows(_callee_tree(tree, number), names, figures),
            **doubts,
        }
    return {"graph": _rows(tree, names, figures), **doubts}


def _rows(
    tree: Node, names: list[str], figures: Callable[[Node], dict[str, object]]
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    waiting: list[tuple[int | None, Node]] = [(None, node) for node in reversed(tree.ordered())]
    while waiting:
        parent, node = waiting.pop()
        waiting += [(len(rows), inside) for inside in reversed(node.ordered())]
        rows.append({"name": names[node.function], "parent": parent, **figures(node)})
    return rows


def _callee_tree(tree: Node, function: int) -> Node:
    root = Node(-1)
    root.inside[function] = callees(tree, function)
    return root


class _Writer:
    def __init__(self, stream: Stream, style: Style) -> None:
        self._style, self._whole = style, stream
        self._units = Units(stream.info.clock_hz)
        self._names = [safe_name(entry.name) for entry in stream.functions]

    def name(self, function: int) -> str:
        return self._style.name(self._names[function])

    def heading(self, what: str = "call graph") -> str:
        return self._style.title(f"{'total us':>12} {'self us':>12} {'calls':>9}  {what}")

    def figures(self, node: Node) -> str:
        text, share, run = self._units.text, self._style.share, self._whole.ledger.run
        total = share(f"{text(node.total):>12}", node.total, run)
        return f"{total} {share(f'{text(node.own):>12}', node.own, run)} {node.calls:>9}"

    def tree(self, root: Node) -> Iterator[str]:
        more, last, down = self._style.tree
        waiting = [("", "", node) for node in reversed(root.ordered())]
        while waiting:
            prefix, branch, node = waiting.pop()
            yield f"{self.figures(node)}  {prefix}{branch}{self.name(node.function)}"
            if branch:
                prefix += "   " if branch == last else down
            inside = node.ordered()
            if len(prefix) > _DEEPEST * 3:
                inside = []
                yield f"{'':>35}  {prefix}..."
            waiting += [
                (prefix, more if place else last, child)
                for place, child in enumerate(reversed(inside))
            ]
