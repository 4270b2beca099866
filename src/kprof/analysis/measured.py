"""One run measured for a comparison: its figures, its batches, its call paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from kprof.analysis.batches import TOP, Batched, Batches, CallColumns
from kprof.analysis.calls import timeline
from kprof.analysis.graph import paths
from kprof.analysis.interrupts import interrupt_functions
from kprof.analysis.noise import Array
from kprof.analysis.replay.codes import LEAVE, LOST, ORPHAN
from kprof.analysis.statistics import FunctionStatistics, Gather
from kprof.analysis.stream import Ledger, Stream
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import Modifier, NameEntry, NameFile
from kprof.names.calls import CallKnowledge

OUTSIDE = ""
"""The caller of a call that nothing known called."""

Path = tuple[str, ...]
_OFTEN = 8
_LEAST_BELOW = 2


@dataclass(frozen=True)
class MeasuredRun:
    """What a comparison needs of a run; all by name, times in ticks.

    Attributes
    ----------
    batches
        Functions by batches.
    callers
        By caller (or `OUTSIDE`) and callee, how often one called the other in each batch. Of
        interrupts, which call on whatever runs, nothing.
    interrupts
        The functions that look like interrupts.
    lasted
        Ticks of each batch.
    paths
        Calls and net time by path; an interrupt begins a path of its own.
    """

    info: CaptureInfo
    events: int
    ledger: Ledger
    functions: Mapping[str, FunctionStatistics]
    batches: Mapping[str, Batched]
    callers: Mapping[tuple[str, str], Array]
    interrupts: frozenset[str]
    lasted: Array
    paths: Mapping[Path, tuple[int, int]] = field(default_factory=dict)


def measure(
    capture: Capture,
    names: NameFile,
    known: CallKnowledge | None = None,
    *,
    trigger_cost: Fraction = Fraction(0),
) -> MeasuredRun:
    """Measure a run, all but its `paths`; memory does not grow with the capture.

    Raises
    ------
    UsageError
        The triggers cannot have cost so much.
    """
    stream = Stream(capture, names, trigger_cost=trigger_cost, known=known)
    gather, batches = Gather(stream.functions), Batches()
    for rows in stream.rows():
        ended = rows.select((rows.kind == LEAVE) & ((rows.flags & LOST) == 0))
        gather.add(ended)
        calls = CallColumns(ended.fn, ended.net, ended.flags, ended.call, ended.parent)
        batches.add(calls, ended.time)
    return _by_name(batches, gather, stream)


def _by_name(batches: Batches, gather: Gather, stream: Stream) -> MeasuredRun:
    entries = stream.functions
    found = batches.finish()
    calls = {fn: float(one.calls.sum()) for fn, one in found.functions.items()}
    pairs = {pair: float(many.sum()) for pair, many in found.callers.items()}
    interrupts = _interrupts(pairs, calls, entries)
    callers: dict[tuple[str, str], Array] = {}
    for (caller, callee), many in found.callers.items():
        if callee not in interrupts:
            name = OUTSIDE if caller == TOP else entries[caller].name
            callers[name, entries[callee].name] = many
    return MeasuredRun(
        info=stream.info,
        events=stream.events,
        ledger=stream.ledger,
        functions={one.entry.name: one for one in gather.functions.values()},
        batches={entries[fn].name: one for fn, one in found.functions.items()},
        callers=callers,
        interrupts=frozenset(entries[fn].name for fn in interrupts),
        lasted=found.lasted,
    )


def _interrupts(
    pairs: Mapping[tuple[int, int], float],
    calls: Mapping[int, float],
    entries: tuple[NameEntry, ...],
) -> set[int]:
    """What is seen with nothing below it, and now and then in at least two other functions."""
    within: dict[int, list[bool]] = {}
    for (caller, callee), many in pairs.items():
        if caller != TOP and caller != callee:
            telling = calls.get(caller, 0) >= _OFTEN
            within.setdefault(callee, []).append(telling and many * 2 < calls[caller])
    return {
        callee
        for callee, rare in within.items()
        if len(rare) >= _LEAST_BELOW
        and pairs.get((TOP, callee), 0) > 0
        and entries[callee].modifier is Modifier.FUNCTION
        and sum(rare) * 5 >= len(rare) * 4
    }


def with_paths(
    run: MeasuredRun,
    capture: Capture,
    names: NameFile,
    known: CallKnowledge | None = None,
    *,
    trigger_cost: Fraction = Fraction(0),
) -> MeasuredRun:
    """The same run with its `paths`; takes the memory of a timeline while it works."""
    line = timeline(capture, names, trigger_cost=trigger_cost, known=known)
    calls = line.calls
    roots = np.zeros(max(1, len(line.functions)), np.bool_)
    roots[interrupt_functions(line)] = True
    calls = replace(calls, parent=np.where(roots[calls.function], -1, calls.parent))
    path, parents, functions = paths(calls)
    count = np.bincount(path[(calls.flags & ORPHAN) == 0], minlength=len(parents))
    own = np.zeros(len(parents), np.int64)
    np.add.at(own, path, calls.net)
    at: list[Path] = []
    found: dict[Path, tuple[int, int]] = {}
    for i, (above, function) in enumerate(zip(parents, functions, strict=True)):
        here = (*(at[above] if above >= 0 else ()), line.functions[function].name)
        at.append(here)
        found[here] = (int(count[i]), int(own[i]))
    return replace(run, paths=found)
