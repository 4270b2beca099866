"""A trace in Perfetto's schema, read by the rules of its trace processor, in few lines.

Packets are parsed by the protobuf classes of the `perfetto` package. Timestamps of the clock 64 are
increments in the order of the packets, others are of the clock 6; names come from the interned data
of the sequence; a slice ends the last one that is open on its track.
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
    category: str = ""
    place: tuple[str, int] = ("", 0)
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def duration(self) -> int:
        return self.end - self.start


@dataclass
class Trace:
    slices: list[Slice] = field(default_factory=list)
    instants: list[tuple[str, str, int]] = field(default_factory=list)
    counters: list[tuple[str, int, float]] = field(default_factory=list)
    tracks: dict[int, Any] = field(default_factory=dict)
    switches: list[tuple[int, str, str]] = field(default_factory=list)
    flows: dict[int, list[Slice]] = field(default_factory=dict)
    end: int = 0

    def calls(self) -> list[Slice]:
        """The slices of calls."""
        return [s for s in self.slices if s.track != "idle"]


def read(data: bytes) -> Trace:
    pb = pytest.importorskip(
        "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="no perfetto package"
    )
    from google.protobuf import unknown_fields

    message = pb.Trace.FromString(data)
    trace = Trace()
    names: dict[int, str] = {}
    notes: dict[int, str] = {}
    categories: dict[int, str] = {}
    places: dict[int, tuple[str, int]] = {}
    stacks: dict[int, list[Slice]] = {}
    clock = 0
    default_clock = None
    for packet in message.packet:
        parts = [packet, packet.track_event, packet.track_descriptor, packet.interned_data]
        for part in (*parts, packet.ftrace_events, *packet.ftrace_events.event):
            assert not len(unknown_fields.UnknownFieldSet(part)), packet
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("clock_snapshot"):
            own = {c.clock_id: c for c in packet.clock_snapshot.clocks}[64]
            assert own.is_incremental
            clock = own.timestamp
        if packet.HasField("trace_packet_defaults"):
            default_clock = packet.trace_packet_defaults.timestamp_clock_id
        interned = packet.interned_data
        for known, entries in (
            (names, interned.event_names),
            (notes, interned.debug_annotation_names),
            (categories, interned.event_categories),
        ):
            known.update({entry.iid: entry.name for entry in entries})
        for place in interned.source_locations:
            places[place.iid] = place.file_name, place.line_number
        if packet.HasField("track_descriptor"):
            trace.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        for one in packet.ftrace_events.event:
            switch = one.sched_switch
            trace.switches.append((one.timestamp, switch.prev_comm, switch.next_comm))
            trace.end = max(trace.end, one.timestamp)
        if not packet.HasField("track_event"):
            continue
        assert default_clock == 64
        assert packet.sequence_flags & pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        now = packet.timestamp
        if packet.HasField("timestamp_clock_id"):
            assert packet.timestamp_clock_id == 6
        else:
            now = clock = clock + packet.timestamp
        _event(pb, trace, packet.track_event, now, names, notes, stacks)
        last = trace.slices[-1] if trace.slices else None
        if packet.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN and last is not None:
            last.category = categories[packet.track_event.category_iids[0]]
            last.place = places.get(packet.track_event.source_location_iid, ("", 0))
    assert not any(stacks.values())
    trace.end = max(trace.end, clock)
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
    descriptor = trace.tracks[event.track_uuid]
    track = descriptor.thread.thread_name or descriptor.name
    stack = stacks.setdefault(event.track_uuid, [])
    name = event.name or names.get(event.name_iid, "")
    if event.type == pb.TrackEvent.TYPE_COUNTER:
        assert descriptor.HasField("counter")
        of = trace.tracks[descriptor.parent_uuid]
        trace.counters.append((of.thread.thread_name or track, now, event.double_counter_value))
        return
    if event.type == pb.TrackEvent.TYPE_INSTANT:
        trace.instants.append((name, track, now))
        return
    if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
        stack.append(Slice(name, track, now, len(stack)))
        trace.slices.append(stack[-1])
        one = stack[-1]
    else:
        assert event.type == pb.TrackEvent.TYPE_SLICE_END
        one = stack.pop()
        assert name in ("", one.name)
        one.end = now
    for flow in (*event.flow_ids, *event.terminating_flow_ids):
        trace.flows.setdefault(flow, []).append(one)
    for note in event.debug_annotations:
        value = note.string_value or note.bool_value or note.int_value
        one.notes[notes[note.name_iid]] = value
