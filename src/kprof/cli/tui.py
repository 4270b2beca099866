"""`kprof tui`: look through a capture in the terminal."""

from __future__ import annotations

import sys
from typing import Any

import click

from kprof.cli.choices import capture_options


@click.command()
@click.argument("dump")
@capture_options
def command(dump: str, **options: Any) -> None:
    """Browse functions, the call graph and every call; ? lists the keys.

    \b
    Example:
      kprof tui dump.bin --names kernel.names
    """
    from kprof.cli.source import open_with_names
    from kprof.errors import MissingExtraError, UsageError

    try:
        from kprof.tui.app import Browser
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        raise MissingExtraError("kprof tui", "tui") from error
    from kprof.analysis.calls import timeline
    from kprof.analysis.summary import summarise
    from kprof.cli.page import source_root
    from kprof.report.annotate import source_places

    capture, name_file, known = open_with_names(dump, **options)
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if stream is None or not stream.isatty():
            raise UsageError(
                f"standard {name} is no terminal, which the browser needs; expected kprof tui in a "
                "terminal (kprof report and kprof annotate write text)"
            )
    root = source_root(dump, options["names"], capture)
    places = source_places(name_file, root) if root else {}
    lines = timeline(capture, name_file, known=known)
    Browser(lines, summarise(capture, name_file, known=known), places).run()
