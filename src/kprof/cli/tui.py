"""`kprof tui`: look through a capture in the terminal."""

from __future__ import annotations

import sys
from typing import Any

import click

from kprof.cli.choices import capture_options, cost_choice, decorate, filter_options


@click.command()
@click.argument("dump")
@filter_options
@decorate(cost_choice())
@capture_options
def command(dump: str, **options: Any) -> None:
    """Browse functions, the call graph and every call; the key ? lists the keys.

    \b
    Example:
      kprof tui dump.bin --names kernel.names
      kprof tui dump.bin -F ipintr -t 100us
    """
    from kprof.cli.source import open_with_names
    from kprof.errors import MissingExtraError, UsageError

    try:
        from kprof.tui.app import Browser
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        raise MissingExtraError("kprof tui", "tui") from error
    from kprof.cli.page import source_root
    from kprof.instrument.definitions import source_places
    from kprof.report.request import filter_request
    from kprof.tui.reading import Reading

    how = {name: options[name] for name in ("names", "valid", "previous", "record_order")}
    capture, name_file, known = open_with_names(dump, **how)
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if stream is None or not stream.isatty():
            raise UsageError(
                f"standard {name} is not a terminal, which the browser needs; expected kprof tui "
                "in a terminal (kprof report and kprof annotate write text)"
            )
    root = source_root(dump, options["names"], capture)
    places = source_places(name_file, root) if root else {}
    reading = Reading(capture, name_file, known, filter_request(options))
    Browser(reading, places).run()
