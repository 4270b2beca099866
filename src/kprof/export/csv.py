"""Calls as comma separated values (RFC 4180), one row a call; see `kprof.export.table`."""

from __future__ import annotations

from typing import BinaryIO

from kprof.analysis.stream import Stream
from kprof.export.table import ENDINGS, call_rows
from kprof.export.units import Scale

HEADER = (
    "call,parent,function,tag,context,depth,entry_us,exit_us,elapsed_us,net_us,wall_us,"
    "resumed,ended_by"
)


def write(stream: Stream, out: BinaryIO) -> None:
    """Write a line for each call; times in microseconds."""
    out.write((HEADER + "\r\n").encode("ascii"))
    us = Scale(stream.info.clock_hz).us_texts
    named = [f"{_field(entry.name)},{entry.value}" for entry in stream.functions]
    for steps in stream:
        rows = call_rows(steps)
        columns = (
            rows.call.tolist(),
            rows.parent.tolist(),
            rows.function.tolist(),
            rows.context.tolist(),
            rows.depth.tolist(),
            us(rows.entry),
            us(rows.exit),
            us(rows.elapsed),
            us(rows.net),
            us(rows.wall),
            rows.resumed.tolist(),
            rows.ending.tolist(),
        )
        out.write(
            "".join(
                f"{call},{parent if parent >= 0 else ''},{named[fn]},{context},{depth},{entry},"
                f"{leave},{elapsed},{net},{wall},{int(resumed)},{ENDINGS[ending]}\r\n"
                for call, parent, fn, context, depth, entry, leave, elapsed, net, wall, resumed,
                ending in zip(*columns, strict=True)
            ).encode("utf-8", "backslashreplace")
        )  # fmt: skip


def _field(text: str) -> str:
    if any(character in text for character in ',"\r\n') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text
