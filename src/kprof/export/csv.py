"""Calls as comma separated values (RFC 4180), one row a call; see `kprof.export.table`."""

from __future__ import annotations

from typing import BinaryIO

from kprof.export.table import ENDINGS, call_rows
from kprof.export.units import Scale
from kprof.export.view import View

HEADER = (
    "call,parent,function,tag,context,depth,entry_us,exit_us,elapsed_us,net_us,wall_us,"
    "resumed,ended_by,interrupt"
)


def write(view: View, out: BinaryIO) -> None:
    """Write a line for each call; times in microseconds."""
    out.write((HEADER + "\r\n").encode("ascii"))
    us = Scale(view.info.clock_hz).us_texts
    named = [f"{_field(entry.name)},{entry.value}" for entry in view.functions]
    for shown in view:
        rows = call_rows(shown)
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
            rows.interrupt.tolist(),
        )
        out.write(
            "".join(
                f"{call},{parent if parent >= 0 else ''},{named[fn]},{context},{depth},{entry},"
                f"{leave},{elapsed},{net},{wall},{int(resumed)},{ENDINGS[ending]},"
                f"{int(interrupt)}\r\n"
                for call, parent, fn, context, depth, entry, leave, elapsed, net, wall, resumed,
                ending, interrupt in zip(*columns, strict=True)
            ).encode("utf-8", "backslashreplace")
        )  # fmt: skip


def _field(text: str) -> str:
    if any(character in text for character in ',"\r\n') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text
