"""The call graph as a Mermaid flowchart, for Markdown on GitHub and elsewhere.

Mermaid draws at most 500 edges and 50,000 characters by default: the calls that took least are left
out, and a comment says how many.
"""

from __future__ import annotations

from typing import BinaryIO

from kprof.export.graph import call_graph
from kprof.export.labels import plain
from kprof.export.roots import INTERRUPTS
from kprof.export.units import Scale
from kprof.export.view import View

_EDGES = 500
_CHARACTERS = 48_000
_SAFE = frozenset("_.:$ -")


def write(view: View, out: BinaryIO) -> None:
    """Write the call graph of the capture, the largest edges first."""
    scale = Scale(view.info.clock_hz)
    graph = call_graph(view)
    run = max(1, view.ledger.elapsed)
    numbers = {function: k for k, function in enumerate(graph.nodes)}
    edges = sorted(graph.edges.items(), key=lambda item: -item[1].total)
    shown: set[int] = set()
    lines = ["flowchart TD"]
    size, kept = 0, 0

    def show(function: int) -> int:
        if function in shown:
            return 0
        shown.add(function)
        node = graph.nodes[function]
        label = _escaped(node.name)
        if function >= INTERRUPTS:
            lines.append(f'  n{numbers[function]}(["{label}"])')
        else:
            part = f"{100 * node.net / run:.2f}%"
            lines.append(
                f'  n{numbers[function]}["{label}<br/>{node.calls} calls<br/>'
                f'{scale.us(node.net)} us, {part}"]'
            )
        return len(lines[-1]) + 1

    for (caller, callee), edge in edges:
        if kept == _EDGES or size > _CHARACTERS:
            break
        size += show(caller) + show(callee)
        lines.append(f"  n{numbers[caller]} -->|{edge.calls}| n{numbers[callee]}")
        size += len(lines[-1]) + 1
        kept += 1
    if kept < len(edges):
        lines.append(f"  %% {len(edges) - kept} edges that took less are left out")
    out.write(("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))


def _escaped(name: str) -> str:
    """Characters that mean something to Mermaid as its entity codes."""
    return "".join(
        character if character.isalnum() or character in _SAFE else f"#{ord(character)};"
        for character in plain(name)
    )
