"""Common Trace Format 1.8, a folder: for babeltrace2, Trace Compass and others.

The events as the event RAM has them, one for one: the 24-bit timer stands in the event headers and
wraps there, as the format allows, so nothing of the capture is lost; events that were lost are
counted in the last packet. Each event also has the context that runs after it, by name, or
``interrupts`` where it is one's. Tags that the name file does not know are ``unknown``. With a
filter the events are those of the calls that stay, and switches. Specification:
https://diamon.org/ctf/ (1.8.3).
"""

from __future__ import annotations

import json
import struct
import uuid
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.tags import TAGS
from kprof.analysis.stream import SWITCH
from kprof.export.labels import context_name, plain
from kprof.export.view import INTERRUPTS, Shown, View

_KINDS = ("entry", "exit", "inline", "unknown")
_ENTRY, _EXIT, _INLINE, _UNKNOWN = range(4)
_MAGIC = 0xC1FC1FC1
_HEAD = struct.Struct("<I16sI")
_CONTEXT = struct.Struct("<QQQQQ")
_WIDE = 64
_INTERRUPTS = (1 << 32) - 1  # the context of their events


def write(view: View, folder: Path) -> None:
    """Write the trace into `folder`, which is there: the files ``metadata`` and ``events``.

    Raises
    ------
    OSError
        It cannot be written.
    """
    trace = uuid.uuid4()
    info = view.info
    as_stored = info.time_bits == 24 and not info.unwrapped and not view.stream.cost
    bits = 24 if as_stored else _WIDE
    with (folder / "events").open("wb") as out:
        contexts = _write_events(view, out, trace, bits)
    with (folder / "metadata").open("wb") as out:
        out.write(_metadata(view, trace, bits, contexts).encode("utf-8", "backslashreplace"))


def _write_events(view: View, out: BinaryIO, trace: uuid.UUID, bits: int) -> list[int]:
    """Write the events; the contexts that they ran in."""
    kinds = _kinds(view)
    times = _Times(view)
    event = np.dtype(
        [("kind", "u1"), ("time", "u1", (bits // 8,)), ("tag", "<u2"), ("context", "<u4")]
    )
    done, context, now = 0, view.first, 0
    seen = {context}
    for shown in view:
        steps = shown.steps
        if steps.stop == done:
            continue
        tags = view.stream.raw(done, steps.stop)[1]
        now = now if done else times.first
        at = times.take(len(tags))
        switch = steps.kind == SWITCH
        lengths = np.diff(steps.event[switch] - done, prepend=0, append=len(tags))
        contexts = np.repeat(np.append(context, steps.context[switch]), lengths)
        context = int(contexts[-1])
        calls = _calls(shown, kinds, done, tags)
        contexts[calls.interrupt] = _INTERRUPTS
        table = np.empty(len(tags), event)
        table["kind"] = kinds[tags]
        table["time"] = at.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : bits // 8]
        table["tag"] = tags
        table["context"] = contexts
        if view.filtered:
            table = table[calls.kept]
        seen.update(np.unique(table["context"]).tolist())
        _packet(out, trace, now, int(at[-1]), table.tobytes(), 0)
        done, now = steps.stop, int(at[-1])
    if view.info.lost or not done:
        _packet(out, trace, now, now, b"", view.info.lost or 0)
    return sorted(seen)


class _Calls(NamedTuple):
    """Of the events of a block: those of interrupts, and those that stay."""

    interrupt: NDArray[np.bool_]
    kept: NDArray[np.bool_]


def _calls(shown: Shown, kinds: NDArray[np.uint8], start: int, tags: NDArray[np.uint16]) -> _Calls:
    steps = shown.steps
    place = steps.event - start
    own = (place >= 0) & (place < len(tags))
    # Calls end by exits of others too, and by the end; an orphan begins at no event of its own.
    wanted = np.array([_ENTRY, _EXIT, _INLINE, _UNKNOWN], np.uint8)[steps.kind]
    own &= (kinds[tags[np.where(own, place, 0)]] == wanted) | (steps.kind == SWITCH)
    interrupt = np.zeros(len(tags), np.bool_)
    interrupt[place[own & (shown.inside > 0)]] = True
    kept = np.zeros(len(tags), np.bool_)
    kept[place[own & shown.kept]] = True
    return _Calls(interrupt, kept)


class _Times:
    """The times of the events, as the event RAM has them; what the triggers cost taken out."""

    def __init__(self, view: View) -> None:
        self._blocks = view.stream.times()
        self._held = np.empty(0, np.int64)
        self._latest = 0
        raw = view.stream.raw(0, 1)[0]
        self.first = int(raw[0]) * view.info.step if len(raw) else 0

    def take(self, events: int) -> NDArray[np.int64]:
        """Those of the next events; ascending."""
        while len(self._held) < events:
            self._held = np.append(self._held, next(self._blocks))
        found: NDArray[np.int64] = self._held[:events].copy()
        self._held = self._held[events:]
        found[0] = max(int(found[0]), self._latest)  # single times may run backwards
        np.maximum.accumulate(found, out=found)
        self._latest = int(found[-1])
        found += self.first
        return found


def _packet(
    out: BinaryIO, trace: uuid.UUID, begin: int, end: int, events: bytes, lost: int
) -> None:
    size = 8 * (_HEAD.size + _CONTEXT.size + len(events))
    out.write(_HEAD.pack(_MAGIC, trace.bytes, 0) + _CONTEXT.pack(begin, end, size, size, lost))
    out.write(events)


def _kinds(view: View) -> NDArray[np.uint8]:
    """The event class of each tag."""
    kinds = np.full(TAGS, _UNKNOWN, np.uint8)
    for entry in view.functions:
        kinds[entry.value] = _ENTRY
        kinds[entry.value + 1] = _EXIT
    for entry in view.inlines:
        kinds[entry.value] = _INLINE
    return kinds


def _metadata(view: View, trace: uuid.UUID, bits: int, contexts: list[int]) -> str:
    info = view.info
    hz = max(1, round(info.clock_hz))
    seconds, rest = divmod(info.started_ns, 1_000_000_000)
    names = [f"{_string(e.name)} = {e.value} ... {e.value + 1}" for e in view.functions]
    names += [f"{_string(e.name)} = {e.value}" for e in view.inlines]
    if not names:
        names = ['"(none)" = 0']
    mappings = ",\n    ".join(names)
    labels = [
        (_string(context_name(view, INTERRUPTS if c == _INTERRUPTS else c)), c) for c in contexts
    ]
    shown = ",\n    ".join(f"{label} = {context}" for label, context in labels)
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
typealias enum : uint32_t {{
    {shown}
}} := context_t;

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
        context_t context;
    }};
}};
"""
    return text


def _string(text: str) -> str:
    """A string literal of the metadata language."""
    return json.dumps(plain(text), ensure_ascii=False)
