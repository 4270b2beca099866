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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from kprof.analysis.calls import Timeline
from kprof.analysis.paths import PathTree
from kprof.analysis.summary import Summary
from kprof.names import NameEntry, display_name
from kprof.names.describe import KINDS
from kprof.report.html.columns import ColumnWriter
from kprof.report.html.lanes import levels, slices
from kprof.report.summary import capture_line

FORMAT = 1
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
    "draw.js",
    "timeline.js",
    "pointer.js",
    "call.js",
    "distribution.js",
    "function.js",
    "source.js",
    "keys.js",
    "main.js",
)
_MOST_NAME = 400


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


@dataclass(frozen=True)
class Run:
    """One capture, or what a filter keeps of it, as the page and the terminal browser need it.

    Attributes
    ----------
    tree
        The call paths, those of all contexts as one.
    said
        What else there is to say about it.
    """

    summary: Summary
    timeline: Timeline
    tree: PathTree
    said: str = ""


def html_page(
    run: Run,
    *,
    before: Run | None = None,
    sources: Sequence[SourceText] = (),
    interrupts: Iterable[str] = (),
) -> Iterable[str]:
    """The page in parts, to be written one after another; plain ASCII.

    Parameters
    ----------
    run
        The capture.
    before
        Another one to compare it with.
    sources
        What is known of the functions' sources.
    interrupts
        Names of the functions that are entered by interrupts.
    """
    writer = ColumnWriter()
    names = _Names(run.timeline, before.timeline if before else None)
    data = _data(run, names, writer, frozenset(interrupts))
    if before is not None:
        data["before"] = _before(before, names, writer)
    data["sources"] = _sources(sources, names)
    blob = writer.text()
    data["columns"] = writer.directory
    return _frame(data, blob)


class _Names:
    """Functions by number: those of the run, then those that only the run before has."""

    def __init__(self, timeline: Timeline, before: Timeline | None) -> None:
        self.entries: list[NameEntry] = list(timeline.functions)
        self.number = {entry.name: i for i, entry in enumerate(self.entries)}
        for entry in before.functions if before else ():
            if entry.name not in self.number:
                self.number[entry.name] = len(self.entries)
                self.entries.append(entry)


def shown_name(name: str) -> str:
    """A name as the page has it: control characters escaped, and not without end."""
    text = display_name(name)
    return text if len(text) <= _MOST_NAME else text[: _MOST_NAME - 3] + "..."


def _data(
    run: Run, names: _Names, writer: ColumnWriter, interrupts: frozenset[str]
) -> dict[str, Any]:
    line, summary = run.timeline, run.summary
    hz = line.info.clock_hz
    _add_calls(line, writer)
    _add_tree("tree", run.tree, names, line, writer)
    figures = _figures(summary, names)
    odd = summary.anomalies
    return {
        "format": FORMAT,
        "capture": shown_name(summary.info.source),
        "said": "; ".join(filter(None, (capture_line(summary), run.said))),
        "usPerTick": float(1_000_000 / hz),
        "step": line.info.step,
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
        "inlines": [shown_name(entry.name) for entry in line.inlines],
        "inlineCounts": {shown_name(entry.name): count for entry, count in summary.inlines},
        "contexts": line.contexts,
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


def _before(run: Run, names: _Names, writer: ColumnWriter) -> dict[str, Any]:
    _add_tree("before", run.tree, names, run.timeline, writer)
    return {
        "capture": shown_name(run.summary.info.source),
        "ledger": run.summary.ledger._asdict() | {"run": run.summary.ledger.run},
        "usPerTick": float(1_000_000 / run.timeline.info.clock_hz),
        "figures": _figures(run.summary, names),
    }


def _add_calls(line: Timeline, writer: ColumnWriter) -> None:
    import numpy as np

    calls, marks = line.calls, line.marks
    call_level, mark_level = levels(line)
    starts, contexts = slices(line)
    rows = np.arange(len(calls))
    writer.add("function", calls.function)
    writer.add("event", calls.entry_event, delta=True)
    writer.add("entry", calls.entry, delta=True)
    writer.add("wall", calls.wall)
    writer.add("away", calls.wall - calls.elapsed)
    writer.add("inside", calls.elapsed - calls.net)
    writer.add("level", call_level)
    writer.add("context", calls.context)
    writer.add("flags", calls.flags)
    writer.add("parent", np.where(calls.parent < 0, 0, rows - calls.parent))
    writer.add("markKind", marks.kind)
    writer.add("markName", marks.name)
    writer.add("markEvent", marks.event, delta=True)
    writer.add("markTime", marks.time, delta=True)
    writer.add("markSince", marks.since)
    writer.add("markLevel", mark_level)
    writer.add("markContext", marks.context)
    writer.add("markParent", marks.parent + 1)
    writer.add("sliceStart", starts, delta=True)
    writer.add("sliceContext", contexts)


def _add_tree(
    key: str, tree: PathTree, names: _Names, line: Timeline, writer: ColumnWriter
) -> None:
    import numpy as np

    number = np.array([names.number[e.name] for e in line.functions] or [0], np.int64)
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


def _frame(data: dict[str, Any], blob: str) -> Iterable[str]:
    script = "\n".join(_asset("assets", name) for name in SCRIPTS)
    scripts = [_asset("vendor", "libraries.js"), f'(() => {{\n"use strict";\n{script}\n}})();\n']
    style = _asset("vendor", "libraries.css") + "\n".join(_asset("assets", s) for s in STYLES)
    digests = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    policy = (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head, body, end = _asset("assets", "page.html").split("<!-- part -->\n")
    yield head.replace("POLICY", policy)
    yield f"<style>\n{style}</style>\n"
    yield body
    inert = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    yield f'<script type="application/json" id="data">{inert}</script>\n'
    yield f'<script type="text/plain" id="columns">{blob}</script>\n'
    licences = _asset("vendor", "LICENSES.txt").replace("<", "&lt;")
    yield f'<script type="text/plain" id="licences">\n{licences}</script>\n'
    for text in scripts:
        yield f"<script>{text}</script>\n"
    yield end


def _asset(folder: str, name: str) -> str:
    return files("kprof.report.html").joinpath(folder).joinpath(name).read_text("ascii")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
