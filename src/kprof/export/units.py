"""Ticks in the units of other tools: whole microseconds or nanoseconds, decimal text."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]


class Scale:
    """Converts ticks of a clock into `unit`.

    Parameters
    ----------
    clock_hz
        Ticks a second.
    unit
        ``us`` or ``ns``, or None: us if a tick is a whole number of them, else ns.

    Attributes
    ----------
    unit
        The unit of `whole`.
    """

    def __init__(self, clock_hz: Fraction, unit: str | None = None) -> None:
        us = Fraction(1_000_000) / clock_hz
        self.unit = unit or ("us" if us.denominator == 1 else "ns")
        factor = us if self.unit == "us" else us * 1000
        self._times, self._by = factor.numerator, factor.denominator
        self._us = us

    def whole(self, ticks: int) -> int:
        """Ticks in whole units, rounded down."""
        return ticks * self._times // self._by

    def column(self, ticks: Column) -> Column:
        """`whole` of a column; exact where the result fits in 63 bits."""
        if self._by == 1:
            return ticks * self._times if self._times > 1 else ticks
        if self._by * self._times < 1 << 62:
            parts, rest = np.divmod(ticks, self._by)
            result: Column = parts * self._times + rest * self._times // self._by
            return result
        exact = [value * self._times // self._by for value in ticks.tolist()]
        return np.array(exact, np.int64)

    def us(self, ticks: int) -> str:
        """Microseconds as decimal text, exact to the nanosecond (rounded down)."""
        if self._us.denominator == 1:
            return str(ticks * self._us.numerator)
        ns = ticks * 1000 * self._us.numerator // self._us.denominator
        return f"{ns // 1000}.{ns % 1000:03}"

    def us_texts(self, ticks: Column) -> list[str]:
        """`us` of a column."""
        if self._us.denominator == 1:
            return list(map(str, (ticks * self._us.numerator).tolist()))
        return [self.us(value) for value in ticks.tolist()]
