"""A capture as one line of blocks: how deep the stack was from its begin to its end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Timeline
from kprof.analysis.replay.codes import ORPHAN

BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_ASCII = " .:-=+*#@"


def depth_strip(timeline: Timeline, width: int = 64, *, ascii_only: bool = False) -> str:
    """The deepest call of each of `width` equal parts of the run; blank where none was open.

    Calls that were switched out in between are left out: they were open, but did not run.
    """
    blocks = _ASCII if ascii_only else BLOCKS
    calls = timeline.calls
    ran = (calls.wall == calls.elapsed) & ((calls.flags & ORPHAN) == 0)
    deepest = deepest_in(
        calls.entry[ran], calls.exit[ran], calls.depth[ran] + 1, timeline.ledger.elapsed, width
    )
    most = int(deepest.max()) if len(deepest) else 0
    if not most:
        return ""
    heights = -(-deepest * (len(blocks) - 1) // most)
    edge = "|" if ascii_only else "\u258f"
    return f"Depth {edge}{''.join(blocks[h] for h in heights.tolist())}{edge} to {most}"


def deepest_in(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    depth: NDArray[np.int64],
    elapsed: int,
    width: int,
) -> NDArray[np.int64]:
    """The largest `depth` of the intervals that touch each part of 0..elapsed; shape (width,)."""
    parts = np.zeros(width, np.int64)
    if not len(begin) or elapsed <= 0:
        return parts
    first = np.minimum(begin * width // elapsed, width - 1)
    last = np.minimum(end * width // elapsed, width - 1)
    short = first == last
    np.maximum.at(parts, first[short], depth[short])
    for low, high, level in zip(
        first[~short].tolist(), last[~short].tolist(), depth[~short].tolist(), strict=True
    ):
        np.maximum(parts[low : high + 1], level, out=parts[low : high + 1])
    return parts
