"""`kprof info`: everything about a capture."""

from __future__ import annotations

import click

from kprof.cli.output import say


@click.command("info")
@click.argument("file")
@click.option("--names", metavar="FILE", help="Name file; default: the one beside the capture.")
@click.option("--valid", metavar="N|all", help="Valid records, where the capture does not know.")
@click.option("--previous", metavar="FILE", help="RAM image of the run before this one.")
@click.option("--record-order", metavar="ORDER", help="Bank of each byte, such as 01234.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the output.",
)
def command(
    file: str,
    names: str | None,
    valid: str | None,
    previous: str | None,
    record_order: str | None,
    form: str,
) -> None:
    """Show the form, events, clock, span, tags, damage and origin of a capture.

    FILE is a capture file, a raw image of the event RAM, or five bank images one after another.

    \b
    Example:
      kprof info dump.bin
      kprof info dump.bin --format json
    """
    from kprof.capture import open_capture
    from kprof.capture.describe import capture_as_json, describe_capture, examine, held_names
    from kprof.cli.meter import Meter
    from kprof.names import find_names, read_names

    known = read_names(names) if names else None
    capture = open_capture(
        file, valid=valid, previous=previous, record_order=record_order, names=known, verify=True
    )
    found = names or find_names(file, capture.info.names_sha256)
    used = known or (read_names(found) if found else None)
    with Meter() as meter:
        facts = examine(capture, used, lambda events: meter.show("reading", events, capture.events))
    held = held_names(capture, used, str(found))
    for warning in (*capture.info.warnings, *((held.mismatch,) if held and held.mismatch else ())):
        say(warning)
    if form == "json":
        import json

        click.echo(json.dumps(capture_as_json(capture, facts, held), indent=2))
    else:
        click.echo(describe_capture(capture, facts, held), nl=False)
