"""A trace in Perfetto's schema, read by the rules of its trace processor, in few lines.

Packets are parsed by the protobuf classes of the `perfetto` package. Timestamps of the clock 64 are
increments in the order of the packets; names come from the interned data of the sequence; a slice
ends the last one that is open on its track.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass
class Slice:
    name: str
    track: str
    start: int
    depth: int
    end: int = -1
    inside: int = 0
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def duration(self) -> int:
        return self.end - self.start


@dataclass
class Trace:
    slices: list[Slice] = field(default_factory=list)
    instants: list[tuple[str, str, int]] = field(default_factory=list)
    counters: list[tuple[str, int, int]] = field(default_factory=list)
    tracks: dict[int, Any] = field(default_factory=dict)
    end: int = 0


def read(data: bytes) -> Trace:
    pb = pytest.importorskip(
        "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="no perfetto package"
    )
    from google.protobuf import unknown_fields

    message = pb.Trace.FromString(data)
    trace = Trace()
    names: dict[int, str] = {}
    notes: dict[int, str] = {}
    stacks: dict[int, list[Slice]] = {}
    clock = 0
    default_clock = None
    for packet in message.packet:
        for part in (packet, packet.track_event, packet.track_descriptor, packet.interned_data):
            assert not len(unknown_fields.UnknownFieldSet(part)), packet
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("clock_snapshot"):
            own = {c.clock_id: c for c in packet.clock_snapshot.clocks}[64]
            assert own.is_incremental
            clock = own.timestamp
        if packet.HasField("trace_packet_defaults"):
            default_clock = packet.trace_packet_defaults.timestamp_clock_id
        for entry in packet.interned_data.event_names:
            names[entry.iid] = entry.name
        for entry in packet.interned_data.debug_annotation_names:
            notes[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            trace.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if not packet.HasField("track_event"):
            continue
        assert default_clock == 64
        assert packet.sequence_flags & pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        clock += packet.timestamp
        _event(pb, trace, packet.track_event, clock, names, notes, stacks)
    assert not any(stacks.values())
    trace.end = clock
    return trace


def _event(
    pb: Any,
    trace: Trace,
    event: Any,
    now: int,
    names: dict[int, str],
    notes: dict[int, str],
    stacks: dict[int, list[Slice]],
) -> None:
    track = trace.tracks[event.track_uuid].name
    stack = stacks.setdefault(event.track_uuid, [])
    for uuid, value in zip(
        event.extra_counter_track_uuids, event.extra_counter_values, strict=True
    ):
        descriptor = trace.tracks[uuid]
        assert descriptor.HasField("counter")
        assert descriptor.parent_uuid == event.track_uuid
        trace.counters.append((track, now, value))
    name = event.name or names.get(event.name_iid, "")
    if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
        stack.append(Slice(name, track, now, len(stack)))
        trace.slices.append(stack[-1])
    elif event.type == pb.TrackEvent.TYPE_SLICE_END:
        ended = stack.pop()
        assert name in ("", ended.name)
        ended.end = now
        for note in event.debug_annotations:
            value = note.string_value or note.uint_value
            ended.notes[notes[note.name_iid]] = value
        if stack:
            stack[-1].inside += ended.duration
    else:
        assert event.type == pb.TrackEvent.TYPE_INSTANT
        trace.instants.append((name, track, now))
