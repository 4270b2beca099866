"""Opening what a report is made of: a capture and the name file that belongs to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kprof.capture.match import mostly_unknown, names_mismatch
from kprof.capture.model import Capture
from kprof.capture.open import open_capture
from kprof.cli.output import say
from kprof.errors import CaptureError, UsageError
from kprof.names import NameFile, find_names, read_names


def open_with_names(
    dump: str,
    names: str | None,
    *,
    valid: str | None = None,
    previous: str | None = None,
    record_order: str | None = None,
    otherwise: NameFile | None = None,
    strict: bool = False,
    exact: bool = False,
) -> tuple[Capture, NameFile]:
    """The capture `dump` and the name file `names`, or the one that is found beside it.

    What the reader of the capture has to say about it goes to stderr, and that the name file is of
    another build.

    Parameters
    ----------
    otherwise
        The name file where none is given and none is found.
    strict
        A name file of another build is an error, and one that knows few of the tags.
    exact
        One that knows few of the tags is told, and of an image, which may be any file, an error.

    Raises
    ------
    UsageError
        No name file was given and none is found; with `strict`, it is of another build.
    KprofError
        One of the two cannot be read.
    """
    given = read_names(Path(names)) if names else None
    capture = _open(dump, given or otherwise, valid, previous, record_order)
    source: Path | str | None = names if given is not None else _names_of(dump, capture)
    found = given or (read_names(source) if source else otherwise)
    if found is None:
        raise _no_names(dump)
    source = str(source or "the other capture's name file")
    _hold(capture, found, source, strict=strict)
    if (strict or exact) and (said := mostly_unknown(capture, found, source)):
        if strict or not capture.info.is_capture_file:
            raise UsageError(said) if strict else CaptureError(said)
        say(said)
    return capture, found


def open_sides(
    before: Sequence[str], after: Sequence[str], options: Mapping[str, Any]
) -> tuple[list[tuple[Capture, NameFile]], list[tuple[Capture, NameFile]]]:
    """Captures of two sides to be compared, each with its own name file.

    A name file that is given is that of both sides, or with `after_names` that of one. Where none
    is given and none is found for one of the captures, it has that of another, of its own side
    first.

    Parameters
    ----------
    options
        Those of `kprof.cli.choices.capture_options`, and `after_names`.

    Raises
    ------
    UsageError
        No name file was given and none is found for any.
    KprofError
        A file cannot be read.
    """
    paths = (options["names"], options["after_names"] or options["names"])
    how = (options["valid"], options["previous"], options["record_order"])
    captures: list[list[Capture]] = []
    names: list[list[tuple[NameFile, str] | None]] = []
    for dumps, path in zip((before, after), paths, strict=True):
        given = (read_names(Path(path)), str(path)) if path else None
        captures.append([_open(dump, given[0] if given else None, *how) for dump in dumps])
        found = [
            given or _read_beside(dump, capture)
            for dump, capture in zip(dumps, captures[-1], strict=True)
        ]
        names.append(found)
    opened = []
    for at in (0, 1):
        others = [one for one in (*names[at], *names[1 - at]) if one is not None]
        if not others:
            raise _no_names(before[0])
        side = []
        for capture, one in zip(captures[at], names[at], strict=True):
            known, source = one or others[0]
            _hold(capture, known, source)
            side.append((capture, known))
        opened.append(side)
    return opened[0], opened[1]


def _hold(capture: Capture, names: NameFile, source: str, *, strict: bool = False) -> None:
    """Hold the name file against the capture: one of another build is told, or refused."""
    said = names_mismatch(capture, names, source)
    if said and strict:
        raise UsageError(said)
    if said:
        say(said)


def _open(
    dump: str,
    names: NameFile | None,
    valid: str | None,
    previous: str | None,
    record_order: str | None,
) -> Capture:
    capture = open_capture(
        dump, valid=valid, previous=previous, record_order=record_order, names=names
    )
    for warning in capture.info.warnings:
        say(warning)
    return capture


def _read_beside(dump: str, capture: Capture) -> tuple[NameFile, str] | None:
    found = _names_of(dump, capture)
    return (read_names(found), str(found)) if found else None


def _names_of(dump: str, capture: Capture) -> Path | None:
    return find_names(_beside(dump), capture.info.names_sha256)


def _no_names(dump: str) -> UsageError:
    folder = _beside(dump).parent
    there = sorted(path.name for path in folder.glob("*.names"))
    found = f", but {', '.join(there[:3])}{' and others' * (len(there) > 3)}" if there else ""
    return UsageError(
        f"{dump}: no name file for it found in {folder}/{found}; expected just one *.names file "
        "there, or one named like it (or name it: --names FILE)"
    )


def _beside(dump: str) -> Path:
    return Path("dump.bin" if dump == "-" else dump)
