"""speedscope's own file format, for https://www.speedscope.app: one profile of what ran.

The lowest frame is the context that runs, or ``interrupts``, above it its calls; at a context
switch they close and those of the other context open. So the self time of a function is its net
time, the total its elapsed time without the interrupts on top of it. Idle, user and unattributed
time have frames.
Schema: https://www.speedscope.app/file-format-schema.json.
"""

from __future__ import annotations

import json
from typing import BinaryIO

from kprof.export.labels import context_name
from kprof.export.places import Place
from kprof.export.running import CLOSE, CONTEXT, END, MARK, REST, running
from kprof.export.units import Scale
from kprof.export.view import View

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"us": "microseconds", "ns": "nanoseconds"}


def write(view: View, out: BinaryIO) -> None:
    """Write the capture as an evented profile."""
    scale = Scale(view.info.clock_hz)
    source = json.dumps(view.info.source)
    out.write(
        f'{{"$schema":"{_SCHEMA}","exporter":"kprof","name":{source},"activeProfileIndex":0,'
        f'"profiles":[{{"type":"evented","name":{source},"unit":"{_UNITS[scale.unit]}",'
        '"startValue":0,"events":[\n'.encode("ascii")
    )
    base = len(view.functions) + len(REST)
    contexts: dict[int, int] = {}
    current = -1
    at = 0
    comma = ""
    for actions in running(view):
        texts: list[str] = []
        for kind, value, time in actions:
            if kind == MARK:
                continue
            at = scale.whole(time)
            if kind == CONTEXT:
                if current >= 0:
                    texts.append(f'{{"type":"C","frame":{current},"at":{at}}}')
                if value == END:
                    break
                current = value = contexts.setdefault(value, base + len(contexts))
            phase = "C" if kind == CLOSE else "O"
            texts.append(f'{{"type":"{phase}","frame":{value},"at":{at}}}')
        if texts:
            out.write((comma + ",\n".join(texts)).encode("ascii"))
            comma = ",\n"
    out.write(b"\n],")
    frames = [
        json.dumps({"name": entry.name, **_place(place)})
        for entry, place in zip(view.functions, view.places, strict=True)
    ]
    frames += [json.dumps({"name": label}) for label in REST]
    frames += [json.dumps({"name": context_name(view, context)}) for context in contexts]
    text = ",\n".join(frames)
    out.write(f'"endValue":{at}}}],\n"shared":{{"frames":[\n{text}\n]}}}}\n'.encode("ascii"))


def _place(place: Place) -> dict[str, str | int]:
    line: dict[str, str | int] = {"line": place.line} if place.line else {}
    return {"file": place.file, **line} if place.file else {}
