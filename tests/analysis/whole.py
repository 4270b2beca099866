"""Figures of a whole timeline at once: what the folds of the stream are held against."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.beat import Beat, find_beat
from kprof.analysis.calls import Calls, Timeline
from kprof.analysis.filters import Filter
from kprof.analysis.interrupts import Interrupt, Interrupted
from kprof.analysis.measures import Measure
from kprof.analysis.ordered import covered
from kprof.analysis.questions import near
from kprof.analysis.recognise import marked_interrupts
from kprof.analysis.replay.codes import INNER, MARK_INLINE, MARK_OUT, OPEN, ORPHAN
from kprof.analysis.replay.columns import Rows
from kprof.analysis.statistics import FunctionStatistics, Gather, Statistics
from kprof.analysis.tasks import IDLE, LEFT_OUT, Task
from kprof.errors import UsageError
from kprof.names import Modifier, NameEntry

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]


def _late(beat: Beat, entries: Column) -> Column:
    return np.concatenate([*beat.late(lambda: iter([entries])), np.empty(0, np.int64)])


def mask(chosen: Filter, timeline: Timeline) -> Mask:
    """Which rows of `timeline.calls` stay; shape (calls,).

    Raises
    ------
    UsageError
        A pattern is no regular expression, or matches no function of the name file; there is
        no such context.
    """
    calls = timeline.calls
    keep = np.ones(len(calls), np.bool_)
    if chosen.only:
        only = _named(chosen, timeline, "-F", chosen.only)
        keep &= below(calls, only)
    if chosen.without:
        keep &= ~below(calls, _named(chosen, timeline, "-N", chosen.without))
    if chosen.callers:
        keep &= _above(calls, _named(chosen, timeline, "-C", chosen.callers))
    if chosen.hide:
        keep &= ~_named(chosen, timeline, "-H", chosen.hide)
    if chosen.depth is not None:
        level = _levels_below(calls, only) if chosen.only else calls.depth
        keep &= level < chosen.depth
    if chosen.least is not None:
        keep &= calls.elapsed >= chosen.least
    if chosen.start is not None:
        keep &= calls.entry >= chosen.start
    if chosen.end is not None:
        keep &= calls.entry <= chosen.end
    if chosen.tasks:
        chosen.check_tasks(timeline.contexts)
        keep &= np.isin(calls.context, chosen.tasks)
    return keep


def _named(chosen: Filter, timeline: Timeline, option: str, patterns: tuple[str, ...]) -> Mask:
    result: Mask = chosen.named(timeline.functions, option, patterns)[timeline.calls.function]
    return result


def gathered(timeline: Timeline, calls: Calls) -> dict[str, FunctionStatistics]:
    """The statistics of these calls, by their functions' names."""
    gather = Gather(timeline.functions)
    away = calls.wall - calls.elapsed
    columns = (calls.function, calls.elapsed, calls.net, away, calls.flags)
    gather.add(Rows(np.stack([column.astype(np.int64) for column in columns], axis=1)))
    return {f.entry.name: f for f in gather.functions.values()}


def left_out(timeline: Timeline, keep: Mask) -> tuple[int, int]:
    """How many calls do not stay, and their net time in ticks."""
    return int((~keep).sum()), int(timeline.calls.net[~keep].sum())


def kept_marks(timeline: Timeline, keep: Mask) -> Mask:
    """Which marks stay: inline triggers in a call that stays, switches of a context with one open.

    What is outside all calls stays where every call of its context does.
    """
    marks, calls = timeline.marks, timeline.calls
    inside = marks.parent >= 0
    kept = np.zeros(len(marks), np.bool_)
    kept[inside] = keep[marks.parent[inside]]
    for context in np.unique(marks.context[~inside]).tolist():
        kept[~inside & (marks.context == context)] = whole_context(timeline, keep, context)
    switch = marks.kind != MARK_INLINE
    for context in np.unique(marks.context[switch]).tolist():
        mine = keep & (calls.context == context)
        here = switch & (marks.context == context)
        spans = calls.entry_event[mine], calls.exit_event[mine]
        kept[here] |= covered(*spans, marks.event[here], "left")
    return kept


