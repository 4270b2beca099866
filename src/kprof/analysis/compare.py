"""Two sides compared, of one run or several each: which functions changed beyond chance, and how.

Judged are what a function's calls take (`kprof.analysis.evidence`) and how often it is called: for
each of its callers calls per call of that caller, of what nothing known calls the share of all such
calls, of interrupts calls a second. How often something runs in a second is not judged otherwise:
it changes for every function when one gets slower.

Times have three quarters of the error probability `LEVEL`, calls one; each is corrected by Holm's
method over all functions: the chance that *any* function of two equal sides is called changed is at
most `LEVEL` (the family-wise error rate).

A caller whose own time moved by less than its added calls take is not blamed: to call costs time.
What matters most is what a change costs in the run after: the change of the mean times the calls,
and the added calls times their mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kprof.analysis.evidence import CLOCK_NOISE, WEIGHTS, TimeEvidence, judge_times
from kprof.analysis.measured import OUTSIDE, MeasuredRun
from kprof.analysis.noise import (
    Array,
    holm,
    p_of_two,
    ratio_noise,
    spread_between,
    t_tail,
)
from kprof.analysis.statistics import FunctionStatistics

LEVEL = 0.005
"""The probability of calling any function of two equal sides changed."""

_TIMES, _CALLS = 0.75, 0.25  # the shares of the error probability
_LEAST_CHANGE = 0.01
_LEAST_CALLS = 5  # of a run, by which calls must differ
_CLOCK_STEPS = 3 * CLOCK_NOISE
_ENDS = 2.0  # calls of a run that its ends may cut off


@dataclass(frozen=True)
class CallChange:
    """How often one function calls another, or an interrupt comes.

    Attributes
    ----------
    caller
        Its name; `OUTSIDE`: what nothing known calls; None: an interrupt.
    before, after
        Calls per call of the caller; per call of all that nothing known calls; a second.
    p_value
        Corrected for the number of pairs and families.
    added
        Calls of a run after that the change brought.
    """

    caller: str | None
    before: float
    after: float
    p_value: float
    changed: bool
    added: float


@dataclass(frozen=True)
class FunctionChange:
    """One function before and after; times in ticks.

    Attributes
    ----------
    name
        Its name; `before` or `after` is None where it did not run. They are of all runs of a side.
    p_value
        The corrected probability that two sides of the same code differ so much, at most 1.
    changed
        Is it below `LEVEL`, and the change large enough, and not explained by `because`?
    what
        What changed, of ``calls``, ``time``, ``mean``, ``tail``.
    calls
        By caller, those that matter most first.
    because
        The function whose added calls explain that its caller's time moved; "" for none.
    cost
        What the change costs in one run after.
    drifts
        Its time cannot be judged: it wanders as slowly as the run is long.
    """

    name: str
    before: FunctionStatistics | None
    after: FunctionStatistics | None
    p_value: float
    changed: bool
    cost: float
    what: tuple[str, ...] = ()
    calls: tuple[CallChange, ...] = ()
    because: str = ""
    drifts: bool = False

    @property
    def growth(self) -> float:
        """By what share it got worse, in what changed: 0.05 is 5% more; at most 0 where better."""
        worst = 0.0
        for call in self.calls:
            if call.changed:
                worst = max(worst, call.after / call.before - 1 if call.before else math.inf)
        for what, figure in (("time", 50.0), ("mean", None), ("tail", 99.0)):
            if what in self.what and self.before is not None and self.after is not None:
                first, second = (
                    side.own.mean if figure is None else side.own.percentile(figure)
                    for side in (self.before, self.after)
                )
                if first and second is not None:
                    worst = max(worst, second / first - 1)
        return worst


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
    """Two sides compared: functions by what matters, paths by name.

    Attributes
    ----------
    common
        The relative change that the functions have in common and that is not held against any of
        them: with one run a side it may be the machine's.
    """

    before: tuple[MeasuredRun, ...]
    after: tuple[MeasuredRun, ...]
    functions: tuple[FunctionChange, ...]
    paths: tuple[PathChange, ...]
    common: float = 0.0


@dataclass
class _Sides:
    before: dict[str, FunctionStatistics] = field(default_factory=dict)
    after: dict[str, FunctionStatistics] = field(default_factory=dict)


def compare(before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]) -> Difference:
    """Compare the runs of two sides; functions are the same where their names are."""
    step = max(run.info.step for run in (*before, *after))
    times, common = judge_times([r.batches for r in before], [r.batches for r in after], step)
    time_p = holm({name: evidence.p_value for name, evidence in times.items()})
    calls = _judge_calls(before, after)
    sides = _Sides(_merged(before), _merged(after))
    found = []
    for name in sorted({*sides.before, *sides.after}):
        p_value = min(1.0, time_p.get(name, 1.0) / _TIMES)
        found.append(
            _change(name, sides, times.get(name), p_value, calls.get(name, []), step, len(after))
        )
    found = _explained(found)
    found.sort(key=lambda c: (not c.changed, -abs(c.cost), c.name))
    return Difference(
        tuple(before), tuple(after), tuple(found), _path_changes(before, after), common
    )


def _merged(runs: Sequence[MeasuredRun]) -> dict[str, FunctionStatistics]:
    merged: dict[str, FunctionStatistics] = {}
    for run in runs:
        for name, one in run.functions.items():
            merged.setdefault(name, FunctionStatistics(one.entry)).merge(one)
    return merged


def _change(
    name: str,
    sides: _Sides,
    times: TimeEvidence | None,
    p_value: float,
    calls: list[CallChange],
    step: int,
    runs_after: int,
) -> FunctionChange:
    before, after = sides.before.get(name), sides.after.get(name)
    calls.sort(key=lambda call: (not call.changed, -abs(call.added), call.caller or ""))
    what: list[str] = []
    cost = 0.0
    known = after or before
    mean = (known.own.mean if known else None) or 0.0
    if any(call.changed for call in calls):
        what.append("calls")
        cost += mean * sum(call.added for call in calls if call.changed)
    if times is not None and before is not None and after is not None and p_value < LEVEL:
        moved = _moved(times, before, after, step)
        what += moved
        if moved and before.own.mean is not None:
            cost += (mean - before.own.mean) * after.complete / runs_after
    least = min([1.0, *(call.p_value for call in calls)])
    return FunctionChange(
        name,
        before,
        after,
        min(p_value, least),
        bool(what),
        cost if what else _net(after) - _net(before),
        tuple(what),
        tuple(calls),
        drifts=times is not None and times.drifts,
    )


def _net(side: FunctionStatistics | None) -> float:
    return float(side.net) if side else 0.0


def _moved(
    times: TimeEvidence, before: FunctionStatistics, after: FunctionStatistics, step: int
) -> list[str]:
    """Which of the answers moved by more than the clock's noise and `_LEAST_CHANGE`."""
    first, second = before.own.mean, after.own.mean
    if not first or second is None:
        return []
    noise = _CLOCK_STEPS * step * np.sqrt(1 / before.own.count + 1 / after.own.count)
    moved = []
    for question, p_value in times.p_values.items():
        change = times.steps[question]
        if question == "tail":
            tails = [side.own.percentile(99) or 0.0 for side in (before, after)]
            large = abs(tails[1] - tails[0]) > max(step, _LEAST_CHANGE * tails[0])
        else:
            large = abs(change) > _LEAST_CHANGE and abs(change) * first > noise
        if large and p_value < LEVEL * _TIMES * WEIGHTS[question]:
            moved.append(question)
    if "time" in moved:  # the rest follows from it
        return ["time"]
    return moved


