"""`kprof report`: the summary, the trace, and the answers to questions about a capture."""

from __future__ import annotations

from typing import Any

import click

from kprof.cli.choices import capture_options, filter_options, force_option, statistics_name
from kprof.cli.terminal import look_options


@click.command()
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option("--trace", is_flag=True, help="The nested real time trace instead of the summary.")
@click.option(
    "--graph", is_flag=False, flag_value="", metavar="[FUNC]", help="Who calls whom; or one FUNC."
)
@click.option("--hist", metavar="FUNC", help="The distribution of a function's times.")
@click.option("--worst", metavar="FUNC", help="The trace of the slowest calls of a function.")
@click.option(
    "--by", type=click.Choice(["total", "net"]), help="What is worst: most total, or most net time."
)
@click.option("-n", "many", type=click.IntRange(1), help="How many, or how much around (5).")
@click.option("--slower-than", metavar="TIME", help="The trace of the calls that took longer.")
@click.option("--around", metavar="TIME", help="The trace around a time.")
@click.option(
    "--between", nargs=2, metavar="A B", help="Times from inline trigger A to inline trigger B."
)
@click.option("--interrupts", is_flag=True, help="Interrupts: how long, how often, on what.")
@click.option("--irq", "irqs", multiple=True, metavar="FUNC", help="FUNC is an interrupt.")
@click.option("--tasks", "contexts", is_flag=True, help="Contexts: time, slices, a time line.")
@click.option("-f", "--output-fields", "fields", metavar="A,B", help="Columns; +A adds to some.")
@click.option("-s", "--sort", metavar="A,B", help="Order of the rows: self, total, call, ...")
@click.option("--elf", metavar="FILE", help="The linked program, for -f +size.")
@click.option("--never", is_flag=True, help="List the functions that never ran.")
@click.option("--trigger-cost", metavar="TIME", help="Take out the triggers' own cost (as 0.3us).")
@filter_options
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Default: text."
)
@capture_options
@look_options
@click.option("--html", metavar="FILE", help="Write one page to look at instead of text.")
@click.option(
    "--diff-with", metavar="DUMP", help="With --html: the capture before, to compare with."
)
@click.option("--sources", is_flag=True, help="With --html: put the sources into the page too.")
@click.option(
    "--save",
    metavar="FILE",
    callback=statistics_name,
    help="Keep the statistics (.json) to be merged later.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to a file instead.")
@force_option()
def command(**options: Any) -> None:
    """Print the summary of a capture, its nested trace, or the answer to a question about it.

    Several captures, and statistics that were saved, are merged into one summary.

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

    run_report(options)
