"""`--proto raw`: nothing tells the bytes from an echo but their number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.upload.boards import Board
from tests.upload.rams import run_ram
from tests.upload.simline import SimLine

from kprof.capture import open_capture
from kprof.upload.failures import TransferError, VerifyError
from kprof.upload.memory_session import MemoryOptions, fetch_memory_over
from kprof.upload.prompt import Greeting

RAM = run_ram(2000)
ASK = r"d {addr:x} {count:x}\r"


class Printer(Board):
    """`d ADDR COUNT` prints bytes as they are; with an echo, with a prompt, with lost bytes."""

    def __init__(
        self, echo: bool = False, before: bytes = b"", after: bytes = b"", eats: bytes = b""
    ) -> None:
        self.echo, self.before, self.after, self.eats = echo, before, after, eats
        self.typed = b""

    def receive(self, byte: int) -> Iterator[bytes]:
        if self.echo:
            yield bytes((byte,))
        if byte != 13:
            self.typed += bytes((byte,))
            return
        first, count = (int(digits, 16) for digits in self.typed.split()[1:])
        self.typed = b""
        data = RAM[first : first + count]
        yield self.before + bytes(one for one in data if one not in self.eats) + self.after


TYPED = Greeting((b"d 0 2710\r",))


def _fetch(board: Board, out: Path, **options: object) -> None:
    line = SimLine(board)
    fetch_memory_over(line, out, MemoryOptions("raw", records=2000, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize(
    ("board", "more"),
    [
        (Printer(echo=True), 9),
        (Printer(before=b"\r\n"), 2),
        (Printer(after=b"> "), 2),
    ],
)
def test_more_bytes_than_wanted_are_no_file(
    tmp_path: Path, board: Printer, more: int, verify: bool
) -> None:
    out = tmp_path / "a.bin"
    with pytest.raises(TransferError, match=f"^{more} bytes more than 10,000 came.*--expect"):
        _fetch(board, out, greeting=TYPED, verify=verify)
    assert not out.exists()
    echo = b"d 0 2710\r" if board.echo else b""
    kept = (tmp_path / "a.bin.part").read_bytes()
    assert kept == echo + board.before + RAM + board.after


def test_an_echo_is_skipped_with_expect(tmp_path: Path) -> None:
    greeting = Greeting((b"d 0 2710\r",), (b"2710\r",))
    _fetch(Printer(echo=True), tmp_path / "a.bin", greeting=greeting)
    assert open_capture(tmp_path / "a.bin").records.tobytes() == RAM


@pytest.mark.parametrize("verify", [False, True])
def test_parts_that_are_asked_for_are_put_where_they_belong(tmp_path: Path, verify: bool) -> None:
    _fetch(Printer(), tmp_path / "a.bin", ask=ASK, verify=verify)
    assert open_capture(tmp_path / "a.bin").records.tobytes() == RAM


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize(
    "board", [Printer(echo=True), Printer(after=b"> "), Printer(eats=b"\x11\x13")]
)
def test_parts_of_another_length_are_not_used(tmp_path: Path, board: Printer, verify: bool) -> None:
    with pytest.raises((TransferError, VerifyError)):
        _fetch(board, tmp_path / "a.bin", ask=ASK, verify=verify)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dump", [1, 2])
def test_bytes_that_come_late_are_too_many(tmp_path: Path, dump: int) -> None:
    class Slow(Printer):
        """Its last bytes come when the number is full already."""

        dumps = 0

        def receive(self, byte: int) -> Iterator[bytes]:
            yield from super().receive(byte)
            self.dumps += byte == 13
            if byte == 13 and self.dumps == dump:
                line.prints(line.now + 2.0, b"late")

    board = Slow()
    line = SimLine(board)
    options = MemoryOptions("raw", records=800, ask=ASK, verify=dump == 2)
    with pytest.raises(TransferError, match="4 bytes more than 4,000 came"):
        fetch_memory_over(line, tmp_path / "a.bin", options)
    assert list(tmp_path.iterdir()) == []


def test_too_few_bytes_are_kept_as_an_image(tmp_path: Path) -> None:
    out = tmp_path / "a.bin"
    with pytest.raises(TransferError, match=r"^\d+ bytes are missing of 10,000.*raw image"):
        _fetch(Printer(eats=b"\x11"), out, greeting=TYPED)
    kept = (tmp_path / "a.bin.part").read_bytes()
    came = RAM.replace(b"\x11", b"")
    assert kept == came[: len(came) // 5 * 5]
