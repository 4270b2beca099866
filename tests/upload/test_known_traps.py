"""Single faults that receivers are known to fall for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.upload.boards import CAN, EOT, GdbStub, XSender
from tests.upload.rams import run_ram
from tests.upload.simline import SimLine

from kprof.upload.gdb import GdbReader
from kprof.upload.layout import Layout, Memory
from kprof.upload.line import converse
from kprof.upload.xmodem import Receiver

DATA = run_ram(256)[:1280]


class Tripping(XSender):
    """One answer does not reach it, or one block does not leave it as it should."""

    lost_answer = -1
    instead: tuple[int, bytes] = (-1, b"")
    answers = made = 0

    def receive(self, byte: int) -> Iterator[bytes]:
        self.answers += 1
        if self.answers != self.lost_answer:
            yield from super().receive(byte)

    def _block(self, at: int) -> bytes:
        self.made += 1
        if self.made == self.instead[0]:
            return self.instead[1]
        return super()._block(at)


def _received(sender: XSender, *, ymodem: bool = False) -> tuple[bytes, Receiver]:
    receiver = Receiver(ymodem=ymodem)
    return converse(receiver.run(), SimLine(sender)), receiver


@pytest.mark.parametrize("ymodem", [False, True])
@pytest.mark.parametrize("number", range(2, 13))
def test_a_lost_ack(ymodem: bool, number: int) -> None:
    sender = Tripping(DATA, name=b"ram" if ymodem else b"")
    sender.lost_answer = number
    data, _ = _received(sender, ymodem=ymodem)
    assert data == DATA


@pytest.mark.parametrize("ymodem", [False, True])
@pytest.mark.parametrize(
    "instead",
    [bytes((EOT,)), bytes((CAN,)), bytes((EOT,)) * 2, b"\x01", b"", bytes((EOT,)) + bytes(131)],
)
@pytest.mark.parametrize("number", [2, 5, 10])
def test_a_block_of_which_something_else_arrives(ymodem: bool, instead: bytes, number: int) -> None:
    sender = Tripping(DATA, name=b"ram" if ymodem else b"")
    sender.instead = (number, instead)
    data, receiver = _received(sender, ymodem=ymodem)
    assert data == DATA
    assert receiver.retries > 0


def test_a_sender_that_knows_no_crc() -> None:
    class Old(XSender):
        def receive(self, byte: int) -> Iterator[bytes]:
            if byte != ord("C"):
                yield from super().receive(byte)

    data, receiver = _received(Old(DATA))
    assert data == DATA
    assert receiver.checked == "sum"


def test_an_old_sender_s_damaged_block_is_sent_again() -> None:
    sender = Tripping(DATA)
    whole = sender._framed(3, DATA[256:384])
    sender.instead = (3, whole[:50] + b"?" + whole[51:])
    data, receiver = _received(sender)
    assert data == DATA
    assert receiver.retries == 1


@pytest.mark.parametrize("number", [4, 5, 9])
@pytest.mark.parametrize("times", [0, 2])
def test_a_gdb_reply_too_many_or_too_few(number: int, times: int) -> None:
    class Stuttering(GdbStub):
        replies = 0

        def _reply(self, request: bytes) -> bytes:
            self.replies += 1
            return super()._reply(request)

        def receive(self, byte: int) -> Iterator[bytes]:
            for part in super().receive(byte):
                once = part[:1] != b"$" or self.replies != number
                for _ in range(1 if once else times):
                    yield part

    memory = Memory(Layout(256))
    reader = GdbReader(memory)
    converse(reader.run(), SimLine(Stuttering(DATA, packet=64)))
    assert memory.get(0, 1280) == DATA
