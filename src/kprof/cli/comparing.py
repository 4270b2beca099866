"""What `kprof diff` does with its options."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kprof.analysis.calls import timeline
from kprof.analysis.compare import compare
from kprof.cli.reporting import open_one
from kprof.errors import UsageError
from kprof.names import find_names
from kprof.report.choose import as_json, in_blocks
from kprof.report.diff import diff_json, diff_lines, folded_lines


def diff_parts(before: str, after: str, options: dict[str, Any]) -> Iterator[str]:
    """The comparison of two captures, in the form that the options name.

    Raises
    ------
    UsageError
        Their clocks differ.
    """
    first = timeline(*open_one(before, options))
    names = options["after_names"] or options["names"]
    if names is None:
        names = find_names(Path(after)) or find_names(Path(before))
    second = timeline(*open_one(after, {**options, "names": names and str(names)}))
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
