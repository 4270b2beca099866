"""Distributions that merge exactly: count, sum, sum of squares, extremes, and a histogram.

All are integers, so that summaries of parts of a run, or of thousands of captures, add up to what
one pass over everything gives, in any order.

The histogram's buckets are logarithmic: one tick wide up to 64, then 32 to a factor of two. A
percentile that is read from it is at most 1.6% off; one of values that are at hand is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_FINE = 5
_EXACT = 2 << _FINE
_HALF = 16  # bits of the lower part of a value, when it is squared
_LARGEST = (1 << 40) - 1  # the squares of longer times are summed one by one
BATCH = 1 << 14
"""Values that are squared and summed at once: their sums fit 64 bits."""
_BUCKET_BITS = 20
_HELD = 1 << 18  # values that `Collected` holds before it counts them
_MOST_DISTINCT = 1 << 20

Counted = tuple[NDArray[np.int64], NDArray[np.int64]]


def bucket_of(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bucket of each value; values below 0 count as 0."""
    values = np.maximum(values, 0)
    power = np.frexp(values.astype(np.float64))[1].astype(np.int64) - 1
    shift = np.maximum(power - _FINE, 0)
    wide = (shift << _FINE) + (values >> shift)
    result: NDArray[np.int64] = np.where(values < _EXACT, values, wide)
    return result


def bucket_range(bucket: int) -> tuple[int, int]:
    """The values of a bucket: from the first up to, and not with, the second."""
    if bucket < _EXACT:
        return bucket, bucket + 1
    shift = (bucket >> _FINE) - 1
    least = (bucket - (shift << _FINE)) << shift
    return least, least + (1 << shift)


@dataclass
class Measure:
    """The distribution of one kind of time of one function, in ticks.

    `values` is all of them, where they are at hand (`of`), and `counted` each distinct one and how
    often it came (`Collected`); what was merged has only the rest.
    """

    count: int = 0
    total: int = 0
    squares: int = 0
    least: int | None = None
    most: int | None = None
    histogram: dict[int, int] = field(default_factory=dict)
    values: NDArray[np.int64] | None = field(default=None, repr=False, compare=False)
    counted: Counted | None = field(default=None, repr=False, compare=False)

    @property
    def mean(self) -> float | None:
        """The mean, or None of nothing."""
        return self.total / self.count if self.count else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation, or None of nothing."""
        if not self.count:
            return None
        spread = self.count * self.squares - self.total * self.total
        return math.sqrt(max(spread, 0)) / self.count

    def percentile(self, share: float) -> float | None:
        """The value that `share` per cent of the values do not exceed, or None of nothing."""
        if not self.count or self.least is None or self.most is None:
            return None
        rank = max(1, math.ceil(self.count * share / 100 - 1e-9))
        if rank >= self.count:
            return float(self.most)
        if self.values is not None:
            return float(np.partition(self.values, rank - 1)[rank - 1])
        if self.counted is not None:
            values, counts = self.counted
            return float(values[np.searchsorted(np.cumsum(counts), rank)])
        seen = 0
        for bucket in sorted(self.histogram):
            seen += self.histogram[bucket]
            if seen >= rank:
                low, high = bucket_range(bucket)
                return float(min(max((low + high - 1) / 2, self.least), self.most))
        return float(self.most)

    def median(self) -> float:
        """The middle value, or the mean of the two; 0 of nothing. Exact as percentiles are."""
        values, counts = self.distinct()
        if not len(values):
            return 0.0
        upto = np.cumsum(counts)
        middle = np.searchsorted(upto, [(self.count - 1) // 2, self.count // 2], "right")
        return float(values[middle].mean())

    def distinct(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The values that there are, ascending, and how often each; of buckets their least."""
        if self.values is not None:
            return np.unique(self.values, return_counts=True)
        if self.counted is not None:
            return self.counted
        buckets = sorted(self.histogram)
        lows = [max(bucket_range(bucket)[0], self.least or 0) for bucket in buckets]
        counts = [self.histogram[bucket] for bucket in buckets]
        return np.array(lows, np.int64), np.array(counts, np.int64)

    def merge(self, other: Measure) -> None:
        """Add the values of another."""
        self.values = self.counted = None
        if not self.count:
            self.histogram = dict(other.histogram)
        else:
            for bucket, count in other.histogram.items():
                self.histogram[bucket] = self.histogram.get(bucket, 0) + count
        self.count += other.count
        self.total += other.total
        self.squares += other.squares
        self.least = _pick(min, self.least, other.least)
        self.most = _pick(max, self.most, other.most)

    @classmethod
    def of(cls, values: NDArray[np.int64]) -> Measure:
        """The distribution of these values."""
        measure = cls()
        for start in range(0, len(values), BATCH):
            part = values[start : start + BATCH]
            buckets, counts = np.unique(bucket_of(part), return_counts=True)
            measure.merge(
                cls(
                    len(part),
                    int(part.sum()),
                    _squares(part),
                    int(part.min()),
                    int(part.max()),
                    dict(zip(buckets.tolist(), counts.tolist(), strict=True)),
                )
            )
        measure.values = values
        return measure


