"""The outcome of a budget check, for people and for CI servers (JUnit XML)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.budget import SIGNS, Limit, Verdict
from kprof.analysis.figures import kind_and_shape
from kprof.analysis.ordered import Ordered
from kprof.analysis.questions import Foremost
from kprof.analysis.replay.columns import Rows
from kprof.analysis.selection import Selection, distribution_of
from kprof.analysis.stream import Stream
from kprof.report.style import PLAIN, Style
from kprof.report.trace import call_line
from kprof.report.units import counted, safe_name

_DECIMALS = 3
_MOST_DECIMALS = 20


def check_lines(
    verdicts: Sequence[Verdict], lines: Sequence[str], style: Style = PLAIN
) -> Iterator[str]:
    """A line for every limit; below a failed one the call to look at, out of `offenders`."""
    for verdict, line in zip(verdicts, lines, strict=True):
        outcome = style.good("pass") if verdict.passed else style.bad("FAIL")
        yield f"{outcome}  {safe_name(verdict.limit.text)}  {_was(verdict)}"
        if line:
            yield f"      {line}"
    failed = sum(not verdict.passed for verdict in verdicts)
    held = f"{len(verdicts) - failed} of {counted(len(verdicts), 'limit')} held"
    yield style.bad(held) if failed else style.good(held)


def offenders(verdicts: Sequence[Verdict], stream: Stream) -> list[str]:
    """Of each verdict the trace line of the call to look at; "" for sums, counts, kept limits.

    A maximum is the longest call whatever the limit asks of it, and a minimum the shortest. A
    percentile that is too small is the call at its rank. Else it is the call that is furthest on
    the wrong side: the longest where the figure is too large, the shortest where it is too small.
    The capture is read only where a limit fails.
    """
    sought = [None if verdict.passed else _sought(verdict.limit, stream) for verdict in verdicts]
    lines = [""] * len(verdicts)
    if not any(sought):
        return lines
    for part in Ordered(stream):
        calls = part.calls.select(part.keep)
        for place, foremost in enumerate(sought):
            if foremost is None:
                continue
            before = foremost.rows
            foremost.add(calls)
            if foremost.rows is not before and len(foremost.rows):
                row = int(foremost.rows.call[0]) - part.first
                if row >= 0:
                    shown, holds = not part.hidden[row], bool(part.holds[row])
                    lines[place] = call_line(stream, foremost.rows, shown, holds)
    return lines


def _sought(limit: Limit, stream: Stream) -> Foremost | None:
    """What finds the call of `offenders`; None where there is none to look at."""
    kind, shape = kind_and_shape(limit.figure)
    names = [entry.name for entry in stream.functions]
    if shape in ("", "err") or limit.subject not in names:
        return None
    number, value = names.index(limit.subject), _VALUES[kind]
    too_small = limit.sign in (">", ">=")
    if shape == "min" or (too_small and shape == "avg"):
        return Foremost(number, lambda rows: -value(rows))
    if shape.startswith("p") and too_small:
        measure = distribution_of(stream, Selection(stream), number, value)
        at_rank = measure.percentile(float(shape[1:]))
        return Foremost(number, lambda rows: (value(rows) == at_rank).astype(np.int64))
    return Foremost(number, value)


_VALUES: dict[str, Callable[[Rows], NDArray[np.int64]]] = {
    "self": lambda rows: rows.net,
    "total": lambda rows: rows.elapsed,
    "wall": lambda rows: rows.elapsed + rows.away,
    "blocked": lambda rows: rows.away,
}


def junit_xml(verdicts: Sequence[Verdict], lines: Sequence[str], source: str) -> str:
    """The verdicts as a JUnit test suite; `lines` are those of `offenders`."""
    failed = sum(not verdict.passed for verdict in verdicts)
    text = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name={_attribute(f"kprof check {source}")} tests="{len(verdicts)}" '
        f'failures="{failed}" errors="0" skipped="0">',
    ]
    for verdict, line in zip(verdicts, lines, strict=True):
        head = (
            f"  <testcase classname={_attribute(verdict.limit.subject)} "
            f"name={_attribute(verdict.limit.text)}"
        )
        if verdict.passed:
            text.append(f"{head}/>")
            continue
        body = escape(line)
        text += [
            f"{head}>",
            f"    <failure message={_attribute(_was(verdict))}>{body}</failure>",
            "  </testcase>",
        ]
    return "\n".join([*text, "</testsuite>"]) + "\n"


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
