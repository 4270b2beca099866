"""The report as one HTML page that needs nothing else: no network, no other file.

The page is a frame (``assets/page.html``), the style, the libraries (``vendor/``) and the scripts
of ``assets/``, and two inert blocks of data: a JSON object, and the columns of calls and marks
(`kprof.report.html.columns`). Names are only ever in the JSON, with ``<`` written as ``\\u003c``,
and the scripts show them as text. A content security policy in the page admits these very
scripts, by their digests, and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from typing import Any

import numpy as np

from kprof.analysis.paths import PathTree
from kprof.analysis.stream import Stream
from kprof.analysis.summary import Summary
from kprof.names import NameEntry, display_name
from kprof.names.describe import KINDS
from kprof.report.html.columns import ColumnWriter
from kprof.report.html.lanes import write_calls
from kprof.report.shown import Shown
from kprof.report.summary import capture_line

FORMAT = 2
STYLES = ("base.css", "parts.css")
SCRIPTS = (
    "data.js",
    "dom.js",
    "state.js",
    "header.js",
    "table.js",
    "flametree.js",
    "flame.js",
    "lanes.js",
    "range.js",
    "marked.js",
    "draw.js",
    "overview.js",
    "timeline.js",
    "pointer.js",
    "call.js",
    "distribution.js",
    "function.js",
    "source.js",
    "location.js",
    "keys.js",
    "main.js",
)
_MOST_NAME = 400
_MOST_TEXT = 1 << 24  # characters of one element


@dataclass(frozen=True)
class SourceText:
    """A source file for the page: its text, and the lines of the functions in it.

    Attributes
    ----------
    path
        As it is shown.
    text
        The text, or "" where only the lines are known.
    lines
        (first, last) line by the name of the function in the name file.
    """

    path: str
    text: str
    lines: dict[str, tuple[int, int]]


def html_page(
    run: Shown, *, before: Shown | None = None, sources: Sequence[SourceText] = ()
) -> Iterator[str]:
    """The page in parts, to be written one after another; plain ASCII.

    Parameters
    ----------
    run
        The capture.
    before
        Another one to compare it with.
    sources
        What is known of the functions' sources.
    """
    writer = ColumnWriter()
    stream = run.found.stream
    names = _Names(stream.functions, before.found.stream.functions if before else ())
    scripts = [_asset("vendor", "libraries.js"), _own_script()]
    head, body, end = _asset("assets", "page.html").split("<!-- part -->\n")
    yield head.replace("POLICY", _policy(scripts))
    style = _asset("vendor", "libraries.css") + "\n".join(_asset("assets", s) for s in STYLES)
    yield f"<style>\n{style}</style>\n"
    yield body
    _add_tree("tree", run.tree, names, stream, writer)
    if before is not None:
        _add_tree("before", before.tree, names, before.found.stream, writer)
    yield from _columns(write_calls(run.found, writer), writer)
    data = _data(run, names)
    if before is not None:
        data["before"] = _before(before, names)
    data["sources"] = _sources(sources, names)
    data["columns"], data["pieces"] = writer.directory, writer.pieces
    inert = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    yield f'<script type="application/json" id="data">{inert}</script>\n'
    licences = _asset("vendor", "LICENSES.txt").replace("<", "&lt;")
    yield f'<script type="text/plain" id="licences">\n{licences}</script>\n'
    for text in scripts:
        yield f"<script>{text}</script>\n"
    yield end


def _columns(parts: Iterator[str], writer: ColumnWriter) -> Iterator[str]:
    """The text of the columns, in elements that a browser can hold as one string each."""
    begin, finish = '<script type="text/plain" class="columns">', "</script>\n"
    yield begin
    size = 0
    for part in chain(parts, writer.taken(last=True)):
        if size + len(part) > _MOST_TEXT and size:
            yield finish + begin
            size = 0
        yield part
        size += len(part)
    yield finish


class _Names:
    """Functions by number: those of the run, then those that only the run before has."""

    def __init__(self, functions: Iterable[NameEntry], before: Iterable[NameEntry]) -> None:
        self.entries: list[NameEntry] = list(functions)
        self.number = {entry.name: i for i, entry in enumerate(self.entries)}
        for entry in before:
            if entry.name not in self.number:
                self.number[entry.name] = len(self.entries)
                self.entries.append(entry)


def shown_name(name: str) -> str:
    """A name as the page has it: control characters escaped, and not without end."""
    text = display_name(name)
    return text if len(text) <= _MOST_NAME else text[: _MOST_NAME - 3] + "..."


def _data(run: Shown, names: _Names) -> dict[str, Any]:
    stream, summary = run.found.stream, run.summary
    hz = stream.info.clock_hz
    interrupts = {stream.functions[function].name for function in run.found.interrupts}
    figures = _figures(summary, names)
    odd = summary.anomalies
    return {
        "format": FORMAT,
        "capture": shown_name(summary.info.source),
        "said": "; ".join(filter(None, (capture_line(summary), run.said))),
        "usPerTick": float(1_000_000 / hz),
        "step": stream.info.step,
        "events": summary.events,
        "ledger": summary.ledger._asdict() | {"run": summary.ledger.run},
        "functions": [
            {
                "name": shown_name(entry.name),
                "kind": KINDS[entry.modifier],
                "interrupt": entry.name in interrupts,
                "file": shown_name(entry.source),
            }
            for entry in names.entries
        ],
        "figures": figures,
        "inlines": [shown_name(entry.name) for entry in stream.inlines],
        "inlineCounts": {shown_name(entry.name): count for entry, count in summary.inlines},
        "contexts": stream.contexts,
        "tasks": {number: shown_name(name) for number, name in run.found.tasks.items()},
        "left": run.found.left_out[1],
        "anomalies": {
            "orphan exits": odd.orphan_exits,
            "open calls": odd.open_calls,
            "unwound calls": odd.unwound_calls,
            "context switches": odd.context_switches,
            "events with unknown tags": sum(odd.unknown_tags.values()),
        },
    }


def _figures(summary: Summary, names: _Names) -> list[list[int | None]]:
    """Function number, calls, elapsed, net, wall, max, avg, min of each function that ran."""
    return [
        [
            names.number[row.entry.name],
            row.calls,
            row.elapsed,
            row.net,
            row.wall,
            row.max,
            row.avg,
            row.min,
        ]
        for row in summary.functions
    ]


def _before(run: Shown, names: _Names) -> dict[str, Any]:
    return {
        "capture": shown_name(run.summary.info.source),
        "ledger": run.summary.ledger._asdict() | {"run": run.summary.ledger.run},
        "usPerTick": float(1_000_000 / run.found.stream.info.clock_hz),
        "figures": _figures(run.summary, names),
    }


def _add_tree(
    key: str, tree: PathTree, names: _Names, stream: Stream, writer: ColumnWriter
) -> None:
    number = np.array([names.number[e.name] for e in stream.functions] or [0], np.int64)
    writer.add(key + "Parent", tree.parent + 1)
    writer.add(key + "Function", number[tree.function])
    writer.add(key + "Calls", tree.calls)
    writer.add(key + "Elapsed", tree.elapsed)
    writer.add(key + "Net", tree.net)
    writer.add(key + "LeftOut", np.array([tree.left_out]))


def _sources(sources: Sequence[SourceText], names: _Names) -> list[dict[str, Any]]:
    return [
        {
            "path": shown_name(source.path),
            "text": source.text,
            "lines": [
                [names.number[name], first, last]
                for name, (first, last) in source.lines.items()
                if name in names.number
            ],
        }
        for source in sources
    ]


def _own_script() -> str:
    text = "\n".join(_asset("assets", name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{text}\n}})();\n'


def _policy(scripts: Iterable[str]) -> str:
    digests = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _asset(folder: str, name: str) -> str:
    return files("kprof.report.html").joinpath(folder).joinpath(name).read_text("ascii")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
