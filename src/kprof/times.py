"""Times as users write them: ``5us``, ``1.5ms``, ``250ns``, or as the trace prints them.

A number alone is microseconds, in every option of every verb.
"""

from __future__ import annotations

import re
from fractions import Fraction

from kprof.errors import UsageError

_UNITS = {
    "ps": Fraction(1, 1000000),
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(1000000),
}
_TIME = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ps|ns|us|ms|s|)")
_STAMP = re.compile(r"([0-9]+):([0-9]{3}) ?([0-9]{3})")


def parse_time(text: str, option: str) -> Fraction:
    """A time in microseconds; a number alone is microseconds.

    Raises
    ------
    UsageError
        It is none.
    """
    stamp = _STAMP.fullmatch(text.strip())
    if stamp:
        return Fraction(int("".join(stamp.groups())))
    found = _TIME.fullmatch(text.strip())
    if not found:
        raise UsageError(
            f"{option} {text}: is not a time; expected a number with ns, us, ms or s (as 500us), "
            "or a time as the trace prints it (as '1:169 991')"
        )
    return Fraction(found[1]) * _UNITS[found[2] or "us"]


def parse_range(text: str, option: str) -> tuple[Fraction | None, Fraction | None]:
    """``a~b``, ``a~`` or ``~b`` in microseconds; None where there is no bound.

    Raises
    ------
    UsageError
        It is none, or ends before it begins.
    """
    first, tilde, last = text.partition("~")
    if not tilde or not (first.strip() or last.strip()):
        raise UsageError(f"{option} {text}: is not a range; expected START~END (as 1.5ms~2ms)")
    start = parse_time(first, option) if first.strip() else None
    end = parse_time(last, option) if last.strip() else None
    if start is not None and end is not None and end < start:
        raise UsageError(f"{option} {text}: ends before it begins; expected START~END")
    return start, end


def to_ticks(us: Fraction, clock_hz: Fraction) -> Fraction:
    """Microseconds as ticks of a clock."""
    return us * clock_hz / 1_000_000
