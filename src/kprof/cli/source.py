"""Opening what a report is made of: a capture and the name file that belongs to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kprof.capture.match import mostly_unknown, names_mismatch
from kprof.capture.model import Capture
from kprof.capture.open import open_capture
from kprof.cli.output import say
from kprof.errors import CaptureError, UsageError
from kprof.names import NameFile, find_names, read_names
from kprof.names.calls import CallKnowledge, read_calls


class Opened(NamedTuple):
    """A capture, and what it is read with.

    Attributes
    ----------
    known
        What can call what in the program; None where the name file has no such file beside it.
    """

    capture: Capture
    names: NameFile
    known: CallKnowledge | None = None


class _Names(NamedTuple):
    """A name file as it was read, and where it is from."""

    names: NameFile
    source: str
    known: CallKnowledge | None = None


def open_with_names(
    dump: str,
    names: str | None,
    *,
    valid: str | None = None,
    previous: str | None = None,
    record_order: str | None = None,
    otherwise: Opened | None = None,
    strict: bool = False,
    exact: bool = False,
) -> Opened:
    """The capture `dump`, and the name file `names` or the one that is found beside it.

    The call knowledge beside the name file is read too, where there is some.

    What the reader of the capture has to say about it goes to stderr, and that the name file is of
    another build.

    Parameters
    ----------
    otherwise
        Whose name file is taken where none is given and none is found.
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
    given = _read(names) if names else None
    other = given
    if other is None and otherwise is not None:
        other = _Names(otherwise.names, "the other capture's name file", otherwise.known)
    capture = _open(dump, other.names if other else None, valid, previous, record_order)
    found = given or _read_beside(dump, capture) or other
    if found is None:
        raise _no_names(dump)
    _hold(capture, found, strict=strict)
    if (strict or exact) and (said := mostly_unknown(capture, found.names, found.source)):
        if strict or not capture.info.is_capture_file:
            raise UsageError(said) if strict else CaptureError(said)
        say(said)
    return Opened(capture, found.names, found.known)


def open_sides(
    before: Sequence[str], after: Sequence[str], options: Mapping[str, Any]
) -> tuple[list[Opened], list[Opened]]:
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
    names: list[list[_Names | None]] = []
    for dumps, path in zip((before, after), paths, strict=True):
        given = _read(path) if path else None
        captures.append([_open(dump, given.names if given else None, *how) for dump in dumps])
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
            held = one or others[0]
            _hold(capture, held)
            side.append(Opened(capture, held.names, held.known))
        opened.append(side)
    return opened[0], opened[1]


def _hold(capture: Capture, held: _Names, *, strict: bool = False) -> None:
    """Hold the name file against the capture: one of another build is told, or refused."""
    said = names_mismatch(capture, held.names, held.source)
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


def _read(path: Path | str) -> _Names:
    return _Names(read_names(Path(path)), str(path), read_calls(path))


def _read_beside(dump: str, capture: Capture) -> _Names | None:
    found = find_names(_beside(dump), capture.info.names_sha256)
    return _read(found) if found else None


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
