"""speedscope's own file format, for https://www.speedscope.app: one profile of what ran.

The lowest frame is the context that runs, above it its calls; at a context switch they close and
those of the other context open. So the self time of a function is its net time, the total its
elapsed time, and the self time of a context's frame is idle (the system context) or unattributed.
Schema: https://www.speedscope.app/file-format-schema.json.
"""

from __future__ import annotations

import json
from typing import BinaryIO

from kprof.analysis.stream import Stream
from kprof.export.labels import context_name
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
    base = len(stream.functions)
    contexts: dict[int, int] = {}
    current = -1
    comma = ""
    for actions in running(stream):
        texts: list[str] = []
        for kind, value, time in actions:
            if kind == MARK:
                continue
            at = scale.whole(time)
            if kind == OPEN:
                texts.append(f'{{"type":"O","frame":{value},"at":{at}}}')
            elif kind == CLOSE:
                texts.append(f'{{"type":"C","frame":{value},"at":{at}}}')
            elif kind == CONTEXT:
                if current >= 0:
                    texts.append(f'{{"type":"C","frame":{current},"at":{at}}}')
                current = contexts.setdefault(value, base + len(contexts))
                texts.append(f'{{"type":"O","frame":{current},"at":{at}}}')
        if texts:
            out.write((comma + ",\n".join(texts)).encode("ascii"))
            comma = ",\n"
    end = scale.whole(stream.ledger.elapsed)
    out.write(f'{comma}{{"type":"C","frame":{current},"at":{end}}}\n],'.encode("ascii"))
    frames = [json.dumps({"name": entry.name}) for entry in stream.functions]
    frames += [json.dumps({"name": context_name(stream, context)}) for context in contexts]
    text = ",\n".join(frames)
    out.write(f'"endValue":{end}}}],\n"shared":{{"frames":[\n{text}\n]}}}}\n'.encode("ascii"))
