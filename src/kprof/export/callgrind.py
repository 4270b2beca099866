"""Callgrind's profile format, for KCachegrind, QCachegrind and callgrind_annotate.

Cost is time; the contexts stand as functions that call what runs in them, idle and unattributed
time as functions of their own. Of a function that is inside itself only the outermost call counts
in the cost of calls. All cost of a function is at the line where it is defined.
Format: https://valgrind.org/docs/manual/cl-format.html, version 1.
"""

from __future__ import annotations

from typing import BinaryIO

from kprof.export.graph import call_graph
from kprof.export.labels import plain
from kprof.export.places import Place
from kprof.export.roots import INTERRUPTS, rest_of
from kprof.export.units import Scale
from kprof.export.view import View

_UNKNOWN = Place("???")
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
    files, names = _Names(), _Names()
    places = [place if place.file else _UNKNOWN for place in view.places]

    def place(function: int) -> Place:
        return places[function] if function < INTERRUPTS else _UNKNOWN

    for function, node in graph.nodes.items():
        own = place(function)
        lines += ["", f"fl={files.of(own.file)}", f"fn={names.of(node.name, function)}"]
        lines.append(f"{own.line} {scale.whole(node.net)}")
        for callee, calls, total in callees.get(function, ()):
            its = place(callee)
            lines.append(f"cfi={files.of(its.file)}")
            lines.append(f"cfn={names.of(graph.nodes[callee].name, callee)}")
            lines += [f"calls={calls} {its.line}", f"{own.line} {scale.whole(total)}"]
    for label, ticks in rest_of(ledger):
        lines += ["", f"fl={files.of(_UNKNOWN.file)}", f"fn={label}"]
        lines.append(f"0 {scale.whole(ticks)}")
    lines += ["", f"totals: {scale.whole(ledger.elapsed)}", ""]
    out.write("\n".join(lines).encode("utf-8", "backslashreplace"))


class _Names:
    """Names by number: in full the first time."""

    def __init__(self) -> None:
        self._numbers: dict[str | int, int] = {}

    def of(self, name: str, key: int | None = None) -> str:
        """What stands for a name; `key` tells two of one name apart."""
        known: str | int = name if key is None else key
        if known in self._numbers:
            return f"({self._numbers[known]})"
        self._numbers[known] = len(self._numbers) + 1
        return f"({self._numbers[known]}) {plain(name)}"
