"""What `kprof diff` does with its options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kprof.analysis.calls import timeline
from kprof.analysis.compare import compare
from kprof.cli.source import open_two
from kprof.errors import UsageError
from kprof.report.choose import as_json, in_blocks
from kprof.report.diff import diff_json, diff_lines, folded_lines


def diff_parts(before: str, after: str, options: dict[str, Any]) -> Iterator[str]:
    """The comparison of two captures, in the form that the options name.

    Raises
    ------
    UsageError
        Their clocks differ.
    """
    first, second = (timeline(*run) for run in open_two(before, after, options))
    if first.info.clock_hz != second.info.clock_hz:
        raise UsageError(
            f"{before} has a clock of {first.info.clock_hz} Hz, {after} one of "
            f"{second.info.clock_hz} Hz; expected the same"
        )
    difference = compare(first, second)
    if options["form"] == "json":
        yield as_json(diff_json(difference))
    elif options["form"] == "folded":
        yield from in_blocks(folded_lines(difference))
    else:
        yield from in_blocks(diff_lines(difference, everything=options["everything"]))
