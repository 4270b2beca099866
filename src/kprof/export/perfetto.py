"""Perfetto's native trace: track events with interned names, for https://ui.perfetto.dev.

A thread for each task, with its calls as slices. At a context switch the slices of a task end, and
at its next turn they begin again (argument ``continued``), so the time in slices is the time on the
processor; a flow leads from the one to the other. The scheduling itself is written as the kernel's
``sched_switch`` events, so Perfetto shows what runs on the processor and each thread's state.
Interrupts have a track of their own, so has idle time. The category of a slice is ``task``,
``interrupt``, ``system``, ``user`` or ``idle``. The end of a call has its net and elapsed time in
ns, how long it was switched out, and how it ended where that was by no exit. Counters show the part
of the time that the processor, the interrupts and each task were busy.

A trace is one message whose fields 1 are packets. Calls are tables of bytes
(`kprof.export.packets`). Times are nanoseconds, each counted from the packet before (an incremental
clock of the sequence); what is not of a call has the time since the first event.
Schema: protos/perfetto/trace/trace_packet.proto and track_event/ of the Perfetto repository.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay import codes as states
from kprof.analysis.stream import ENTER, INLINE, LEAVE, SWITCH, Steps
from kprof.export.busy import IDLE, Busy
from kprof.export.labels import context_name
from kprof.export.packets import (
    AWAY,
    BEGIN,
    CONTINUED,
    COUNTER,
    ELAPSED,
    END,
    ENDED_BY,
    INSTANT,
    NET,
    NOTES,
    begin_layout,
    end_layout,
    event,
    joined,
)
from kprof.export.protobuf import content, number, varint
from kprof.export.units import Scale
from kprof.export.view import INTERRUPTS, Shown, View

_PACKET = 1
_FTRACE, _SNAPSHOT, _TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS = 1, 6, 8, 10, 11, 12, 13
_CLOCK, _DEFAULTS, _TRACK = 58, 59, 60
_CLEARED, _NEEDED = 1, 2
_REALTIME, _BOOTTIME, _OWN_CLOCK = 1, 6, 64

_PROCESS, _PROCESSOR, _INTERRUPTS, _IDLE, _BUSY, _BUSY_INTERRUPTS = range(1, 7)  # tracks
_FIRST = 16  # track of the system context; each context has two numbers, one for its counter
_PID = 1  # a task's thread has the number of its context, the processor's idle thread 0
_EXPLICIT = 3  # child_ordering: by sibling_order_rank
_SLEEPING = 1
_MOST_SWITCHES = 1 << 14  # pairs of contexts that are remembered
_CATEGORIES = ("task", "interrupt", "system", "user", "idle")
_TASK_CATEGORY, _INTERRUPT_CATEGORY, _SYSTEM, _USER, _IDLE_CATEGORY = range(1, 6)
_ENDINGS = ((states.ORPHAN, "began before"), (states.OPEN, "open"), (states.UNWOUND, "unwound"))
_MARKED = states.ORPHAN | states.OPEN | states.UNWOUND | states.RESUMED
_NOTHING = 4  # a kind of step that is not in the tables


def write(view: View, out: BinaryIO) -> None:
    """Write the capture as a Perfetto trace."""
    _Writer(view, out).write()


class _Open(NamedTuple):
    """A call that has begun: its number, and the fields of its slices."""

    call: int
    track: int
    name: int
    category: int

    def begin(self, more: bytes) -> bytes:
        """The event with which a slice of it begins; a name's iid is that of its place."""
        head = number(9, BEGIN) + number(11, self.track) + number(10, self.name)
        return head + number(3, self.category) + number(34, self.name) + more


class _Special(NamedTuple):
    """What is written for a step that is not in the tables: track events, and other packets."""

    events: list[bytes]
    packets: bytes = b""


