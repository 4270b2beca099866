"""`kprof report`: the summary, or the report that an option asks for."""

from __future__ import annotations

from typing import Any

import click

from kprof.cli.choices import Verb
from kprof.cli.reports import all_reports, chosen_report


@click.command("report", cls=Verb, params=list(all_reports()))
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Show the summary of a capture, or the report that an option asks for.

    Each report is also a verb with its own options: kprof trace, kprof graph, ... Several captures,
    and saved statistics, are merged into one summary.

    \b
    Example:
      kprof report dump.bin --names kernel.names
      kprof report dump.bin --trace -F ipintr
      kprof report dump.bin -f total,self-avg,p99,call -s p99
      kprof report dump.bin --worst lanisr -n 1
      kprof report dump.bin --graph in_cksum
      kprof report monday.bin tuesday.bin --format json
      kprof report dump.bin --html dump.html
    """
    from kprof.cli.reporting import run_report

    report, subject = chosen_report(ctx)
    run_report(report, subject, options)
