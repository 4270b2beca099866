"""The outcome of a budget check, for people and for CI servers (JUnit XML)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.budget import SIGNS, Verdict
from kprof.analysis.calls import Timeline
from kprof.analysis.figures import kind_and_shape
from kprof.analysis.measures import Measure
from kprof.analysis.questions import calls_of
from kprof.report.trace import call_line
from kprof.report.units import counted, safe_name

_DECIMALS = 3
_MOST_DECIMALS = 20


def check_lines(verdicts: Sequence[Verdict], timeline: Timeline) -> Iterator[str]:
    """A line for every limit; below a failed one the call to look at (see `offender`)."""
    for verdict in verdicts:
        outcome = "pass" if verdict.passed else "FAIL"
        yield f"{outcome}  {safe_name(verdict.limit.text)}  {_was(verdict)}"
        if not verdict.passed:
            for line in offender(verdict, timeline):
                yield f"      {line}"
    failed = sum(not verdict.passed for verdict in verdicts)
    yield f"{len(verdicts) - failed} of {counted(len(verdicts), 'limit')} held"


def offender(verdict: Verdict, timeline: Timeline) -> list[str]:
    """The trace line of the call to look at; none for sums and counts.

    A maximum is the longest call whatever the limit asks of it, and a minimum the shortest. A
    percentile that is too small is the call at its rank. Else it is the call that is furthest on
    the wrong side: the longest where the figure is too large, the shortest where it is too small.
    """
    limit = verdict.limit
    kind, shape = kind_and_shape(limit.figure)
    names = [entry.name for entry in timeline.functions]
    if shape in ("", "err") or limit.subject not in names:
        return []
    rows = calls_of(timeline, names.index(limit.subject))
    if not len(rows):
        return []
    column = timeline.calls.net if kind == "self" else timeline.calls.elapsed
    if kind in ("wall", "blocked"):
        column = timeline.calls.wall - (timeline.calls.elapsed if kind == "blocked" else 0)
    return [call_line(timeline, int(rows[_place(column[rows], shape, limit.sign)]))]


def _place(values: NDArray[np.int64], shape: str, sign: str) -> int:
    """Where the call of `offender` is among the values of all calls."""
    too_small = sign in (">", ">=")
    if shape == "min" or (too_small and shape == "avg"):
        return int(np.argmin(values))
    if shape.startswith("p") and too_small:
        at_rank = Measure.of(values).percentile(float(shape[1:]))
        return int(np.argmax(values == at_rank))
    return int(np.argmax(values))


def junit_xml(verdicts: Sequence[Verdict], timeline: Timeline, source: str) -> str:
    """The verdicts as a JUnit test suite."""
    failed = sum(not verdict.passed for verdict in verdicts)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name={_attribute(f"kprof check {source}")} tests="{len(verdicts)}" '
        f'failures="{failed}" errors="0" skipped="0">',
    ]
    for verdict in verdicts:
        head = (
            f"  <testcase classname={_attribute(verdict.limit.subject)} "
            f"name={_attribute(verdict.limit.text)}"
        )
        if verdict.passed:
            lines.append(f"{head}/>")
            continue
        body = escape("\n".join(offender(verdict, timeline)))
        lines += [
            f"{head}>",
            f"    <failure message={_attribute(_was(verdict))}>{body}</failure>",
            "  </testcase>",
        ]
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _attribute(text: str) -> str:
    return quoteattr(safe_name(text))


def _was(verdict: Verdict) -> str:
    if verdict.value is None:
        return "(it never ran to its end)"
    return f"(was {_number(verdict)})"


def _number(verdict: Verdict) -> str:
    """The value with 3 decimals, or as many as it takes to be on its side of the limit."""
    limit, value = verdict.limit, verdict.value or Fraction(0)
    for digits in range(_DECIMALS, _MOST_DECIMALS):
        shown = Fraction(round(value * 10**digits), 10**digits)
        if SIGNS[limit.sign](shown, limit.limit) == verdict.passed:
            break
    whole, rest = divmod(round(value * 10**digits), 10**digits)
    return f"{whole}.{rest:0{digits}}".rstrip("0").rstrip(".")
