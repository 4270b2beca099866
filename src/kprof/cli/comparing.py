"""What `kprof diff` does with its options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kprof.analysis.calls import timeline
from kprof.analysis.compare import compare
from kprof.cli.source import open_two
from kprof.errors import UsageError
from kprof.report.choose import as_json, in_blocks, trigger_cost
from kprof.report.diff import diff_json, diff_lines, folded_lines
from kprof.report.request import Request


def diff_parts(before: str, after: str, options: dict[str, Any]) -> Iterator[str]:
    """The comparison of two captures, in the form that the options name.

    Raises
    ------
    UsageError
        Their clocks differ, or all was asked for in a form that always has all.
    """
    if options["everything"] and options["form"] != "text":
        raise UsageError(
            f"-a is for text; --format {options['form']} has all always, expected it without -a"
        )
    runs = open_two(before, after, options)
    hz, other = (capture.info.clock_hz for capture, _ in runs)
    if hz != other:
        raise UsageError(
            f"{before} has a clock of {hz} Hz, {after} one of {other} Hz; expected the same"
        )
    cost = trigger_cost(runs[0][0], Request(trigger_cost=options["trigger_cost"]))
    first, second = (timeline(*run, trigger_cost=cost) for run in runs)
    difference = compare(first, second)
    if options["form"] == "json":
        yield as_json(diff_json(difference))
    elif options["form"] == "folded":
        yield from in_blocks(folded_lines(difference))
    else:
        yield from in_blocks(diff_lines(difference, everything=options["everything"]))
