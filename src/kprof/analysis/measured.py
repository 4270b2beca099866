"""One run measured for a comparison: its figures, its batches, its call paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from kprof.analysis.batches import TOP, Batched, Batches, CallColumns
from kprof.analysis.noise import Array
from kprof.analysis.paths import PathSums, PathTree
from kprof.analysis.recognise import InterruptSigns
from kprof.analysis.replay.codes import LEAVE, LOST
from kprof.analysis.statistics import FunctionStatistics, Gather
from kprof.analysis.stream import Ledger, Stream
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameEntry, NameFile
from kprof.names.calls import CallKnowledge

OUTSIDE = ""
"""The caller of a call that nothing known called."""

Path = tuple[str, ...]


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
    """Measure a run; memory does not grow with the capture.

    Raises
    ------
    UsageError
        The triggers cannot have cost so much.
    """
    stream = Stream(capture, names, trigger_cost=trigger_cost, known=known)
    gather, batches = Gather(stream.functions), Batches()
    signs, sums = InterruptSigns(stream), PathSums()
    for rows in stream.rows():
        ended = rows.select((rows.kind == LEAVE) & ((rows.flags & LOST) == 0))
        gather.add(ended)
        signs.add(rows)
        sums.add(ended, ended.path)
        calls = CallColumns(ended.fn, ended.net, ended.flags, ended.call, ended.parent)
        batches.add(calls, ended.time)
    return _by_name(stream, batches, gather, signs.found(), sums.tree(*stream.paths))


def _by_name(
    stream: Stream, batches: Batches, gather: Gather, interrupts: list[int], tree: PathTree
) -> MeasuredRun:
    entries = stream.functions
    found = batches.finish()
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
        paths=_paths(tree.merged(), entries, interrupts),
    )


def _paths(
    tree: PathTree, entries: tuple[NameEntry, ...], interrupts: list[int]
) -> dict[Path, tuple[int, int]]:
    """Calls and net time by path; an interrupt begins a path of its own."""
    at: list[Path] = []
    found: dict[Path, tuple[int, int]] = {}
    columns = (tree.function, tree.parent, tree.calls, tree.net)
    for function, parent, calls, net in zip(*(c.tolist() for c in columns), strict=True):
        above = at[parent] if parent >= 0 and function not in interrupts else ()
        here = (*above, entries[function].name)
        at.append(here)
        before = found.get(here, (0, 0))
        found[here] = (before[0] + calls, before[1] + net)
    return found
