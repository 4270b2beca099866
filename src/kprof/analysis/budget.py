"""Budgets: limits on the figures of a run, one on a line of a text file.

::

    # comment
    lanisr.max < 500us          a figure of a function, an operator, a value
    in_cksum.pct_net < 20       per cent of the time that was not idle
    softint.p99 < 1ms           max, min, avg, p50 ... are of net time; total-p99 of elapsed
    idle.pct > 10               of the run: elapsed, run, idle, unattributed; .pct is a share
    orphan_exits == 0           an anomaly

A figure that does not exist because its function never ran fails, but for `call`, `total` and
`self`, which are 0.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from fractions import Fraction

from kprof.analysis.statistics import Statistics
from kprof.analysis.times import parse_time
from kprof.errors import ProblemsError, UsageError
from kprof.names import display_name

_LINE = re.compile(r"(?P<what>.+?)\s*(?P<sign><=|>=|==|!=|<|>)\s*(?P<limit>\S+(?:\s*[a-z]+)?)")
_SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
ANOMALIES = ("orphan_exits", "open_calls", "unwound_calls", "context_switches", "unknown_tags")
LEDGER = ("elapsed", "run", "idle", "unattributed")
_KINDS = {"total": "whole", "self": "own", "net": "own", "wall": "real", "blocked": "blocked"}
_PERCENTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]+)?)")
_SHAPES = {"avg": "mean", "min": "least", "max": "most", "stdv": "deviation"}
_SUMS = {"total": "elapsed", "elapsed": "elapsed", "self": "net", "net": "net", "wall": "wall"}


class BudgetError(ProblemsError):
    """A budget file that breaks its grammar or names what does not exist."""


@dataclass(frozen=True)
class Limit:
    """One line of a budget.

    Attributes
    ----------
    text
        The line.
    subject
        A function, a part of the ledger, or an anomaly.
    figure
        What of it, "" for the thing itself.
    sign, limit
        The operator, and the value: microseconds for times, per cent for shares, else a count.
    """

    text: str
    subject: str
    figure: str
    sign: str
    limit: Fraction


@dataclass(frozen=True)
class Verdict:
    """A limit and what was found; `value` is None where there is nothing to measure."""

    limit: Limit
    value: Fraction | None
    passed: bool


def parse_budget(text: str, source: str) -> list[Limit]:
    """The limits of a budget file.

    Raises
    ------
    BudgetError
        With every line that is wrong.
    """
    limits: list[Limit] = []
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        try:
            limits.append(_parse_line(line))
        except UsageError as error:
            problems.append(f"{source}:{number}: {error}")
    if problems:
        raise BudgetError(problems)
    return limits


def check_budget(limits: list[Limit], statistics: Statistics, known: set[str]) -> list[Verdict]:
    """Measure every limit.

    Parameters
    ----------
    known
        The functions of the name file.

    Raises
    ------
    BudgetError
        A limit names a function that the name file does not have.
    """
    problems = [
        f"{limit.text}: {limit.subject} is no function of the name file"
        for limit in limits
        if limit.figure != "" and limit.subject not in known and limit.subject not in LEDGER
    ]
    if problems:
        raise BudgetError(problems)
    return [_measure(limit, statistics) for limit in limits]


def _parse_line(line: str) -> Limit:
    found = _LINE.fullmatch(line)
    if not found:
        shown = display_name(line[:80])
        raise UsageError(f"{shown}: is no limit; expected one as lanisr.max < 500us")
    what, sign, limit = found["what"], found["sign"], found["limit"]
    if what in ANOMALIES or what in LEDGER:
        is_count = what in ANOMALIES
        return Limit(line, what, "", sign, _value(limit, line, is_count))
    subject, dot, figure = what.rpartition(".")
    percentile = re.fullmatch(r"(.+)\.((?:total-|self-|wall-|blocked-)?p[0-9]+\.[0-9]+)", what)
    if percentile:
        subject, dot, figure = percentile[1], ".", percentile[2]
    if not dot or not _is_figure(subject, figure):
        raise UsageError(
            f"{what}: is no figure; expected FUNCTION.max (min, avg, p99, total-max, self, call, "
            f"pct_net, ...), {', '.join(LEDGER)} or {', '.join(ANOMALIES)}"
        )
    is_count = figure in ("call", "calls", "pct_real", "pct_net", "pct")
    return Limit(line, subject, figure, sign, _value(limit, line, is_count))


def _is_figure(subject: str, figure: str) -> bool:
    if figure == "pct":
        return subject in LEDGER
    if figure in ("call", "calls", "pct_real", "pct_net", *_SUMS, *_SHAPES):
        return True
    kind, dash, shape = figure.rpartition("-")
    shape_known = shape in _SHAPES or _PERCENTILE.fullmatch(shape) is not None
    return shape_known and (not dash or kind in _KINDS)


def _value(text: str, line: str, is_count: bool) -> Fraction:
    if not is_count:
        return parse_time(text, line.rsplit(text, 1)[0].strip())
    try:
        return Fraction(text.rstrip("%"))
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(f"{line}: {text} is no number") from error


def _measure(limit: Limit, statistics: Statistics) -> Verdict:
    value = _found(limit, statistics)
    passed = value is not None and bool(_SIGNS[limit.sign](value, limit.limit))
    return Verdict(limit, value, passed)


def _found(limit: Limit, statistics: Statistics) -> Fraction | None:
    us = Fraction(1_000_000) / statistics.info.clock_hz
    ledger = statistics.ledger
    subject, figure = limit.subject, limit.figure
    if figure == "" and subject in ANOMALIES:
        odd = getattr(statistics.anomalies, subject)
        return Fraction(sum(odd.values()) if isinstance(odd, dict) else odd)
    if figure in ("", "pct"):
        ticks = int(getattr(ledger, subject))
        if figure == "":
            return ticks * us
        return Fraction(100 * ticks, ledger.elapsed) if ledger.elapsed else Fraction(0)
    function = statistics.functions.get(subject)
    if figure in ("call", "calls"):
        return Fraction(function.calls if function else 0)
    if figure in ("pct_real", "pct_net"):
        whole = ledger.elapsed if figure == "pct_real" else ledger.run
        return Fraction(100 * function.net, whole) if function and whole else Fraction(0)
    if figure in _SUMS:
        return (int(getattr(function, _SUMS[figure])) if function else 0) * us
    if function is None:
        return None
    kind, _, shape = figure.rpartition("-")
    measure = getattr(function, _KINDS[kind or "self"])
    percentile = _PERCENTILE.fullmatch(shape)
    if percentile:
        value = measure.percentile(float(percentile[1]))
    else:
        value = getattr(measure, _SHAPES[shape])
    return None if value is None else Fraction(value) * us