def _judge_calls(
    before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]
) -> dict[str, list[CallChange]]:
    """How often each function is called, by caller."""
    interrupts = frozenset().union(*(run.interrupts for run in (*before, *after)))
    pairs: set[tuple[str | None, str]] = {(None, name) for name in interrupts}
    for run in (*before, *after):
        pairs |= {pair for pair in run.callers if pair[1] not in interrupts}
    p_values: dict[tuple[str | None, str], float] = {}
    steps: dict[tuple[str | None, str], tuple[float, float, float]] = {}
    for pair in sorted(pairs, key=str):
        judged = _judge_pair(*pair, before, after, interrupts)
        if judged is not None:
            p_values[pair], steps[pair] = judged[0], judged[1:]
    found: dict[str, list[CallChange]] = {}
    for pair, p_value in holm(p_values).items():
        first, second, whole = steps[pair]
        added = (second - first) * whole
        large = abs(added) >= _LEAST_CALLS and abs(second - first) > _LEAST_CHANGE * first
        p_value = min(1.0, p_value / _CALLS)
        change = CallChange(pair[0], first, second, p_value, large and p_value < LEVEL, added)
        found.setdefault(pair[1], []).append(change)
    return found


def _judge_pair(
    caller: str | None,
    callee: str,
    before: Sequence[MeasuredRun],
    after: Sequence[MeasuredRun],
    interrupts: frozenset[str],
) -> tuple[float, float, float, float] | None:
    """The p-value, calls per call before and after, and calls of the caller in a run after."""
    sides = [[_series(caller, callee, run, interrupts) for run in s] for s in (before, after)]
    sides = [[one for one in side if one[1].sum() > 0] for side in sides]
    if not sides[0] or not sides[1]:
        return None  # the caller itself ran on one side only
    rates = [[float(part.sum() / whole.sum()) for part, whole in side] for side in sides]
    first, second = (float(np.mean(side)) for side in rates)
    wholes = [[float(whole.sum()) for _, whole in side] for side in sides]
    floors = [[_ENDS / whole**2 for whole in side] for side in wholes]
    if len(sides[0]) == len(sides[1]) == 1:
        noises = [ratio_noise(*side[0]) for side in sides]
        if noises[0] is None or noises[1] is None:
            return None
        p_value = p_of_two(
            second - first, noises[0], noises[1], floors[0][0] + floors[1][0], math.inf
        )
    else:
        step, variance, freedom = spread_between(*rates)
        variance = max(variance, float(np.mean([*floors[0], *floors[1]])))
        share = 1 / len(rates[0]) + 1 / len(rates[1])
        p_value = t_tail(step / np.sqrt(variance * share), freedom)
    return p_value, first, second, float(np.mean(wholes[1]))


