"""`kprof merge`: saved statistics and captures into one file of statistics."""

from __future__ import annotations

from typing import Any

import click

from kprof.cli.choices import capture_options, decorate, force_choice, statistics_name


@click.command()
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@capture_options
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    callback=statistics_name,
    help="The statistics (.json).",
)
@decorate(force_choice())
def command(dumps: tuple[str, ...], output: str, force: bool, **options: Any) -> None:
    """Merge captures, and statistics that were saved, into one file of statistics; exactly.

    \b
    Example:
      kprof report monday.bin --save monday.json
      kprof merge monday.json tuesday.json wednesday.bin -o week.json
      kprof report week.json
    """
    from pathlib import Path

    from kprof.analysis.saved import write_statistics
    from kprof.analysis.statistics import merge_statistics
    from kprof.cli.output import check_output, inputs_of, say
    from kprof.cli.reporting import load_many
    from kprof.report.request import Request
    from kprof.report.summary import MOSTLY_UNKNOWN

    read = inputs_of(dumps, [options["names"]], options["previous"])
    check_output(output, "statistics", read, force=force)
    parts = load_many(dumps, options, Request())
    for dump, part in zip(dumps, parts, strict=True):
        if part.anomalies.mostly_unknown(part.events):
            say(f"{dump}: {MOSTLY_UNKNOWN}")
    write_statistics(Path(output), merge_statistics(parts))
