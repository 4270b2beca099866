"""Opening what a report is made of: a capture and the name file that belongs to it."""

from __future__ import annotations

from pathlib import Path

import click

from kprof.capture.model import Capture
from kprof.capture.open import open_capture
from kprof.errors import UsageError
from kprof.names import NameFile, find_names, read_names


def open_with_names(
    dump: str,
    names: str | None,
    *,
    valid: str | None = None,
    previous: str | None = None,
    record_order: str | None = None,
) -> tuple[Capture, NameFile]:
    """The capture `dump` and the name file `names`, or the one that is found beside it.

    What the reader of the capture has to say about it goes to stderr.

    Raises
    ------
    UsageError
        No name file was given and none is found.
    KprofError
        One of the two cannot be read.
    """
    given = read_names(Path(names)) if names else None
    capture = open_capture(
        dump, valid=valid, previous=previous, record_order=record_order, names=given
    )
    for warning in capture.info.warnings:
        click.echo(f"kprof: {warning}", err=True)
    if given is not None:
        return capture, given
    beside = Path("dump.bin" if dump == "-" else dump)
    found = find_names(beside, capture.info.names_sha256)
    if found is None:
        raise UsageError(
            f"{dump}: no name file for it found in {beside.parent}/; expected just one *.names "
            "file there, or one named like it (or name it: --names FILE)"
        )
    return capture, read_names(found)
