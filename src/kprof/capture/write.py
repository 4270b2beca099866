"""Writing captures: the capture file (KPD 1.0), raw images, bank images.

Every file appears whole or not at all (`kprof.files.writing`). `capture_writer` takes a capture
part by part, so that one larger than memory can be written.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kprof.capture.header import (
    ALIGNMENT,
    CHUNK_LOG2,
    LAYOUT_BYTES,
    LAYOUT_TIME_BITS,
    UNKNOWN,
    Flag,
    Header,
    encode_header,
    metadata_bytes,
)
from kprof.capture.layouts import layout_of, records_in_layout
from kprof.capture.model import Capture, CaptureInfo
from kprof.capture.records import RECORD_BYTES
from kprof.capture.tasks import TASK_MARKS, TASK_NAMES
from kprof.errors import CaptureError
from kprof.files import writing

_PART = 1 << 20  # records written at a time


class CaptureWriter:
    """Writes one capture file into a stream that can seek; made by `capture_writer`."""

    def __init__(self, stream: BinaryIO, info: CaptureInfo, layout: int) -> None:
        self._stream, self._layout = stream, layout
        self._metadata = dict(info.metadata) | {"valid_from": info.valid_from}
        if info.task_marks is not None:
            self._metadata[TASK_MARKS] = asdict(info.task_marks)
            self._metadata[TASK_NAMES] = {str(n): name for n, name in info.task_names.items()}
        length = len(metadata_bytes(self._metadata)) + 128
        self._header_bytes = -(-length // ALIGNMENT) * ALIGNMENT
        self._checksums: list[int] = []
        self._crc = self._data_bytes = 0
        self.finished = False
        self._stream.write(encode_header(self._header(info, UNKNOWN)))

    def append(self, records: NDArray[Any]) -> None:
        """Add records: shape (n, 5) uint8 in layout 1, shape (n,) uint64 in layout 3."""
        dtype = np.dtype("u1") if self._layout == 1 else np.dtype("<u8")
        for start in range(0, len(records), _PART):
            part = np.ascontiguousarray(records[start : start + _PART], dtype=dtype)
            self._write(part.reshape(-1).view(np.uint8).data)

    @property
    def records(self) -> int:
        """The number of records so far."""
        return self._data_bytes // LAYOUT_BYTES[self._layout]

    def finish(self, info: CaptureInfo, valid: int | None = None) -> None:
        """Write the checksums and the final header; `valid` of the records count (None: all)."""
        if self._data_bytes & ((1 << CHUNK_LOG2) - 1):
            self._checksums.append(self._crc)
        table = np.array(self._checksums, dtype="<u4").tobytes()
        self._stream.write(table)
        self._stream.seek(0)
        valid = self.records if valid is None else valid
        self._stream.write(encode_header(self._header(info, valid, zlib.crc32(table))))
        self._stream.seek(0, 2)
        self.finished = True

    def _write(self, data: memoryview) -> None:
        while data:
            room = (1 << CHUNK_LOG2) - (self._data_bytes & ((1 << CHUNK_LOG2) - 1))
            part = data[:room]
            self._stream.write(part)
            self._crc = zlib.crc32(part, self._crc)
            self._data_bytes += len(part)
            if len(part) == room:
                self._checksums.append(self._crc)
                self._crc = 0
            data = data[room:]

    def _header(self, info: CaptureInfo, valid: int, table_crc: int = 0) -> Header:
        if info.clock_hz <= 0 or info.clock_hz.denominator >= 1 << 32:
            raise CaptureError(
                f"{info.source}: its clock of {info.clock_hz} Hz cannot be stored; expected a "
                "positive fraction whose denominator is below 2^32"
            )
        return Header(
            layout=self._layout,
            header_bytes=self._header_bytes,
            time_bits=LAYOUT_TIME_BITS[3] if self._layout == 3 else min(info.time_bits, 24),
            tag_bits=info.tag_bits,
            flags=_flags(info, self._layout, valid < self.records),
            clock_hz=info.clock_hz,
            valid=valid,
            records=self.records,
            data_bytes=self._data_bytes,
            lost=UNKNOWN if info.lost is None else info.lost,
            started_ns=info.started_ns,
            names_sha256=info.names_sha256 or bytes(32),
            chunk_log2=CHUNK_LOG2,
            table_crc=table_crc,
            metadata=self._metadata,
        )


@contextlib.contextmanager
def capture_writer(
    path: Path | str, info: CaptureInfo, *, layout: int = 1
) -> Iterator[CaptureWriter]:
    """Write a capture file part by part; finished and put in place when the block has ended.

    The block may call `CaptureWriter.finish` itself, with what it knows at the end; else all
    records count.

    Raises
    ------
    FileAccessError
        `path` cannot be written; it is as it was.
    """
    with writing(path) as stream:
        if stream.seekable() and str(path) != "-":  # stdout may stand behind another's output
            yield from _finishing(CaptureWriter(stream, info, layout), info)
            return
        with tempfile.TemporaryFile() as spool:
            yield from _finishing(CaptureWriter(spool, info, layout), info)
            spool.seek(0)
            shutil.copyfileobj(spool, stream, 1 << 20)


def write_capture(path: Path | str, capture: Capture, *, layout: int | None = None) -> None:
    """Write `capture` as a capture file, what its RAM holds past the valid records included.

    Parameters
    ----------
    layout
        1 or 3 (see `kprof.capture.header`); None: the one that the capture's records have.

    Raises
    ------
    FileAccessError
        `path` cannot be written; it is as it was.
    CaptureError
        The events do not fit in the layout.
    """
    own = layout_of(capture)
    with capture_writer(path, capture.info, layout=layout or own) as writer:
        for part in records_in_layout(capture, layout or own):
            writer.append(part)
        valid = writer.records
        if capture.stale is not None and own == (layout or own):
            writer.append(capture.stale)
        writer.finish(capture.info, valid)


def write_raw(path: Path | str, capture: Capture) -> None:
    """Write the RAM's image: 5 bytes a record, with what it holds past the valid records.

    Raises
    ------
    FileAccessError
        `path` cannot be written; it is as it was.
    CaptureError
        The events do not fit in 24 bits of time.
    """
    with writing(path) as stream:
        for part in _image(capture):
            stream.write(part.data)


def write_banks(paths: Sequence[Path | str], capture: Capture) -> None:
    """Write the images of the five RAM banks: time 23-16, 15-8, 7-0, tag 15-8, 7-0.

    Raises
    ------
    FileAccessError
        One cannot be written; then all are as they were, or those before it are new.
    CaptureError
        There are not five paths, or the events do not fit in 24 bits of time.
    """
    if len(paths) != RECORD_BYTES or len({str(path) for path in paths}) != RECORD_BYTES:
        raise CaptureError(f"{len(paths)} bank files named; expected {RECORD_BYTES} different ones")
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(writing(path)) for path in paths]
        for part in _image(capture):
            for bank, stream in enumerate(streams):
                stream.write(part[:, bank].tobytes())


def _image(capture: Capture) -> Iterator[NDArray[np.uint8]]:
    for part in records_in_layout(capture, 1):
        yield np.ascontiguousarray(part, dtype=np.uint8)
    if capture.stale is not None and capture.stale.dtype == np.uint8:
        for start in range(0, len(capture.stale), _PART):
            yield np.ascontiguousarray(capture.stale[start : start + _PART], dtype=np.uint8)


def _finishing(writer: CaptureWriter, info: CaptureInfo) -> Iterator[CaptureWriter]:
    yield writer
    if not writer.finished:
        writer.finish(info)


def _flags(info: CaptureInfo, layout: int, stale: bool) -> Flag:
    said = {
        Flag.OVERFLOW: info.full,
        Flag.COUNT_GUESSED: info.count_guessed,
        Flag.EVENTS_LOST: info.some_lost or bool(info.lost),
        Flag.STALE_TAIL: stale,
        Flag.UNWRAPPED: layout == 3,
        Flag.HOLES: info.holes,
    }
    return Flag(sum(flag for flag, is_set in said.items() if is_set))
