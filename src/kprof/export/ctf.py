"""Common Trace Format 1.8, a folder: for babeltrace2, Trace Compass and others.

The events as the event RAM has them, one for one: the 24-bit timer stands in the event headers and
wraps there, as the format allows, so nothing of the capture is lost; events that were lost are
counted in the last packet. Each event also has the context that runs after it. Tags that the name
file does not know are ``unknown``. Specification: https://diamon.org/ctf/ (1.8.3).
"""

from __future__ import annotations

import json
import struct
import uuid
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.clock import Clock
from kprof.analysis.replay.tags import TAGS
from kprof.analysis.stream import SWITCH, Stream
from kprof.export.labels import plain

_KINDS = ("entry", "exit", "inline", "unknown")
_ENTRY, _EXIT, _INLINE, _UNKNOWN = range(4)
_MAGIC = 0xC1FC1FC1
_HEAD = struct.Struct("<I16sI")
_CONTEXT = struct.Struct("<QQQQQ")
_WIDE = 64


def write(stream: Stream, folder: Path) -> None:
    """Write the trace into `folder`, which is there: the files ``metadata`` and ``events``.

    Raises
    ------
    OSError
        It cannot be written.
    """
    trace = uuid.uuid4()
    bits = 24 if stream.info.time_bits == 24 and not stream.info.unwrapped else _WIDE
    with (folder / "events").open("wb") as out:
        _write_events(stream, out, trace, bits)
    with (folder / "metadata").open("wb") as out:
        out.write(_metadata(stream, trace, bits).encode("utf-8", "backslashreplace"))


def _write_events(stream: Stream, out: BinaryIO, trace: uuid.UUID, bits: int) -> None:
    clock = Clock(stream.info)
    kinds = _kinds(stream)
    event = np.dtype(
        [("kind", "u1"), ("time", "u1", (bits // 8,)), ("tag", "<u2"), ("context", "<u4")]
    )
    first, done, context, now = 0, 0, stream.first, 0
    for steps in stream:
        if steps.stop == done:
            continue
        ticks, tags = stream.raw(done, steps.stop)
        if not done:
            first = now = int(ticks[0])
        times = clock.advance(ticks) + first
        resumed = steps.context[steps.kind == SWITCH]
        lengths = np.diff(steps.switched - done, prepend=0, append=len(tags))
        contexts = np.repeat(np.append(context, resumed), lengths)
        table = np.empty(len(tags), event)
        table["kind"] = kinds[tags]
        table["time"] = times.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : bits // 8]
        table["tag"] = tags
        table["context"] = contexts
        _packet(out, trace, now, int(times[-1]), table.tobytes(), 0)
        context, done, now = int(contexts[-1]), steps.stop, int(times[-1])
    if stream.info.lost or not done:
        _packet(out, trace, now, now, b"", stream.info.lost or 0)


def _packet(
    out: BinaryIO, trace: uuid.UUID, begin: int, end: int, events: bytes, lost: int
) -> None:
    size = 8 * (_HEAD.size + _CONTEXT.size + len(events))
    out.write(_HEAD.pack(_MAGIC, trace.bytes, 0) + _CONTEXT.pack(begin, end, size, size, lost))
    out.write(events)


def _kinds(stream: Stream) -> NDArray[np.uint8]:
    """The event class of each tag."""
    kinds = np.full(TAGS, _UNKNOWN, np.uint8)
    for entry in stream.functions:
        kinds[entry.value] = _ENTRY
        kinds[entry.value + 1] = _EXIT
    for entry in stream.inlines:
        kinds[entry.value] = _INLINE
    return kinds


def _metadata(stream: Stream, trace: uuid.UUID, bits: int) -> str:
    info = stream.info
    hz = max(1, round(info.clock_hz))
    seconds, rest = divmod(info.started_ns, 1_000_000_000)
    names = [f"{_string(e.name)} = {e.value} ... {e.value + 1}" for e in stream.functions]
    names += [f"{_string(e.name)} = {e.value}" for e in stream.inlines]
    if not names:
        names = ['"(none)" = 0']
    mappings = ",\n    ".join(names)
    lost = "0" if not info.some_lost else "unknown" if info.lost is None else str(info.lost)
    text = f"""/* CTF 1.8 */

typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 8; signed = false; }} := uint16_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;

trace {{
    major = 1;
    minor = 8;
    uuid = "{trace}";
    byte_order = le;
    packet.header := struct {{
        uint32_t magic;
        uint8_t uuid[16];
        uint32_t stream_id;
    }};
}};

env {{
    tracer_name = "kprof";
    source = {_string(info.source)};
    event_ram_full = {int(info.full)};
    lost_events = "{lost}";
}};

clock {{
    name = timer;
    description = "the Profiler's timer";
    freq = {hz};
    offset_s = {seconds};
    offset = {rest * hz // 1_000_000_000};
}};

typealias integer {{
    size = {bits}; align = 8; signed = false; map = clock.timer.value;
}} := tick_t;
typealias integer {{
    size = 64; align = 8; signed = false; map = clock.timer.value;
}} := time_t;
typealias enum : uint16_t {{
    {mappings}
}} := name_t;

stream {{
    id = 0;
    packet.context := struct {{
        time_t timestamp_begin;
        time_t timestamp_end;
        uint64_t content_size;
        uint64_t packet_size;
        uint64_t events_discarded;
    }};
    event.header := struct {{
        uint8_t id;
        tick_t timestamp;
    }};
}};
"""
    for number, kind in enumerate(_KINDS):
        tag = "uint16_t tag" if number == _UNKNOWN else "name_t name"
        text += f"""
event {{
    id = {number};
    name = "{kind}";
    stream_id = 0;
    fields := struct {{
        {tag};
        uint32_t context;
    }};
}};
"""
    return text


def _string(text: str) -> str:
    """A string literal of the metadata language."""
    return json.dumps(plain(text), ensure_ascii=False)
