"""What is found out about a capture before it is replayed.

A replay goes through a capture once, and what it should know from the start is in its first
`SAMPLE` events: does a task or the system context run first, does the kernel fire task marks, which
functions never return.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.paging import Pages
from kprof.analysis.replay.codes import (
    KINDS,
    ROLE_FAR,
    ROLE_IDLE,
    ROLE_IN,
    ROLE_LONE,
    ROLE_NEVER,
    ROLE_OUT,
    ROLE_SETJMP,
    ROLE_SWITCHES,
    ROLE_SWTCH,
    ROLE_USER,
    SPECIAL,
    SWITCH_IN,
    SWITCH_OUT,
    SWTCH_EXIT,
    TASK,
)
from kprof.analysis.replay.compiled import compiled
from kprof.analysis.replay.decoding import find_switch
from kprof.analysis.replay.knowledge import KnownCalls
from kprof.analysis.replay.tags import TAGS, TagTable
from kprof.capture.model import Capture

SAMPLE = 1 << 20
_CHUNK = 1 << 16
_OFTEN = 8  # entries without any exit after which a function is taken not to return


@dataclass(frozen=True, eq=False)
class Survey:
    """What a replay begins with.

    Attributes
    ----------
    table
        What the tags mean.
    role
        Shape (functions,) int64: the ROLE bits of the functions.
    can
        See `kprof.analysis.replay.columns.Replay`; None where nothing is known.
    stride
        Bytes of a row of `can`.
    jumps
        Some function is known to call setjmp.
    marks
        The kernel fires task marks.
    switches
        There are context switches.
    starts_in_task
        A task runs first, not the system context.
    """

    table: TagTable
    role: NDArray[np.int64]
    can: NDArray[np.uint8] | None
    stride: int
    jumps: bool
    marks: bool
    switches: bool
    starts_in_task: bool


def survey(
    capture: Capture, table: TagTable, known: KnownCalls | None = None, *, fast: bool = False
) -> Survey:
    """Look at the beginning of a capture: the sample, and what is before the first switch.

    With `fast` the functions that read on behind the sample are compiled.
    """
    counts = np.zeros(TAGS, np.int64)
    kinds = _kinds(table.ops)
    switching = kinds >= SWITCH_OUT
    handlers: set[int] = set()
    first: int | None = None
    for tags in _tags(capture, 0, SAMPLE):
        counts += np.bincount(tags, minlength=TAGS)
        if known is not None and len(known.by_pointer):
            handlers |= _handlers(table.ops[tags], known)
        if first is None:
            first = _first(tags, switching)
    if first is None and table.switching:
        first = _first_after_sample(capture, switching, fast)
    role = table.role.copy()
    role[_without_exit(table, counts)] |= ROLE_LONE
    far = (role & ROLE_SWTCH) != 0
    if not (role & ROLE_OUT).any():
        far |= (role & ROLE_IN) != 0
    role[far] |= ROLE_FAR
    marks = bool((counts[kinds == TASK] > 0).any())
    if known is None:
        role[_never_return(table, counts)] |= ROLE_NEVER
    else:
        role[known.calls_setjmp] |= ROLE_SETJMP
    return Survey(
        table=table,
        role=role,
        can=None if known is None else known.allowing(np.array(sorted(handlers), np.int64)),
        stride=0 if known is None else known.stride,
        jumps=bool((role & ROLE_SETJMP).any()),
        marks=marks,
        switches=first is not None or marks,
        starts_in_task=_starts_in_task(None if first is None else int(kinds[first]), table, marks),
    )


def _tags(capture: Capture, start: int, stop: int) -> Iterator[NDArray[np.uint16]]:
    """The tags of these events, a part at a time; their times are not decoded."""
    pages = Pages(capture.records)
    for done in range(start, min(stop, capture.events), _CHUNK):
        part = capture.records[done : min(done + _CHUNK, stop)]
        if part.dtype == np.uint8:
            high, low = part.view(np.uint8)[:, 3], part.view(np.uint8)[:, 4]
            yield np.asarray(high.astype(np.int64) << 8 | low, np.uint16)
        else:
            yield part.astype(np.uint16)
        pages.release(done)


def _first(tags: NDArray[np.uint16], wanted: NDArray[np.bool_]) -> int | None:
    """The first of the tags that is wanted."""
    found = wanted[tags]
    return int(tags[np.argmax(found)]) if found.any() else None


def _first_after_sample(capture: Capture, switching: NDArray[np.bool_], fast: bool) -> int | None:
    """The tag of the first switch behind the sample."""
    if fast:
        found = find_switch(compiled(), capture, SAMPLE, switching)
        return found if found >= 0 else None
    parts = _tags(capture, SAMPLE, capture.events)
    return next((one for tags in parts if (one := _first(tags, switching)) is not None), None)


def _starts_in_task(first: int | None, table: TagTable, marks: bool) -> bool:
    """Does a task run up to the first switch, which is of this kind?

    A task mark that comes first, in a kernel with other switch functions than a ``*``, was fired by
    the system context: it had left the task before the capture began. The exit of a ``!`` comes
    after the mark, in the task.
    """
    if marks and first == SWTCH_EXIT:
        return True
    if first == TASK:
        return not (table.role & (ROLE_OUT | ROLE_SWTCH)).any()
    return first not in (SWITCH_IN, SWTCH_EXIT)


def _kinds(ops: NDArray[np.int32]) -> NDArray[np.int32]:
    """The kind of each special op, -1 of others."""
    kinds: NDArray[np.int32] = np.where(ops >= SPECIAL, (ops - SPECIAL) % KINDS, -1)
    return kinds


def _handlers(ops: NDArray[np.int32], known: KnownCalls) -> set[int]:
    """Functions that only pointers reach, seen directly above one that cannot call them."""
    enters = (ops >= 0) & (ops < SPECIAL)
    pairs = np.flatnonzero(enters[:-1] & enters[1:])
    above = ops[pairs + 1]
    pairs = pairs[np.isin(above, known.by_pointer)]
    above, below = ops[pairs + 1].astype(np.int64), ops[pairs].astype(np.int64)
    can = known.can[below * known.stride + (above >> 3)] >> (above & 7).astype(np.uint8) & 1
    return set(above[can == 0].tolist())


def _seen(table: TagTable, counts: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """How often each function was entered and left."""
    tags = np.array([entry.value for entry in table.functions] or [0])
    return counts[tags], counts[np.minimum(tags + 1, TAGS - 1)]


def _without_exit(table: TagTable, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The switch functions that have no exit trigger."""
    entered, left = _seen(table, counts)
    switch = (table.role & (ROLE_OUT | ROLE_IN)) != 0
    return np.flatnonzero(switch & (entered > 0) & (left == 0))


def _never_return(table: TagTable, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The functions that were entered again and again and never left."""
    entered, left = _seen(table, counts)
    plain = (table.role & (ROLE_SWITCHES | ROLE_IDLE | ROLE_USER)) == 0
    return np.flatnonzero(plain & (entered >= _OFTEN) & (left == 0))