def whole_context(timeline: Timeline, keep: Mask, context: int) -> bool:
    """Do all calls of a context stay? Of one without calls, where all calls do."""
    mine = timeline.calls.context == context
    return bool(keep[mine].all() if mine.any() else keep.all())


def below(calls: Calls, chosen: Mask) -> Mask:
    """The chosen calls and all below them."""
    result: Mask = _levels_below(calls, chosen) < np.iinfo(np.int64).max
    return result


def _levels_below(calls: Calls, chosen: Mask) -> NDArray[np.int64]:
    """How far each call is below the highest chosen one above it; the largest int where none is."""
    level = np.full(len(calls), np.iinfo(np.int64).max, np.int64)
    for rows in calls.by_depth():
        parent = calls.parent[rows]
        above = np.where(parent >= 0, level[np.maximum(parent, 0)], np.iinfo(np.int64).max)
        inside = above < np.iinfo(np.int64).max
        level[rows] = np.where(inside, np.where(inside, above, 0) + 1, level[rows])
        level[rows[~inside & chosen[rows]]] = 0
    return level


def _above(calls: Calls, chosen: Mask) -> Mask:
    """The chosen calls and all that they were called from."""
    kept: Mask = chosen.copy()
    rows = np.flatnonzero(chosen)
    while len(rows):
        parents = calls.parent[rows]
        rows = np.unique(parents[parents >= 0])
        rows = rows[~kept[rows]]
        kept[rows] = True
    return kept


def calls_of(timeline: Timeline, function: int, keep: Mask | None = None) -> NDArray[np.int64]:
    """The rows of the complete calls of a function; with `keep` only these."""
    calls = timeline.calls
    mine = (calls.function == function) & ((calls.flags & (OPEN | ORPHAN)) == 0)
    return np.flatnonzero(mine if keep is None else mine & keep)


def worst_calls(
    timeline: Timeline, function: int, many: int, keep: Mask | None = None, by: str = "total"
) -> NDArray[np.int64]:
    """The rows of the complete calls with the most elapsed time, or `by` net, the worst first."""
    calls, rows = timeline.calls, calls_of(timeline, function, keep)
    order = np.argsort(-(calls.net if by == "net" else calls.elapsed)[rows], kind="stable")
    return rows[order[:many]]


def inside_of(timeline: Timeline, row: int) -> Mask:
    """A call and all that ran inside it."""
    chosen = np.zeros(len(timeline.calls), np.bool_)
    chosen[row] = True
    return below(timeline.calls, chosen)


def around(timeline: Timeline, time: int, events: int) -> tuple[int, int]:
    """The first and last event of the `events` before and after a time.

    Raises
    ------
    UsageError
        The time is after the last event.
    """
    if time > timeline.ledger.elapsed:
        end = round(timeline.ledger.elapsed / timeline.info.clock_hz * 1_000_000)
        raise UsageError(f"--around: a time after the run's last event; expected at most {end}us")
    place = int(np.searchsorted(timeline.times, time))
    return max(0, place - events), min(timeline.events - 1, place + events - 1)


