"""Opening captures of every kind that stands in one file, and the images of five RAM banks."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kprof.capture.model import Capture, CaptureInfo
from kprof.capture.records import RECORD_BYTES
from kprof.capture.sniff import is_container, is_statistics, is_text
from kprof.errors import CaptureError, FileAccessError, UsageError
from kprof.files import explain, kind_of, same_file
from kprof.names import NameFile

# What only one kind of file needs is imported when such a file is opened: a report starts sooner.
if TYPE_CHECKING:
    from kprof.capture.banks import BankOrder
    from kprof.capture.valid import ValidRecords

_MAPPED = 4 << 20  # bytes from which a file is mapped instead of read
_RAW = "raw image, 5 bytes a record"
_SURE = 0.5  # bits of margin below which the order of banks is called a guess


def open_capture(
    path: Path | str | BinaryIO,
    *,
    valid: int | str | None = None,
    previous: Path | str | None = None,
    record_order: str | None = None,
    names: NameFile | None = None,
    verify: bool | None = None,
    damaged_ok: bool = False,
) -> Capture:
    """The capture in a file: a capture file, a raw image, or five bank images one after another.

    Large files are mapped, not read. ``-`` is the standard input; a file that is open for reading
    bytes is read from where it stands.

    Parameters
    ----------
    valid
        How many records are valid, or ``all``; where the file itself does not know.
    previous
        The image of the run before: what differs from it is valid.
    record_order
        See `kprof.capture.banks.parse_record_order`; None: records in the standard order, or a
        planar file where that is clearly better.
    names
        Helps to find the order of a planar file.
    verify, damaged_ok
        See `kprof.capture.container.decode_container`.

    Raises
    ------
    FileAccessError
        It cannot be read.
    CaptureError
        It is no capture, or a damaged one.
    UsageError
        The options contradict the file.
    """
    source = _source(path)
    data = _load(path)
    if not len(data):
        raise CaptureError(f"{source}: is empty; expected a capture file or a raw image")
    if is_container(data):
        from kprof.capture.container import decode_container

        if record_order is not None:
            from kprof.capture.banks import parse_record_order

            parse_record_order(record_order)
        capture = decode_container(data, source, verify=verify, damaged_ok=damaged_ok)
        capture = _revised(capture, valid, previous)
        if record_order is None:
            return capture
        said = (
            f"{source}: knows the order of its records; --record-order {record_order} is not used"
        )
        info = capture.info
        return replace(capture, info=replace(info, warnings=(*info.warnings, said)))
    if is_statistics(data):
        raise CaptureError(
            f"{source}: is saved statistics, which have no events; expected a capture (only kprof "
            "report and kprof merge take saved statistics, by their ending .json)"
        )
    kind = kind_of(data[:16].tobytes())
    if not kind and not len(data) % RECORD_BYTES and is_text(data[:4096].tobytes()):
        kind = "text"
    if kind and record_order is None:
        raise CaptureError(
            f"{source}: is {kind}; expected a capture file or a raw image (if it is an image all "
            "the same: --record-order records:01234)"
        )
    if len(data) % RECORD_BYTES:
        raise CaptureError(
            f"{source}: its {len(data)} bytes are neither a capture file nor a raw image; expected "
            f"a multiple of {RECORD_BYTES} bytes (is it cut off, or another kind of file? see "
            "kprof import)"
        )
    records, form, warnings = _raw_records(data, source, record_order, names)
    return _raw_capture(records, source, form, valid, previous, warnings, record_order)


def open_banks(
    paths: Sequence[Path | str],
    *,
    valid: int | str | None = None,
    previous: Path | str | None = None,
    record_order: str | None = None,
    names: NameFile | None = None,
) -> Capture:
    """The capture in the images of the five RAM banks, in any order.

    Parameters and errors are those of `open_capture`; `record_order` says which bank each file
    is: ``34012`` that the first holds tag 15-8. A file that is named twice is a UsageError.
    """
    from kprof.capture.banks import BankOrder, find_bank_order, parse_record_order

    if len(paths) != RECORD_BYTES:
        raise CaptureError(f"{len(paths)} bank images given; expected {RECORD_BYTES}")
    for one, other in itertools.combinations(paths, 2):
        if str(one) == str(other) or same_file(one, other):
            raise UsageError(f"{one}, {other}: are one file; expected the five banks' images")
    images = [_load(path) for path in paths]
    source = " ".join(str(path) for path in paths)
    sizes = {len(image) for image in images}
    if len(sizes) != 1 or 0 in sizes:
        shown = ", ".join(f"{p} {len(i)}" for p, i in zip(paths, images, strict=True))
        raise CaptureError(
            f"the bank images have different sizes, or none: {shown} bytes; expected five of one "
            "size"
        )
    warnings: tuple[str, ...] = ()
    if record_order is None:
        found = find_bank_order(images, names)
        order = found
        warnings = _order_warnings(found, source)
    else:
        order = BankOrder(parse_record_order(record_order)[0], 0.0, 0.0)
    warnings += _twin_warnings(paths, images)
    records = np.stack([images[image] for image in order.images], axis=1)
    form = f"five bank images in the order {order.order}"
    return _raw_capture(records, source, form, valid, previous, warnings, record_order)


def _twin_warnings(
    paths: Sequence[Path | str], images: Sequence[NDArray[np.uint8]]
) -> tuple[str, ...]:
    """Two banks may hold one and the same byte everywhere, but hardly the same bytes."""
    twins = itertools.combinations(zip(paths, images, strict=True), 2)
    return tuple(
        f"{one}, {other}: hold the same bytes (was one RAM read twice?)"
        for (one, image), (other, copy) in twins
        if image.min() != image.max() and np.array_equal(image, copy)
    )


def _source(path: Path | str | BinaryIO) -> str:
    """How messages call a file."""
    if isinstance(path, (Path, str)):
        return "standard input" if str(path) == "-" else str(path)
    name = getattr(path, "name", "")
    return name if isinstance(name, str) and name else "an open file"


def _load(path: Path | str | BinaryIO) -> NDArray[np.uint8]:
    """The bytes of a file, mapped where it is large; shape (bytes,)."""
    try:
        if not isinstance(path, (Path, str)) or str(path) == "-":
            stream = sys.stdin.buffer if isinstance(path, (Path, str)) else path
            return np.frombuffer(stream.read(), dtype=np.uint8)
        with Path(path).open("rb") as stream:
            size = stream.seek(0, 2) if stream.seekable() else 0
            if size >= _MAPPED:
                import mmap

                mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
                return np.frombuffer(mapped, dtype=np.uint8)
            if stream.seekable():
                stream.seek(0)
            return np.frombuffer(stream.read(), dtype=np.uint8)
    except (OSError, ValueError) as error:
        wrapped = error if isinstance(error, OSError) else OSError(22, str(error))
        raise FileAccessError(explain(_source(path), "read", wrapped)) from error


def _raw_records(
    data: NDArray[np.uint8], source: str, record_order: str | None, names: NameFile | None
) -> tuple[NDArray[np.uint8], str, tuple[str, ...]]:
    """The records of a raw or planar image in the standard order, its form, what to say of it."""
    from kprof.capture.banks import STANDARD, BankOrder, looks_planar, parse_record_order

    count = len(data) // RECORD_BYTES
    if record_order is None:
        found = looks_planar(data, names)
        if found is None:
            return data.reshape(count, RECORD_BYTES), _RAW, ()
        planes = data.reshape(RECORD_BYTES, count)
        said = (
            f"{source}: is taken as five bank images one after another, in the order "
            f"{found.order} (if that is wrong: --record-order records:{STANDARD})"
        )
        return np.stack([planes[i] for i in found.images], axis=1), _planar(found.order), (said,)
    digits, planar = parse_record_order(record_order)
    order = BankOrder(digits, 0.0, 0.0)
    if planar:
        planes = data.reshape(RECORD_BYTES, count)
        return np.stack([planes[i] for i in order.images], axis=1), _planar(digits), ()
    records = data.reshape(count, RECORD_BYTES)
    if digits == STANDARD:
        return records, _RAW, ()
    return records[:, list(order.images)], f"{_RAW}, bytes in the order {digits}", ()


def _planar(order: str) -> str:
    return f"five bank images one after another, in the order {order}"


def _raw_capture(
    records: NDArray[np.uint8],
    source: str,
    form: str,
    valid: int | str | None,
    previous: Path | str | None,
    warnings: tuple[str, ...],
    record_order: str | None,
) -> Capture:
    decided = _decide(records, source, valid, previous, record_order)
    told_full = not decided.guessed and decided.count == len(records)
    info = CaptureInfo(
        source=source,
        form=form,
        full=told_full,
        count_guessed=decided.guessed,
        stale_tail=decided.count < len(records),
        valid_from=decided.reason,
        warnings=warnings + decided.warnings,
    )
    return Capture(info, records[: decided.count], records[decided.count :])


def _decide(
    records: NDArray[np.uint8],
    source: str,
    valid: int | str | None,
    previous: Path | str | None,
    record_order: str | None = None,
) -> ValidRecords:
    from kprof.capture.valid import valid_from_previous, valid_from_user, valid_unknown

    if valid is not None:
        return valid_from_user(valid, len(records), source)
    if previous is None:
        return valid_unknown(records, source)
    before = open_capture(previous, valid="all", record_order=record_order)
    return valid_from_previous(records, _whole(before), source, str(previous))


def _revised(capture: Capture, valid: int | str | None, previous: Path | str | None) -> Capture:
    """A capture file whose count was a guess, decided again with what the user gives."""
    info = capture.info
    if valid is None and previous is None:
        return capture
    records = _whole(capture)
    if not info.count_guessed or records.dtype != np.uint8:
        option = f"--valid {valid}" if valid is not None else f"--previous {previous}"
        if valid in ("all", capture.events):
            return capture
        said = f"{info.source}: knows its number of valid records; {option} is not used"
        return replace(capture, info=replace(info, warnings=(*info.warnings, said)))
    decided = _decide(records, info.source, valid, previous)
    revised = replace(
        info,
        valid_from=decided.reason,
        count_guessed=False,
        stale_tail=decided.count < len(records),
        warnings=info.warnings + decided.warnings,
    )
    return Capture(revised, records[: decided.count], records[decided.count :])


def _whole(capture: Capture) -> NDArray[np.uint8]:
    """All records of the RAM's image, the valid ones first."""
    if capture.stale is None or not len(capture.stale):
        return capture.records  # type: ignore[return-value]
    return np.concatenate([capture.records, capture.stale])


def _order_warnings(found: BankOrder, source: str) -> tuple[str, ...]:
    said = f"{source}: the bank images are taken in the order {found.order}"
    if found.margin < _SURE:
        said += ", which is a guess: another order is nearly as likely (try --record-order)"
    return (said,)
