"""What docs/protocol.md decides beyond the frames, as bytes: held against both agents.

The real agent runs with gcc's address and undefined-behaviour sanitizers.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import select
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.upload.agent import Agent
from tests.upload.peers import build_host_agent, open_pty
from tests.upload.simline import SimLine
from tests.upload.test_wire import RAW

from kprof.upload.host import Host, HostOptions
from kprof.upload.line import converse
from kprof.upload.wire import (
    CAN_CHECK,
    CAN_DELTA,
    CAN_STOP,
    FULL,
    Bye,
    Deframer,
    Info,
    Malformed,
    Rate,
    Reply,
    Request,
    decode_reply,
    encode_data,
    encode_frame,
    encode_info,
    encode_reply,
    encode_request,
)

SPECIFICATION = Path(__file__).parents[2] / "docs" / "protocol.md"
_ROW = re.compile(r"^(\S+) *([<>]) ((?:[0-9a-f]{2} ?)+)$", re.MULTILINE)


def _points() -> dict[str, tuple[bytes, bytes]]:
    """(what the host sends, what the agent answers) of each point in the specification."""
    text = SPECIFICATION.read_text("utf-8").partition("## Decided points")[2]
    sent: dict[str, tuple[bytes, bytes]] = {}
    for name, sign, digits in _ROW.findall(text):
        data = bytes.fromhex(digits)
        request, reply = sent.get(name, (b"", b""))
        sent[name] = (request + data, reply) if sign == ">" else (request, reply + data)
    return sent


POINTS = _points()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_host_agent(tmp_path_factory.mktemp("agent"), sanitized=True)


@pytest.fixture
def ram(tmp_path: Path) -> Path:
    path = tmp_path / "ram"
    path.write_bytes(RAW)
    return path


def test_the_specification_shows_every_point() -> None:
    assert sorted(POINTS) == sorted(
        ["coding-2", "cut", "no-records", "one-a-frame", "7d-7e", "7d-7d", "7d-11", "short", "long",
         "stopped", "unknown", "refused"]
    )  # fmt: skip
    assert all(request and reply for request, reply in POINTS.values())


@pytest.mark.parametrize("name", sorted(POINTS))
def test_the_real_agent(program: Path, ram: Path, name: str) -> None:
    request, reply = POINTS[name]
    with _served(program, ram) as (host, _):
        os.write(host, request)
        got = b""
        while len(got) < len(reply):
            ready, _, _ = select.select([host], [], [], 20)
            assert ready, f"only {got.hex(' ')} came"
            got += os.read(host, 4096)
    assert got.hex(" ") == reply.hex(" ")


@pytest.mark.parametrize("name", sorted(POINTS))
def test_the_reference_agent(name: str) -> None:
    request, reply = POINTS[name]
    agent = Agent(RAW, flags=FULL | CAN_DELTA | CAN_CHECK | CAN_STOP)
    left = list(request)
    agent.poll = lambda: bool(left)
    got = b""
    while left:
        got += b"".join(agent.receive(left.pop(0)))
    assert got.hex(" ") == reply.hex(" ")


def _info(tail: bytes) -> Info | Malformed:
    body = encode_info(Info(1, 1, 5, 24, 16, 1_000_000, 4, None, FULL, 256, "")) + tail
    reply = decode_reply(body)
    assert isinstance(reply, Info | Malformed)
    return reply


def test_the_run_number_stands_behind_the_name() -> None:
    info = _info(b"MD20\0" + bytes.fromhex("2a000080"))
    assert isinstance(info, Info)
    assert (info.name, info.run) == ("MD20", 0x8000002A)
    assert encode_info(info)[-9:] == b"MD20\0\x2a\0\0\x80"
    for tail in (b"MD20", b"MD20\0", b"MD20\0\1\2\3", b"MD20\0\0\0\0\0", b"MD20\0\0\0\0\0more"):
        other = _info(tail)
        assert isinstance(other, Info)
        assert (other.name, other.run) == ("MD20", None)
    later = _info(b"MD20\0\7\0\0\0" + b"what later versions add")
    assert isinstance(later, Info)
    assert (later.name, later.run) == ("MD20", 7)
    long = Info(1, 1, 5, 24, 16, 1_000_000, 4, None, FULL, 256, 40 * "n", 7)
    assert len(encode_info(long)) == 2 + 28 + 32  # what hosts of old take for the name


@contextlib.contextmanager
def _served(
    program: Path, ram: Path, **environment: str
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """(descriptor to talk to the real agent over, its process)."""
    with open_pty() as (board, name):
        host = os.open(name, os.O_RDWR | os.O_NOCTTY)
        process = subprocess.Popen(
            [program, ram], stdin=board, stdout=board, env=os.environ | environment
        )
        try:
            yield host, process
        finally:
            process.kill()
            process.wait()
            os.close(host)


def _asked(host: int, sent: bytes) -> Reply:
    """The message that answers these bytes."""
    os.write(host, sent)
    deframer = Deframer()
    while True:
        ready, _, _ = select.select([host], [], [], 20)
        assert ready, "no answer"
        for body in deframer.feed(os.read(host, 4096)):
            return decode_reply(body)


@pytest.mark.parametrize("number", [0, 1, 0xFFFF_FFFE])
def test_the_real_agent_s_run_number(program: Path, ram: Path, number: int) -> None:
    question = encode_request(Request("I", 1, 1))
    with _served(program, ram, KPR_RUN=str(number)) as (host, _):
        runs = []
        for written in (0, 0, 12345, 0, 67890):
            if written:
                os.utime(ram, ns=(0, written))
            reply = _asked(host, question)
            assert isinstance(reply, Info)
            assert reply.name == "kpr_host"
            runs.append(reply.run)
    after = [number + 1, number + 1, number + 2] if number else [None] * 3
    assert runs == [number or None] * 2 + [(run and run & 0xFFFF_FFFF) or None for run in after]


INFO = encode_request(Request("I", 9, 1))
RECORDS = encode_request(Request("R", 8, 0x01020304, 0x05060708, 0x1080))
JUNK = {
    "a damaged request": (RECORDS[:20] + b"?" + RECORDS[21:], 921600),
    "one without its end": (RECORDS[:-2], 921600),
    "one with its end flag damaged": (RECORDS[:-1] + b"\x7c", 921600),
    "a long line of noise": (bytes(49), 115200),
    "what a host sends to an agent at another rate": (bytes(64) + b"~~~~", 115200),
    "two damaged requests": (2 * (RECORDS[:20] + b"?" + RECORDS[21:]), 115200),
    "XON and XOFF": (b"\x11\x13" * 60, 115200),
    "noise in short pieces": (b"~noise" * 9, 115200),
}


@pytest.mark.parametrize("what", JUNK)
def test_what_gives_up_a_changed_rate(program: Path, ram: Path, what: str) -> None:
    junk, rate = JUNK[what]
    agent = Agent(RAW)
    for byte in encode_request(Request("B", 7, 921600)) + junk + INFO:
        answers = list(agent.receive(byte))
    assert agent.baud == rate
    assert isinstance(decode_reply(next(Deframer().feed(answers[0]))), Info)
    with _served(program, ram) as (host, _):
        assert _asked(host, encode_request(Request("B", 7, 921600))) == Rate(7, 921600)
        assert isinstance(_asked(host, junk + INFO), Info)
        speeds = {921600: termios.B921600, 115200: termios.B115200}
        assert termios.tcgetattr(host)[4] == speeds[rate]


def test_goodbye_takes_the_agent_to_the_base_rate(program: Path, ram: Path) -> None:
    with _served(program, ram) as (host, agent):
        assert _asked(host, encode_request(Request("B", 7, 230400))) == Rate(7, 230400)
        assert _asked(host, encode_request(Request("B", 8, 12345))) == Rate(8, 0)
        assert isinstance(_asked(host, INFO), Info)
        assert termios.tcgetattr(host)[4] == termios.B230400
        assert _asked(host, encode_request(Request("Q", 9))) == Bye(9)
        assert agent.wait(20) == 0
        assert termios.tcgetattr(host)[4] == termios.B115200


def test_the_host_takes_bodies_of_4092_bytes() -> None:
    largest = b"~" * 4086 + b"body~~"
    assert list(Deframer().feed(encode_frame(largest))) == [largest]
    for longer in (largest + b"~" * 9, bytes(8192)):
        deframer = Deframer()
        assert list(deframer.feed(encode_frame(longer))) == []
        assert deframer.bad == 1


def test_the_host_drops_records_of_a_coding_that_it_does_not_know() -> None:
    class Strange(Agent):
        def _answer(self, request: Request) -> Iterator[bytes]:
            if request.kind == "R" and self.requests < 4:
                yield encode_frame(encode_data(request.seq, 0, 4, 2, RAW))
                yield encode_frame(encode_reply("e", request.seq, 4))
            else:
                yield from super()._answer(request)

    host = Host(HostOptions())
    done = converse(host.run(), SimLine(Strange(RAW)))
    assert bytes(done.image.data) == RAW
    assert host.link.malformed == 2


@pytest.mark.parametrize("seed", range(8))
def test_the_real_agent_survives_any_bytes(program: Path, ram: Path, seed: int) -> None:
    """Noise and damaged requests, under gcc's sanitizers; then it still answers."""
    rng = random.Random(seed)
    sent = bytearray()
    while len(sent) < 60_000:
        kind, numbers = (
            rng.choice("IRKBQXq~"),
            [rng.choice((0, 1, 3, 4, 5, 1 << 31, 0xFFFFFFFF))] * 2,
        )
        data = bytearray(
            encode_request(Request(kind, rng.randrange(256), *numbers, rng.randrange(1 << 16)))
        )
        if rng.random() < 0.5 or kind == "Q":
            data[rng.randrange(2, len(data) - 1)] ^= 1 << rng.randrange(8)
        sent += data if rng.random() < 0.9 else rng.randbytes(rng.randrange(300))
    done = subprocess.run([program, ram], input=bytes(sent + INFO), capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    bodies = [decode_reply(body) for body in Deframer().feed(done.stdout)]
    assert isinstance(bodies[-1], Info)
    assert not [body for body in bodies if isinstance(body, Malformed)]
