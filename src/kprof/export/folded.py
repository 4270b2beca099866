"""Folded stacks, one path a line with its net time: for flamegraph.pl, inferno, speedscope.

``context;outermost;...;function time``. Times are whole microseconds, or nanoseconds where the
clock's tick is no whole number of them. Idle and unattributed time have lines of their own, so
that the sum is the elapsed time of the capture.
"""

from __future__ import annotations

from typing import BinaryIO

from kprof.analysis.paths import CONTEXT
from kprof.export.labels import IDLE, plain
from kprof.export.roots import INTERRUPTS, rest_of, root_label, rooted_paths
from kprof.export.units import Scale
from kprof.export.view import View


def write(view: View, out: BinaryIO) -> None:
    """Write the paths of the capture that took time, in the order of their first call."""
    scale = Scale(view.info.clock_hz)
    paths = rooted_paths(view)
    names = [plain(entry.name, ";") for entry in view.functions]
    texts: list[str] = []
    columns = (column.tolist() for column in (paths.function, paths.parent, paths.net))
    for function, parent, net in zip(*columns, strict=True):
        if function >= INTERRUPTS:
            texts.append(plain(root_label(view, function), ";"))
        else:
            texts.append(f"{texts[parent]};{names[function]}")
        if net:
            _line(out, texts[-1], scale.whole(net))
    for label, ticks in rest_of(view.ledger):
        below = f"{root_label(view, CONTEXT)};" if label == IDLE else ""
        _line(out, below + label, scale.whole(ticks))


def _line(out: BinaryIO, path: str, value: int) -> None:
    out.write(f"{path} {value}\n".encode("utf-8", "backslashreplace"))
