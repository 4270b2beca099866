"""Does a function take another time than before? Three questions, each asked of all its calls.

========  =====================================================================================
``time``  what a call typically takes: the mean of the net times, those below the 5th and above
          the 90th percentile (of both sides together) taken as these. No single call moves it
``mean``  the mean of the net times
``tail``  how many calls are among the slowest tenth of both sides, and how far up: the mean of
          ``log(0.1 / u)``, u being the share of calls that are slower
========  =====================================================================================

Each is a mean over calls, so one run's noise is `kprof.analysis.noise.ratio_noise` of its batches,
and several runs' noise is the spread of their values. With one run a side the noise between runs
cannot be known; what can be seen is by how much the functions differ from each other in their
change. Most have not changed, so that is noise too (`scatter`), and what they have in common may be
the machine's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kprof.analysis.batches import Batched
from kprof.analysis.noise import (
    Array,
    Noise,
    fast_variance,
    lend,
    likeness,
    p_of_two,
    ratio_noise,
    scatter,
    spread_between,
    t_tail,
)

WEIGHTS = {"time": 0.6, "mean": 0.2, "tail": 0.2}
"""The share of the error probability that each question has."""

_CLIP = (0.05, 0.90)
_TAIL = 0.1
_MANY = 8  # functions that tell what they have in common, and how they scatter
_DRIFTING = 0.2  # share of functions that drift, above which all are taken to
CLOCK_NOISE = 0.41  # of a step of the clock: both ends of an interval fall between two


@dataclass(frozen=True)
class TimeEvidence:
    """What the runs say of one function's time.

    Attributes
    ----------
    p_values
        By question, not corrected.
    steps
        The change by question: relative for ``time`` and ``mean``, of the score for ``tail``.
    drifts
        It cannot be judged: its time wanders as slowly as the run is long.
    """

    p_values: Mapping[str, float]
    steps: Mapping[str, float]
    drifts: bool = False

    @property
    def p_value(self) -> float:
        """Of all questions together, by Bonferroni's inequality with `WEIGHTS`."""
        return min([1.0, *(value / WEIGHTS[question] for question, value in self.p_values.items())])


@dataclass(frozen=True)
class _Value:
    """The answer of one run: its value, and its noise within the run."""

    value: float
    noise: Noise | None
    fast: float
    floor: float


def judge_times(
    before: Sequence[Mapping[str, Batched]], after: Sequence[Mapping[str, Batched]], step: float
) -> tuple[dict[str, TimeEvidence], float]:
    """The evidence on every function with complete calls on both sides; what all have in common.

    The second value is the relative change that functions have in common, 0 where it is not taken
    out: with several runs a side their spread tells what is chance.

    Parameters
    ----------
    step
        Of the captures' clock, in ticks.
    """
    one_each = len(before) == len(after) == 1
    names = sorted(_timed(before) & _timed(after))
    answers: dict[str, dict[str, tuple[list[_Value], list[_Value]]]] = {q: {} for q in WEIGHTS}
    for name in names:
        sides = [[run[name] for run in runs if name in run] for runs in (before, after)]
        sides = [[b for b in side if b.complete.any()] for side in sides]
        for question, values in _answers(sides[0], sides[1], step).items():
            answers[question][name] = values
    p_values: dict[str, dict[str, float]] = {}
    drifting: set[str] = set()
    common = 0.0
    for question, by_name in answers.items():
        if one_each:
            p_values[question], centre, slow = _one_each(by_name, centred=question != "tail")
            drifting |= slow
            common = centre if question == "time" else common
        else:
            p_values[question] = _several(by_name)
    found = {}
    for name in names:
        found[name] = TimeEvidence(
            {q: p_values[q][name] for q in WEIGHTS if name in p_values[q]},
            {q: _step(*answers[q][name]) for q in WEIGHTS if name in answers[q]},
            name in drifting,
        )
    return found, common


def _timed(runs: Sequence[Mapping[str, Batched]]) -> set[str]:
    return {name for run in runs for name, batched in run.items() if batched.complete.any()}


def _step(first: list[_Value], second: list[_Value]) -> float:
    return float(np.mean([v.value for v in second]) - np.mean([v.value for v in first]))


