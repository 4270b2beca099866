"""`kprof annotate`: the source with figures in the margin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kprof.cli.choices import capture_options, colour_choice, decorate, force_choice


@click.command()
@click.argument("source", metavar="SOURCE.C")
@click.argument("dump")
@capture_options
@click.option(
    "-o", "--output", metavar="FILE", default="-", help="Write to FILE instead of stdout."
)
@decorate(colour_choice(), force_choice())
def command(source: str, dump: str, output: str, color: str, force: bool, **options: Any) -> None:
    """Show a source file with the calls, the net time and the longest call of its functions.

    A function whose head comes from a macro is placed by NAMES.calls, which `kprof cc` writes.
    Functions of the file that cannot be placed are listed below it.

    \b
    Example:
      kprof annotate src/le.c dump.bin --names kernel.names
    """
    from kprof.analysis.summary import summarise
    from kprof.cli.output import check_output, inputs_of, write_product
    from kprof.cli.source import open_with_names
    from kprof.cli.terminal import style_for
    from kprof.report.annotate import annotate

    read = inputs_of([dump], [options["names"]], source, options["previous"])
    check_output(output, "report", read, force=force)
    run = open_with_names(dump, **options)
    summary = summarise(run.capture, run.names, known=run.known)
    lines = annotate(Path(source), run.names, summary, run.known, style_for(color, output))
    write_product(Path(output), (line + "\n" for line in lines))