def _series(
    caller: str | None, callee: str, run: MeasuredRun, interrupts: frozenset[str]
) -> tuple[Array, Array]:
    """By batches: how often the caller called the callee, and what it is held against."""
    nothing = np.zeros(len(run.lasted))
    if caller is None:
        one = run.batches.get(callee)
        return (one.calls if one else nothing), run.lasted / float(run.info.clock_hz)
    part = run.callers.get((caller, callee), nothing)
    if caller != OUTSIDE:
        own = run.batches.get(caller)
        return part, (own.calls if own else nothing)
    outside = [
        many
        for (above, name), many in run.callers.items()
        if above == OUTSIDE and name not in interrupts
    ]
    return part, np.sum(outside, axis=0) if outside else nothing


def _explained(changes: list[FunctionChange]) -> list[FunctionChange]:
    """Take the blame from callers whose time moved by less than their added calls take."""
    added: dict[str, list[tuple[float, str]]] = {}
    for change in changes:
        mean = change.after.own.mean if change.after else None
        for call in change.calls:
            if call.changed and call.caller and mean:
                taken = abs(call.after - call.before) * mean
                added.setdefault(call.caller, []).append((taken, change.name))
    found = []
    for change in changes:
        if change.name in added and "calls" not in change.what and change.what:
            assert change.before is not None
            assert change.after is not None
            taken, name = max(added[change.name])
            moved = abs((change.after.own.mean or 0.0) - (change.before.own.mean or 0.0))
            if moved <= taken:
                change = replace(change, changed=False, because=name)
        found.append(change)
    return found


def _path_changes(
    before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]
) -> tuple[PathChange, ...]:
    sums: list[dict[tuple[str, ...], tuple[int, int]]] = [{}, {}]
    for side, runs in zip(sums, (before, after), strict=True):
        for run in runs:
            for path, (calls, own) in run.paths.items():
                had = side.get(path, (0, 0))
                side[path] = (had[0] + calls, had[1] + own)
    nothing = (0, 0)
    return tuple(
        PathChange(
            path,
            sums[0].get(path, nothing)[0],
            sums[1].get(path, nothing)[0],
            sums[0].get(path, nothing)[1],
            sums[1].get(path, nothing)[1],
        )
        for path in sorted({*sums[0], *sums[1]})
    )


def changed_names(difference: Difference) -> list[str]:
    """The functions that changed, what matters most first."""
    return [one.name for one in difference.functions if one.changed]


def both(change: FunctionChange, figure: str) -> tuple[int, int]:
    """A count or sum of a change before and after, 0 where it did not run, in ticks."""
    first: int = getattr(change.before, figure, 0)
    second: int = getattr(change.after, figure, 0)
    return first, second
