"""The Firefox Profiler's processed profile format, for https://profiler.firefox.com.

One thread of what ran: a sample for each stretch between two events, weighted with its length
(weight type ``tracing-ms``), so that self time is net time. The lowest frame is the context. Inline
triggers and the contexts' turns are markers. Columns follow each other in the file, so they are
collected on disk.
Version 47 of the format: src/types/profile.ts and docs-developer/ of firefox-devtools/profiler.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any, BinaryIO, NamedTuple

from kprof.export.labels import IDLE, context_name
from kprof.export.places import NOWHERE, Place
from kprof.export.running import CLOSE, CONTEXT, END, MARK, OPEN, REST, running
from kprof.export.spool import Column
from kprof.export.units import Scale
from kprof.export.view import INTERRUPTS, View

_CATEGORIES = (
    ("Other", "grey"),
    ("Calls", "blue"),
    ("Idle", "transparent"),
    ("Marks", "orange"),
    ("Interrupts", "red"),
)
_OTHER, _CALLS, _IDLE, _MARKS, _INTERRUPTS = range(5)
_INSTANT, _INTERVAL = 0, 1  # phases of markers
_INLINE, _TURN = "InlineTrigger", "Turn"
_PLACES = ["marker-chart", "marker-table", "timeline-overview"]
_SCHEMA = [
    {
        "name": _INLINE, "display": _PLACES, "chartLabel": "{marker.name}",
        "tooltipLabel": "{marker.name}", "tableLabel": "{marker.name} in {marker.data.function}",
        "data": [
            {"key": "function", "label": "In", "format": "string", "searchable": True},
            {"label": "Description", "value": "An inline trigger of the program."},
        ],
    },
    {
        "name": _TURN, "display": _PLACES, "chartLabel": "{marker.name}",
        "tooltipLabel": "{marker.name} runs", "tableLabel": "{marker.name}",
        "data": [
            {"label": "Description", "value": "A turn of a context on the processor."},
        ],
    },
]  # fmt: skip


def write(view: View, out: BinaryIO) -> None:
    """Write the capture as a processed profile."""
    with ExitStack() as stack:
        columns = {name: stack.enter_context(Column()) for name in _SPOOLED}
        profile = _Profile(view, columns)
        profile.collect()
        profile.write(out)


_SPOOLED = ("stack", "time", "weight", "name", "start", "end", "phase", "category", "data")


class _Marker(NamedTuple):
    """The number of its string, and when, in ticks; an inline trigger has no end."""

    name: int
    start: int
    end: int | None
    data: str


class _Profile:
    def __init__(self, view: View, columns: dict[str, Column]) -> None:
        self._view = view
        self._columns = columns
        self._scale = Scale(view.info.clock_hz, "ns")
        self._strings: list[str] = []
        self._functions: list[int] = []
        self._texts: list[str] = []  # their names as JSON
        self._categories: list[int] = []
        self._files: list[int | None] = []
        self._lines: list[int | None] = []
        self._paths: dict[str, int] = {}
        interrupts = view.interrupts
        for number, (entry, place) in enumerate(zip(view.functions, view.places, strict=True)):
            self._function(entry.name, _INTERRUPTS if number in interrupts else _CALLS, place)
        for label in REST:
            self._function(label, _IDLE if label == IDLE else _OTHER)
        self._contexts: dict[int, int] = {}
        self._inlines = [self._string(entry.name) for entry in view.inlines]
        self._nodes: dict[tuple[int, int], int] = {}
        self._frames: list[int] = []
        self._prefixes: list[int | None] = []
        self._samples = 0
        self._marks = 0

    def _string(self, text: str) -> int:
        self._strings.append(text)
        return len(self._strings) - 1

    def _function(self, name: str, category: int, place: Place = NOWHERE) -> int:
        self._functions.append(self._string(name))
        self._texts.append(json.dumps(name))
        if place.file and place.file not in self._paths:
            self._paths[place.file] = self._string(place.file)
        self._files.append(self._paths.get(place.file))
        self._lines.append(place.line or None)
        self._categories.append(category)
        return len(self._functions) - 1

    def _node(self, below: int, function: int) -> int:
        found = self._nodes.get((below, function))
        if found is None:
            found = self._nodes[below, function] = len(self._frames)
            self._frames.append(function)
            self._prefixes.append(below if below >= 0 else None)
        return found

    def _context(self, context: int) -> int:
        if context not in self._contexts:
            category = _INTERRUPTS if context == INTERRUPTS else _OTHER
            self._contexts[context] = self._function(context_name(self._view, context), category)
        return self._contexts[context]

    def collect(self) -> None:
        """Go through the capture; fills the columns."""
        top = -1
        since = began = 0
        context = -1
        for actions in running(self._view):
            samples: list[tuple[int, int, int]] = []
            marks: list[_Marker] = []
            for kind, value, time in actions:
                if kind == MARK:
                    here = self._texts[self._frames[top]]
                    data = f'{{"type":"{_INLINE}","function":{here}}}'
                    marks.append(_Marker(self._inlines[value], time, None, data))
                    continue
                if time > since:
                    samples.append((top, since, time - since))
                    since = time
                if kind == OPEN:
                    top = self._node(top, value)
                elif kind == CLOSE:
                    below = self._prefixes[top]
                    top = -1 if below is None else below
                elif kind == CONTEXT:
                    if context >= 0:
                        data = f'{{"type":"{_TURN}"}}'
                        marks.append(_Marker(self._functions[context], began, time, data))
                    if value != END:
                        began, context = time, self._context(value)
                        top = self._node(-1, context)
            self._flush(samples, marks)

    def _flush(self, samples: list[tuple[int, int, int]], marks: list[_Marker]) -> None:
        columns, ms = self._columns, self._ms
        columns["stack"].extend([str(node) for node, _, _ in samples])
        columns["time"].extend([ms(time) for _, time, _ in samples])
        columns["weight"].extend([ms(weight) for _, _, weight in samples])
        columns["name"].extend([str(mark.name) for mark in marks])
        columns["start"].extend([ms(mark.start) for mark in marks])
        columns["end"].extend(["null" if m.end is None else ms(m.end) for m in marks])
        columns["phase"].extend([str(_INSTANT if m.end is None else _INTERVAL) for m in marks])
        columns["category"].extend([str(_MARKS if m.end is None else _OTHER) for m in marks])
        columns["data"].extend([mark.data for mark in marks])
        self._samples += len(samples)
        self._marks += len(marks)

    def _ms(self, ticks: int) -> str:
        ns = self._scale.whole(ticks)
        return f"{ns // 1_000_000}.{ns % 1_000_000:06}"

    def write(self, out: BinaryIO) -> None:
        """Write the profile, the collected columns in their places."""
        text = json.dumps(self._whole())
        for name, column in self._columns.items():
            before, text = text.split(json.dumps(_place(name)), 1)
            out.write(before.encode("ascii"))
            column.copy_to(out)
        out.write((text + "\n").encode("ascii"))

    def _whole(self) -> dict[str, Any]:
        """The profile; columns on disk stand as `_place`, in the order of `_SPOOLED`."""
        functions, frames = len(self._functions), len(self._functions)
        nothing: list[None] = [None] * functions
        categories = [
            {"name": name, "color": color, "subcategories": ["Other"]}
            for name, color in _CATEGORIES
        ]
        samples = {
            "stack": _place("stack"), "time": _place("time"), "weight": _place("weight"),
            "weightType": "tracing-ms", "length": self._samples,
        }  # fmt: skip
        markers = {
            "name": _place("name"), "startTime": _place("start"), "endTime": _place("end"),
            "phase": _place("phase"), "category": _place("category"), "data": _place("data"),
            "length": self._marks,
        }  # fmt: skip
        thread = {
            "processType": "default", "processStartupTime": 0, "processShutdownTime": None,
            "registerTime": 0, "unregisterTime": None, "pausedRanges": [], "name": "processor",
            "processName": self._view.info.source, "isMainThread": True, "pid": "1", "tid": 1,
            "samples": samples, "markers": markers,
            "stackTable": {
                "frame": self._frames, "prefix": self._prefixes,
                "category": [self._categories[frame] for frame in self._frames],
                "subcategory": [0] * len(self._frames), "length": len(self._frames),
            },
            "frameTable": {
                "address": [-1] * frames, "inlineDepth": [0] * frames,
                "category": self._categories, "subcategory": [0] * frames,
                "func": list(range(frames)), "nativeSymbol": nothing, "innerWindowID": [0] * frames,
                "implementation": nothing, "line": nothing, "column": nothing, "length": frames,
            },
            "funcTable": {
                "name": self._functions, "isJS": [False] * functions,
                "relevantForJS": [False] * functions, "resource": [-1] * functions,
                "fileName": self._files, "lineNumber": self._lines, "columnNumber": nothing,
                "length": functions,
            },
            "resourceTable": {"lib": [], "name": [], "host": [], "type": [], "length": 0},
            "nativeSymbols": {
                "libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0,
            },
            "stringArray": self._strings,
        }  # fmt: skip
        meta = {
            "version": 27, "preprocessedProfileVersion": 47, "interval": 1, "product": "kprof",
            "startTime": self._view.info.started_ns / 1e6, "processType": 0, "stackwalk": 0,
            "debug": False, "categories": categories, "markerSchema": _SCHEMA, "symbolicated": True,
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        }  # fmt: skip
        return {"meta": meta, "libs": [], "pages": [], "threads": [thread]}


def _place(column: str) -> str:
    """What stands for a column on disk; no name has a NUL before it."""
    return "\0" + column
