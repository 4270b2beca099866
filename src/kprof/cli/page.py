"""`kprof report --html`: a capture, perhaps another one, and the sources into one page."""

from __future__ import annotations

from pathlib import Path

from kprof.capture.model import Capture
from kprof.cli.output import say, write_product
from kprof.cli.source import Opened, open_with_names
from kprof.names import find_names
from kprof.report.html.build import html_parts
from kprof.report.request import Request


def write_page(
    target: str,
    run: Opened,
    dump: str,
    names: str | None,
    diff_with: str | None,
    request: Request,
    *,
    with_sources: bool,
) -> None:
    """Write the page to the file `target`; ``-`` is stdout.

    Parameters
    ----------
    run
        The capture with its name file, opened already.
    dump, names
        Where they are from.
    diff_with
        The capture of the run before; its name file is its own, by the digest that it carries or
        beside it, else that of `run`.
    request
        Filters and the like.
    """
    before = None
    if diff_with is not None:
        before = open_with_names(diff_with, None, otherwise=run)
    write_product(
        Path(target),
        html_parts(
            run.capture,
            run.names,
            known=run.known,
            before=before and (before.capture, before.names),
            before_known=before.known if before else None,
            request=request,
            source_root=source_root(dump, names, run.capture),
            with_sources=with_sources,
        ),
    )
    if target != "-":
        size = Path(target).stat().st_size
        say(f"{target}: {size // 1000} kB, to be opened in a browser")


def source_root(dump: str, names: str | None, capture: Capture) -> Path | None:
    """The folder of the name file: where the paths of the sources in it start."""
    found = Path(names) if names else find_names(Path(dump), capture.info.names_sha256)
    return found.parent if found else None
