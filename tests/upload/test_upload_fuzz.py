"""Every reader of what a board sends, under mutations: nothing but kprof's own errors."""

from __future__ import annotations

import binascii
import re
import zlib
from collections.abc import Callable

import pytest
from tests.fuzzing import LONG, SHORT, survives
from tests.upload.agent import Agent
from tests.upload.boards import XSender, hex_line, ihex_head, ihex_lines, srec_line
from tests.upload.rams import run_ram

from kprof.upload import gdb
from kprof.upload.delta import decode_delta, encode_delta
from kprof.upload.dumplines import HexDump, IntelHex, Parser, SRecords
from kprof.upload.host import Host, HostOptions
from kprof.upload.image import Image
from kprof.upload.layout import Layout, Memory
from kprof.upload.line import converse
from kprof.upload.wire import (
    Data,
    Deframer,
    decode_reply,
    encode_data,
    encode_frame,
    encode_info,
    encode_reply,
)
from kprof.upload.xmodem import Receiver

RAM = run_ram(40)
AGENT = Agent(RAM)
INFO = encode_frame(encode_info(AGENT.info(1)))
RAW = encode_frame(encode_data(2, 0, 20, 0, RAM[:100]))
DELTA = encode_frame(encode_data(2, 20, 20, 1, encode_delta(RAM[100:])))
END = encode_frame(encode_reply("e", 2, 40))
CRC = encode_frame(encode_reply("k", 3, 40, zlib.crc32(RAM)))
KPR1 = [INFO + RAW + DELTA + END, INFO + CRC, INFO, RAW, DELTA + b"\r\nlogin: " + END]
DUMP = [(at, RAM[at - 0x1000 : at - 0x1000 + 16]) for at in range(0x1000, 0x10C0, 16)]
SREC = [b"S0030000FC\r\n" + b"".join(srec_line(*row) for row in DUMP) + b"S70500000000FA\r\n"]
IHEX = [ihex_head(0) + b"".join(ihex_lines(*row) for row in DUMP) + b":00000001FF\r\n"]
HEX = [b"MON> d\r\n" + b"".join(hex_line(*row, word) for row in DUMP) for word in (1, 2, 4)]
GDB = [
    b"+$PacketSize=190;binary-upload+#" + b"%02x" % (sum(b"PacketSize=190;binary-upload+") & 255),
    *(
        b"+$%s#%02x" % (body, sum(body) & 255)
        for body in (RAM[:60].hex().encode(), b"0*=0*0", b"E01", b"b}\x03}\x04abc", b"OK", b"")
    ),
]


PAUSE = b"\n|\n"


class Replay:
    """A line on which these bytes arrive, whatever is asked, with a silence at each `PAUSE`."""

    def __init__(self, data: bytes) -> None:
        self.pieces = data.split(PAUSE)
        self.now = self.ready_at = 5000.0

    def clock(self) -> float:
        return self.now

    def read(self, timeout: float) -> bytes:
        if not self.pieces or self.now + timeout < self.ready_at:
            self.now += timeout
            return b""
        self.now = max(self.now, self.ready_at) + 0.001
        part, self.pieces[0] = self.pieces[0][:256], self.pieces[0][256:]
        if not self.pieces[0]:
            del self.pieces[0]
            self.ready_at = self.now + 0.3
        return part

    def write(self, data: bytes) -> None:
        pass

    def set_baud(self, rate: int) -> None:
        pass

    def discard(self) -> None:
        pass


def _kpr1(data: bytes) -> None:
    image = Image(40)
    for body in Deframer().feed(data):
        reply = decode_reply(body)
        if isinstance(reply, Data):
            coded = reply.encoding
            records = decode_delta(reply.payload, reply.count) if coded else reply.payload
            image.put(reply.first, records or b"")


def _upload(data: bytes) -> None:
    done = converse(Host(HostOptions(baud=230400)).run(), Replay(data))
    assert len(done.image.data) == done.image.records * 5


def _repair_frames(data: bytes) -> bytes:
    out = bytearray()
    for part in data.split(b"~"):
        body = re.sub(rb"\x7d(.)", lambda found: bytes((found[1][0] ^ 0x20,)), part, flags=re.S)
        out += encode_frame(body[:-4]) if len(body) > 4 else b"~" + part
    return bytes(out)


