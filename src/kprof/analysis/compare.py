"""Comparing two runs: every function's figures, whether its times differ, and the call paths.

Two runs differ by chance. A function counts as changed when the distributions of its net times
differ and the change of its mean is more than the clock's steps and 1%. Two tests on the
histograms tell whether they differ: of ranks (Mann-Whitney, ties counted), which sees that all
calls moved a little, and of shape (Kolmogorov-Smirnov), which sees that some moved a lot. The
smaller chance counts, doubled for having asked twice, corrected for testing many functions (Holm).
What matters most is what the change costs: the change of the mean times the calls after it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kprof.analysis.calls import Timeline
from kprof.analysis.filters import gathered
from kprof.analysis.graph import paths
from kprof.analysis.interrupts import interrupt_functions
from kprof.analysis.measures import Measure
from kprof.analysis.states import ORPHAN
from kprof.analysis.statistics import FunctionStatistics

LEVEL = 0.01
"""The chance of calling any function of two equal runs changed."""

_LEAST_CHANGE = 0.01
_CLOCK_STEPS = 3 * 0.41  # of the capture's clock, see `self-err` of `kprof report -f`


@dataclass(frozen=True)
class FunctionChange:
    """One function before and after; times in ticks.

    Attributes
    ----------
    name
        Its name; `before` or `after` is None where it did not run.
    chance
        The corrected probability that two runs of the same code differ so much, at most 1.
    changed
        Is it below `LEVEL`, and the change large enough?
    cost
        Change of the mean net time times the calls after.
    """

    name: str
    before: FunctionStatistics | None
    after: FunctionStatistics | None
    chance: float
    changed: bool
    cost: float


@dataclass(frozen=True)
class PathChange:
    """One call path before and after: calls and net ticks."""

    path: tuple[str, ...]
    calls_before: int
    calls_after: int
    own_before: int
    own_after: int


@dataclass(frozen=True)
class Difference:
    """Two runs compared: functions by what matters, paths by name."""

    before: Timeline
    after: Timeline
    functions: tuple[FunctionChange, ...]
    paths: tuple[PathChange, ...]


def compare(before: Timeline, after: Timeline) -> Difference:
    """Compare two captures; functions are the same where their names are."""
    first, second = gathered(before, before.calls), gathered(after, after.calls)
    names = sorted({*first, *second})
    chances = _corrected(
        {
            name: chance_of(first[name].own, second[name].own)
            for name in names
            if name in first and name in second
        }
    )
    noise = _CLOCK_STEPS * max(before.info.step, after.info.step)
    changes = [
        _change(name, first.get(name), second.get(name), chances.get(name, 1.0), noise)
        for name in names
    ]
    changes.sort(key=lambda c: (not c.changed, -abs(c.cost), c.name))
    return Difference(before, after, tuple(changes), _path_changes(before, after))


def chance_of(a: Measure, b: Measure) -> float:
    """The probability that two samples of one distribution differ as much as these."""
    return min(1.0, 2 * min(rank_chance(a, b), shape_chance(a, b)))


def shape_chance(a: Measure, b: Measure) -> float:
    """The probability of a largest distance between the distributions as this, by chance.

    Kolmogorov-Smirnov, the asymptotic bound; ties make the true chance smaller.
    """
    if not a.count or not b.count:
        return 1.0
    distance = gap = 0.0
    for bucket in sorted({*a.histogram, *b.histogram}):
        gap += a.histogram.get(bucket, 0) / a.count - b.histogram.get(bucket, 0) / b.count
        distance = max(distance, abs(gap))
    size = a.count * b.count / (a.count + b.count)
    return min(1.0, 2 * math.exp(-2 * size * distance * distance))


def rank_chance(a: Measure, b: Measure) -> float:
    """The probability of a difference in rank as large as this, by chance; two-sided.

    Normal approximation with ties; 1.0 where there is too little to tell.
    """
    n, m = a.count, b.count
    if n < 2 or m < 2:
        return 1.0
    total = n + m
    seen = 0
    above = 0.0
    ties = 0
    for bucket in sorted({*a.histogram, *b.histogram}):
        in_a, in_b = a.histogram.get(bucket, 0), b.histogram.get(bucket, 0)
        above += in_b * (seen + in_a / 2)
        seen += in_a
        both = in_a + in_b
        ties += both * both * both - both
    spread = n * m / 12 * ((total + 1) - ties / (total * (total - 1)))
    if spread <= 0:
        return 1.0
    z = (abs(above - n * m / 2) - 0.5) / math.sqrt(spread)
    return math.erfc(max(z, 0.0) / math.sqrt(2))


def _corrected(chances: Mapping[str, float]) -> dict[str, float]:
    """Holm's correction: the k-th smallest of n is multiplied by n - k."""
    corrected: dict[str, float] = {}
    largest = 0.0
    for place, (name, chance) in enumerate(sorted(chances.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, chance * (len(chances) - place)))
        corrected[name] = largest
    return corrected


def _change(
    name: str,
    before: FunctionStatistics | None,
    after: FunctionStatistics | None,
    chance: float,
    noise: float,
) -> FunctionChange:
    if before is None or after is None:
        net = (after.net if after else 0) - (before.net if before else 0)
        return FunctionChange(name, before, after, 1.0, False, float(net))
    mean_before, mean_after = before.own.mean, after.own.mean
    if mean_before is None or mean_after is None:
        return FunctionChange(name, before, after, 1.0, False, float(after.net - before.net))
    step = mean_after - mean_before
    least = noise * math.sqrt(1 / before.own.count + 1 / after.own.count)
    large = abs(step) > least and abs(step) > _LEAST_CHANGE * mean_before
    return FunctionChange(
        name, before, after, chance, large and chance < LEVEL, step * after.complete
    )


def _path_changes(before: Timeline, after: Timeline) -> tuple[PathChange, ...]:
    roots = {
        line.functions[function].name
        for line in (before, after)
        for function in interrupt_functions(line)
    }
    first, second = _paths(before, roots), _paths(after, roots)
    nothing = (0, 0)
    return tuple(
        PathChange(
            path,
            first.get(path, nothing)[0],
            second.get(path, nothing)[0],
            first.get(path, nothing)[1],
            second.get(path, nothing)[1],
        )
        for path in sorted({*first, *second})
    )


def _paths(timeline: Timeline, roots: set[str]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Calls and net time by path; an interrupt begins a path of its own, whatever it came upon."""
    calls = timeline.calls
    is_root = np.array([e.name in roots for e in timeline.functions] or [False])
    parent = np.where(is_root[calls.function], -1, calls.parent)
    calls = replace(calls, parent=parent)
    path, parents, functions = paths(calls)
    count = np.bincount(path[(calls.flags & ORPHAN) == 0], minlength=len(parents))
    own = np.zeros(len(parents), np.int64)
    np.add.at(own, path, calls.net)
    names: list[tuple[str, ...]] = []
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for i, (above, function) in enumerate(zip(parents, functions, strict=True)):
        here = (*(names[above] if above >= 0 else ()), timeline.functions[function].name)
        names.append(here)
        found[here] = (int(count[i]), int(own[i]))
    return found


def changed_names(difference: Difference) -> list[str]:
    """The functions that changed, what matters most first."""
    return [one.name for one in difference.functions if one.changed]


def as_mapping(change: FunctionChange) -> dict[str, Any]:
    """Counts and sums of a change by name, in ticks; for reports."""
    return {
        key: (getattr(change.before, key, 0), getattr(change.after, key, 0))
        for key in ("calls", "elapsed", "net")
    }
