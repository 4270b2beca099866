"""What `kprof diff` does with its options."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kprof.analysis.compare import Difference, compare
from kprof.analysis.measured import measure
from kprof.cli.output import check_output, inputs_of, say, write_product
from kprof.cli.source import open_sides
from kprof.cli.terminal import style_for
from kprof.errors import UsageError
from kprof.report.choose import as_json, in_blocks, trigger_cost
from kprof.report.diff import diff_json, diff_lines, folded_lines
from kprof.report.request import Request

_SHARE = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%")


def run_diff(before: Sequence[str], after: Sequence[str], options: dict[str, Any]) -> int:
    """Write the comparison of two sides in the form that the options name; the exit code.

    Raises
    ------
    UsageError
        The clocks differ, all was asked for in a form that always has all, or a share is none.
    """
    if options["everything"] and options["form"] != "text":
        raise UsageError(
            f"-a is for text; --format {options['form']} has all always, expected it without -a"
        )
    most = _share(options["fail_above"])
    names = [options["names"], options["after_names"]]
    read = inputs_of([*before, *after], names, options["previous"])
    check_output(options["output"], "report", read, force=options["force"])
    difference = _compared(before, after, options)
    if options["form"] == "json":
        parts = iter([as_json(diff_json(difference))])
    elif options["form"] == "folded":
        parts = in_blocks(folded_lines(difference))
    else:
        style = style_for(options["color"], options["output"])
        parts = in_blocks(diff_lines(difference, everything=options["everything"], style=style))
    write_product(Path(options["output"]), parts)
    return _gate(difference, on_change=options["fail_on_change"], most=most)


def _compared(before: Sequence[str], after: Sequence[str], options: dict[str, Any]) -> Difference:
    sides = open_sides(before, after, options)
    opened = [run for side in sides for run in side]
    hz = opened[0][0].info.clock_hz
    for dump, (capture, _, _) in zip((*before, *after), opened, strict=True):
        if capture.info.clock_hz != hz:
            raise UsageError(
                f"{before[0]} has a clock of {hz} Hz, {dump} one of {capture.info.clock_hz} Hz; "
                "expected the same"
            )
    cost = trigger_cost(opened[0][0], Request(trigger_cost=options["trigger_cost"]))
    first, second = ([measure(*run, trigger_cost=cost) for run in side] for side in sides)
    return compare(first, second)


def _share(text: str | None) -> float:
    """A share as ``5%``; infinite where there is none."""
    if text is None:
        return math.inf
    found = _SHARE.fullmatch(text.strip())
    if not found:
        raise UsageError(f"--fail-above {text}: is not a share; expected one as 5%")
    return float(found[1]) / 100


def _gate(difference: Difference, *, on_change: bool, most: float) -> int:
    """1 where the comparison shows what a gate does not let through, else 0."""
    changed = [one for one in difference.functions if one.changed]
    failed = [one.name for one in changed if on_change or one.growth > most]
    if not failed:
        return 0
    option = "--fail-on-change" if on_change else f"--fail-above {100 * most:g}%"
    shown = ", ".join(failed[:5]) + (", ..." if len(failed) > 5 else "")
    say(f"{option}: {shown}")
    return 1