def _answers(
    before: Sequence[Batched], after: Sequence[Batched], step: float
) -> dict[str, tuple[list[_Value], list[_Value]]]:
    """The values of all runs by question."""
    values = np.unique(np.concatenate([run.values for run in (*before, *after)]))
    share = np.zeros(len(values))
    for side in (before, after):
        counts = np.zeros(len(values))
        for run in side:
            counts[np.searchsorted(values, run.values)] += run.histogram.sum(1)
        share += counts / counts.sum() / 2
    above = np.cumsum(share)
    low, high = (values[min(int(np.searchsorted(above, s)), len(values) - 1)] for s in _CLIP)
    clipped = np.clip(values, low, high)
    slower = np.maximum(1 - above + share / 2, 1e-12)
    scores = {"time": clipped, "tail": np.maximum(0.0, np.log(_TAIL / slower))}
    means = [[run.net.sum() / run.complete.sum() for run in side] for side in (before, after)]
    scales = {
        "time": float((clipped * share).sum()),
        "mean": float(np.mean(means[0]) + np.mean(means[1])) / 2,
        "tail": 1.0,
    }
    found = {}
    for question, scale in scales.items():
        if scale <= 0:
            continue
        sides = tuple(
            [_value(run, values, scores.get(question), scale, step) for run in side]
            for side in (before, after)
        )
        found[question] = (sides[0], sides[1])
    return found


def _value(run: Batched, values: Array, score: Array | None, scale: float, step: float) -> _Value:
    if score is None:
        part, floor = run.net / scale, step * CLOCK_NOISE / scale
    else:
        part = score[np.searchsorted(values, run.values)] @ run.histogram / scale
        floor = step * CLOCK_NOISE / scale if scale != 1.0 else 0.0
    many = float(run.complete.sum())
    return _Value(
        float(part.sum()) / many,
        ratio_noise(part, run.complete),
        fast_variance(part, run.complete),
        floor * floor / many,
    )


def _one_each(
    values: Mapping[str, tuple[list[_Value], list[_Value]]], *, centred: bool
) -> tuple[dict[str, float], float, set[str]]:
    """The p-values of single runs; what all have in common; what drifts."""
    known: dict[str, tuple[float, Noise, Noise, float]] = {}
    for name, ((first,), (second,)) in values.items():
        if first.noise is not None and second.noise is not None:
            floor = first.floor + second.floor
            known[name] = (second.value - first.value, first.noise, second.noise, floor)
    drifting = {name for name, (_, a, b, _) in known.items() if a.drifts or b.drifts}
    if len(drifting) > _DRIFTING * len(known):
        drifting = set(known)
    centre = extra = 0.0
    freedom = math.inf
    steady = [one for name, one in known.items() if name not in drifting]
    if len(steady) >= _MANY:
        steps = np.array([step for step, *_ in steady])
        variances = np.array([max_variance(a) + max_variance(b) + f for _, a, b, f in steady])
        centre = float(np.median(steps)) if centred else 0.0
        extra, freedom = scatter(steps, variances, centre)
    p_values = {}
    for name, (step, a, b, floor) in known.items():
        if name in drifting:
            p_values[name] = 1.0
            continue
        sure = freedom if extra > floor else math.inf
        p_values[name] = p_of_two(step - centre, a, b, max(extra, floor), sure)
    return p_values, centre, drifting


def max_variance(noise: Noise) -> float:
    """The largest of the variances of a noise."""
    return max(value for many, value in noise.variances.items() if many)


def _several(values: Mapping[str, tuple[list[_Value], list[_Value]]]) -> dict[str, float]:
    """The p-values where a side has several runs: their spread is the noise."""
    spread = {}
    for name, (first, second) in values.items():
        if len(first) + len(second) < 3:
            continue
        within = float(np.mean([max(one.fast, one.floor) for one in (*first, *second)]))
        spread[name] = (
            *spread_between([v.value for v in first], [v.value for v in second]),
            within,
            1 / len(first) + 1 / len(second),
        )
    runs = max((len(a) + len(b) for a, b in values.values()), default=0)

    def whole(name: str) -> bool:
        return sum(map(len, values[name])) == runs

    p_values = {}
    for freedom in sorted({one[2] for one in spread.values()}):
        mine = [name for name, one in spread.items() if one[2] == freedom]
        own = np.array([spread[name][1] for name in mine])
        expected = np.array([spread[name][3] for name in mine])
        deviations = np.array([_deviations(*values[name]) for name in mine if whole(name)])
        variances, degrees = lend(own, expected, freedom, likeness(deviations))
        for name, variance, free in zip(mine, variances.tolist(), degrees.tolist(), strict=True):
            step, _, _, _, share = spread[name]
            if variance <= 0:
                p_values[name] = 1.0 if step == 0 else 0.0
            else:
                p_values[name] = t_tail(step / math.sqrt(variance * share), free)
    return p_values


def _deviations(first: list[_Value], second: list[_Value]) -> list[float]:
    sides = [[one.value for one in side] for side in (first, second)]
    return [value - float(np.mean(side)) for side in sides for value in side]
