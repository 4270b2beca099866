"""The call graph in Graphviz' language: `dot -Tsvg`.

A box for each function: calls, net time and its part of the elapsed time. The colour goes from
white to red by the square root of the net time, the function of the most net time being the
reddest. Idle time, and other time of no function, is a dashed box. Edges are calls.
"""

from __future__ import annotations

import math
from typing import BinaryIO

from kprof.export.graph import call_graph
from kprof.export.labels import plain
from kprof.export.roots import INTERRUPTS, rest_of
from kprof.export.units import Scale
from kprof.export.view import View


def write(view: View, out: BinaryIO) -> None:
    """Write the call graph of the capture."""
    scale = Scale(view.info.clock_hz)
    graph = call_graph(view)
    run = max(1, view.ledger.elapsed)
    lines = [
        "digraph calls {",
        f"  label={_quoted(view.info.source)};",
        '  node [shape=box, style=filled, fontname="sans-serif"];',
        '  edge [fontname="sans-serif"];',
    ]
    most = max([1, *(node.net for node in graph.nodes.values())])
    numbers = {function: k for k, function in enumerate(graph.nodes)}
    for function, node in graph.nodes.items():
        if function >= INTERRUPTS:
            lines.append(f"  n{numbers[function]} [label={_quoted(node.name)}, shape=ellipse];")
            continue
        net, total = scale.us(node.net), scale.us(node.total)
        figures = f"{node.calls} calls\\n{net} of {total} us, {100 * node.net / run:.2f}%"
        colour = f"0.020 {0.85 * math.sqrt(max(0, node.net) / most):.3f} 1.000"
        label = _quoted(node.name)[:-1] + f'\\n{figures}"'
        lines.append(f'  n{numbers[function]} [label={label}, fillcolor="{colour}"];')
    for (caller, callee), edge in graph.edges.items():
        width = 1 + 4 * edge.total / run
        lines.append(
            f"  n{numbers[caller]} -> n{numbers[callee]} "
            f'[label="{edge.calls}", penwidth={width:.2f}];'
        )
    for k, (label, ticks) in enumerate(rest_of(view.ledger)):
        text = f'{_quoted(label)[:-1]}\\n{scale.us(ticks)} us, {100 * ticks / run:.2f}%"'
        lines.append(f'  rest{k} [label={text}, style="dashed", fillcolor=white];')
    lines += ["}", ""]
    out.write("\n".join(lines).encode("utf-8", "backslashreplace"))


def _quoted(text: str) -> str:
    text = plain(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