def intervals(
    timeline: Timeline, first: str, second: str, keep: Mask | None = None
) -> tuple[NDArray[np.int64], int]:
    """Times from each inline trigger `first` to the next `second`, in ticks; how many had none.

    A `first` that is followed by another `first` before a `second` counts as having none. With
    `keep` only the triggers in these calls count.

    Raises
    ------
    UsageError
        No inline trigger has that name.
    """
    names = [entry.name for entry in timeline.inlines]
    for name in (first, second):
        if name not in names:
            raise UsageError(f"{name}: no inline trigger of the name file{near(name, names)}")
    marks = timeline.marks
    inline = marks.kind == MARK_INLINE
    if keep is not None:
        inline &= kept_marks(timeline, keep)
    name, time = marks.name[inline], marks.time[inline]
    start, end = names.index(first), names.index(second)
    begins = np.flatnonzero(name == start)
    ends = np.flatnonzero(name == end)
    place = np.searchsorted(ends, begins, "right")
    has_end = place < len(ends)
    stop = (
        np.where(has_end, ends[np.minimum(place, max(0, len(ends) - 1))], -1)
        if len(ends)
        else begins * 0 - 1
    )
    following = np.append(begins[1:], np.iinfo(np.int64).max)
    paired = has_end & ((start == end) | (stop < following))
    return time[stop[paired]] - time[begins[paired]], int(len(begins) - paired.sum())


def interrupt_functions(timeline: Timeline, named: tuple[str, ...] = ()) -> list[int]:
    """The functions that interrupts enter by: those that are named; else those that the name file
    marks (``^``), and those that look so of the functions of which it says nothing.

    The events do not say. An interrupt comes on whatever runs, the idle loop too: its function is
    seen with nothing below it, in the system context where there is one, and inside calls of at
    least two other functions. A function that the idle loop calls is seen so as well, but its
    callers call it every time, and what is interrupted is so now and then: of the functions that
    it was seen in, and that ran often enough to tell, most must have it in less than half of
    their calls.

    Raises
    ------
    UsageError
        One of `named` is not in the name file.
    """
    if named:
        names = [entry.name for entry in timeline.functions]
        return sorted(names.index(name) for name in named)
    calls = timeline.calls
    seen = (calls.flags & ORPHAN) == 0
    count = np.bincount(calls.function, minlength=len(timeline.functions))
    system = calls.context == 0
    bottom = seen & (calls.parent < 0) & (system | ~system.any())
    found = marked_interrupts(timeline.functions)
    plain = [entry.modifier is Modifier.FUNCTION for entry in timeline.functions]
    for function in np.unique(calls.function[bottom]).tolist():
        if not plain[function]:
            continue
        inside = np.unique(calls.parent[seen & (calls.function == function) & (calls.parent >= 0)])
        below, with_it = np.unique(calls.function[inside], return_counts=True)
        if len(below) < 2:
            continue
        telling = count[below] >= 8
        rare = with_it[telling] * 2 < count[below[telling]]
        if rare.sum() * 5 >= len(rare) * 4:
            found.append(function)
    return sorted(found)


def interrupts(
    timeline: Timeline, functions: list[int], keep: Mask | None = None
) -> list[Interrupt]:
    """How long each interrupt function ran, how often it came, and on how many others.

    With `keep` only these of its calls count; when it came before, and its beat, are those of all.
    """
    calls = timeline.calls
    is_root = _roots(timeline, functions)
    inside = interrupt_time(timeline, is_root)
    level = _roots_above(timeline, is_root)
    found = []
    for function in functions:
        every = np.flatnonzero(is_root & (calls.function == function))
        kept = np.ones(len(every), np.bool_) if keep is None else keep[every]
        rows = every[kept]
        own = calls.elapsed[rows] - inside[rows]
        # When it came, the triggers' time included: without it a steady beat would look unsteady.
        entries = timeline.counted[calls.entry_event[every]]
        period = np.diff(entries)[kept[1:]]
        beat = find_beat(lambda entries=entries: iter([entries]), Measure.of(np.diff(entries)))
        found.append(
            Interrupt(
                function,
                Measure.of(own),
                Measure.of(period),
                int(level[rows].max(initial=0)),
                beat,
                Measure.of(_late(beat, entries)[kept]) if beat else Measure(),
            )
        )
    return found


def _roots(timeline: Timeline, functions: list[int]) -> NDArray[np.bool_]:
    """Which calls are complete ones of interrupt functions, shape (calls,)."""
    calls = timeline.calls
    complete: NDArray[np.bool_] = (calls.flags & (OPEN | ORPHAN)) == 0
    return complete & np.isin(calls.function, functions)


