r"""KPR1 on the wire: frames and messages as values; bytes in, values out, no I/O.

A frame is ``7E stuffed(body + CRC-32) 7E``; the stuffing is ``7D, byte ^ 20``. All integers are
little-endian. Raw 11 and 13 (XON, XOFF) are dropped wherever they appear. See docs/protocol.md.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

FLAG, ESCAPE = 0x7E, 0x7D
MAX_FRAME = 8192  # bytes between two flags; longer is noise
_HOST_ESCAPES = re.compile(rb"[\x00-\x1f\x7d-\x7f]")
_AGENT_ESCAPES = re.compile(rb"[\x7d\x7e\x11\x13]")
_REQUEST = struct.Struct("<BBIIH")
_INFO = struct.Struct("<4sBBBBIIIII")
UNKNOWN = 0xFFFF_FFFF
NAME_BYTES = 32  # the name, and what newer agents append to it
MAX_TAIL = 256  # the same, as far as agents that are newer than this host may go

# Flags of `Info`.
FULL, RUNNING, CAN_BAUD, CAN_DELTA, CAN_CHECK, CAN_STOP = (1 << bit for bit in range(6))


@dataclass(frozen=True)
class Request:
    """What the host asks: `kind` is an ASCII letter of ``IRKBQ``, `c` 16 bits, `a`, `b` 32 bits."""

    kind: str
    seq: int
    a: int = 0
    b: int = 0
    c: int = 0


@dataclass(frozen=True)
class Info:
    """``i``: what the agent serves.

    Attributes
    ----------
    clock_hz
        Ticks a second.
    capacity
        Records in the event RAM.
    valid
        Records that the last run stored; None where the board cannot tell.
    flags
        `FULL`, `RUNNING`, `CAN_BAUD`, `CAN_DELTA`, `CAN_CHECK`, `CAN_STOP`.
    max_records
        Most records that the agent puts in a frame.
    run
        Number of the run in the RAM, another one after each start of a run; None where the agent
        does not say it.
    """

    seq: int
    version: int
    record_bytes: int
    time_bits: int
    tag_bits: int
    clock_hz: int
    capacity: int
    valid: int | None
    flags: int
    max_records: int
    name: str
    run: int | None = None


@dataclass(frozen=True)
class Data:
    """``d``: `count` records from `first`; `payload` is raw (0) or delta-coded (1)."""

    seq: int
    first: int
    count: int
    encoding: int
    payload: bytes


@dataclass(frozen=True)
class End:
    """``e``: the answer to a request for records is complete up to `next_record`."""

    seq: int
    next_record: int


@dataclass(frozen=True)
class Check:
    """``k``: CRC-32 of the raw records up to `end`."""

    seq: int
    end: int
    crc: int


@dataclass(frozen=True)
class Rate:
    """``b``: the rate that the agent will change to; 0: it will not."""

    seq: int
    rate: int


@dataclass(frozen=True)
class Bye:
    """``q``: the agent returns to its caller."""

    seq: int


@dataclass(frozen=True)
class Unknown:
    """``?``: the agent does not know the request of this type."""

    seq: int
    kind: int


@dataclass(frozen=True)
class Echo:
    """A request came back: the line, or the far end, echoes."""


@dataclass(frozen=True)
class Malformed:
    """A frame with a right checksum that is no message, and why."""

    reason: str


Reply = Union[Info, Data, End, Check, Rate, Bye, Unknown, Echo, Malformed]  # noqa: UP007


def encode_frame(body: bytes, *, from_host: bool = False) -> bytes:
    """The frame of a body, its checksum added, with its two flags."""
    escapes = _HOST_ESCAPES if from_host else _AGENT_ESCAPES
    whole = body + zlib.crc32(body).to_bytes(4, "little")
    stuffed = escapes.sub(lambda match: bytes((ESCAPE, match[0][0] ^ 0x20)), whole)
    return b"~" + stuffed + b"~"


def encode_request(request: Request) -> bytes:
    """The bytes of a request, led in by an extra flag that ends whatever came before."""
    body = _REQUEST.pack(ord(request.kind), request.seq, request.a, request.b, request.c)
    return b"~" + encode_frame(body, from_host=True)


def decode_request(body: bytes) -> Request | None:
    """The request in a frame's body; None where it is none."""
    if len(body) != _REQUEST.size:
        return None
    kind, seq, a, b, c = _REQUEST.unpack(body)
    return Request(chr(kind), seq, a, b, c)


