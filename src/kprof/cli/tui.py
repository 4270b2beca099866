"""`kprof tui`: look through a capture in the terminal."""

from __future__ import annotations

import click


@click.command()
@click.argument("dump")
@click.option("--names", metavar="FILE", help="The name file; else the one beside the dump.")
@click.option("--valid", metavar="N|all", help="How many records of a raw image are valid.")
def command(dump: str, names: str | None, valid: str | None) -> None:
    """Browse functions, the call graph and every call; ? lists the keys.

    \b
    Example:
      kprof tui dump.bin --names kernel.names
    """
    from kprof.cli.source import open_with_names
    from kprof.errors import MissingExtraError

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

    capture, name_file = open_with_names(dump, names, valid=valid)
    root = source_root(dump, names, capture)
    places = source_places(name_file, root) if root else {}
    Browser(timeline(capture, name_file), summarise(capture, name_file), places).run()
