"""Boards without the agent, on simulated lines with faults: the right file or an error."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.upload.boards import (
    Board,
    GdbStub,
    Monitor,
    XSender,
    hex_line,
    ihex_head,
    ihex_lines,
    srec_line,
)
from tests.upload.rams import run_ram
from tests.upload.simline import Faults, SimLine

from kprof.capture import open_capture
from kprof.errors import KprofError, UsageError
from kprof.upload.ask import fill
from kprof.upload.failures import NoAnswerError, TransferError, VerifyError
from kprof.upload.memory_session import MemoryOptions, fetch_memory_over
from kprof.upload.prompt import Greeting

RAM = run_ram(1600)
ASK = r"d {addr:x} {end:x}\r"
BASE = 0x20008000


def _hexdump(word: int) -> Callable[[int, bytes], bytes]:
    return lambda address, data: hex_line(address, data, word)


def _little(address: int, data: bytes) -> bytes:
    swapped = b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))
    return hex_line(address, swapped, 4)


CASES: dict[str, tuple[MemoryOptions, Callable[[], Board]]] = {
    "xmodem": (MemoryOptions("xmodem", records=1600), lambda: XSender(RAM)),
    "xmodem-1k": (MemoryOptions("xmodem", records=1600), lambda: XSender(RAM, size=1024)),
    "ymodem": (MemoryOptions("ymodem"), lambda: XSender(RAM, size=1024, name=b"ram.bin")),
    "srec": (
        MemoryOptions("srec", records=1600, addr=BASE, ask=ASK),
        lambda: Monitor(RAM, BASE, end=b"S70500000000FA\r\n"),
    ),
    "ihex": (
        MemoryOptions("ihex", records=1600, addr=BASE, ask=ASK),
        lambda: Monitor(RAM, BASE, ihex_lines, b":00000001FF\r\n", ihex_head),
    ),
    "hexdump": (
        MemoryOptions("hexdump", records=1600, addr=BASE, ask=ASK),
        lambda: Monitor(RAM, BASE, _hexdump(1)),
    ),
    "hexdump-words": (
        MemoryOptions("hexdump", records=1600, addr=BASE, ask=ASK),
        lambda: Monitor(RAM, BASE, _hexdump(2)),
    ),
    "hexdump-little": (
        MemoryOptions("hexdump", records=1600, addr=BASE, ask=ASK, little=True),
        lambda: Monitor(RAM, BASE, _little),
    ),
    "gdb": (
        MemoryOptions("gdb", records=1600, addr=BASE, verify=True),
        lambda: GdbStub(RAM, BASE),
    ),
    "gdb-small": (
        MemoryOptions("gdb", records=1600, addr=BASE),
        lambda: GdbStub(RAM, BASE, packet=1000, refuses_over=100),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_file_is_the_ram(name: str, tmp_path: Path) -> None:
    options, board = CASES[name]
    peer = board()
    line = SimLine(peer, latency_s=0.001)  # type: ignore[arg-type]
    result = fetch_memory_over(line, tmp_path / "dump.bin", options)
    capture = open_capture(tmp_path / "dump.bin")
    assert capture.records.tobytes() == RAM
    assert capture.info.count_guessed
    assert result.records == 1600
    assert [path.name for path in tmp_path.iterdir()] == ["dump.bin"]
    if isinstance(peer, GdbStub):
        assert peer.detached


@pytest.mark.parametrize("name", CASES)
def test_faults_never_make_a_wrong_file(name: str, tmp_path: Path) -> None:
    options, board = CASES[name]
    ended: Counter[str] = Counter()
    for seed in range(12):
        rng = random.Random(seed)
        rate = 10 ** -rng.uniform(3.2, 5)
        faults = Faults(
            flip=rate,
            drop=rate / 2,
            double=rate / 4,
            insert=rate / 4,
            burst=rate / 50,
            cuts=((0.4, 0.4 + rng.random()),) if seed % 3 == 0 else (),
        )
        line = SimLine(board(), latency_s=0.002, faults=faults, seed=seed)  # type: ignore[arg-type]
        out = tmp_path / f"{seed}.bin"
        try:
            fetch_memory_over(line, out, options)
        except KprofError as error:
            ended[type(error).__name__] += 1
            assert not out.exists()
            continue
        assert open_capture(out).records.tobytes() == RAM, f"seed {seed}"
        ended["right"] += 1
    assert ended["right"] >= 8, ended


@pytest.mark.parametrize("name", CASES)
def test_silence_is_given_up(name: str, tmp_path: Path) -> None:
    options, _ = CASES[name]
    line = SimLine(None)
    with pytest.raises(NoAnswerError):
        fetch_memory_over(line, tmp_path / "dump.bin", options)
    assert list(tmp_path.iterdir()) == []


def test_banks_and_stride(tmp_path: Path) -> None:
    ram = run_ram(100)
    banks = (0x5000, 0x4000, 0x3000, 0x2000, 0x1000)
    memory = bytearray(b"\xee" * 0x6000)
    for byte, start in enumerate(banks):
        memory[start : start + 400 : 4] = ram[byte::5]
    options = MemoryOptions("gdb", records=100, banks=banks, stride=4)
    fetch_memory_over(SimLine(GdbStub(bytes(memory))), tmp_path / "a.bin", options)  # type: ignore[arg-type]
    assert open_capture(tmp_path / "a.bin").records.tobytes() == ram
    options = MemoryOptions("xmodem", records=100, banks=banks, stride=4, valid=60)
    fetch_memory_over(SimLine(XSender(bytes(memory))), tmp_path / "b.bin", options)  # type: ignore[arg-type]
    capture = open_capture(tmp_path / "b.bin")
    assert capture.records.tobytes() == ram[:300]
    assert capture.info.valid_from == "--valid 60"


def test_gaps_are_listed_as_commands_and_resumed(tmp_path: Path) -> None:
    out = tmp_path / "dump.bin"
    options = MemoryOptions("srec", records=1600, addr=BASE, ask=ASK)
    with pytest.raises(TransferError, match=r"type again 'd 2000[0-9a-f]+ 20009f3f") as raised:
        fetch_memory_over(SimLine(Monitor(RAM[:5000], BASE)), out, options)  # type: ignore[arg-type]
    assert "1,000 of 1,600 records are kept" in str(raised.value)
    again = MemoryOptions("srec", records=1600, addr=BASE, ask=ASK, resume=True)
    monitor = Monitor(RAM, BASE)
    line = SimLine(monitor)  # type: ignore[arg-type]
    fetch_memory_over(line, out, again)
    assert open_capture(out).records.tobytes() == RAM
    assert line.carried < 16_000


def test_a_dump_that_changes_is_refused(tmp_path: Path) -> None:
    class Changing(Monitor):
        dumps = 0

        def receive(self, byte: int):  # type: ignore[no-untyped-def]
            if byte == 13:
                self.dumps += 1
                self.memory = random.Random(self.dumps).randbytes(500)
            yield from super().receive(byte)

    options = MemoryOptions("hexdump", records=100, ask=ASK)
    board = Changing(bytes(500), 0, _hexdump(1))
    with pytest.raises(VerifyError, match=r"do not agree|agree on other bytes"):
        fetch_memory_over(SimLine(board), tmp_path / "dump.bin", options)  # type: ignore[arg-type]


def test_raw_bytes(tmp_path: Path) -> None:
    class Sender(Board):
        def receive(self, byte: int):  # type: ignore[no-untyped-def]
            if byte == ord("x"):
                yield RAM

    greeting = Greeting(sent=(b"x",))
    options = MemoryOptions("raw", records=1600, greeting=greeting, verify=True)
    fetch_memory_over(SimLine(Sender()), tmp_path / "dump.bin", options)  # type: ignore[arg-type]
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == RAM
    short = MemoryOptions("raw", records=1601, greeting=greeting)
    with pytest.raises(TransferError, match="5 bytes are missing"):
        fetch_memory_over(SimLine(Sender()), tmp_path / "short.bin", short)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"banks": (1, 2)}, "--banks names 2"),
        ({"banks": (0, 0, 0, 0, 0)}, "names an address twice"),
        ({"banks": (1, 2, 3, 4, 1)}, "--banks 0x1,0x2,0x3,0x4,0x1: names an address twice"),
        ({"stride": 0}, "--stride"),
        ({"addr": -1}, "--addr"),
        ({"records": 1 << 24, "stride": 64}, "256 MB"),
        ({"ask": "{nothing}"}, "--ask"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        fetch_memory_over(
            SimLine(None),
            tmp_path / "dump.bin",
            MemoryOptions("hexdump", **options),  # type: ignore[arg-type]
        )


@pytest.mark.parametrize("verify", [False, True])
def test_a_far_end_may_begin_late(tmp_path: Path, verify: bool) -> None:
    text = b"".join(srec_line(BASE + at, RAM[at : at + 16]) for at in range(0, 8000, 16))
    options = MemoryOptions("srec", records=1600, addr=BASE, verify=verify)
    line = SimLine(None)
    line.prints(9.0, text)
    line.prints(20.0, text)
    fetch_memory_over(line, tmp_path / "dump.bin", options)
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == RAM


def test_an_answer_to_what_is_typed_may_come_late(tmp_path: Path) -> None:
    class Silent(Monitor):
        def receive(self, byte: int):  # type: ignore[no-untyped-def]
            if byte == 13:
                yield from super().receive(byte)
            else:
                self.typed += bytes((byte,))

    typed = Greeting((b"d %x %x\r" % (BASE, BASE + 7999),))
    options = MemoryOptions("hexdump", records=1600, addr=BASE, greeting=typed)
    line = SimLine(Silent(RAM, BASE, _hexdump(1)), latency_s=0.7)  # type: ignore[arg-type]
    fetch_memory_over(line, tmp_path / "dump.bin", options)
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == RAM


def test_silence_is_waited_for_as_long_as_is_said(tmp_path: Path) -> None:
    line = SimLine(None)
    with pytest.raises(NoAnswerError, match="nothing was printed in 10 s"):
        fetch_memory_over(line, tmp_path / "dump.bin", MemoryOptions("raw"))
    assert 9.99 < line.now < 10.5


def test_a_hexadecimal_dump_costs_little_more_than_its_text(tmp_path: Path) -> None:
    options, board = CASES["hexdump"]
    line = SimLine(board(), latency_s=0.001)  # type: ignore[arg-type]
    fetch_memory_over(line, tmp_path / "dump.bin", options)
    # Two passes of two pieces, each 0.2 s of silence.
    assert line.now < line.carried * 10 / 115200 + 4 * 0.3


def test_what_is_to_be_typed_again_can_be_pasted(tmp_path: Path) -> None:
    options = MemoryOptions("srec", records=1600, addr=0x100000, ask=ASK)
    monitor = Monitor(RAM[:4096], 0x100000)
    with pytest.raises(TransferError, match=r"type again 'd 101000 101f3f\\r'; "):
        fetch_memory_over(SimLine(monitor), tmp_path / "dump.bin", options)  # type: ignore[arg-type]


def test_a_gdb_reply_is_acknowledged_with_the_next_request(tmp_path: Path) -> None:
    written: list[bytes] = []

    class Listening(SimLine):
        def write(self, data: bytes) -> None:
            written.append(data)
            super().write(data)

    stub = GdbStub(RAM, BASE)
    options = MemoryOptions("gdb", records=1600, addr=BASE)
    fetch_memory_over(Listening(stub), tmp_path / "dump.bin", options)  # type: ignore[arg-type]
    reads = [data for data in written if b"$m" in data]
    assert len(reads) == 41 + 8  # of 198 bytes each, in packets of 400; and the samples
    assert all(data.startswith(b"+$m") for data in reads[1:41])
    sent = b"".join(written)
    # One for each reply, besides the one that calls the stub.
    assert sent.count(b"+") == sent.count(b"$") + 1


@pytest.mark.parametrize(
    ("template", "command"),
    [
        (ASK, r"d 2000 200f\r"),
        ("md.b {addr:#x} {count}", "md.b 0x2000 16"),
        ("{addr:08X}.{end:o}", "00002000.20017"),
        ("{addr:x}-{stop:x}", "2000-2010"),
        ("d {seg:04x}:{off:04x} l {count:x}", "d 0000:2000 l 10"),
        ("{{{count:b}}}", "{10000}"),
        ("again", "again"),
    ],
)
def test_what_is_asked(template: str, command: str) -> None:
    assert fill(template, 0x2000, 16) == command


@pytest.mark.parametrize(
    "template",
    [
        "d {addr[0]}",
        "d {addr.real}",
        "{addr:99999999999x}",
        "{addr:999x}",
        "{addr:{count}}",
        "{addr:f}",
        "{addr!r}",
        "{nothing}",
        "{}",
        "{0}",
        "{addr",
        "addr}",
        "{addr:n",
    ],
)
def test_what_cannot_be_asked(template: str) -> None:
    with pytest.raises(UsageError, match=r"^--ask '.*expected \{addr\}, \{count\}, \{end\}"):
        fill(template, 0x2000, 16)
