"""The header of a capture file, KPD 1.0: 128 bytes, metadata, zeros to a multiple of 4096.

====  ========  ===================================================================
off   type      field
====  ========  ===================================================================
0     8 bytes   89 4B 50 44 0D 0A 1A 0A
8     u16, u16  major 1, minor 0
12    u32       header size: multiple of 4096, at most 16 MiB; the data begin there
16    u16       layout: 1 = records of 5 bytes, big-endian time and tag;
                3 = u64, time << 16 | tag, time unwrapped (2 is reserved)
18    u16       bytes a record: 5 or 8
20    u8, u8    time bits, tag bits
22    u16       flags, see `Flag`
24    u64, u32  clock in Hz: numerator, denominator
36    u32       0
40    u64       valid records; all ones: the writer did not finish
48    u64       records in the data, at least the valid ones
56    u64       bytes of data
64    u64       lost events; all ones: not known
72    u64       start of the run, Unix time in ns; 0: not known
80    32 bytes  SHA-256 of the name file; zeros: not known
112   u32       log2 of the checksummed chunk's size (24)
116   u32       CRC-32 of the checksum table
120   u32       length of the metadata
124   u32       CRC-32 of bytes 0 to 123 and the metadata
128             metadata: a JSON object in ASCII
====  ========  ===================================================================

Integers are little-endian. After the data: one CRC-32 (u32) a chunk of data.
"""

from __future__ import annotations

import enum
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kprof.capture.sniff import MAGIC
from kprof.errors import CaptureError

MAJOR, MINOR = 1, 0
ALIGNMENT = 4096
MAX_HEADER_BYTES = 16 << 20
UNKNOWN = 0xFFFF_FFFF_FFFF_FFFF
CHUNK_LOG2 = 24
LAYOUT_BYTES = {1: 5, 3: 8}
LAYOUT_TIME_BITS = {1: 24, 3: 48}

_FIXED = struct.Struct("<8sHHIHHBBHQIIQQQQQ32sIIII")
assert _FIXED.size == 128


class Flag(enum.IntFlag):
    """Bits of the header's flags."""

    OVERFLOW = 1
    COUNT_GUESSED = 2
    EVENTS_LOST = 4
    STALE_TAIL = 8
    UNWRAPPED = 16
    HOLES = 32


@dataclass(frozen=True)
class Header:
    """The fields of a header, as they stand in the file (see the module's table)."""

    layout: int
    header_bytes: int
    time_bits: int
    tag_bits: int
    flags: Flag
    clock_hz: Fraction
    valid: int
    records: int
    data_bytes: int
    lost: int
    started_ns: int
    names_sha256: bytes
    chunk_log2: int
    table_crc: int
    metadata: Mapping[str, Any]
    minor: int = MINOR
    warnings: tuple[str, ...] = ()

    @property
    def record_bytes(self) -> int:
        """Bytes a record: 5 or 8."""
        return LAYOUT_BYTES[self.layout]

    @property
    def chunks(self) -> int:
        """The number of checksummed chunks."""
        return -(-self.data_bytes >> self.chunk_log2)


def metadata_bytes(metadata: Mapping[str, Any]) -> bytes:
    """The metadata as they stand in the file.

    Raises
    ------
    CaptureError
        They cannot be written as JSON, or are too long.
    """
    try:
        text = json.dumps(dict(metadata), sort_keys=True) if metadata else "{}"
    except (TypeError, ValueError) as error:
        raise CaptureError(f"the capture's metadata cannot be written as JSON: {error}") from error
    if len(text) > MAX_HEADER_BYTES - _FIXED.size:
        raise CaptureError(
            f"the capture's metadata are {len(text)} bytes long; expected at most 16 MiB"
        )
    return text.encode("ascii")


def encode_header(header: Header) -> bytes:
    """The header's `header.header_bytes` bytes."""
    metadata = metadata_bytes(header.metadata)
    start = _FIXED.pack(
        MAGIC,
        MAJOR,
        header.minor,
        header.header_bytes,
        header.layout,
        header.record_bytes,
        header.time_bits,
        header.tag_bits,
        header.flags,
        header.clock_hz.numerator,
        header.clock_hz.denominator,
        0,
        header.valid,
        header.records,
        header.data_bytes,
        header.lost,
        header.started_ns,
        header.names_sha256,
        header.chunk_log2,
        header.table_crc,
        len(metadata),
        0,
    )[:124]
    crc = zlib.crc32(metadata, zlib.crc32(start))
    return (start + struct.pack("<I", crc) + metadata).ljust(header.header_bytes, b"\0")


