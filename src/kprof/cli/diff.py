"""`kprof diff`: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kprof.cli.choices import capture_options, force_option


@click.command()
@click.argument("before")
@click.argument("after")
@capture_options
@click.option("--after-names", metavar="FILE", help="The name file of AFTER, if not --names.")
@click.option("--trigger-cost", metavar="TIME", help="Take out the triggers' own cost (as 0.3us).")
@click.option("-a", "--all", "everything", is_flag=True, help="Show what did not change too.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "folded"]),
    default="text",
    help="Default: text.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to a file instead.")
@force_option("-f")
def command(before: str, after: str, **options: Any) -> None:
    """Compare two runs: which functions changed beyond chance, and which call paths.

    \b
    Example:
      kprof diff before.bin after.bin
      kprof diff before.bin after.bin --format folded | flamegraph.pl > diff.svg
    """
    from kprof.cli.comparing import diff_parts
    from kprof.cli.output import check_output, inputs_of, write_product

    names = [options["names"], options["after_names"]]
    read = inputs_of([before, after], names, options["previous"])
    check_output(options["output"], "report", read, force=options["force"])
    write_product(Path(options["output"]), diff_parts(before, after, options))