def _xmodem_seed(data: bytes, size: int, name: bytes) -> bytes:
    sender = XSender(data, size=size, name=name)
    answers = b"C\x06C" if name else b"C"
    answers += b"\x06" * -(-len(data) // size) + b"\x15\x06C\x06"
    return PAUSE.join(b"".join(sender.receive(byte)) for byte in answers)


XMODEM = [
    _xmodem_seed(RAM, 128, b""),
    _xmodem_seed(RAM + bytes(900), 1024, b""),
    _xmodem_seed(RAM, 128, b"ram.bin"),
]


def _xmodem(data: bytes) -> None:
    receiver = Receiver(ymodem=b"ram.bin" in data, tries=2)
    try:
        converse(receiver.run(), Replay(data))
    finally:
        assert receiver.stream.received <= len(data)


def _repair_blocks(data: bytes) -> bytes:
    out, at = bytearray(data), 0
    while at < len(out):
        size = {1: 128, 2: 1024}.get(out[at])
        if size is None or at + size + 5 > len(out):
            at += 1
            continue
        out[at + 2] = out[at + 1] ^ 0xFF
        check = binascii.crc_hqx(bytes(out[at + 3 : at + 3 + size]), 0)
        out[at + 3 + size : at + 5 + size] = check.to_bytes(2, "big")
        at += size + 5
    return bytes(out)


def _dump(make: Callable[[], Parser]) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        memory, parser = Memory(Layout(40, 0x1000)), make()
        for address, piece in [*parser.feed(data), *parser.finish()]:
            assert address >= 0
            memory.put(address, piece)
        memory.records()

    return read


def _repair_sums(data: bytes) -> bytes:
    def mended(found: re.Match[bytes]) -> bytes:
        mark = found[1]
        digits = found[2][: len(found[2]) // 2 * 2]
        body = bytes.fromhex(digits.decode())[:-1]
        if not body:
            return found[0]
        head = 1 if mark != b":" else 5  # what the count does not count, the sum aside
        body = bytes(((len(body) - head + 1) & 0xFF,)) + body[1:]
        total = ~sum(body) if mark != b":" else -sum(body)
        return mark + (body + bytes((total & 0xFF,))).hex().upper().encode()

    return re.sub(rb"(S[0-9]|:)([0-9A-Fa-f]{4,})", mended, data)


def _gdb(data: bytes) -> None:
    pending = bytearray(data)
    while (body := gdb.packet_in(pending)) is not None:
        gdb.data_in(body, binary=False)
        gdb.data_in(body, binary=True)


def _gdb_whole(data: bytes) -> None:
    memory = Memory(Layout(12, 0))
    converse(gdb.GdbReader(memory).run(), Replay(data))


def _repair_packets(data: bytes) -> bytes:
    return re.sub(
        rb"\$([^$#]*)#..",
        lambda found: b"$%s#%02x" % (found[1], sum(found[1]) & 255),
        data,
        flags=re.S,
    )


READERS = {
    "kpr1": (_kpr1, KPR1, _repair_frames),
    "xmodem": (_xmodem, XMODEM, _repair_blocks),
    "srec": (_dump(SRecords), SREC, _repair_sums),
    "ihex": (_dump(IntelHex), IHEX, _repair_sums),
    "hexdump": (_dump(HexDump), HEX, None),
    "gdb": (_gdb, GDB, _repair_packets),
}
CONVERSATIONS = {
    "kpr1": (_upload, KPR1, _repair_frames),
    "gdb": (_gdb_whole, [b"".join(GDB), b"".join(reversed(GDB))], _repair_packets),
}


@pytest.mark.parametrize("name", READERS)
def test_mutations(name: str) -> None:
    read, seeds, repair = READERS[name]
    outcome = survives(read, seeds, SHORT, repair)
    assert outcome["read"] > 0


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_mutations_of_whole_conversations(name: str) -> None:
    read, seeds, repair = CONVERSATIONS[name]
    survives(read, seeds, SHORT // 20, repair)


@pytest.mark.parametrize("name", READERS)
def test_the_seeds_are_read(name: str) -> None:
    read, seeds, _ = READERS[name]
    for seed in seeds:
        read(seed)


def test_repairs_repair() -> None:
    for seeds, repair in (
        (KPR1[:4], _repair_frames),
        (XMODEM, _repair_blocks),
        (GDB, _repair_packets),
    ):
        for seed in seeds:
            assert re.sub(b"~+", b"~", repair(seed)) == re.sub(b"~+", b"~", seed)
    for seed in (*SREC, *IHEX):
        assert _repair_sums(seed) == seed


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_mutations_at_length(name: str) -> None:
    read, seeds, repair = READERS[name]
    print(name, survives(read, seeds, LONG, repair, start=1))
