"""`kprof report`: the summary and the trace."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("dump")
@click.option("--names", metavar="FILE", help="The name file; else the one beside the dump.")
@click.option("--trace", is_flag=True, help="The nested real time trace instead of the summary.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Default: text."
)
@click.option("--valid", metavar="N|all", help="How many records of a raw image are valid.")
@click.option(
    "--previous", metavar="FILE", help="The image of the run before: what differs is valid."
)
@click.option("--record-order", metavar="ORDER", help="The order of the bytes of a raw image.")
@click.option("--html", metavar="FILE", help="Write one page to look at instead of text.")
@click.option(
    "--diff-with", metavar="DUMP", help="With --html: the capture before, to compare with."
)
@click.option("--sources", is_flag=True, help="With --html: put the sources into the page too.")
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to a file instead.")
def command(
    dump: str,
    names: str | None,
    trace: bool,
    form: str,
    valid: str | None,
    previous: str | None,
    record_order: str | None,
    html: str | None,
    diff_with: str | None,
    sources: bool,
    output: str,
) -> None:
    """Print the summary of a capture, or the nested trace, or write a page.

    \b
    Example:
      kprof report dump.bin --names kernel.names
      kprof report dump.bin --trace | head -40
      kprof report dump.bin --format json > summary.json
      kprof report dump.bin --html dump.html
    """
    from kprof.cli.output import write_product
    from kprof.cli.source import open_with_names
    from kprof.report.choose import report_parts

    capture, name_file = open_with_names(
        dump, names, valid=valid, previous=previous, record_order=record_order
    )
    if html is not None:
        from kprof.cli.page import write_page

        write_page(html, (capture, name_file), dump, names, diff_with, with_sources=sources)
        return
    write_product(Path(output), report_parts(capture, name_file, trace=trace, form=form))
