"""Writing a product: to stdout as it comes, or into a file that replaces the old one whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path


def write_product(target: Path, parts: Iterable[str], *, paged: bool = False) -> None:
    """Write the text `parts` to `target`; ``-`` is stdout.

    With `paged` a terminal gets it through the user's pager, as from ``git log``.
    """
    if str(target) == "-":
        if paged and sys.stdout.isatty():
            import click

            click.echo_via_pager(iter(parts))
            return
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        for part in parts:
            sys.stdout.write(part)
        return
    from kprof.files import writing

    with writing(target) as stream:
        for part in parts:
            stream.write(part.encode("utf-8", "backslashreplace"))
