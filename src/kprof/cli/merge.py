"""`kprof merge`: saved statistics and captures into one file of statistics."""

from __future__ import annotations

from typing import Any

import click

from kprof.cli.captures import fleet_choices
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
    help="The file of statistics to write (.json).",
)
@decorate(*fleet_choices(), force_choice())
def command(dumps: tuple[str, ...], output: str, force: bool, **options: Any) -> None:
    """Merge captures and saved statistics into one file of statistics.

    DUMP may be a pattern ('runs/**/*.kpd'), a folder of capture files, or @LIST.

    \b
    Example:
      kprof report monday.bin --save monday.json
      kprof merge monday.json tuesday.json wednesday.bin -o week.json
      kprof report week.json
    """
    from pathlib import Path

    from kprof.analysis.saved import write_statistics
    from kprof.analysis.statistics import merge_statistics
    from kprof.cli.captures import load_many, meant
    from kprof.cli.output import check_output, inputs_of, say
    from kprof.report.request import Request
    from kprof.report.summary import MOSTLY_UNKNOWN

    captures = meant(dumps)
    read = inputs_of(captures, [options["names"]], options["previous"])
    check_output(output, "statistics", read, force=force)
    found, _ = load_many(captures, options, Request())
    parts = [part.statistics for part in found if part.statistics is not None]
    for part in parts:
        if part.anomalies.mostly_unknown(part.events):
            say(f"{part.info.source}: {MOSTLY_UNKNOWN}")
    write_statistics(Path(output), merge_statistics(parts))
