"""The figures of a function: their names, which are uftrace's, and how they are read.

One table for the columns of reports and the limits of budgets:

==========================  =====================================================================
``call``                    calls
``total self wall blocked`` sums: elapsed, net, with the time switched out, that time alone
``KIND-avg`` ...            -avg, -min, -max, -stdv of these, over complete calls; alone of self
``KIND-p99``, ``p99.9``     percentiles, likewise
``self-err``                how uncertain the clock's steps make the mean of self: `_clock_error`
``pct_real pct_net``        net of the elapsed time, of the time that was not idle, in per cent
==========================  =====================================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from kprof.analysis.measures import Measure
from kprof.analysis.statistics import FunctionStatistics

KINDS = {"total": "whole", "self": "own", "wall": "real", "blocked": "blocked"}
SHARES = ("pct_real", "pct_net")
ALIASES = {
    "calls": "call",
    "elapsed": "total",
    "net": "self",
    "avg": "self-avg",
    "max": "self-max",
    "min": "self-min",
    "stdv": "self-stdv",
    "stdev": "self-stdv",
    "error": "self-err",
    "median": "p50",
    "pct": "pct_real",
}
_SUMS = {"total": "elapsed", "self": "net", "wall": "wall"}
_SHAPES = {"avg": "mean", "min": "least", "max": "most", "stdv": "deviation"}
_SHAPE_ALIASES = {"stdev": "stdv", "error": "err", "median": "p50"}
_PERCENTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]+)?|100)")


def figure_names() -> list[str]:
    """Every figure, percentiles by example."""
    names = [kind + tail for kind in KINDS for tail in ("", *(f"-{shape}" for shape in _SHAPES))]
    return [*names, "self-err", "p50", "p90", "p99", "p99.9", "total-p99", "call", *SHARES]


def canonical(name: str) -> str | None:
    """The figure that a name, which may be an alias, stands for; None where it is none."""
    name = ALIASES.get(name, name)
    if name in KINDS or name == "call" or name in SHARES:
        return name
    kind, dash, shape = name.rpartition("-")
    kind, shape = ALIASES.get(kind, kind), _SHAPE_ALIASES.get(shape, shape)
    known = shape in _SHAPES or _PERCENTILE.fullmatch(shape) or (kind, shape) == ("self", "err")
    if not known or (dash and kind not in KINDS):
        return None
    return kind + dash + shape


def kind_and_shape(figure: str) -> tuple[str, str]:
    """The kind of time and what of its distribution; the shape is "" for a sum or count."""
    kind, _, shape = figure.rpartition("-")
    if _PERCENTILE.fullmatch(shape) or shape in _SHAPES or shape == "err":
        return kind or "self", shape
    return figure, ""


def reader(figure: str, step: int) -> Callable[[FunctionStatistics], int | float | None]:
    """How a figure (see `canonical`; no share) is read; times are in ticks, None of no calls.

    Parameters
    ----------
    step
        What the capture's clock counts in, in ticks.
    """
    kind, shape = kind_and_shape(figure)
    if figure == "call":
        return lambda f: f.calls
    if figure in _SUMS:
        return lambda f: int(getattr(f, _SUMS[figure]))
    if figure == "blocked":
        return lambda f: f.wall - f.elapsed
    if shape == "err":
        return lambda f: _clock_error(f.own, step)
    percentile = _PERCENTILE.fullmatch(shape)
    if percentile:
        share = float(percentile[1])
        return lambda f: _measure(f, kind).percentile(share)
    return lambda f: getattr(_measure(f, kind), _SHAPES[shape])


def _clock_error(own: Measure, step: int) -> float | None:
    """How far the clock's steps may put the mean of these times from the truth, in ticks.

    Both ends of an interval fall anywhere between two steps of a clock that runs independently of
    the code: a mean of n is off by 0.41 of a step over sqrt(n) (standard deviation). Times that
    never vary show that it does not, the processor and the Profiler sharing one oscillator, or
    that the code is that regular: each is then off in the same way, by up to one step.
    """
    if not own.count:
        return None
    if own.count > 1 and own.least == own.most:
        return float(step)
    return 0.41 * step / math.sqrt(own.count)


def _measure(function: FunctionStatistics, kind: str) -> Measure:
    measure: Measure = getattr(function, KINDS[kind])
    return measure
