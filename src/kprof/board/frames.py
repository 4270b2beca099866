"""Frames of the wire: Ethernet II with ARP (RFC 826), or IPv4 (RFC 791) with TCP (RFC 793).

The board is 10.0.0.1, the station at the other end 10.0.0.2. Frames are padded to the Ethernet's
least length of 60 bytes; the frame check sequence is the controller's affair. Not read: fragments,
IP options, TCP options but the maximum segment size.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

STATION = bytes((10, 0, 0, 2))
BOARD = bytes((10, 0, 0, 1))
BOARD_MAC = bytes.fromhex("02004d443230")
STATION_MAC = bytes.fromhex("020053756e01")
FIN, SYN, RST, PUSH, ACK = 1, 2, 4, 8, 16
_BROADCAST = b"\xff" * 6
_ARP, _IP = b"\x08\x06", b"\x08\x00"
_TCP = 6
_MSS_OPTION = 2
_ARP_HEAD = struct.pack(">HHBB", 1, 0x0800, 6, 4)


@dataclass(frozen=True)
class Segment:
    """A TCP segment between the station and the board.

    Attributes
    ----------
    source, target
        Ports.
    sequence, acknowledged
        Sequence numbers, modulo 2^32.
    flags
        `FIN` to `ACK`.
    window
        Bytes that the sender can take.
    mss
        The option of that name; 0: none.
    """

    source: int
    target: int
    sequence: int
    acknowledged: int = 0
    flags: int = ACK
    window: int = 8192
    payload: bytes = b""
    mss: int = 0


def segment_frame(segment: Segment, mac: bytes, identification: int) -> bytes:
    """The frame from the station to the board (address `mac`) that carries a segment."""
    options = struct.pack(">BBH", _MSS_OPTION, 4, segment.mss) if segment.mss else b""
    length = 20 + len(options)
    tcp = struct.pack(
        ">HHIIBBHHH",
        segment.source,
        segment.target,
        segment.sequence,
        segment.acknowledged,
        length << 2,
        segment.flags,
        segment.window,
        0,
        0,
    )
    tcp += options + segment.payload
    pseudo = STATION + BOARD + struct.pack(">BBH", 0, _TCP, len(tcp))
    tcp = _with_sum(tcp, 16, pseudo + tcp)
    total = 20 + len(tcp)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, total, identification & 0xFFFF, 0, 64, _TCP, 0)
    ip += STATION + BOARD
    return (mac + STATION_MAC + _IP + _with_sum(ip, 10, ip) + tcp).ljust(60, b"\0")


def read_segment(frame: bytes) -> Segment | None:
    """The segment that a frame of the board carries to the station.

    Returns
    -------
    Segment
        None where it is no such frame, or one of its two checksums is wrong.
    """
    ip = frame[14:]
    if len(frame) < 54 or frame[12:14] != _IP or ip[0] != 0x45 or ip[9] != _TCP:
        return None
    total = int.from_bytes(ip[2:4], "big")
    tcp = ip[20:total]
    if ip[12:20] != BOARD + STATION or len(tcp) < 20 or internet_checksum(ip[:20]):
        return None
    if internet_checksum(ip[12:20] + struct.pack(">BBH", 0, _TCP, len(tcp)) + tcp):
        return None
    source, target, sequence, acknowledged, offset, flags, window = struct.unpack(
        ">HHIIBBH", tcp[:16]
    )
    head = (offset >> 4) * 4
    return Segment(
        source, target, sequence, acknowledged, flags, window, tcp[head:], _mss(tcp[20:head])
    )


def arp_request() -> bytes:
    """The station asks for the board's address."""
    body = _ARP_HEAD + b"\0\1" + STATION_MAC + STATION + bytes(6) + BOARD
    return (_BROADCAST + STATION_MAC + _ARP + body).ljust(60, b"\0")


def arp_reply(mac: bytes) -> bytes:
    """The station's address, for the board (address `mac`) that asked."""
    body = _ARP_HEAD + b"\0\2" + STATION_MAC + STATION + mac + BOARD
    return (mac + STATION_MAC + _ARP + body).ljust(60, b"\0")


def read_arp(frame: bytes) -> tuple[int, bytes] | None:
    """(1 request or 2 reply, the board's address) of an ARP frame to the station, else None."""
    if len(frame) < 42 or frame[12:20] != _ARP + _ARP_HEAD[:6]:
        return None
    sender, target = frame[28:32], frame[38:42]
    if sender != BOARD or target != STATION:
        return None
    return int.from_bytes(frame[20:22], "big"), frame[22:28]


def internet_checksum(data: bytes) -> int:
    """The complement of the ones' complement sum of 16-bit words (RFC 1071)."""
    words = struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2))
    total: int = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _mss(options: bytes) -> int:
    at = 0
    while at < len(options) and options[at]:
        if options[at] == 1:
            at += 1
            continue
        if options[at] == _MSS_OPTION and options[at + 1 : at + 2] == b"\4":
            return int.from_bytes(options[at + 2 : at + 4], "big")
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2:
            break
        at += length
    return 0


def _with_sum(header: bytes, at: int, summed: bytes) -> bytes:
    return header[:at] + internet_checksum(summed).to_bytes(2, "big") + header[at + 2 :]
