"""What `kprof check` does with its options."""

from __future__ import annotations

from typing import Any

import click

from kprof.analysis.budget import BudgetError, check_budget, parse_budget
from kprof.analysis.statistics import statistics
from kprof.analysis.stream import Stream
from kprof.cli.output import check_output, inputs_of
from kprof.cli.reporting import open_one
from kprof.cli.terminal import style_for
from kprof.errors import FileAccessError, UsageError
from kprof.files import no_text, read_bytes, write_text
from kprof.report.check import check_lines, junit_xml, offenders
from kprof.report.choose import in_blocks, trigger_cost
from kprof.report.request import Request


def run_check(dump: str, budget: str, options: dict[str, Any]) -> int:
    """Print the verdicts; 0 where all limits hold, else 1.

    Raises
    ------
    BudgetError, UsageError
        The budget cannot be read, is wrong, or limits what the name file does not have; the name
        file is of another build, or does not know most of the tags.
    """
    read = inputs_of([dump], [options["names"]], budget, options["previous"])
    check_output(options["junit"], "JUnit file", read, force=options["force"])
    try:
        data = read_bytes(budget)
    except FileAccessError as error:  # 1 is for limits that do not hold
        raise UsageError(str(error)) from error
    if problem := no_text(data):
        raise BudgetError([f"{budget}: {problem}; expected limits, as lanisr.max < 500us"])
    limits = parse_budget(data.decode("utf-8-sig", "replace"), budget)
    if not limits:
        raise BudgetError([f"{budget}: has no limit; expected a line as lanisr.max < 500us"])
    capture, names, known = open_one(dump, options, strict=True)
    cost = trigger_cost(capture, Request(trigger_cost=options["trigger_cost"]))
    figures = statistics(capture, names, trigger_cost=cost, known=known)
    verdicts = check_budget(limits, figures, names)
    lines = offenders(verdicts, Stream(capture, names, trigger_cost=cost, known=known))
    if options["junit"] is not None:
        write_text(options["junit"], junit_xml(verdicts, lines, dump))
    style = style_for(options["color"], "-" if options["junit"] != "-" else "stderr")
    for part in in_blocks(check_lines(verdicts, lines, style)):
        click.echo(part, nl=False, err=options["junit"] == "-")
    return 0 if all(verdict.passed for verdict in verdicts) else 1
