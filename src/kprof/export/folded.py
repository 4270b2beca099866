"""Folded stacks, one path a line with its net time: for flamegraph.pl, inferno, speedscope.

``context;outermost;...;function time``. Times are whole microseconds, or nanoseconds where the
clock's tick is no whole number of them. Idle and unattributed time have lines of their own, so
that the sum is the elapsed time of the capture.
"""

from __future__ import annotations

from typing import BinaryIO

from kprof.analysis.paths import CONTEXT, PathTree
from kprof.analysis.stream import Stream
from kprof.export.labels import IDLE, plain
from kprof.export.roots import INTERRUPTS, rest_of, root_label
from kprof.export.units import Scale


def write(stream: Stream, paths: PathTree, out: BinaryIO) -> None:
    """Write the paths of the capture that took time, in the order of their first call."""
    scale = Scale(stream.info.clock_hz)
    names = [plain(entry.name, ";") for entry in stream.functions]
    texts: list[str] = []
    columns = (column.tolist() for column in (paths.function, paths.parent, paths.net))
    for function, parent, net in zip(*columns, strict=True):
        if function >= INTERRUPTS:
            texts.append(plain(root_label(stream, function), ";"))
        else:
            texts.append(f"{texts[parent]};{names[function]}")
        if net:
            _line(out, texts[-1], scale.whole(net))
    for label, ticks in rest_of(stream.ledger):
        below = f"{root_label(stream, CONTEXT)};" if label == IDLE else ""
        _line(out, below + label, scale.whole(ticks))


def _line(out: BinaryIO, path: str, value: int) -> None:
    out.write(f"{path} {value}\n".encode("utf-8", "backslashreplace"))
