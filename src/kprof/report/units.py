"""How figures are written: microseconds, the paper's two forms of time, per cent, names."""

from __future__ import annotations

from fractions import Fraction

from kprof.names import display_name


class Units:
    """Writes ticks of one clock as microseconds.

    Whole microseconds where a tick is one (the Profiler's 1 MHz); else with up to 3 decimals.
    """

    def __init__(self, clock_hz: Fraction) -> None:
        self._us = Fraction(1_000_000) / clock_hz
        self.whole = self._us == 1

    def exact(self, ticks: int) -> Fraction:
        """Ticks as microseconds, not rounded."""
        return ticks * self._us

    def value(self, ticks: int | None) -> int | float | None:
        """Ticks as a number of microseconds for JSON; None stays None."""
        if ticks is None or self.whole:
            return ticks
        ns = self.nanoseconds(ticks)
        return ns / 1000 if ns % 1000 else ns // 1000

    def us(self, ticks: float) -> float:
        """Ticks, whole or not, as microseconds."""
        return ticks * float(self._us)

    def text(self, ticks: int | None) -> str:
        """Ticks as microseconds; ``-`` for None."""
        if ticks is None:
            return "-"
        if self.whole:
            return str(ticks)
        ns = self.nanoseconds(ticks)
        us, rest = divmod(abs(ns), 1000)
        sign = "-" if ns < 0 else ""
        return f"{sign}{us}.{rest:03d}".rstrip("0") if rest else f"{sign}{us}"

    def nanoseconds(self, ticks: int) -> int:
        """Ticks as whole nanoseconds."""
        return round(ticks * self._us * 1000)

    def seconds(self, ticks: int) -> str:
        """The form of the summary's header: ``1 sec 586839 us``."""
        if self.whole:
            return f"{ticks // 1_000_000} sec {ticks % 1_000_000:06d} us"
        nanoseconds = self.nanoseconds(ticks)
        rest = f"{nanoseconds % 1_000_000_000 / 1000:010.3f}"
        return f"{nanoseconds // 1_000_000_000} sec {rest} us"


class Scale:
    """One unit and one number of decimals for all times of a column.

    Microseconds; milliseconds where the longest would have more digits than a reader takes in.

    Attributes
    ----------
    unit
        ``us`` or ``ms``.
    """

    def __init__(self, clock_hz: Fraction, most: int) -> None:
        self._units = Units(clock_hz)
        us = abs(self._units.exact(most))
        in_ms = us >= (1_000_000_000 if self._units.whole else 100_000)
        self.unit = "ms" if in_ms else "us"
        self._decimals = 3 if in_ms or not self._units.whole else 0
        self._divisor = 1000 if in_ms else 1

    def text(self, ticks: int | None) -> str:
        """Ticks in the unit; ``-`` for None."""
        if ticks is None:
            return "-"
        if not self._decimals:
            return str(ticks)
        thousandths = round(self._units.exact(ticks) * 1000 / self._divisor)
        whole, rest = divmod(abs(thousandths), 1000)
        return f"{'-' if thousandths < 0 else ''}{whole}.{rest:03d}"


def percent(part: int | Fraction, whole: int | Fraction) -> float:
    """`part` of `whole` in per cent, rounded half up to 2 places; 0 of 0 is 0."""
    if not whole:
        return 0.0
    return (part * 20_000 + whole) // (2 * whole) / 100


def safe_name(name: str, most: int = 120) -> str:
    """A name that is safe to print, cut in its middle where it is longer than `most`."""
    shown = display_name(name)
    if len(shown) <= most:
        return shown
    half = (most - 3) // 2
    return f"{shown[:half]}...{shown[-half:]}"


def counted(number: int, what: str, ending: str = "s") -> str:
    """``1 call``, ``2 calls``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}{ending}"