def measures_of(values: NDArray[np.int64], starts: NDArray[np.int64]) -> list[Measure]:
    """The distributions of groups of values that stand one behind the other.

    The same as `Measure.of` of each, without its `values`, in a few passes over all of them.

    Parameters
    ----------
    values
        At most `BATCH`.
    starts
        Where each group begins; ascending, none is empty, the first is 0.
    """
    counts = np.diff(starts, append=np.int64(len(values)))
    totals = np.add.reduceat(values, starts).tolist()
    least = np.minimum.reduceat(values, starts)
    most = np.maximum.reduceat(values, starts)
    keys = (np.repeat(np.arange(len(starts)), counts) << _BUCKET_BITS) + bucket_of(values)
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=np.int64(-1)))
    found = keys[first]
    buckets = (found & ((1 << _BUCKET_BITS) - 1)).tolist()
    many = np.diff(first, append=np.int64(len(keys))).tolist()
    ends = np.searchsorted(found >> _BUCKET_BITS, np.arange(1, len(starts) + 1)).tolist()
    squares = _squares_of(values, starts, int(most.max()))
    measures, at = [], 0
    figures = zip(
        ends, counts.tolist(), totals, squares, least.tolist(), most.tolist(), strict=True
    )
    for end, count, total, square, low, high in figures:
        histogram = dict(zip(buckets[at:end], many[at:end], strict=True))
        measures.append(Measure(count, total, square, low, high, histogram))
        at = end
    return measures


class Collected:
    """Collects values into one distribution, exact as long as few of them are distinct.

    Of times in ticks there are few; beyond a million the percentiles are those of the buckets.
    """

    def __init__(self) -> None:
        self._parts: list[NDArray[np.int64]] = []
        self._held = 0
        self._measure = Measure()
        self._counted: Counted | None = (np.empty(0, np.int64), np.empty(0, np.int64))

    def add(self, values: NDArray[np.int64]) -> None:
        """Add these values."""
        self._parts.append(values.copy())
        self._held += len(values)
        if self._held > _HELD:
            self._merge()

    def measure(self) -> Measure:
        """The distribution of all that was added."""
        self._merge()
        self._measure.counted = self._counted
        return self._measure

    def _merge(self) -> None:
        if not self._held:
            return
        values = np.concatenate(self._parts)
        self._parts, self._held = [], 0
        self._measure.merge(Measure.of(values))
        if self._counted is None:
            return
        fresh, counts = np.unique(values, return_counts=True)
        both, where = np.unique(np.concatenate([self._counted[0], fresh]), return_inverse=True)
        total = np.zeros(len(both), np.int64)
        np.add.at(total, where.reshape(-1), np.concatenate([self._counted[1], counts]))
        self._counted = (both, total) if len(both) <= _MOST_DISTINCT else None


def _squares_of(values: NDArray[np.int64], starts: NDArray[np.int64], most: int) -> list[int]:
    """`_squares` of each group."""
    if most > _LARGEST:
        return [_squares(part) for part in np.split(values, starts[1:])]
    low = values & ((1 << _HALF) - 1)
    squares: list[int] = np.add.reduceat(low * low, starts).tolist()
    if most < 1 << _HALF:
        return squares
    high = values >> _HALF
    upper = np.add.reduceat(high * high, starts).tolist()
    mixed = np.add.reduceat(high * low, starts).tolist()
    return [
        (u << (2 * _HALF)) + (m << (_HALF + 1)) + s
        for u, m, s in zip(upper, mixed, squares, strict=True)
    ]


def _squares(values: NDArray[np.int64]) -> int:
    """The exact sum of squares; each product fits 64 bits."""
    if int(values.max(initial=0)) > _LARGEST:
        return sum(value * value for value in values.tolist())
    high, low = values >> _HALF, values & ((1 << _HALF) - 1)
    return (
        (int((high * high).sum()) << (2 * _HALF))
        + (int((high * low).sum()) << (_HALF + 1))
        + int((low * low).sum())
    )


def _pick(choose: type | object, a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    result: int = choose(a, b)  # type: ignore[operator]
    return result