def _roots_above(timeline: Timeline, is_root: NDArray[np.bool_]) -> Column:
    """On how many interrupts each call runs, shape (calls,)."""
    calls = timeline.calls
    level = np.zeros(len(calls), np.int64)
    for depth in calls.by_depth():
        rows = depth[calls.parent[depth] >= 0]
        above = calls.parent[rows]
        level[rows] = level[above] + is_root[above]
    return level


def interrupted(
    timeline: Timeline, functions: list[int], keep: Mask | None = None
) -> list[Interrupted]:
    """The functions that interrupts took time from, those that lost most first.

    With `keep` only these calls count.
    """
    calls = timeline.calls
    taken = interrupt_time(timeline, _roots(timeline, functions))
    if keep is not None:
        calls, taken = calls.select(keep), taken[keep]
    orphan = (calls.flags & ORPHAN) != 0
    outer = ((calls.flags & INNER) == 0) & ~orphan
    rows = []
    for function in np.unique(calls.function[outer & (taken > 0)]).tolist():
        mine = calls.function == function
        # Of an orphan only its net time is its function's: there is no interrupt in it.
        total = int(calls.elapsed[mine & outer].sum() + calls.net[mine & orphan].sum())
        rows.append(Interrupted(function, total, int(taken[mine & outer].sum())))
    return sorted(rows, key=lambda row: (row.lost, row.total, row.function), reverse=True)


def interrupt_time(timeline: Timeline, is_root: NDArray[np.bool_]) -> Column:
    """The time that interrupts took on top of each call, shape (calls,); nested ones once."""
    calls = timeline.calls
    parents, roots = calls.parent.tolist(), is_root.tolist()
    total = [0] * len(calls)
    rows = np.flatnonzero(is_root)
    for row, elapsed in zip(rows.tolist(), calls.elapsed[rows].tolist(), strict=True):
        above = parents[row]
        while above >= 0:
            total[above] += elapsed
            if roots[above]:
                break
            above = parents[above]
    return np.array(total, np.int64)


@dataclass(frozen=True, eq=False)
class Slices:
    """What ran when: one row for every stretch of one context; times in ticks.

    Attributes
    ----------
    start, end
        int64.
    context
        int64; 0 is the system context.
    """

    start: Column
    end: Column
    context: Column


def slices(timeline: Timeline) -> Slices:
    """The slices of a capture; before the first switch runs what the replay found out."""
    marks = timeline.marks
    switch = np.flatnonzero(marks.kind != MARK_INLINE)
    out = marks.kind[switch] == MARK_OUT
    times = marks.time[switch]
    end = timeline.ledger.elapsed
    running = np.where(out, 0, marks.context[switch])
    return Slices(
        np.concatenate([[0], times]).astype(np.int64),
        np.concatenate([times, [end]]).astype(np.int64),
        np.concatenate([[timeline.first], running]).astype(np.int64),
    )


def running(timeline: Timeline, keep: Mask | None = None) -> Slices:
    """The slices, cut where what runs in them changes.

    Those of the system context are cut where it becomes idle (`IDLE`) and busy. With `keep` those
    of contexts that have other calls too are cut where none of these is open (`LEFT_OUT`).
    """
    rows, calls = slices(timeline), timeline.calls
    bottom = (calls.context == 0) & (calls.parent < 0)
    cuts = bottom if keep is None else bottom | keep
    edges = np.unique(np.concatenate([rows.start, rows.end, calls.entry[cuts], calls.exit[cuts]]))
    start = edges[:-1]
    context = rows.context[np.searchsorted(rows.start, start, "right") - 1]
    idle = (context == 0) & ~_covered(timeline, bottom, start)
    found = np.where(idle, IDLE, context)
    if keep is not None:
        for which in np.unique(context).tolist():
            here = context == which
            if not whole_context(timeline, keep, which):
                mine = keep & (calls.context == which)
                found[here & ~idle & ~_covered(timeline, mine, start)] = LEFT_OUT
    return Slices(start, edges[1:], found)


