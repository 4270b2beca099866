"""Boards without the agent, for simulated lines: an XMODEM sender, a monitor, a gdb stub. No I/O.

Each takes a byte and gives what it sends, as `tests.upload.agent.Agent` does.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SOH, STX, EOT, ACK, NAK, CAN = 0x01, 0x02, 0x04, 0x06, 0x15, 0x18


class Board:
    """What a `SimLine` wants of a board."""

    baud = 115200
    done = False
    poll: Callable[[], bool] = staticmethod(lambda: False)
    clock: Callable[[], float] = staticmethod(lambda: 0.0)

    def reset(self) -> None:
        """Start again."""

    def receive(self, byte: int) -> Iterator[bytes]:
        """Take a byte, give what is sent."""
        raise NotImplementedError


class XSender(Board):
    """Sends `data` by XMODEM; with `name`, by YMODEM."""

    def __init__(self, data: bytes, *, size: int = 128, name: bytes = b"") -> None:
        self.blocks = [
            data[at : at + size].ljust(size, b"\x1a") for at in range(0, len(data), size)
        ]
        self.name, self.at, self.crc = name, 0, True
        if name:
            self.blocks.insert(0, (name + b"\0%d " % len(data)).ljust(128, b"\0"))
        self.wait_for_sign = True
        self.closing = False

    def receive(self, byte: int) -> Iterator[bytes]:
        if self.wait_for_sign:
            if byte in (NAK, ord("C")) and not self.closing:
                self.crc, self.wait_for_sign = byte == ord("C"), False
                yield self._block(self.at)
            elif self.closing and byte == ord("C"):
                self.wait_for_sign = False
                yield self._framed(0, bytes(128))
        elif byte == ACK and self.closing:
            self.done = True
        elif byte == ACK and self.at == len(self.blocks):
            self.closing = self.wait_for_sign = bool(self.name)
            self.done = not self.name
        elif byte == ACK:
            self.at += 1
            self.wait_for_sign = bool(self.name) and self.at == 1
            if not self.wait_for_sign:
                yield self._block(self.at)
        elif byte in (NAK, ord("C")):
            yield self._framed(0, bytes(128)) if self.closing else self._block(self.at)

    def _block(self, at: int) -> bytes:
        if at == len(self.blocks):
            return bytes((EOT,))
        return self._framed(at if self.name else at + 1, self.blocks[at])

    def _framed(self, number: int, data: bytes) -> bytes:
        head = bytes((SOH if len(data) == 128 else STX, number & 0xFF, ~number & 0xFF))
        check = binascii.crc_hqx(data, 0).to_bytes(2, "big") if self.crc else b""
        return head + data + (check or bytes((sum(data) & 0xFF,)))


def srec_line(address: int, data: bytes) -> bytes:
    """One S3 record."""
    body = bytes((len(data) + 5,)) + address.to_bytes(4, "big") + data
    return b"S3" + (body + bytes((~sum(body) & 0xFF,))).hex().upper().encode() + b"\r\n"


def ihex_head(address: int) -> bytes:
    """The upper part of the addresses that follow."""
    return _ihex(0, 4, (address >> 16).to_bytes(2, "big"))


def ihex_lines(address: int, data: bytes) -> bytes:
    """One data record, with the upper part of its address in front where that changes."""
    return (b"" if address & 0xFFFF else ihex_head(address)) + _ihex(address & 0xFFFF, 0, data)


def _ihex(address: int, kind: int, data: bytes) -> bytes:
    body = bytes((len(data),)) + address.to_bytes(2, "big") + bytes((kind,)) + data
    return b":" + (body + bytes((-sum(body) & 0xFF,))).hex().upper().encode() + b"\r\n"


def hex_line(address: int, data: bytes, word: int = 1) -> bytes:
    """One line of a dump, with characters at its end."""
    words = [data[at : at + word].hex() for at in range(0, len(data), word)]
    shown = bytes(c if 32 <= c < 127 else 46 for c in data)
    return b"%08x: %s   %s\r\n" % (address, " ".join(words).encode(), shown)


@dataclass
class Monitor(Board):
    """A monitor whose `d START END` prints memory, with an echo and a prompt."""

    memory: bytes
    base: int = 0
    line: Callable[[int, bytes], bytes] = srec_line
    end: bytes = b""
    head: Callable[[int], bytes] = lambda address: b""  # noqa: ARG005
    typed: bytes = b""
    quiet: bool = False  # neither echo nor prompt

    def receive(self, byte: int) -> Iterator[bytes]:
        parts = self._answer(byte)
        yield from ((part for part in parts if len(part) > 6) if self.quiet else parts)

    def _answer(self, byte: int) -> Iterator[bytes]:
        if byte != 13:
            self.typed = self.typed[-200:] + bytes((byte,))
            yield bytes((byte,))
            return
        found = re.search(rb"d ([0-9a-f]+) ([0-9a-f]+)$", self.typed)
        self.typed = b""
        yield b"\r\n"
        if found:
            start, end = (int(digits, 16) for digits in found.groups())
            start, end = max(start, self.base), min(end, self.base + len(self.memory) - 1)
            if start <= end:
                yield self.head(start)
            for at in range(start, end + 1, 16):
                yield self.line(at, self.memory[at - self.base : min(at + 16, end + 1) - self.base])
            yield self.end
        else:
            yield b"what?\r\n"
        yield b"MON> "


@dataclass
class GdbStub(Board):
    """A gdb stub that gives memory from `base` on."""

    memory: bytes
    base: int = 0
    packet: int = 400
    refuses_over: int = 1 << 30
    typed: bytes = b""
    detached: bool = False

    def receive(self, byte: int) -> Iterator[bytes]:
        self.typed = (self.typed + bytes((byte,)))[-1000:]
        found = re.search(rb"\$([^#$]*)#([0-9a-f]{2})$", self.typed)
        if not found:
            return
        self.typed = b""
        if sum(found[1]) & 0xFF != int(found[2], 16):
            yield b"-"
            return
        yield b"+"
        reply = self._reply(found[1])
        yield b"$%s#%02x" % (reply, sum(reply) & 0xFF)

    def _reply(self, request: bytes) -> bytes:
        if request.startswith(b"qSupported"):
            return b"PacketSize=%x;swbreak+" % self.packet
        if request.startswith(b"m"):
            start, count = (int(part, 16) for part in request[1:].split(b","))
            data = self.memory[max(0, start - self.base) :][:count]
            if start < self.base or len(data) < count or count > self.refuses_over:
                return b"E01"
            assert 2 * count + 4 <= self.packet
            return data.hex().encode()
        if request == b"D":
            self.detached = True
            return b"OK"
        return b""