def decode_header(data: bytes, source: str) -> Header:
    """The header at the start of `data`, which holds it whole or ends with the file.

    Raises
    ------
    CaptureError
        It is damaged, cut off, or of a newer major version.
    """
    if len(data) < _FIXED.size:
        raise CaptureError(
            f"{source}: ends after {len(data)} bytes, inside the header of a capture file (upload "
            "or copy it again)"
        )
    # fmt: off
    (magic, major, minor, header_bytes, layout, record_bytes, time_bits, tag_bits, flags,
     hz_numerator, hz_denominator, _, valid, records, data_bytes, lost, started_ns, digest,
     chunk_log2, table_crc, metadata_length, crc) = _FIXED.unpack(data[: _FIXED.size])
    # fmt: on
    if magic != MAGIC:
        raise CaptureError(
            f"{source}: begins with {magic.hex(' ')}, a capture file with {MAGIC.hex(' ')} (was it "
            "copied as text?)"
        )
    if major != MAJOR:
        raise CaptureError(
            f"{source}: is a capture file of version {major}.{minor}; this kprof reads version "
            f"{MAJOR} (a newer kprof is needed)"
        )
    if metadata_length > MAX_HEADER_BYTES - _FIXED.size:
        raise CaptureError(_damaged(source, f"its metadata would be {metadata_length} bytes long"))
    metadata = data[_FIXED.size : _FIXED.size + metadata_length]
    if len(metadata) < metadata_length:
        raise CaptureError(
            f"{source}: ends after {len(data)} bytes, inside the metadata of a capture file "
            "(upload or copy it again)"
        )
    found = zlib.crc32(metadata, zlib.crc32(data[:124]))
    if found != crc:
        raise CaptureError(_damaged(source, f"its checksum is {crc:08x}, expected {found:08x}"))
    problem = _problem(layout, record_bytes, time_bits, tag_bits, header_bytes, metadata_length)
    problem = problem or _count_problem(valid, records, data_bytes, record_bytes, chunk_log2)
    if problem is None and (hz_numerator == 0 or hz_denominator == 0):
        problem = f"its clock is {hz_numerator}/{hz_denominator} Hz"
    if problem:
        raise CaptureError(_damaged(source, problem))
    values, warnings = _parse_metadata(metadata, source)
    return Header(
        layout=layout,
        header_bytes=header_bytes,
        time_bits=time_bits,
        tag_bits=tag_bits,
        flags=Flag(flags & 0x3F),
        clock_hz=Fraction(hz_numerator, hz_denominator),
        valid=valid,
        records=records,
        data_bytes=data_bytes,
        lost=lost,
        started_ns=started_ns,
        names_sha256=digest,
        chunk_log2=chunk_log2,
        table_crc=table_crc,
        metadata=values,
        minor=minor,
        warnings=warnings,
    )


def _damaged(source: str, what: str) -> str:
    return f"{source}: the header of this capture file is damaged: {what} (upload or copy it again)"


def _problem(
    layout: int,
    record_bytes: int,
    time_bits: int,
    tag_bits: int,
    header_bytes: int,
    metadata_length: int,
) -> str | None:
    if layout not in LAYOUT_BYTES:
        return f"its layout is {layout}, expected 1 or 3"
    if record_bytes != LAYOUT_BYTES[layout]:
        return f"it has {record_bytes} bytes a record, expected {LAYOUT_BYTES[layout]}"
    if not (1 <= time_bits <= LAYOUT_TIME_BITS[layout] and 1 <= tag_bits <= 16):
        return f"it has {time_bits} time bits and {tag_bits} tag bits"
    if header_bytes % ALIGNMENT or not ALIGNMENT <= header_bytes <= MAX_HEADER_BYTES:
        return f"its size is {header_bytes}, expected a multiple of {ALIGNMENT} up to 16 MiB"
    if _FIXED.size + metadata_length > header_bytes:
        return f"its metadata ({metadata_length} bytes) do not fit in {header_bytes} bytes"
    return None


def _count_problem(
    valid: int, records: int, data_bytes: int, record_bytes: int, chunk_log2: int
) -> str | None:
    if not 12 <= chunk_log2 <= 40:
        return f"its checksums are of chunks of 2^{chunk_log2} bytes"
    if valid == UNKNOWN:  # the writer did not finish: the file's length decides
        return None
    if data_bytes != records * record_bytes:
        return f"it has {records} records in {data_bytes} bytes"
    if valid > records:
        return f"it has {valid} valid records of {records}"
    return None


def _parse_metadata(data: bytes, source: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    if not data:
        return {}, ()
    try:
        values = json.loads(data.decode("ascii"))
    except (ValueError, RecursionError):
        values = None
    if isinstance(values, dict):
        return values, ()
    return {}, (f"{source}: its metadata are not a JSON object in ASCII; they are left out",)