def _covered(timeline: Timeline, chosen: Mask, times: Column) -> Mask:
    """At which times one of the chosen calls is open; it is so at its entry, not at its exit."""
    calls = timeline.calls
    return covered(calls.entry[chosen], calls.exit[chosen], times, "right")


def tasks(timeline: Timeline, keep: Mask | None = None) -> list[Task]:
    """Every context, the system context first.

    With `keep`, those with one of these calls; the time in which one is open, and the slices.
    """
    rows = slices(timeline)
    calls = timeline.calls
    parts = running(timeline, keep)
    busy = np.zeros(len(rows.start), np.int64)
    here = np.searchsorted(rows.start, parts.start, "right") - 1
    np.add.at(busy, here, np.where(parts.context < 0, 0, parts.end - parts.start))
    named = np.ones(len(calls), np.bool_) if keep is None else keep
    contexts = calls.context[named]
    if keep is None:
        contexts = np.concatenate([rows.context, contexts])
    found = []
    for context in np.unique(contexts).tolist():
        mine = rows.context == context
        if keep is not None:
            mine &= busy > 0
        away = rows.start[mine][1:] - rows.end[mine][:-1]
        lowest = np.flatnonzero((calls.context == context) & (calls.parent < 0))
        name = timeline.task_names.get(context, "")
        if not name and len(lowest):
            longest = lowest[np.argmax(calls.wall[lowest])]
            name = timeline.functions[int(calls.function[longest])].name
        found.append(
            Task(
                context,
                name,
                int(mine.sum()),
                int(busy[mine].sum()),
                int(busy[mine].max(initial=0)),
                int(away.max(initial=0)),
            )
        )
    return found


def shares(
    timeline: Timeline, columns: int, keep: Mask | None = None
) -> dict[int, NDArray[np.float64]]:
    """What part of each of `columns` equal parts of the run a context ran, from 0 to 1.

    By its number, or `IDLE`, or `LEFT_OUT`; only those that ran at all.
    """
    rows = running(timeline, keep)
    edges = np.linspace(0, max(1, timeline.ledger.elapsed), columns + 1)
    found = {}
    for context in np.unique(rows.context).tolist():
        mine = rows.context == context
        start, length = rows.start[mine], (rows.end - rows.start)[mine]
        before = np.concatenate([[0], np.cumsum(length)])
        # Time of the context up to each edge: whole slices before it and a part of one.
        place = np.clip(np.searchsorted(start, edges, "right") - 1, 0, len(start) - 1)
        spent = before[place] + np.clip(edges - start[place], 0, length[place])
        if before[-1]:
            found[context] = np.diff(spent) / np.diff(edges)
    return found


def filtered_statistics(timeline: Timeline, keep: Mask, statistics: Statistics) -> Statistics:
    """The statistics of the rows that `keep` keeps.

    Parameters
    ----------
    statistics
        Those of the whole capture.
    """
    functions = gathered(timeline, timeline.calls.select(keep))
    net = sum(f.net for f in functions.values())
    ledger = timeline.ledger._replace(net=net, left_out=timeline.ledger.net - net)
    return replace(
        statistics,
        ledger=ledger,
        functions=functions,
        inlines=_inlines(timeline, kept_marks(timeline, keep)),
    )


def _inlines(timeline: Timeline, kept: Mask) -> dict[str, tuple[NameEntry, int]]:
    marks = timeline.marks
    chosen = marks.name[kept & (marks.kind == MARK_INLINE)]
    counts = np.bincount(chosen, minlength=len(timeline.inlines))
    return {e.name: (e, int(counts[i])) for i, e in enumerate(timeline.inlines) if counts[i]}
