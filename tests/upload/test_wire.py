"""KPR1 frames and messages: the specification's bytes, and the laws of the framing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.upload.delta import encode_delta
from kprof.upload.wire import (
    FULL,
    UNKNOWN,
    Bye,
    Check,
    Data,
    Deframer,
    Echo,
    End,
    Info,
    Malformed,
    Rate,
    Request,
    Unknown,
    decode_reply,
    decode_request,
    encode_data,
    encode_frame,
    encode_info,
    encode_reply,
    encode_request,
)

RAW = bytes.fromhex("0000100064 0000150066 00001c0067 007e110065")
INFO = Info(1, 1, 5, 24, 16, 1_000_000, 16384, 4, 0x19, 256, "mcrae-5x8")
REQUESTS = [
    (
        Request("I", 1, 1),
        "7e7e497d217d217d207d207d207d207d207d207d207d207d20f0ff53f87e",
    ),
    (
        Request("R", 2, 0, 4, 4),
        "7e7e527d227d207d207d207d207d247d207d207d207d247d202f3c7d247d2c7e",
    ),
    (
        Request("R", 3, 0, 4, 4 | 1 << 12),
        "7e7e527d237d207d207d207d207d247d207d207d207d247d308bf33dd07e",
    ),
    (
        Request("K", 4, 0, 4),
        "7e7e4b7d247d207d207d207d207d247d207d207d207d207d207d25e46c7d317e",
    ),
    (
        Request("B", 5, 921600),
        "7e7e427d257d207d307d2e7d207d207d207d207d207d207d207d217d33906f7e",
    ),
    (
        Request("Q", 6),
        "7e7e517d267d207d207d207d207d207d207d207d207d207d204f7d3abe347e",
    ),
]
REPLIES = [
    (
        INFO,
        "7e69014b505231010518104042 0f0000400000040000001900000000010000"
        "6d637261652d357838af4c4a7a7e",
    ),
    (
        Data(2, 0, 4, 0, RAW),
        "7e6402000000000400000000100064000015006600001c0067007d5e7d310065d19affb87e",
    ),
    (End(2, 4), "7e6502040000007d5dfb591c7e"),
    (
        Data(3, 0, 4, 1, bytes.fromhex("10c80105048 7fff6fa01".replace(" ", ""))),
        "7e6403000000000400011 0c801050487fff6fa01a22731677e",
    ),
    (End(3, 4), "7e650304000000cdd239217e"),
    (Check(4, 4, 0x4876DF9E), "7e6b04040000009edf76484f3b03c97e"),
    (Rate(5, 0), "7e62050000000082801e3c7e"),
    (Bye(6), "7e710600000000678afcfe7e"),
]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


@pytest.mark.parametrize(("request_", "hexadecimal"), REQUESTS)
def test_requests_are_the_specification_s_bytes(request_: Request, hexadecimal: str) -> None:
    wire = _bytes(hexadecimal)
    assert encode_request(request_) == wire
    assert [decode_request(body) for body in Deframer().feed(wire)] == [request_]


@pytest.mark.parametrize(("reply", "hexadecimal"), REPLIES)
def test_replies_are_the_specification_s_bytes(reply: object, hexadecimal: str) -> None:
    (body,) = Deframer().feed(_bytes(hexadecimal))
    assert decode_reply(body) == reply
    assert encode_frame(body) == _bytes(hexadecimal)


def test_replies_are_encoded_as_they_are_decoded() -> None:
    assert decode_reply(encode_info(INFO)) == INFO
    assert decode_reply(encode_data(2, 0, 4, 0, RAW)) == Data(2, 0, 4, 0, RAW)
    assert decode_reply(encode_reply("e", 2, 4)) == End(2, 4)
    assert decode_reply(encode_reply("k", 4, 4, 0x4876DF9E)) == Check(4, 4, 0x4876DF9E)
    assert decode_reply(encode_reply("?", 9, 0x58)) == Unknown(9, 0x58)
    assert encode_data(3, 0, 4, 1, encode_delta(RAW))[9:] == _bytes("10c801050487fff6fa01")


def test_an_unknown_count_is_none() -> None:
    body = bytearray(encode_info(INFO))
    body[18:22] = UNKNOWN.to_bytes(4, "little")
    reply = decode_reply(bytes(body))
    assert isinstance(reply, Info)
    assert reply.valid is None
    assert reply.flags & FULL


def test_what_is_no_message_is_said_to_be_none() -> None:
    bodies = (b"", b"i", b"i\1KPR2" + bytes(28), b"d\0\0", b"e\0\0", b"k\0", b"z\0\0\0\0\0")
    for body in (*bodies, encode_info(INFO) + b"x" * 30):
        assert isinstance(decode_reply(body), Malformed)
    (echoed,) = Deframer().feed(encode_request(Request("R", 2, 0, 4, 4)))
    assert decode_reply(echoed) == Echo()


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=6), st.booleans(), st.data())
def test_frames_come_back_however_the_bytes_are_cut(
    bodies: list[bytes], from_host: bool, data: st.DataObject
) -> None:
    wire = b"".join(encode_frame(body, from_host=from_host) for body in bodies)
    deframer, got, at = Deframer(), [], 0
    while at < len(wire):
        n = data.draw(st.integers(1, len(wire) - at))
        got += deframer.feed(wire[at : at + n])
        at += n
    assert got == bodies
    assert deframer.bad == 0
    assert deframer.received == len(wire)


@given(st.binary(max_size=80))
def test_stuffing_keeps_the_bytes_that_lines_eat_off_the_wire(body: bytes) -> None:
    assert not set(encode_frame(body)[1:-1]) & {0x7E, 0x11, 0x13}
    assert all(byte >= 0x20 and byte != 0x7F for byte in encode_frame(body, from_host=True)[1:-1])


@given(st.binary(max_size=40), st.sampled_from([0x11, 0x13]), st.data())
def test_xon_and_xoff_may_be_put_in_anywhere(body: bytes, extra: int, data: st.DataObject) -> None:
    wire = encode_frame(body)
    at = data.draw(st.integers(0, len(wire)))
    got = list(Deframer().feed(wire[:at] + bytes((extra,)) + wire[at:]))
    assert got == ([body] if body else [])


@given(st.binary(min_size=1, max_size=60), st.integers(0, 10_000))
def test_a_wrong_bit_loses_the_frame_alone(body: bytes, where: int) -> None:
    wire = bytearray(encode_frame(body))
    at = 1 + where % (8 * (len(wire) - 2)) // 8
    wire[at] ^= 1 << where % 8
    deframer = Deframer()
    after = encode_frame(b"after")
    got = list(deframer.feed(bytes(wire) + after + after))
    assert got[-1:] == [b"after"]
    assert body not in got or body == b"after" or wire[at] in (0x11, 0x13)


def test_noise_without_a_flag_is_given_up() -> None:
    deframer = Deframer()
    assert list(deframer.feed(bytes(100_000))) == []
    assert deframer.bad == 1
    assert list(deframer.feed(b"~" + encode_frame(b"sound"))) == [b"sound"]
