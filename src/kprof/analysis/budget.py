"""Budgets: limits on the figures of a run, one on a line of a text file.

::

    # comment
    lanisr.max < 500us          a figure of a function, an operator, a value
    lanisr.max < 0:000 500      the same: a time as the trace prints it
    in_cksum.pct_net < 20       per cent of the time that was not idle
    softint.p99 < 1ms           max, min, avg, p50 ... are of net time; total-p99 of elapsed
    MGET.call < 400             how often an inline trigger fired
    idle.pct > 10               of the run: elapsed, run, idle, user, unattributed; .pct: a share
    orphan_exits == 0           an anomaly

The figures of functions are those of `kprof.analysis.figures`. One that does not exist because its
function never ran fails, but for counts, sums and shares, which are 0. A function that is named as
a part of the run has the figures but ``pct``.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from fractions import Fraction

from kprof.analysis.figures import (
    ALIASES,
    SHARES,
    canonical,
    figure_names,
    kind_and_shape,
    reader,
)
from kprof.analysis.questions import near
from kprof.analysis.statistics import Statistics
from kprof.errors import ProblemsError, UsageError
from kprof.names import Modifier, NameFile, display_name
from kprof.times import parse_time

_LINE = re.compile(
    r"(?P<what>.+?)\s*(?P<sign><=|>=|==|!=|<|>)\s*"
    r"(?P<limit>[0-9]+:[0-9]{3} [0-9]{3}|\S+(?:\s*(?:[a-z]+|%))?)"  # 1:169 991, or 500us
)
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(%?)")
SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
ANOMALIES = (
    "orphan_exits",
    "open_calls",
    "unwound_calls",
    "context_switches",
    "unknown_tags",
    "ambiguous_switches",
    "restarts",
)
LEDGER = ("elapsed", "run", "idle", "user", "unattributed")


class BudgetError(ProblemsError):
    """A budget that breaks its grammar, or limits what is not measured (exit code 2)."""

    exit_code = UsageError.exit_code


@dataclass(frozen=True)
class Limit:
    """One line of a budget.

    Attributes
    ----------
    text
        The line.
    subject
        A function, an inline trigger, a part of the ledger, or an anomaly.
    figure
        What of it (`kprof.analysis.figures`); "" for the thing itself, ``pct`` for its share.
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
            problems.append(f"{source}:{number}: {display_name(str(error))}")
    if problems:
        raise BudgetError(problems)
    return limits


def check_budget(limits: list[Limit], statistics: Statistics, names: NameFile) -> list[Verdict]:
    """Measure every limit.

    Raises
    ------
    BudgetError
        Limits name what the name file does not have, or figures that it does not have.
    """
    problems = [
        display_name(f"{limit.text}: {problem}")
        for limit in limits
        if (problem := _problem(limit, names))
    ]
    if problems:
        raise BudgetError(problems)
    return [_measure(limit, statistics) for limit in limits]


def _problem(limit: Limit, names: NameFile) -> str | None:
    """Why this is not measured with this name file, or None where it is."""
    subject, figure = limit.subject, limit.figure
    if figure in ("", "pct"):
        return None
    entry = names.get(subject)
    if entry is None:
        if subject in LEDGER:
            return (
                f"{subject} is of the whole run, and no function of the name file; expected "
                f"{subject} (a time) or {subject}.pct"
            )
        known = [entry.name for entry in names.entries]
        return f"{subject} is not a function of the name file{near(subject, known)}"
    if not entry.value:
        return f"{subject} has the value 0 in the name file: it has no trigger"
    if entry.modifier is Modifier.INLINE and figure != "call":
        return f"{subject} is an inline trigger, which has no times; expected {subject}.call"
    return None


def _parse_line(line: str) -> Limit:
    found = _LINE.fullmatch(line)
    if not found:
        raise UsageError(f"{line[:80]}: is not a limit; expected one as lanisr.max < 500us")
    what, sign, limit = found["what"], found["sign"], found["limit"]
    subject, figure = _subject_and_figure(what)
    if what in ANOMALIES or figure == "call":
        value = _number(limit, line, "number", "")
    elif figure == "pct" or figure in SHARES:
        value = _number(limit, line, "share", "%")
    elif limit.endswith("%"):
        share = f"{subject}.pct" if figure == "" else f"{subject}.pct_real or {subject}.pct_net"
        raise UsageError(f"{line}: {what} is a time; expected a time (as 500us), or {share}")
    else:
        value = parse_time(limit, line.rsplit(limit, 1)[0].strip())
    return Limit(line, subject, figure, sign, value)


def _subject_and_figure(what: str) -> tuple[str, str]:
    if what in ANOMALIES or what in LEDGER:
        return what, ""
    parts = what.split(".")
    for last in (1, 2):  # p99.9 has a dot in it, as names may have
        subject, name = ".".join(parts[:-last]), ".".join(parts[-last:])
        figure = canonical(name)
        if subject and figure is not None:
            return subject, "pct" if name == "pct" and subject in LEDGER else figure
    expected = (
        "; expected FUNCTION.max (min, avg, p99, total-max, self, call, pct_net, ...), "
        f"{', '.join(LEDGER)} or {', '.join(ANOMALIES)}"
    )
    hint = near(parts[-1], [*figure_names(), *ALIASES]) if "".join(parts[:-1]) else ""
    raise UsageError(f"{what}: is not a figure{hint or expected}")


def _number(text: str, line: str, kind: str, unit: str) -> Fraction:
    found = _NUMBER.fullmatch(text)
    if not found or found[2] not in ("", unit):
        raise UsageError(f"{line}: {text} is not a {kind}; expected one as 20{unit}")
    return Fraction(found[1])


def _measure(limit: Limit, statistics: Statistics) -> Verdict:
    value = _found(limit, statistics)
    passed = value is not None and bool(SIGNS[limit.sign](value, limit.limit))
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
        return ticks * us if figure == "" else _share(ticks, ledger.elapsed)
    if subject in statistics.inlines:
        return Fraction(statistics.inlines[subject][1])
    function = statistics.functions.get(subject)
    if figure in SHARES:
        whole = ledger.elapsed if figure == "pct_real" else ledger.run
        return _share(function.net if function else 0, whole)
    if function is None:
        return None if kind_and_shape(figure)[1] else Fraction(0)
    value = reader(figure, statistics.info.step)(function)
    if value is None or figure == "call":
        return value if value is None else Fraction(value)
    return Fraction(value) * us


def _share(part: int, whole: int) -> Fraction:
    return Fraction(100 * part, whole) if whole else Fraction(0)
