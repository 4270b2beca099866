"""What comes over the wire: a station dumps null data into a TCP connection (the paper's case).

Frames are Ethernet II with IPv4 and TCP headers and right checksums, from 10.0.0.2 to 10.0.0.1.
The station does not wait for acknowledgements: bursts of frames, pauses between them, all random
but the same for the same seed.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

SOURCE = bytes((10, 0, 0, 2))
TARGET = bytes((10, 0, 0, 1))
PORT = 5001
_TARGET_MAC = bytes.fromhex("02004d443230")
_SOURCE_MAC = bytes.fromhex("020053756e01")
_TCP = 6


def data_stream(
    board_hz: int,
    *,
    seed: int = 1,
    payload_bytes: int = 1024,
    burst: int = 3,
    pause_us: int = 20_000,
) -> Iterator[tuple[int, bytes]]:
    """(clocks of silence before it, frame), for ever.

    Parameters
    ----------
    board_hz
        Frequency of the board's clock.
    seed
        Chooses the run.
    payload_bytes
        The most data in a frame; one in four is shorter.
    burst
        The most frames back to back.
    pause_us
        Mean silence between bursts.
    """
    dice = random.Random(seed)
    sequence = dice.randrange(1 << 32)
    while True:
        silence = round(dice.uniform(0.3, 1.7) * pause_us) * board_hz // 1_000_000
        for number in range(dice.randint(1, burst)):
            size = payload_bytes if dice.random() < 0.75 else dice.randrange(1, payload_bytes)
            yield (0 if number else silence), tcp_frame(sequence, bytes(size))
            sequence = (sequence + size) & 0xFFFF_FFFF


def tcp_frame(sequence: int, payload: bytes) -> bytes:
    """One frame that carries `payload`, padded to the Ethernet's least length of 60 bytes."""
    tcp = struct.pack(">HHIIBBHHH", 1023, PORT, sequence, 0, 5 << 4, 0x18, 4096, 0, 0)
    pseudo = SOURCE + TARGET + struct.pack(">BBH", 0, _TCP, len(tcp) + len(payload))
    tcp = _with_sum(tcp, 16, pseudo + tcp + payload)
    total = 20 + len(tcp) + len(payload)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, total, sequence & 0xFFFF, 0, 64, _TCP, 0)
    ip = _with_sum(ip + SOURCE + TARGET, 10, ip + SOURCE + TARGET)
    frame = _TARGET_MAC + _SOURCE_MAC + b"\x08\x00" + ip + tcp + payload
    return frame.ljust(60, b"\0")


def internet_checksum(data: bytes) -> int:
    """The complement of the ones' complement sum of 16-bit words (RFC 1071)."""
    words = struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2))
    total: int = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _with_sum(header: bytes, at: int, summed: bytes) -> bytes:
    return header[:at] + internet_checksum(summed).to_bytes(2, "big") + header[at + 2 :]
