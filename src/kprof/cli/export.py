"""`kprof export`: a capture in the format of another viewer."""

from __future__ import annotations

from typing import Any

import click

from kprof.cli.choices import capture_options, cost_choice, decorate, filter_options, force_choice
from kprof.export.formats import FORMATS


@click.command(
    epilog="Formats: " + "; ".join(f"{name}: {form.reader}" for name, form in FORMATS.items()) + "."
)
@click.argument("dump")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    required=True,
    help="The format; see below.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The file to write. [default: stdout, or DUMP with the suffix of the format]",
)
@decorate(force_choice())
@filter_options
@click.option(
    "--irq", "irqs", multiple=True, metavar="FUNC", help="Treat FUNC as an interrupt handler."
)
@capture_options
@decorate(cost_choice())
def command(
    dump: str,
    form: str,
    output: str | None,
    force: bool,
    names: str | None,
    valid: str | None,
    previous: str | None,
    record_order: str | None,
    **options: Any,
) -> None:
    """Write a capture in the format of another viewer.

    Without -o, text goes to stdout, and binary formats and folders go beside DUMP.

    \b
    Example:
      kprof export dump.bin --format perfetto -o dump.pftrace
      kprof export dump.bin --format folded | inferno-flamegraph > dump.svg
      kprof export dump.bin --format callgrind -F ipintr --irq lanisr > ipintr.callgrind
      kprof export dump.bin --format parquet -o dump.parquet
      duckdb -c "select function, sum(net_ns) from 'dump.parquet' group by 1"
    """
    from kprof.cli.output import check_output, inputs_of, say
    from kprof.cli.page import source_root
    from kprof.cli.source import open_with_names
    from kprof.export.formats import export, target_for
    from kprof.names import display_name
    from kprof.report.choose import filter_of, has_filter, trigger_cost
    from kprof.report.request import filter_request

    target = output or target_for(dump, form)
    read = inputs_of([dump], [names], previous)
    if not FORMATS[form].folder:
        check_output(target, form, read, force=force)
    run = open_with_names(
        dump, names, valid=valid, previous=previous, record_order=record_order, exact=True
    )
    request = filter_request(options)
    found = export(
        run.capture,
        run.names,
        form,
        target,
        known=run.known,
        trigger_cost=trigger_cost(run.capture, request),
        chosen=(lambda info: filter_of(info, request)) if has_filter(request) else None,
        interrupts=request.irqs,
        sources=source_root(dump, names, run.capture),
        force=force,
    )
    if found:
        more = f" and {len(found) - 4} more" if len(found) > 4 else ""
        shown = ", ".join(display_name(name) for name in found[:4]) + more
        say(f"shown as interrupts: {shown} (--irq FUNC names others; FUNC/TAG^ marks one)")
    if target != (output or "-"):
        say(f"written to {target}")
