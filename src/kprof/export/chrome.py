"""Chrome's trace event format (JSON), for ui.perfetto.dev, chrome://tracing, Spall and others.

A thread for each context with its calls from entry to exit, and a thread that shows which context
runs. The ends of calls that were switched out, or are no plain exits, carry their net time; that of
the others is what the calls inside leave of their time. Times are microseconds.
Specification: "Trace Event Format" (Google), at the address in https://perfetto.dev/docs/.
"""

from __future__ import annotations

import json
from typing import BinaryIO

from kprof.analysis.replay import codes as states
from kprof.analysis.stream import ENTER, INLINE, LEAVE, Steps, Stream
from kprof.export.labels import context_name
from kprof.export.units import Scale

_RUNNING = 0
_FIRST = 1  # thread of the system context; tasks follow


def write(stream: Stream, out: BinaryIO) -> None:
    """Write the capture as a JSON object of trace events."""
    _Writer(stream, out).write()


class _Writer:
    def __init__(self, stream: Stream, out: BinaryIO) -> None:
        self._stream = stream
        self._out = out
        self._scale = Scale(stream.info.clock_hz)
        self._functions = [json.dumps(entry.name) for entry in stream.functions]
        self._inlines = [json.dumps(entry.name) for entry in stream.inlines]
        self._contexts: set[int] = set()
        self._running = ""

    def write(self) -> None:
        source = json.dumps(self._stream.info.source)
        self._put('{"displayTimeUnit":"ns","traceEvents":[\n')
        self._put(f'{{"ph":"M","pid":1,"name":"process_name","args":{{"name":{source}}}}}')
        self._thread(_RUNNING, "running")
        for block, steps in enumerate(self._stream):
            if not block:  # its name is known only then
                self._begin(self._stream.first, "0")
            self._block(steps)
        self._turn("E", self._scale.us(self._stream.ledger.elapsed))
        self._put("\n]}\n")

    def _put(self, text: str) -> None:
        self._out.write(text.encode("ascii"))

    def _thread(self, thread: int, name: str) -> None:
        self._put(
            f',\n{{"ph":"M","pid":1,"tid":{thread},"name":"thread_name",'
            f'"args":{{"name":"{name}"}}}},\n{{"ph":"M","pid":1,"tid":{thread},'
            f'"name":"thread_sort_index","args":{{"sort_index":{thread}}}}}'
        )

    def _begin(self, context: int, time: str) -> None:
        if context not in self._contexts:
            self._contexts.add(context)
            self._thread(_FIRST + context, self._name(context))
        self._running = self._name(context)
        self._turn("B", time)

    def _name(self, context: int) -> str:
        return json.dumps(context_name(self._stream, context))[1:-1]

    def _turn(self, phase: str, time: str) -> None:
        self._put(
            f',\n{{"ph":"{phase}","pid":1,"tid":{_RUNNING},"ts":{time},"name":"{self._running}"}}'
        )

    def _block(self, steps: Steps) -> None:
        functions, inlines = self._functions, self._inlines
        rows = zip(self._scale.us_texts(steps.rows.net), steps.rows.flags.tolist(), strict=True)
        columns = (steps.kind, steps.name, steps.context)
        texts: list[str] = []
        for time, kind, name, context in zip(
            self._scale.us_texts(steps.time), *(c.tolist() for c in columns), strict=True
        ):
            thread = context + _FIRST
            if kind == ENTER:
                texts.append(
                    f',\n{{"ph":"B","pid":1,"tid":{thread},"ts":{time},"name":{functions[name]}}}'
                )
            elif kind == LEAVE:
                net, flags = next(rows)
                args = f',"args":{{"net_us":{net}{_HOW[flags & _TOLD]}}}' if flags & _TOLD else ""
                texts.append(
                    f',\n{{"ph":"E","pid":1,"tid":{thread},"ts":{time},'
                    f'"name":{functions[name]}{args}}}'
                )
            elif kind == INLINE:
                texts.append(
                    f',\n{{"ph":"i","s":"t","pid":1,"tid":{thread},"ts":{time},'
                    f'"name":{inlines[name]}}}'
                )
            else:
                self._put("".join(texts))
                texts.clear()
                self._turn("E", time)
                self._begin(context, time)
        self._put("".join(texts))


_TOLD = states.ORPHAN | states.OPEN | states.UNWOUND | states.RESUMED
_HOW = {
    flags: ',"ended_by":"began before"'
    if flags & states.ORPHAN
    else ',"ended_by":"open"'
    if flags & states.OPEN
    else ',"ended_by":"unwound"'
    if flags & states.UNWOUND
    else ""
    for flags in range(_TOLD + 1)
}