def encode_info(info: Info) -> bytes:
    """The body of an ``i`` reply."""
    head = _INFO.pack(
        b"KPR1",
        info.version,
        info.record_bytes,
        info.time_bits,
        info.tag_bits,
        info.clock_hz,
        info.capacity,
        UNKNOWN if info.valid is None else info.valid,
        info.flags,
        info.max_records,
    )
    name = info.name.encode("ascii", "replace")[
        : NAME_BYTES if info.run is None else NAME_BYTES - 5
    ]
    run = b"" if info.run is None else struct.pack("<BI", 0, info.run)
    return bytes((ord("i"), info.seq)) + head + name + run


def encode_reply(kind: str, seq: int, *values: int) -> bytes:
    """The body of a reply that is a row of 32-bit integers: ``e``, ``k``, ``b``, ``q``, ``?``."""
    return struct.pack(f"<BB{len(values)}I", ord(kind), seq, *values)


def encode_data(seq: int, first: int, count: int, encoding: int, payload: bytes) -> bytes:
    """The body of a ``d`` reply."""
    return struct.pack("<BBIHB", ord("d"), seq, first, count, encoding) + payload


def decode_reply(body: bytes) -> Reply:
    """The message in the body of a frame whose checksum was right; never raises."""
    kind, length = chr(body[0]) if body else "", len(body)
    seq = body[1] if length > 1 else 0
    if kind == "i":
        return _decode_info(body, seq)
    if kind == "d" and length >= 9:
        _, _, first, count, encoding = struct.unpack_from("<BBIHB", body)
        return Data(seq, first, count, encoding, body[9:])
    if kind and kind in "ebq?" and length == 6:
        (value,) = struct.unpack_from("<I", body, 2)
        if kind == "e":
            return End(seq, value)
        if kind == "b":
            return Rate(seq, value)
        return Bye(seq) if kind == "q" else Unknown(seq, value)
    if kind == "k" and length == 10:
        return Check(seq, *struct.unpack_from("<II", body, 2))
    if "A" <= kind <= "Z" and length == _REQUEST.size:
        return Echo()
    return Malformed(f"a message of type {kind!r} with {length} bytes")


def _decode_info(body: bytes, seq: int) -> Reply:
    if not 2 + _INFO.size <= len(body) <= 2 + _INFO.size + MAX_TAIL:
        return Malformed(f"an info of {len(body)} bytes")
    magic, version, record, time, tag, clock, capacity, valid, flags, most = _INFO.unpack_from(
        body, 2
    )
    if magic != b"KPR1":
        return Malformed(f"an info that begins with {magic!r}, not KPR1")
    name, _, more = body[2 + _INFO.size :].partition(b"\0")
    if len(name) > NAME_BYTES:
        return Malformed(f"an info with a name of {len(name)} bytes")
    text = "".join(chr(c) if 32 <= c < 127 else "?" for c in name)
    known = None if valid == UNKNOWN else valid
    run = int.from_bytes(more[:4], "little") if len(more) >= 4 else 0
    return Info(
        seq, version, record, time, tag, clock, capacity, known, flags, most, text, run or None
    )


class Deframer:
    """Takes bytes as they come and gives the bodies of the frames whose checksum is right.

    Attributes
    ----------
    bad
        Frames, or noise between two flags, with a wrong checksum or length.
    received
        Bytes taken in all.
    """

    def __init__(self) -> None:
        self.bad = self.received = 0
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take `data`, give the bodies of the frames that end in it."""
        self.received += len(data)
        self._pending += data.translate(None, b"\x11\x13")
        *frames, rest = self._pending.split(b"~")
        if len(rest) > MAX_FRAME:
            self.bad += 1
            rest = bytearray()
        self._pending = bytearray(rest)
        for frame in frames:
            body = _unstuffed(frame)
            if body is not None:
                yield body
            elif frame:
                self.bad += 1


def _unstuffed(frame: bytearray) -> bytes | None:
    """The body of what stood between two flags; None where it is not a sound frame."""
    if len(frame) < 5 or len(frame) > MAX_FRAME:
        return None
    head, *escaped = bytes(frame).split(b"\x7d")
    if not all(escaped):  # an escape before a flag or an escape
        return None
    whole = head + b"".join(bytes((part[0] ^ 0x20,)) + part[1:] for part in escaped)
    if len(whole) < 5 or zlib.crc32(whole[:-4]) != int.from_bytes(whole[-4:], "little"):
        return None
    return whole[:-4]
