"""`kprof annotate`: the source with figures in the margin."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("source", metavar="SOURCE.C")
@click.argument("dump")
@click.option("--names", metavar="FILE", help="The name file; else the one beside the dump.")
@click.option("--valid", metavar="N|all", help="How many records of a raw image are valid.")
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to a file instead.")
def command(source: str, dump: str, names: str | None, valid: str | None, output: str) -> None:
    """Print a source file with calls, net and max of each function in its margin.

    \b
    Example:
      kprof annotate src/le.c dump.bin --names kernel.names
    """
    from kprof.analysis.summary import summarise
    from kprof.cli.output import write_product
    from kprof.cli.source import open_with_names
    from kprof.report.annotate import annotate

    capture, name_file = open_with_names(dump, names, valid=valid)
    lines = annotate(Path(source), name_file, summarise(capture, name_file))
    write_product(Path(output), (line + "\n" for line in lines))
