"""How sure a figure is: the noise within a run, the noise between runs, p-values.

Within a run. The figures of batches that follow each other are a series. Noise that is slow against
the run shows in the slowest cosine components of that series; the variance of the run's mean is
the mean of their squares (the *equal-weighted cosine* estimate of the long-run variance; Lazarus,
Lewis, Stock and Watson, 2018), with one degree of freedom for each. It holds for correlated calls.
Where the slowest of all stand out against the rest, the noise is slower than the run is long: the
figure *drifts*, and one run does not tell how sure it is.

Between runs. With several runs each is one value, and their spread is the noise, whatever its
cause. Few runs tell a variance badly, so all functions lend their experience to each (Smyth, 2004),
but never to call a function quieter than its own runs are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_K = TypeVar("_K")

_COMPONENTS = 32
_SLOW = 4  # the slowest components, held against the others
_DRIFTS = 4.0  # times as strong as the others: 1 in 100 of white noise
_DOUBTFUL = 3.0
_ALLOWED = 1.5
_FEWEST = 4  # components without which there is no variance
_CHOICES = (4, 8, 16, 32)
_NORMAL = 1e6  # degrees of freedom of what is as good as the normal distribution
_LENT = 40.0  # degrees of freedom that other functions lend at the most
_ALONE = 2.0  # times the variance of the others, above which a function stands alone


@dataclass(frozen=True)
class Noise:
    """The variance of a run's figure.

    Attributes
    ----------
    variances
        By the number of components that it was estimated from.
    slow
        How strong the slowest components are against the others; about 1 of white noise.
    """

    variances: Mapping[int, float]
    slow: float

    @property
    def drifts(self) -> bool:
        """Is the noise too slow for this run to tell its size?"""
        return self.slow > _DRIFTS


def ratio_noise(part: Array, whole: Array) -> Noise | None:
    """The noise of ``sum(part) / sum(whole)``, of two series over the same batches.

    None where there are too few batches with anything in them.
    """
    total = float(whole.sum())
    if total <= 0:
        return None
    used = whole > 0
    if not used.all():  # what the part has where the whole has nothing goes to the batch before
        owner = np.maximum(np.cumsum(used) - 1, 0)
        part = np.bincount(owner, part, int(used.sum())).astype(np.float64)
        whole = whole[used]
    rest = part - part.sum() / total * whole
    even = total * total / float((whole * whole).sum())  # as many batches of one size
    many = int(min(len(rest) - 1, even, _COMPONENTS))
    if many < _FEWEST:
        return None
    powers = _components(rest, many) / (total * total)
    low = max(1, min(_SLOW, many // 4))
    slow, others = float(powers[:low].mean()), float(powers[low:].mean())
    strength = slow / others if others > 0 else (1.0 if slow <= 0 else math.inf)
    grown = max(1.0, min(strength, _DRIFTS) / _ALLOWED)
    least = _fast(rest, total)  # a pattern that comes back has less than chance gives
    return Noise(
        {n: max(least, float(powers[: min(n, many)].mean()) * grown) for n in _CHOICES}
        | {0: float(many)},
        strength,
    )


def _components(series: Array, many: int) -> Array:
    """Powers of the slowest cosine components; each estimates the variance of the sum."""
    size = len(series)
    angle = math.pi * (np.arange(size) + 0.5) / size
    waves = np.cos(np.arange(1, many + 1)[:, None] * angle)
    result: Array = 2 * (waves @ series) ** 2
    return result


def fast_variance(part: Array, whole: Array) -> float:
    """The least variance of ``sum(part) / sum(whole)``: of what differs from batch to batch."""
    total = float(whole.sum())
    used = whole > 0
    if total <= 0 or used.sum() < 2:
        return 0.0
    return _fast((part - part.sum() / total * whole)[used], total)


def _fast(rest: Array, total: float) -> float:
    steps = np.diff(rest)
    return float((steps * steps).mean()) / 2 * len(rest) / (total * total)


def p_of_two(step: float, first: Noise, second: Noise, extra: float, extra_freedom: float) -> float:
    """The p-value of a difference of two single runs' figures, two-sided.

    The largest over the numbers of components: what is beyond chance must be so with all.

    Parameters
    ----------
    extra, extra_freedom
        A variance that does not show within a run, and its degrees of freedom.
    """
    if first.drifts or second.drifts:
        return 1.0
    doubtful = max(first.slow, second.slow) > _DOUBTFUL
    worst = 0.0
    for many in _CHOICES if doubtful else _CHOICES[1:]:
        parts = [
            (noise.variances[many], min(float(many), noise.variances[0]))
            for noise in (first, second)
        ]
        parts.append((extra, extra_freedom))
        variance = sum(value for value, _ in parts)
        if variance <= 0:
            return 1.0 if step == 0 else 0.0
        unsure = sum(value * value / of for value, of in parts)
        freedom = variance**2 / unsure if unsure > 0 else math.inf
        worst = max(worst, t_tail(step / math.sqrt(variance), freedom))
    return worst


def scatter(steps: Array, variances: Array, centre: float) -> tuple[float, float]:
    """The variance that must be added for the steps of most functions to be what chance gives.

    The largest that the median and the 80th percentile of their sizes ask for, so that a few
    functions that have changed do not count; of all functions, and of the quieter half of them,
    which shows what the noise of the others hides. Also its degrees of freedom.
    """
    quiet = variances <= np.median(variances)
    most, freedom = 0.0, math.inf
    for chosen in (np.ones(len(steps), np.bool_), quiet):
        for share, expected in ((50, 0.69), (80, 1.31)):
            added = _added(np.abs(steps - centre)[chosen], variances[chosen], share, expected)
            if added > most:
                most, freedom = added, chosen.sum() / 2
    return most, float(freedom)


def _added(sizes: Array, variances: Array, share: float, expected: float) -> float:
    """What to add to the variances for a percentile of the sizes to be as expected."""

    def size(extra: float) -> float:
        return float(np.percentile(sizes / np.sqrt(variances + extra + 1e-300), share))

    if size(0.0) <= expected:
        return 0.0
    low, high = 0.0, float((sizes * sizes).max()) / (expected * expected)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if size(middle) > expected else (low, middle)
    return high


def lend(own: Array, expected: Array, freedom: float, alike: float = 1.0) -> tuple[Array, Array]:
    """Variances between runs that are not too small by accident, and their degrees of freedom.

    Parameters
    ----------
    own
        The variance of the runs of each function, with `freedom` degrees each.
    expected
        What to measure them by: the variance that the calls within the runs give.
    alike
        See `likeness`; functions that move together know less.
    """
    known = (own > 0) & (expected > 0)
    if known.sum() < _FEWEST or freedom <= 0:
        return np.maximum(own, expected), np.full(len(own), freedom)
    logs = np.log(own[known] / expected[known]) - _digamma(freedom / 2) + math.log(freedom / 2)
    middle = float(np.median(logs))
    spread = float(np.median(np.abs(logs - middle)) * 1.4826) ** 2 - _trigamma(freedom / 2)
    lent = max(0.5, min(_LENT, float(known.sum()) / alike - 1))
    if spread > 0:
        while lent > 0.5 and _trigamma(lent / 2) < spread:
            lent *= 0.9
    typical = math.exp(middle + _digamma(lent / 2) - math.log(lent / 2)) * expected
    mixed = (lent * typical + freedom * own) / (lent + freedom)
    alone = own > _ALONE * typical
    variances = np.where(alone, own, mixed)
    return np.maximum(variances, expected), np.where(alone, freedom, freedom + lent)


def likeness(deviations: Array) -> float:
    """How many functions move as one, on average; 1 where each goes its own way.

    Parameters
    ----------
    deviations
        Of the runs from their side's mean, shape (functions, runs).
    """
    sizes = np.sqrt((deviations * deviations).sum(1))
    units = deviations[sizes > 0] / sizes[sizes > 0, None]
    if not len(units):
        return 1.0
    together = units.sum(0)
    return max(1.0, float((together * together).sum()) / len(units))


def t_tail(t: float, freedom: float) -> float:
    """The two-sided tail of Student's t, by Wallace's approximation (1959)."""
    if math.isinf(t):
        return 0.0
    if freedom > _NORMAL:
        return math.erfc(abs(t) / math.sqrt(2))
    scale = (8 * freedom + 1) / (8 * freedom + 3)
    return math.erfc(scale * math.sqrt(freedom * math.log1p(t * t / freedom)) / math.sqrt(2))


def holm(p_values: Mapping[_K, float]) -> dict[_K, float]:
    """Holm's correction: of n p-values the k-th smallest is multiplied by ``n - k + 1``."""
    corrected: dict[_K, float] = {}
    largest = 0.0
    for place, (name, value) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, value * (len(p_values) - place)))
        corrected[name] = largest
    return corrected


def spread_between(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """The step of the mean, the variance of the runs of a side, and its degrees of freedom."""
    a, b = np.array(first), np.array(second)
    freedom = len(a) + len(b) - 2
    squares = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    return float(b.mean() - a.mean()), squares / max(1, freedom), float(freedom)


def _digamma(x: float) -> float:
    below = 0.0
    while x < 6:
        below -= 1 / x
        x += 1
    return below + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4)


def _trigamma(x: float) -> float:
    below = 0.0
    while x < 6:
        below += 1 / x**2
        x += 1
    return below + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5)
