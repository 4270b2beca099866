"""Callgrind's profile format, for KCachegrind, QCachegrind and callgrind_annotate.

Cost is time; the contexts stand as functions that call what runs in them, idle and unattributed
time as functions of their own. Of a function that is inside itself only the outermost call counts
in the cost of calls. Format: https://valgrind.org/docs/manual/cl-format.html, version 1.
"""

from __future__ import annotations

from typing import BinaryIO

from kprof.export.graph import call_graph
from kprof.export.labels import plain
from kprof.export.roots import rest_of
from kprof.export.units import Scale
from kprof.export.view import View

_LONG = {"us": "Microseconds", "ns": "Nanoseconds"}


def write(view: View, out: BinaryIO) -> None:
    """Write the functions of the capture and their calls."""
    scale = Scale(view.info.clock_hz)
    graph = call_graph(view)
    ledger = view.ledger
    lines = [
        "# callgrind format",
        "version: 1",
        "creator: kprof",
        f"cmd: {plain(view.info.source)}",
        "positions: line",
        f"event: {scale.unit} : {_LONG[scale.unit]}",
        f"events: {scale.unit}",
        f"summary: {scale.whole(ledger.elapsed)}",
    ]
    callees: dict[int, list[tuple[int, int, int]]] = {}
    for (caller, callee), edge in graph.edges.items():
        callees.setdefault(caller, []).append((callee, edge.calls, edge.total))
    numbers = {function: k + 1 for k, function in enumerate(graph.nodes)}
    told: set[int] = set()

    def name(function: int) -> str:
        if function in told:
            return f"({numbers[function]})"
        told.add(function)
        return f"({numbers[function]}) {plain(graph.nodes[function].name)}"

    for function, node in graph.nodes.items():
        lines += ["", "fl=(1)" if told else "fl=(1) ???", f"fn={name(function)}"]
        lines.append(f"0 {scale.whole(node.net)}")
        for callee, calls, total in callees.get(function, ()):
            lines += [f"cfn={name(callee)}", f"calls={calls} 0", f"0 {scale.whole(total)}"]
    for label, ticks in rest_of(ledger):
        lines += ["", "fl=(1)" if told else "fl=(1) ???", f"fn={label}"]
        lines.append(f"0 {scale.whole(ticks)}")
    lines += ["", f"totals: {scale.whole(ledger.elapsed)}", ""]
    out.write("\n".join(lines).encode("utf-8", "backslashreplace"))
