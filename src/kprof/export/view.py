"""A stream as an export shows it: the calls that a filter keeps, interrupts apart.

A filter decides on a call when it ends; a format with a time axis writes the call when it begins.
So the capture is read once before it is written: a bit for each call says whether it stays, and
the interrupts are recognised on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.filters import Filter
from kprof.analysis.paths import PathSums, PathTree
from kprof.analysis.questions import near
from kprof.analysis.recognise import InterruptSigns, marked_interrupts
from kprof.analysis.replay import codes
from kprof.analysis.selection import Selection
from kprof.analysis.stream import ENTER, INLINE, LEAVE, SWITCH, Ledger, Steps, Stream
from kprof.errors import UsageError
from kprof.export.places import NOWHERE, Place
from kprof.names import Modifier

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]


INTERRUPTS = -1
"""The context that interrupts are shown in."""


class Shown(NamedTuple):
    """A block of steps; columns of one length.

    Attributes
    ----------
    steps
        All steps, those of calls that are left out too.
    kept
        Which stay: calls, and inline triggers in them; switches always do.
    inside
        uint8: 1 of the outermost call of an interrupt, 2 of what is inside it, else 0.
    """

    steps: Steps
    kept: Mask
    inside: NDArray[np.uint8]

    def only_kept(self) -> Shown:
        """The steps that stay."""
        if self.kept.all():
            return self
        steps, kept = self.steps, self.kept
        kinds = steps.kind[kept]
        columns = {
            name: getattr(steps, name)[kept]
            for name in ("name", "time", "context", "depth", "call", "parent", "path", "event")
        }
        rows = steps.rows.select(kept[steps.leave])
        steps = steps._replace(
            kind=kinds, leave=np.flatnonzero(kinds == LEAVE), rows=rows, **columns
        )
        return Shown(steps, kept[kept], self.inside[kept])


class View:
    """What of a stream is shown.

    Parameters
    ----------
    chosen
        The filter, in ticks of the clock of `stream.info`; None: everything.
    interrupts
        Names of the functions that are interrupts; without any, those that the name file marks,
        and those that look so of the functions of which it says nothing.
    paths
        Add the calls that stay up, as `tree`.
    places
        Where functions are defined, by name.

    Attributes
    ----------
    interrupts
        Numbers of the functions that are interrupts.
    recognised
        The names of those that were recognised by how they came.
    places
        By function: where it is defined.
    idle, user
        By function: its own time is idle, or user time.

    Raises
    ------
    UsageError
        The filter, or `interrupts`, names what is not there.
    """

    def __init__(
        self,
        stream: Stream,
        chosen: Filter | None = None,
        interrupts: tuple[str, ...] = (),
        *,
        paths: bool = False,
        places: Mapping[str, Place] | None = None,
    ) -> None:
        found = places or {}
        self.places = [found.get(entry.name, NOWHERE) for entry in stream.functions]
        self.stream = stream
        self.functions, self.inlines, self.info = stream.functions, stream.inlines, stream.info
        self.first, self.compiled = stream.first, stream.compiled
        self.idle = [entry.modifier is Modifier.IDLE for entry in stream.functions]
        self.user = [entry.modifier is Modifier.USER for entry in stream.functions]
        self.interrupts = _named(stream, interrupts)
        self.recognised: tuple[str, ...] = ()
        self._selection = Selection(stream, chosen)
        self._bits = _Bits() if chosen else None
        self.tree: PathTree | None = None
        self._ran: Mask | None = None
        if chosen or paths or not interrupts:
            signs = None if interrupts else InterruptSigns(stream)
            self._look(PathSums() if paths else None, signs)

    def _look(self, sums: PathSums | None, signs: InterruptSigns | None) -> None:
        """Read the capture: what stays, what is an interrupt, and the paths."""
        selection, bits = self._selection, self._bits
        ran: Mask = np.zeros(max(1, len(self.functions)), np.bool_)
        for rows in self.stream.rows():
            kept = selection.take(rows)
            ran[kept.rows.fn] = True
            if bits is not None:
                bits.add(kept.rows.call)
            if sums is not None:
                sums.add(kept.rows, kept.path)
            if signs is not None:
                signs.add(rows)
        selection.finish()
        self._ran = ran[: len(self.functions)]
        if signs is not None:
            self.interrupts = frozenset(signs.found())
            unmarked = self.interrupts.difference(marked_interrupts(self.functions))
            self.recognised = tuple(self.functions[number].name for number in sorted(unmarked))
        if sums is not None:
            self.tree = sums.tree(*selection.paths)

    @property
    def filtered(self) -> bool:
        """Is there a filter?"""
        return self._bits is not None

    @property
    def ledger(self) -> Ledger:
        """Where the time went; after an iteration."""
        ledger, gone = self.stream.ledger, self._selection.net
        return ledger._replace(net=ledger.net - gone, left_out=gone)

    def ran(self) -> Mask:
        """Which functions have calls that are shown; shape (functions,)."""
        if self._ran is not None:
            return self._ran
        counts = self.stream.tag_counts()
        values = np.array([entry.value for entry in self.functions], np.int64)
        found: Mask = (counts[values] > 0) | (counts[values + 1] > 0)
        return found

    @property
    def task_names(self) -> dict[int, str]:
        """See `Stream.task_names`."""
        return self.stream.task_names

    def __iter__(self) -> Iterator[Shown]:
        inside = np.zeros(1, np.uint8)
        above = _Above()
        for steps in self.stream:
            inside = self._extended(inside)
            kind = steps.kind
            within = np.zeros(len(kind), np.uint8)
            if self.interrupts:
                within = np.where(kind == SWITCH, 0, inside[steps.path])
                within[(kind == INLINE) & (within == 1)] = 2
            if self._bits is None:
                yield Shown(steps, np.ones(len(kind), np.bool_), within)
                continue
            kept = kind == SWITCH
            kept |= (steps.call >= 0) & self._bits.of(steps.call)
            for row in np.flatnonzero((kind == INLINE) & (steps.call < 0)).tolist():
                kept[row] = self._selection.keeps_all_of(int(steps.context[row]))
            above.correct(steps, kept)
            yield Shown(steps, kept, within)

    def _extended(self, inside: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """By path: is it that of an interrupt, or of what is in one? See `Shown.inside`."""
        path_codes, parents = self.stream.paths
        first = len(inside)
        if first == len(path_codes) or not self.interrupts:
            return inside
        found = inside.tolist()
        for code, parent in zip(path_codes[first:].tolist(), parents[first:].tolist(), strict=True):
            found.append(2 if found[parent] else int(code in self.interrupts))
        return np.array(found, np.uint8)


def _named(stream: Stream, interrupts: tuple[str, ...]) -> frozenset[int]:
    """The numbers of these functions."""
    numbers = {entry.name: number for number, entry in enumerate(stream.functions)}
    for name in interrupts:
        if name not in numbers:
            raise UsageError(
                f"--irq {name}: no function of the name file{near(name, list(numbers))}"
            )
    return frozenset(numbers[name] for name in interrupts)


class _Bits:
    """A set of calls, a bit for each."""

    def __init__(self) -> None:
        self._bytes = np.zeros(1 << 12, np.uint8)

    def add(self, calls: Column) -> None:
        if not len(calls):
            return
        wanted = (int(calls.max()) >> 3) + 1
        if wanted > len(self._bytes):
            more = np.zeros(max(wanted, len(self._bytes) * 3 // 2) - len(self._bytes), np.uint8)
            self._bytes = np.append(self._bytes, more)
        np.bitwise_or.at(self._bytes, calls >> 3, (1 << (calls & 7)).astype(np.uint8))

    def of(self, calls: Column) -> Mask:
        """Which of them are in it; negative ones are not."""
        place = calls >> 3
        there = (calls >= 0) & (place < len(self._bytes))
        found: Mask = self._bytes[np.where(there, place, 0)] >> (calls & 7).astype(np.uint8) & 1 > 0
        return found & there


class _Above:
    """The nearest call around each open one that stays, and how many stay around it."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, int]] = {}

    def correct(self, steps: Steps, kept: Mask) -> None:
        """Put `parent` and `depth` of the rows right for what is shown."""
        found, rows = self._open, steps.rows
        parents, depths = rows.parent.tolist(), rows.depth.tolist()
        row = 0
        columns = (steps.kind, steps.call, kept, steps.parent)
        for kind, call, stays, parent in zip(*(c.tolist() for c in columns), strict=True):
            if kind == ENTER:
                around = found.get(parent, (-1, 0))
                found[call] = (call, around[1] + 1) if stays else around
            elif kind == LEAVE:
                found.pop(call, None)
                parents[row], depths[row] = found.get(parents[row], (-1, 0))
                row += 1
        rows.table[:, codes.R_PARENT] = parents
        rows.table[:, codes.R_DEPTH] = depths