class _Writer:
    def __init__(self, view: View, out: BinaryIO) -> None:
        self._view = view
        self._out = out
        self._scale = Scale(view.info.clock_hz, "ns")
        self._seen = np.zeros(len(view.functions) + len(view.inlines), bool)
        self._described: set[int] = set()
        self._now = 0
        self._busy = Busy(view)
        self._context = view.first
        self._stacks: dict[int, list[_Open]] = {}
        self._switches: dict[tuple[int, int], bytes] = {}
        self._turns = 0
        self._flows: dict[int, int] = {}  # by context: the flow from its last turn
        self._own = np.full(max(1, len(view.functions)), _TASK_CATEGORY)
        self._own[[k for k, user in enumerate(view.user) if user]] = _USER
        self._own[[k for k, idle in enumerate(view.idle) if idle]] = _IDLE_CATEGORY

    def write(self) -> None:
        self._head()
        for block, shown in enumerate(self._view):
            if not block:  # its name is known only then
                self._describe([self._view.first])
                self._out.write(self._scheduled(-1, self._view.first, 0))
            if len(shown.steps.kind):
                self._idle(self._busy.add(shown.steps))
                self._block(shown.only_kept())
        end = self._view.ledger.elapsed
        self._idle(self._busy.finish(end))
        self._out.write(self._scheduled(self._context, -1, self._scale.whole(end)))
        self._counters(end)

    def _packet(self, data: bytes) -> None:
        self._out.write(content(_PACKET, data + number(_SEQUENCE, 1)))

    def _head(self) -> None:
        info = self._view.info
        clocks = content(1, number(1, _BOOTTIME) + number(2, 0))
        if info.started_ns:
            clocks += content(1, number(1, _REALTIME) + number(2, info.started_ns))
        clocks += content(1, number(1, _OWN_CLOCK) + number(2, 0) + number(3, 1))
        self._packet(
            content(_SNAPSHOT, clocks)
            + content(_DEFAULTS, number(_CLOCK, _OWN_CLOCK))
            + number(_FLAGS, _CLEARED)
        )
        processor = number(1, _PROCESSOR) + content(2, "processor") + number(11, _EXPLICIT)
        self._packet(content(_TRACK, processor))
        self._track(_BUSY, "busy", 0, counter=True)
        self._track(_INTERRUPTS, "interrupts", 1)
        self._track(_IDLE, "idle", 3)
        process = content(3, number(1, _PID) + content(6, info.source))
        self._packet(content(_TRACK, number(1, _PROCESS) + process))
        data = b""
        for iid, category in enumerate(_CATEGORIES, 1):
            data += content(1, number(1, iid) + content(2, category))
        for iid, note in enumerate(NOTES, 1):
            data += content(3, number(1, iid) + content(2, note))
        self._packet(content(_INTERNED, data) + number(_FLAGS, _NEEDED))

    def _track(
        self, track: int, name: str, rank: int, parent: int = _PROCESSOR, *, counter: bool = False
    ) -> None:
        more = content(8, content(6, "%")) if counter else b""
        descriptor = number(1, track) + number(5, parent) + content(2, name) + number(12, rank)
        self._packet(content(_TRACK, descriptor + more))

    def _describe(self, contexts: list[int]) -> None:
        """The tracks of contexts not met before: threads, that of the system context apart."""
        for context in contexts:
            if context in self._described:
                continue
            self._described.add(context)
            track, name = _FIRST + 2 * context, context_name(self._view, context)
            if context == 0:
                self._track(track, name, 4)
                continue
            thread = number(1, _PID) + number(2, context) + content(5, name)
            descriptor = number(1, track) + content(4, thread)
            self._packet(content(_TRACK, descriptor))

    def _intern(self, names: NDArray[np.int64]) -> None:
        """Name what is not met before; the iid of a name, and of its place, is its number and 1."""
        used = np.zeros(len(self._seen), bool)
        used[names] = True
        functions, inlines = self._view.functions, self._view.inlines
        data = b""
        for name in np.flatnonzero(used & ~self._seen).tolist():
            known = name < len(functions)
            entry = functions[name] if known else inlines[name - len(functions)]
            data += content(2, number(1, name + 1) + content(2, entry.name))
            if known:
                place = self._view.places[name]
                where = content(2, place.file) if place.file else b""
                where += content(3, entry.name) + (number(4, place.line) if place.line else b"")
                data += content(4, number(1, name + 1) + where)
        self._seen |= used
        if data:
            self._packet(content(_INTERNED, data) + number(_FLAGS, _NEEDED))

    def _at(self, time: int, body: bytes) -> None:
        """A track event at a time in ns since the first event."""
        data = number(_TIMESTAMP, time) + number(_CLOCK, _BOOTTIME) + number(_FLAGS, _NEEDED)
        self._packet(data + content(_EVENT, body))

    def _idle(self, spans: list[tuple[int, int]]) -> None:
        track = number(11, _IDLE)
        head = number(9, BEGIN) + track + content(23, "idle") + number(3, _IDLE_CATEGORY)
        for begin, end in spans:
            self._at(self._scale.whole(begin), head)
            self._at(self._scale.whole(end), number(9, END) + track)

    def _scheduled(self, old: int, new: int, now: int) -> bytes:
        """A context gives the processor to another one; -1: none, at the ends of the capture."""
        end = self._switches.get((old, new))
        if end is None:
            if len(self._switches) > _MOST_SWITCHES:
                self._switches.clear()
            end = self._switches[old, new] = self._sched_switch(old, new)
        bundle = number(1, 0) + content(2, number(1, now) + end)
        return content(_PACKET, content(_FTRACE, bundle) + number(_SEQUENCE, 1))

    def _sched_switch(self, old: int, new: int) -> bytes:
        """What follows the time in an ftrace event."""
        switch = b""
        for first, context in ((1, old), (5, new)):
            name = context_name(self._view, context) if context > 0 else "swapper"
            switch += content(first, name) + number(first + 1, max(0, context))
            switch += number(first + 2, 120)
            if first == 1:
                switch += number(4, _SLEEPING if context > 0 else 0)
        return number(2, max(0, old)) + content(4, switch)

    def _block(self, shown: Shown) -> None:
        steps, inside = shown.steps, shown.inside
        kind, functions = steps.kind, len(self._view.functions)
        if not len(kind):
            return
        self._describe(np.unique(steps.context).tolist())
        name = np.where(kind == INLINE, steps.name + functions, steps.name)
        self._intern(name[kind != SWITCH])
        now = self._scale.column(steps.time)
        track = np.where(inside > 0, _INTERRUPTS, _FIRST + 2 * steps.context)
        own = self._own[np.where(kind <= LEAVE, steps.name, 0)]
        usual = np.where(steps.context == 0, _SYSTEM, _TASK_CATEGORY)
        category = np.where(inside > 0, _INTERRUPT_CATEGORY, usual)
        category = np.where((kind <= LEAVE) & (own != _TASK_CATEGORY), own, category)
        columns = {
            "gap": np.zeros(len(kind), np.int64),
            "track": track,
            "name": name + 1,
            "category": category,
        }
        special = self._special(steps, columns, now)
        kinds = kind.copy()
        kinds[list(special)] = _NOTHING
        silent = [at for at, one in special.items() if not one.events]
        written = np.ones(len(kind), np.bool_)
        written[silent] = False
        columns["gap"][written] = np.diff(now[written], prepend=self._now)
        self._write_packets(steps, kinds, columns, special)
        if written.any():
            self._now = int(now[written][-1])

    def _write_packets(
        self,
        steps: Steps,
        kinds: NDArray[np.uint8],
        columns: dict[str, NDArray[np.int64]],
        special: dict[int, _Special],
    ) -> None:
        gap, track, name = (_size(int(columns[c].max())) for c in ("gap", "track", "name"))
        tables = {}
        for kind, code, located in ((ENTER, BEGIN, True), (INLINE, INSTANT, False)):
            mine = kinds == kind
            if mine.any():
                layout = begin_layout(gap, track, name, located=located, kind=code)
                tables[kind] = layout.table({key: c[mine] for key, c in columns.items()})
        plain = kinds[steps.leave] == LEAVE
        if plain.any():
            mine = steps.leave[plain]
            net, elapsed = (
                self._scale.column(column[plain]) for column in (steps.rows.net, steps.rows.elapsed)
            )
            sizes = (10 if int(c.min()) < 0 else _size(int(c.max())) for c in (net, elapsed))
            table = {"gap": columns["gap"][mine], "track": columns["track"][mine]}
            tables[LEAVE] = end_layout(gap, track, *sizes).table(
                {**table, "net": net, "elapsed": elapsed}
            )
        data, starts = joined(kinds, tables)
        written = 0
        for place in sorted(special):
            start = int(starts[place])
            self._out.write(data[written:start].data)
            gap_here = int(columns["gap"][place])
            for body in special[place].events:
                self._out.write(event(body, gap_here))
                gap_here = 0
            self._out.write(special[place].packets)
            written = start
        self._out.write(data[written:].data)

    def _special(
        self, steps: Steps, columns: dict[str, NDArray[np.int64]], now: NDArray[np.int64]
    ) -> dict[int, _Special]:
        """What switches, and calls that do not begin and end plainly in one turn, write."""
        row_of = np.full(len(steps.kind), -1)
        row_of[steps.leave] = np.arange(len(steps.leave))
        found: dict[int, _Special] = {}
        for at in _crossing(steps).tolist():
            kind, context = int(steps.kind[at]), int(steps.context[at])
            fields = (int(columns[key][at]) for key in ("track", "name", "category"))
            call = _Open(int(steps.call[at]), *fields)
            runs = context == self._context
            if kind == ENTER:
                self._stacks.setdefault(context, []).append(call)
                if not runs:
                    found[at] = _Special([])
            elif kind == LEAVE:
                self._stacks[context] = [
                    one for one in self._stacks.get(context, ()) if one.call != call.call
                ]
                notes = self._notes(steps, int(row_of[at]))
                end = number(9, END) + number(11, call.track) + notes
                # The slice of a call that does not run ended when it was switched out.
                again = [] if runs else [call.begin(_note(CONTINUED, number(2, 1)))]
                found[at] = _Special([*again, end])
            else:
                found[at] = self._switch(context, int(now[at]))
        return found

    def _notes(self, steps: Steps, row: int) -> bytes:
        """The annotations of the end of a call."""
        rows, whole = steps.rows, self._scale.whole
        flags, net, elapsed = (int(c[row]) for c in (rows.flags, rows.net, rows.elapsed))
        if flags & states.ORPHAN:  # as in the report: its net time alone is its function's
            elapsed = net
        notes = _note(NET, number(4, whole(net))) + _note(ELAPSED, number(4, whole(elapsed)))
        if rows.away[row]:
            notes += _note(AWAY, number(4, whole(int(rows.away[row]))))
        for flag, ending in _ENDINGS:
            if flags & flag:
                return notes + _note(ENDED_BY, content(6, ending))
        return notes

    def _switch(self, context: int, now: int) -> _Special:
        """The slices of the context that ran end, those of the other begin again."""
        old, self._context = self._context, context
        events = [number(9, END) + number(11, c.track) for c in reversed(self._stacks.get(old, ()))]
        if events:
            self._turns += 1
            self._flows[old] = self._turns
            events[0] += varint(47 << 3 | 1) + struct.pack("<Q", self._turns)
        resumed = [
            call.begin(_note(CONTINUED, number(2, 1))) for call in self._stacks.get(context, ())
        ]
        flow = self._flows.pop(context, 0)
        if resumed and flow:
            resumed[-1] += varint(48 << 3 | 1) + struct.pack("<Q", flow)
        return _Special(events + resumed, self._scheduled(old, context, now))

    def _counters(self, end: int) -> None:
        """How busy the processor, the interrupts and each task were, window by window."""
        shares = self._busy.shares()
        idle = shares.pop(IDLE, None)
        windows = max(
            (len(share) for share in [*shares.values(), idle] if share is not None), default=0
        )
        if not windows:
            return
        found = {_BUSY: 100 - idle if idle is not None else np.full(windows, 100.0)}
        for who, share in sorted(shares.items()):
            if who == INTERRUPTS:
                self._track(_BUSY_INTERRUPTS, "interrupts busy", 2, counter=True)
                found[_BUSY_INTERRUPTS] = share
            elif who > 0:
                track = _FIRST + 2 * who + 1
                self._track(track, "busy", 0, _FIRST + 2 * who, counter=True)
                found[track] = share
        for track, share in found.items():
            head = number(9, COUNTER) + number(11, track) + varint(44 << 3 | 1)
            before = -1.0
            for window, value in enumerate(share.tolist()):
                if value != before:
                    time = self._scale.whole(window * self._busy.window)
                    self._at(time, head + struct.pack("<d", value))
                before = value
            self._at(self._scale.whole(end), head + struct.pack("<d", 0.0))


def _crossing(steps: Steps) -> NDArray[np.int64]:
    """The switches, and the steps of calls that do not begin and end plainly in one turn."""
    kind, turn = steps.kind, np.cumsum(steps.kind == SWITCH)
    enter, leave = np.flatnonzero(kind == ENTER), steps.leave
    order = np.argsort(steps.call[enter], kind="stable")
    calls = np.append(steps.call[enter][order], -1)
    place = np.searchsorted(calls[:-1], steps.call[leave])
    begun = np.append(enter[order], 0)[place]
    plain = (calls[place] == steps.call[leave]) & (turn[begun] == turn[leave])
    crosses = kind != INLINE
    crosses[begun[plain]] = False
    crosses[leave[plain & (steps.rows.flags & _MARKED == 0)]] = False
    return np.flatnonzero(crosses)


def _note(iid: int, value: bytes) -> bytes:
    return content(4, number(1, iid) + value)


def _size(value: int) -> int:
    return len(varint(value))
