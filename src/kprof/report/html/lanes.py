"""The calls, inline triggers and context switches of a capture as the columns of a page.

Calls are written as they end, each with its number in the order of entries: the page puts them
back in that order. The way to a call's caller is not written, for the page finds it again: the
last call of the same context that was entered before it and ended after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.overview import CallBlock, Overview, call_blocks
from kprof.report.html.columns import ColumnWriter

MAX_LEVEL = 120
"""Calls that are deeper share the last row."""
_PIECE = 1 << 17  # calls that are written at a time


def write_calls(found: Overview, writer: ColumnWriter) -> Iterator[str]:
    """Write the calls that stay; the text as it comes."""
    start = np.zeros(1, np.int64)
    writer.add("sliceStart", start, delta=True)
    writer.add("sliceContext", start + found.stream.first)
    held: dict[str, list[NDArray[Any]]] = {}
    size = 0
    for block in call_blocks(found):
        for name, column in _columns(block).items():
            held.setdefault(name, []).append(column)
        size += len(block.number) + len(block.marks)
        if size >= _PIECE:
            _write(held, writer)
            size = 0
            yield from writer.taken()
    _write(held, writer)
    yield from writer.taken()


def _write(held: dict[str, list[NDArray[Any]]], writer: ColumnWriter) -> None:
    for name, parts in held.items():
        by = "call" if name in _OF_CALLS else None
        writer.add(name, np.concatenate(parts), delta=name in _RISING, by=by)
    held.clear()


_OF_CALLS = {"function", "event", "exit", "wall", "away", "inside", "level", "context", "flags"}
_RISING = {"call", "event", "exit", "markEvent", "markTime", "markParent", "sliceStart"}


def _columns(block: CallBlock) -> dict[str, NDArray[Any]]:
    rows, marks = block.rows, block.marks  # copies: a view would hold the whole table
    return {
        "call": block.number,
        "function": rows.fn.astype(np.int32),
        "event": rows.entry.copy(),
        "exit": rows.time.copy(),
        "wall": rows.elapsed + rows.away,
        "away": rows.away.copy(),
        "inside": rows.elapsed - rows.net,
        "level": np.minimum(block.depth, MAX_LEVEL),
        "context": rows.context.astype(np.int32),
        "flags": rows.flags.astype(np.uint8),
        "markName": marks.fn.copy(),
        "markEvent": marks.leave.copy(),
        "markTime": marks.time.copy(),
        "markSince": marks.elapsed.copy(),
        "markLevel": np.minimum(block.mark_depth, MAX_LEVEL + 1),
        "markContext": marks.context.copy(),
        "markParent": block.mark_parent + 1,
        "sliceStart": block.slice_start,
        "sliceContext": block.slice_context,
    }
