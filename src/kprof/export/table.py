"""Calls as rows: what csv, parquet and arrow have in common.

A row a call, in the order of the exits. `call` is its number in the order of entries. `parent` is
the nearest `call` around it that is shown, None where there is none; `interrupt` says that it is an
interrupt or runs in one. An open call ends with the capture,
an orphan begins at the switch in before its exit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay import codes as states
from kprof.export.view import Shown

ENDINGS = {
    states.OPEN: "open",
    states.ORPHAN: "began before",
    states.UNWOUND: "unwound",
    0: "exit",
}
"""How a call ended, by its flag."""

Column = NDArray[np.int64]


class CallRows(NamedTuple):
    """Columns of one length; times in ticks."""

    call: Column
    parent: Column
    function: Column
    context: Column
    depth: Column
    entry: Column
    exit: Column
    elapsed: Column
    net: Column
    wall: Column
    resumed: NDArray[np.bool_]
    ending: Column
    interrupt: NDArray[np.bool_]


def call_rows(shown: Shown) -> CallRows:
    """The calls that end in a block, those that stay."""
    steps, _, inside = shown.only_kept()
    real = (steps.rows.flags & states.LOST) == 0
    rows = steps.rows.select(real)
    ended = rows.time
    wall = rows.elapsed + rows.away
    ending = np.zeros(len(wall), np.int64)
    for flag in (states.UNWOUND, states.OPEN, states.ORPHAN):
        ending[(rows.flags & flag) != 0] = flag
    return CallRows(
        call=rows.call,
        parent=rows.parent,
        function=rows.fn,
        context=rows.context,
        depth=rows.depth,
        entry=ended - wall,
        exit=ended,
        elapsed=rows.elapsed,
        net=rows.net,
        wall=wall,
        resumed=(rows.flags & states.RESUMED) != 0,
        ending=ending,
        interrupt=inside[steps.leave][real] > 0,
    )
