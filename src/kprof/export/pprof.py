"""pprof's profile (gzipped protocol buffer), for `go tool pprof` and everything that reads it.

A sample for each call path: how many calls, and their net time in ns. The context is the label
``context``; idle and unattributed time are functions of their own. The folder of a function's
source is its package, which pprof wants before the function's name: ``netinet.ip_input``.
Schema: proto/profile.proto of github.com/google/pprof.
"""

from __future__ import annotations

import gzip
from typing import BinaryIO

from kprof.analysis.paths import CONTEXT, PathTree
from kprof.export.labels import IDLE
from kprof.export.places import NOWHERE, Place
from kprof.export.protobuf import content, number, packed
from kprof.export.roots import INTERRUPTS, rest_of, root_label, rooted_paths
from kprof.export.units import Scale
from kprof.export.view import View


def write(view: View, out: BinaryIO) -> None:
    """Write the call paths as samples."""
    with gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0) as zipped:
        _Writer(view, zipped).write()  # type: ignore[arg-type]


class _Writer:
    def __init__(self, view: View, out: BinaryIO) -> None:
        self._view = view
        self._out = out
        self._scale = Scale(view.info.clock_hz, "ns")
        self._strings: dict[str, int] = {"": 0}
        self._functions: dict[str, int] = {}

    def write(self) -> None:
        out, text = self._out, self._text
        calls = number(1, text("calls")) + number(2, text("count"))
        time = number(1, text("time")) + number(2, text("nanoseconds"))
        out.write(content(1, calls) + content(1, time))
        out.write(content(3, number(1, 1) + number(5, text(self._view.info.source)) + number(7, 1)))
        self._samples(rooted_paths(self._view))
        ledger = self._view.ledger
        for label, ticks in rest_of(ledger):
            context = root_label(self._view, CONTEXT) if label == IDLE else ""
            self._sample([self._location(label)], 0, ticks, context)
        if self._view.info.started_ns:
            out.write(number(9, self._view.info.started_ns))
        out.write(number(10, self._scale.whole(ledger.elapsed)))
        out.write(number(14, text("time")))
        for string in self._strings:
            out.write(content(6, string))

    def _samples(self, paths: PathTree) -> None:
        named = zip(self._view.functions, self._view.places, strict=True)
        known = [(f"{p.package}.{e.name}" if p.package else e.name, p) for e, p in named]
        columns = (paths.function.tolist(), paths.calls.tolist(), paths.net.tolist())
        for node, (function, calls, net) in enumerate(zip(*columns, strict=True)):
            if function < INTERRUPTS and (calls or net):
                root, *inside = paths.path(node)
                stack = [self._location(*known[function]) for function in reversed(inside)]
                self._sample(stack, calls, net, root_label(self._view, root))

    def _sample(self, stack: list[int], calls: int, ticks: int, context: str) -> None:
        data = packed(1, stack) + packed(2, (calls, self._scale.whole(ticks)))
        if context:
            data += content(3, number(1, self._text("context")) + number(2, self._text(context)))
        self._out.write(content(2, data))

    def _text(self, string: str) -> int:
        return self._strings.setdefault(string, len(self._strings))

    def _location(self, name: str, place: Place = NOWHERE) -> int:
        """The number of the location, and function, of that name; written when it is new."""
        found = self._functions.get(name)
        if found is not None:
            return found
        new = self._functions[name] = len(self._functions) + 1
        # No system name: readers would take it for a mangled one.
        function = number(1, new) + number(2, self._text(name))
        line = number(1, new)
        if place.file:
            function += number(4, self._text(place.file)) + number(5, place.line)
            line += number(2, place.line)
        self._out.write(content(5, function))
        self._out.write(content(4, number(1, new) + number(2, 1) + content(4, line)))
        return new
