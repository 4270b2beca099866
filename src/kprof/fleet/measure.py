"""What a worker does: measure some captures into one value that merges with that of others.

A capture that cannot be read is named, with the reason, and left out; the rest goes on.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kprof.analysis.saved import read_statistics
from kprof.analysis.statistics import Statistics, merge_statistics
from kprof.capture.match import names_mismatch
from kprof.capture.open import open_capture
from kprof.errors import KprofError, UsageError
from kprof.fleet.stores import is_url, local_copy
from kprof.names import NameFile, find_names, read_names
from kprof.names.calls import CallKnowledge, read_calls
from kprof.report.choose import statistics_of
from kprof.report.request import Request

SAVED = ".json"  # the ending of saved statistics


@dataclass(frozen=True)
class Held:
    """A name file as it was read, where it is from, and its call knowledge."""

    names: NameFile
    source: str
    known: CallKnowledge | None


@dataclass(frozen=True)
class Plan:
    """How captures are measured; the same for all.

    Attributes
    ----------
    request
        Its filters and trigger cost.
    names
        The name file of all captures; None: of each the one beside it.
    valid, previous, record_order
        See `kprof.capture.open.open_capture`.
    fast
        Take the compiled replay; None: where it pays for a capture.
    strict
        Raise at the first capture that cannot be read.
    held
        The name file itself, for workers that cannot read it (`hold_names`).
    """

    request: Request = field(default_factory=Request)
    names: str | None = None
    valid: str | None = None
    previous: str | None = None
    record_order: str | None = None
    fast: bool | None = None
    strict: bool = False
    held: Held | None = None


@dataclass(frozen=True)
class Unread:
    """A capture that could not be measured: its name, and a sentence."""

    capture: str
    why: str


@dataclass(frozen=True)
class Measured:
    """What was found in some captures.

    Attributes
    ----------
    statistics
        Merged; None where none could be read.
    unread
        Those that could not.
    notices
        What there is to say of the others, a sentence each.
    """

    statistics: Statistics | None = None
    unread: tuple[Unread, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failed:
    """An error as a value: not every exception can go from one process to another."""

    why: str
    code: int

    @classmethod
    def of(cls, error: KprofError) -> Failed:
        """Of an error."""
        return cls(str(error), error.exit_code)

    def error(self) -> KprofError:
        """The error, to be raised."""
        found = KprofError(self.why)
        found.exit_code = self.code
        return found


def attempt(captures: Sequence[str], plan: Plan) -> Measured | Failed:
    """`measure`, with its errors as a value."""
    try:
        return measure(captures, plan)
    except KprofError as error:
        return Failed.of(error)


def hold_names(plan: Plan) -> Plan:
    """The plan with the name file itself, where one was given."""
    return replace(plan, held=_names(plan.names)) if plan.names else plan


def measure(captures: Sequence[str], plan: Plan) -> Measured:
    """Measure captures, one after the other.

    Raises
    ------
    UsageError
        They cannot be merged.
    KprofError
        With `strict`: one cannot be read.
    """
    unread: list[Unread] = []
    notices: list[str] = []
    parts: list[Statistics] = []
    for capture in captures:
        try:
            parts.append(measure_one(capture, plan, notices))
        except KprofError as error:
            if plan.strict:
                raise
            unread.append(Unread(capture, str(error)))
    merged = merge_statistics(parts) if parts else None
    return Measured(merged, tuple(unread), tuple(notices))


def merge(parts: Iterable[Measured]) -> Measured:
    """One out of several; of the order nothing depends but that of the captures' names.

    Raises
    ------
    UsageError
        Their clocks, or the trigger costs that were taken out, differ.
    """
    every = list(parts)
    measured = [part.statistics for part in every if part.statistics is not None]
    return Measured(
        merge_statistics(measured) if measured else None,
        tuple(one for part in every for one in part.unread),
        tuple(one for part in every for one in part.notices),
    )


def measure_one(capture: str, plan: Plan, notices: list[str]) -> Statistics:
    """The statistics of one capture, or those that were saved.

    Parameters
    ----------
    notices
        What there is to say is added.

    Raises
    ------
    KprofError
    """
    if capture.endswith(SAVED):
        return read_statistics(Path(capture))
    if is_url(capture):
        with local_copy(capture) as copy:
            return _measure_file(str(copy), capture, plan, notices)
    return _measure_file(capture, capture, plan, notices)


def _measure_file(path: str, capture: str, plan: Plan, notices: list[str]) -> Statistics:
    """The statistics of the file `path`, which is a copy of `capture`, or itself."""
    given = plan.held or (_names(plan.names) if plan.names else None)
    opened = open_capture(
        path,
        valid=plan.valid,
        previous=plan.previous,
        record_order=plan.record_order,
        names=given.names if given else None,
    )
    if path != capture:
        opened = replace(opened, info=replace(opened.info, source=capture))
    notices += (said.replace(path, capture) for said in opened.info.warnings)
    held = given or _beside(path, opened.info.names_sha256)
    if said := names_mismatch(opened, held.names, held.source):
        notices.append(said)
    return statistics_of(opened, held.names, plan.request, known=held.known, fast=plan.fast)


def _beside(capture: str, digest: bytes | None) -> Held:
    path = Path("." if capture == "-" else capture)
    found = find_names(path, digest, among=_name_files(path.parent, _changed(path.parent)))
    if found is None:
        raise UsageError(
            f"{capture}: there is no name file beside it, or none that is certainly its own; "
            "expected --names FILE"
        )
    return _names(found)


def _names(path: Path | str) -> Held:
    return _read_names(str(path), _changed(path))


def _changed(path: Path | str) -> tuple[int, int]:
    """What tells one state of a file or folder from another."""
    try:
        status = Path(path).stat()
    except OSError:  # it is said when it is opened
        return 0, 0
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=256)
def _name_files(folder: Path, _: tuple[int, int]) -> tuple[Path, ...]:
    """The name files in a folder: listed once, for a folder may hold 100,000 captures."""
    try:
        return tuple(sorted(path for path in folder.glob("*.names") if path.is_file()))
    except OSError:
        return ()


@functools.lru_cache(maxsize=64)
def _read_names(path: str, _: tuple[int, int]) -> Held:
    return Held(read_names(Path(path)), path, read_calls(path))
