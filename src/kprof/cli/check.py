"""`kprof check`: a capture against a budget."""

from __future__ import annotations

from typing import Any

import click

from kprof.cli.choices import capture_options, colour_choice, cost_choice, decorate, force_choice


@click.command()
@click.argument("dump")
@click.option("--budget", required=True, metavar="FILE", help="The limits, one in each line.")
@capture_options
@click.option(
    "--junit", metavar="FILE", help="Also write the result as JUnit XML; - prints it instead."
)
@decorate(cost_choice(), colour_choice(), force_choice())
def command(dump: str, budget: str, **options: Any) -> int:
    """Check a capture against limits.

    The exit code is 1 if a limit does not hold or the capture cannot be read, and 2 if the budget
    is wrong.

    \b
    Example:
      kprof check dump.bin --budget kernel.budget --junit kprof.xml

    \b
    A budget:
      lanisr.max < 500us
      in_cksum.pct_net < 20
      softint.p99 < 1ms
      MGET.call < 400
      idle.pct > 10
      orphan_exits == 0
    """
    from kprof.cli.checking import run_check

    return run_check(dump, budget, options)
