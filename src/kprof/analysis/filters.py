"""Filters: which calls a report is about. Options have the names that uftrace users know.

A filter chooses rows of `Calls`; the figures of the rows that stay do not change, and the net time
of the others is booked as left out, so that the ledger balances.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Calls, Timeline
from kprof.analysis.replay.codes import MARK_INLINE
from kprof.analysis.replay.columns import Rows
from kprof.analysis.statistics import FunctionStatistics, Gather
from kprof.errors import UsageError
from kprof.names import NameEntry

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Filter:
    """What to keep; every condition that is given must hold. Times in ticks.

    Attributes
    ----------
    only
        Patterns: calls of these functions and what is called below them.
    without
        Patterns: not these, nor what is called below them.
    callers
        Patterns: only the calls of these functions and those that they were called from.
    hide
        Patterns: not these; what they call stays.
    depth
        At most so many levels: below what `only` names, else from the bottom.
    least
        Calls of at least so much elapsed time.
    start, end
        Calls that began in this range.
    tasks
        Contexts: 0 is the system context.
    match
        How patterns are written: ``regex`` (searched in the name) or ``glob``.
    """

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    depth: int | None = None
    least: int | None = None
    start: int | None = None
    end: int | None = None
    tasks: tuple[int, ...] = ()
    match: str = "regex"

    def __bool__(self) -> bool:
        return self != replace(Filter(), match=self.match)

    def mask(self, timeline: Timeline) -> Mask:
        """Which rows of `timeline.calls` stay; shape (calls,).

        Raises
        ------
        UsageError
            A pattern is no regular expression, or matches no function of the name file; there is
            no such context.
        """
        calls = timeline.calls
        keep = np.ones(len(calls), np.bool_)
        if self.only:
            chosen = self._named(timeline, "-F", self.only)
            keep &= below(calls, chosen)
        if self.without:
            keep &= ~below(calls, self._named(timeline, "-N", self.without))
        if self.callers:
            keep &= _above(calls, self._named(timeline, "-C", self.callers))
        if self.hide:
            keep &= ~self._named(timeline, "-H", self.hide)
        if self.depth is not None:
            level = _levels_below(calls, chosen) if self.only else calls.depth
            keep &= level < self.depth
        if self.least is not None:
            keep &= calls.elapsed >= self.least
        if self.start is not None:
            keep &= calls.entry >= self.start
        if self.end is not None:
            keep &= calls.entry <= self.end
        if self.tasks:
            self.check_tasks(timeline.contexts)
            keep &= np.isin(calls.context, self.tasks)
        return keep

    def _named(self, timeline: Timeline, option: str, patterns: tuple[str, ...]) -> Mask:
        result: Mask = self.named(timeline.functions, option, patterns)[timeline.calls.function]
        return result

    def named(
        self, functions: tuple[NameEntry, ...], option: str, patterns: tuple[str, ...]
    ) -> Mask:
        """Which functions the patterns of an option name; shape (functions,), at least 1.

        Raises
        ------
        UsageError
            A pattern is no regular expression, or matches none of them.
        """
        names = [entry.name for entry in functions]
        wanted = np.zeros(max(1, len(names)), np.bool_)
        for pattern in patterns:
            matches = matcher(pattern, self.match)
            found = [matches(name) for name in names]
            if not any(found):
                raise UsageError(
                    f"{option} {pattern}: matches no function of the name file; expected a "
                    f"{self.match} (see kprof names list)"
                )
            wanted[: len(names)] |= np.array(found, np.bool_)
        return wanted

    def check_tasks(self, contexts: int) -> None:
        """Raise UsageError where one of `tasks` is more than `contexts`."""
        for task in self.tasks:
            if not 0 <= task <= contexts:
                raise UsageError(
                    f"--task {task}: is no context; expected 0 (the system) to {contexts} "
                    "(see --tasks)"
                )


def matcher(pattern: str, match: str) -> Callable[[str], bool]:
    """Does a name match? ``regex`` is searched in it, ``glob`` must match the whole.

    Raises
    ------
    UsageError
        The pattern is no regular expression.
    """
    if match == "glob":
        return lambda name: fnmatch.fnmatchcase(name, pattern)
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"{pattern}: is no regular expression: {error} (for a pattern like *_input: --match "
            "glob)"
        ) from error
    return lambda name: compiled.search(name) is not None


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


def covered(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    points: NDArray[np.int64],
    side: Literal["left", "right"],
) -> Mask:
    """Which points lie in one of the spans; at its end a span still is there by ``left``."""
    begun = np.searchsorted(np.sort(begin), points, "right")
    result: Mask = begun > np.searchsorted(np.sort(end), points, side)
    return result


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
