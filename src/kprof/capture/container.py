"""Reading a capture file (KPD 1.x); `kprof.capture.header` describes its bytes.

Rules: a newer major version is refused, a newer minor one is read. A file that is too short, that
its writer did not finish, or whose checksum table is damaged is used as far as it goes, with a
warning. Data that contradict their checksum are refused unless the caller takes them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kprof.capture.header import (
    MAX_HEADER_BYTES,
    UNKNOWN,
    Flag,
    Header,
    decode_header,
)
from kprof.capture.model import CAPTURE_FILE, Capture, CaptureInfo
from kprof.capture.tasks import declared_tasks
from kprof.errors import CaptureError
from kprof.names import display_name

VERIFY_BYTES = 256 << 20
"""Captures up to this size are checked whenever they are opened: about 0.1 s for all of it."""


def decode_container(
    data: NDArray[np.uint8],
    source: str,
    *,
    verify: bool | None = None,
    damaged_ok: bool = False,
) -> Capture:
    """The capture in the bytes of a capture file.

    Parameters
    ----------
    data
        The whole file, shape (bytes,); the capture's records are views of it.
    source
        Its name, for messages.
    verify
        Check the data against their checksums; None: where they are at most `VERIFY_BYTES`.
    damaged_ok
        Data that contradict their checksums are a warning, not an error.

    Raises
    ------
    CaptureError
        The header is damaged, or the data are and `damaged_ok` is false.
    """
    metadata_bytes = int.from_bytes(data[120:124].tobytes(), "little")
    header = decode_header(data[: min(MAX_HEADER_BYTES, 128 + metadata_bytes)].tobytes(), source)
    if len(data) < header.header_bytes:
        raise CaptureError(
            f"{source}: ends after {len(data)} bytes, inside the header of a capture file, which "
            f"has {header.header_bytes} (upload or copy it again)"
        )
    warnings = list(header.warnings)
    present = (len(data) - header.header_bytes) // header.record_bytes
    if header.valid == UNKNOWN:
        valid = total = present
        warnings.append(
            f"{source}: its writer did not finish; all {present} records that the file holds are "
            "used, unchecked"
        )
    else:
        total = min(header.records, present)
        valid = min(header.valid, total)
        if total < header.records:
            warnings.append(
                f"{source}: is short: it holds {present} of {header.records} records; {valid} of "
                f"{header.valid} valid ones are used, unchecked"
            )
        elif verify or (verify is None and header.data_bytes <= VERIFY_BYTES):
            damage = list(_damage(data, header, source))
            if any(fatal for fatal, _ in damage) and not damaged_ok:
                raise CaptureError(next(text for fatal, text in damage if fatal))
            warnings += [text for _, text in damage]
    records = _records(data, header, total)
    return Capture(
        _info(header, source, valid, tuple(warnings)), records[:valid], records[valid:total]
    )


def _records(
    data: NDArray[np.uint8], header: Header, total: int
) -> NDArray[np.uint8] | NDArray[np.uint64]:
    start = header.header_bytes
    part = data[start : start + total * header.record_bytes]
    if header.layout == 1:
        return part.reshape(-1, header.record_bytes)
    return part.view("<u8")


def _damage(data: NDArray[np.uint8], header: Header, source: str) -> Iterator[tuple[bool, str]]:
    """What the checksums say: (the data are damaged, sentence)."""
    end = header.header_bytes + header.data_bytes
    table = data[end : end + 4 * header.chunks].tobytes()
    if len(table) < 4 * header.chunks or zlib.crc32(table) != header.table_crc:
        yield False, f"{source}: its checksum table is damaged; its data are used unchecked"
        return
    for chunk, expected in enumerate(np.frombuffer(table, "<u4").tolist()):
        first = header.header_bytes + (chunk << header.chunk_log2)
        found = crc_of(data[first : min(end, first + (1 << header.chunk_log2))])
        if found != expected:
            low = (chunk << header.chunk_log2) // header.record_bytes
            high = min(header.data_bytes, (chunk + 1) << header.chunk_log2) - 1
            yield (
                True,
                f"{source}: records {low} to {high // header.record_bytes} are damaged: their "
                f"checksum is {found:08x}, expected {expected:08x} (upload again, or take them as "
                "they are with kprof convert --damaged-ok)",
            )


def crc_of(data: NDArray[np.uint8]) -> int:
    """CRC-32 of a part of a file, without a copy of all of it in memory."""
    crc = 0
    for start in range(0, len(data), 1 << 22):
        crc = zlib.crc32(data[start : start + (1 << 22)].data, crc)
    return crc


def _info(header: Header, source: str, valid: int, warnings: tuple[str, ...]) -> CaptureInfo:
    flags = header.flags
    if header.valid == UNKNOWN:
        reason = "the length of an unfinished file"
    elif header.valid > valid:
        reason = "what is left of a short file"
    else:
        told = str(header.metadata.get("valid_from") or "")
        reason = display_name(told) or _default_reason(flags)
    marks, task_names, problems = declared_tasks(header.metadata, source)
    return CaptureInfo(
        source=source,
        form=(
            f"{CAPTURE_FILE}, KPD 1.{header.minor}, layout {header.layout}: "
            f"{header.record_bytes} bytes a record"
        ),
        clock_hz=header.clock_hz,
        time_bits=header.time_bits,
        tag_bits=header.tag_bits,
        unwrapped=header.layout == 3,  # five bytes hold no time that does not wrap
        full=Flag.OVERFLOW in flags,
        lost=None if header.lost == UNKNOWN else header.lost,
        some_lost=Flag.EVENTS_LOST in flags,
        count_guessed=Flag.COUNT_GUESSED in flags or header.valid == UNKNOWN,
        stale_tail=Flag.STALE_TAIL in flags,
        holes=Flag.HOLES in flags,
        started_ns=header.started_ns,
        names_sha256=header.names_sha256 if any(header.names_sha256) else None,
        valid_from=reason,
        task_marks=marks,
        task_names=task_names,
        metadata=header.metadata,
        warnings=warnings + problems,
    )


def _default_reason(flags: Flag) -> str:
    if Flag.COUNT_GUESSED in flags:
        return "a guess of the capture's writer"
    return "the full flag" if Flag.OVERFLOW in flags else "the count in the capture file"
