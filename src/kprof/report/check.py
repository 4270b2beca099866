"""The outcome of a budget check, for people and for CI servers (JUnit XML)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from kprof.analysis.budget import LEDGER, Verdict
from kprof.analysis.calls import Timeline
from kprof.analysis.questions import calls_of
from kprof.report.trace import trace_lines
from kprof.report.units import safe_name

_EXTREMES = {"max": -1, "min": 1}


def check_lines(verdicts: Sequence[Verdict], timeline: Timeline) -> Iterator[str]:
    """A line for every limit; below a failed one the call that broke it."""
    for verdict in verdicts:
        outcome = "pass" if verdict.passed else "FAIL"
        yield f"{outcome}  {safe_name(verdict.limit.text)}  {_was(verdict)}"
        if not verdict.passed:
            for line in offender(verdict, timeline):
                yield f"      {line}"
    failed = sum(not verdict.passed for verdict in verdicts)
    yield f"{len(verdicts) - failed} of {len(verdicts)} limits held"


def offender(verdict: Verdict, timeline: Timeline) -> list[str]:
    """The trace line of the call that is furthest beyond the limit; none for sums and counts."""
    limit = verdict.limit
    if limit.figure == "" or limit.subject in LEDGER:
        return []
    names = [entry.name for entry in timeline.functions]
    if limit.subject not in names:
        return []
    rows = calls_of(timeline, names.index(limit.subject))
    kind, _, shape = limit.figure.rpartition("-")
    if not len(rows) or shape in ("call", "calls", "pct", "pct_real", "pct_net", "self", "total"):
        return []
    column = timeline.calls.net if kind in ("", "self", "net") else timeline.calls.elapsed
    if kind in ("wall", "blocked"):
        column = timeline.calls.wall - (timeline.calls.elapsed if kind == "blocked" else 0)
    wanted = np.argmin if limit.sign in (">", ">=") else np.argmax
    row = int(rows[wanted(column[rows])])
    event = int(timeline.calls.entry_event[row])
    keep = np.zeros(len(timeline.calls), np.bool_)
    keep[row] = True
    return [line.replace("    ", "") for line in trace_lines(timeline, keep, (event, event))][-1:]


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
    return f"(was {_number(verdict.value)})"


def _number(value: Fraction) -> str:
    return str(int(value)) if value.denominator == 1 else f"{float(value):.3f}".rstrip("0")
