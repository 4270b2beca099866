"""speedscope's own file format, for https://www.speedscope.app: one profile of what ran.

The lowest frame is the context that runs, above it its calls; at a context switch they close and
those of the other context open. So the self time of a function is its net time, the total its
elapsed time, the self time of a task's frame is unattributed, and idle time has a frame.
Schema: https://www.speedscope.app/file-format-schema.json.
"""

from __future__ import annotations

import json
from typing import BinaryIO

from kprof.analysis.stream import Stream
from kprof.export.labels import IDLE, context_name
from kprof.export.running import CLOSE, CONTEXT, MARK, OPEN, running
from kprof.export.units import Scale

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"us": "microseconds", "ns": "nanoseconds"}


def write(stream: Stream, out: BinaryIO) -> None:
    """Write the capture as an evented profile."""
    scale = Scale(stream.info.clock_hz)
    source = json.dumps(stream.info.source)
    out.write(
        f'{{"$schema":"{_SCHEMA}","exporter":"kprof","name":{source},"activeProfileIndex":0,'
        f'"profiles":[{{"type":"evented","name":{source},"unit":"{_UNITS[scale.unit]}",'
        '"startValue":0,"events":[\n'.encode("ascii")
    )
    base = len(stream.functions)  # the frame of idle time; the contexts follow
    contexts: dict[int, int] = {}
    current = -1
    comma = ""
    running_context = stream.first
    depth, idle_since = 0, -1  # -1: not idle

    def idle(at: int) -> list[str]:
        """The frame of the idle time that ends."""
        if not 0 <= idle_since < at:
            return []
        frame = f'"frame":{base},"at":'
        return [f'{{"type":"O",{frame}{idle_since}}}', f'{{"type":"C",{frame}{at}}}']

    for actions in running(stream):
        texts: list[str] = []
        for kind, value, time in actions:
            if kind == MARK:
                continue
            at = scale.whole(time)
            if kind != CLOSE:
                texts += idle(at)
                idle_since = -1
            if kind == OPEN:
                depth += 1
                texts.append(f'{{"type":"O","frame":{value},"at":{at}}}')
            elif kind == CLOSE:
                depth -= 1
                idle_since = -1 if depth or running_context else at
                texts.append(f'{{"type":"C","frame":{value},"at":{at}}}')
            elif kind == CONTEXT:
                if current >= 0:
                    texts.append(f'{{"type":"C","frame":{current},"at":{at}}}')
                running_context = value
                idle_since = -1 if value else at
                current = contexts.setdefault(value, base + 1 + len(contexts))
                texts.append(f'{{"type":"O","frame":{current},"at":{at}}}')
        if texts:
            out.write((comma + ",\n".join(texts)).encode("ascii"))
            comma = ",\n"
    end = scale.whole(stream.ledger.elapsed)
    out.write("".join(comma + text for text in idle(end)).encode("ascii"))
    out.write(f'{comma}{{"type":"C","frame":{current},"at":{end}}}\n],'.encode("ascii"))
    frames = [json.dumps({"name": entry.name}) for entry in stream.functions]
    frames.append(json.dumps({"name": IDLE}))
    frames += [json.dumps({"name": context_name(stream, context)}) for context in contexts]
    text = ",\n".join(frames)
    out.write(f'"endValue":{end}}}],\n"shared":{{"frames":[\n{text}\n]}}}}\n'.encode("ascii"))
