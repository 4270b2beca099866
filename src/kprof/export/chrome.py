"""Chrome's trace event format (JSON), for ui.perfetto.dev, chrome://tracing, Spall and others.

A thread for each context with its calls from entry to exit, a thread of the interrupts, cut at
context switches, and a thread that shows which context runs. The ends of calls that were switched
out, or are no plain exits, carry their net time (`net_us`); where there are interrupts or a filter,
the ends of all do. That of the others is what the calls inside leave of their time. It stands
beside the arguments, not in them: readers take calls with other arguments for other functions.
Times are microseconds.
Specification: "Trace Event Format" (Google), at the address in https://perfetto.dev/docs/.
"""

from __future__ import annotations

import json
from typing import BinaryIO

from kprof.analysis.replay import codes as states
from kprof.analysis.stream import ENTER, INLINE, LEAVE
from kprof.export.labels import context_name
from kprof.export.units import Scale
from kprof.export.view import INTERRUPTS, Shown, View

_RUNNING = 0
_FIRST = 2  # thread of the system context; tasks follow, the interrupts' is before
_ENDINGS = (
    (states.ORPHAN, "began before"),
    (states.OPEN, "open"),
    (states.UNWOUND, "unwound"),
)
_TOLD = states.ORPHAN | states.OPEN | states.UNWOUND | states.RESUMED
_HOW = [
    next((f',"ended_by":"{text}"' for flag, text in _ENDINGS if flags & flag), "")
    for flags in range(_TOLD + 1)
]


def write(view: View, out: BinaryIO) -> None:
    """Write the capture as a JSON object of trace events."""
    _Writer(view, out).write()


class _Writer:
    def __init__(self, view: View, out: BinaryIO) -> None:
        self._view = view
        self._out = out
        self._scale = Scale(view.info.clock_hz)
        self._functions = [json.dumps(entry.name) for entry in view.functions]
        self._inlines = [json.dumps(entry.name) for entry in view.inlines]
        self._threads: set[int] = set()
        self._running = ""
        self._context = view.first
        self._interrupts: dict[int, list[int]] = {}  # by context: the calls of its interrupt

    def write(self) -> None:
        source = json.dumps(self._view.info.source)
        self._put('{"displayTimeUnit":"ns","traceEvents":[\n')
        self._put(f'{{"ph":"M","pid":1,"name":"process_name","args":{{"name":{source}}}}}')
        self._thread(_RUNNING, "running")
        for block, shown in enumerate(self._view):
            if not block:  # its name is known only then
                self._begin(self._view.first, "0")
            self._block(shown)
        self._turn("E", self._scale.us(self._view.ledger.elapsed))
        self._put("\n]}\n")

    def _put(self, text: str) -> None:
        self._out.write(text.encode("ascii"))

    def _thread(self, thread: int, name: str) -> None:
        self._put(
            f',\n{{"ph":"M","pid":1,"tid":{thread},"name":"thread_name",'
            f'"args":{{"name":"{name}"}}}},\n{{"ph":"M","pid":1,"tid":{thread},'
            f'"name":"thread_sort_index","args":{{"sort_index":{thread}}}}}'
        )

    def _of(self, context: int) -> str:
        """The number of a context's thread, which is told when it is new; and its name."""
        name = json.dumps(context_name(self._view, context))[1:-1]
        if context not in self._threads:
            self._threads.add(context)
            self._thread(_FIRST + context, name)
        return name

    def _begin(self, context: int, time: str) -> None:
        self._running = self._of(context)
        self._turn("B", time)

    def _turn(self, phase: str, time: str) -> None:
        self._put(
            f',\n{{"ph":"{phase}","pid":1,"tid":{_RUNNING},"ts":{time},"name":"{self._running}"}}'
        )

    def _block(self, shown: Shown) -> None:
        if shown.inside.any():
            self._of(INTERRUPTS)
        shown = shown.only_kept()
        steps, functions, inlines = shown.steps, self._functions, self._inlines
        rows = zip(self._scale.us_texts(steps.rows.net), steps.rows.flags.tolist(), strict=True)
        columns = (steps.kind, steps.name, steps.context, shown.inside)
        texts: list[str] = []
        plain = not self._view.interrupts and not self._view.filtered
        for time, kind, name, context, inside in zip(
            self._scale.us_texts(steps.time), *(c.tolist() for c in columns), strict=True
        ):
            thread = _FIRST + (INTERRUPTS if inside else context)
            if kind == ENTER:
                if inside:
                    self._interrupts.setdefault(context, []).append(name)
                texts.append(
                    f',\n{{"ph":"B","pid":1,"tid":{thread},"ts":{time},"name":{functions[name]}}}'
                )
            elif kind == LEAVE:
                net, flags = next(rows)
                if inside:
                    self._interrupts[context].pop()
                told = f',"net_us":{net}{_HOW[flags & _TOLD]}'
                more = "" if plain and not flags & _TOLD else told
                texts.append(
                    f',\n{{"ph":"E","pid":1,"tid":{thread},"ts":{time},'
                    f'"name":{functions[name]}{more}}}'
                )
            elif kind == INLINE:
                texts.append(
                    f',\n{{"ph":"i","s":"t","pid":1,"tid":{thread},"ts":{time},'
                    f'"name":{inlines[name]}}}'
                )
            else:
                texts += self._cut_interrupts("E", self._context, time)
                self._put("".join(texts))
                self._turn("E", time)
                self._begin(context, time)
                self._context = context
                texts = self._cut_interrupts("B", context, time)
        self._put("".join(texts))

    def _cut_interrupts(self, phase: str, context: int, time: str) -> list[str]:
        """Ends or begins again the calls of the interrupt that is open in a context."""
        calls = self._interrupts.get(context, [])
        more = ',"ended_by":"switch"' if phase == "E" else ""
        return [
            f',\n{{"ph":"{phase}","pid":1,"tid":{_FIRST + INTERRUPTS},"ts":{time},'
            f'"name":{self._functions[name]}{more}}}'
            for name in (reversed(calls) if phase == "E" else calls)
        ]
