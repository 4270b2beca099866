"""Text dumps in doubt: never a byte that was not asked for, never two runs in one file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.upload.boards import Board, Monitor, hex_line, ihex_head, ihex_lines, srec_line
from tests.upload.rams import run_ram
from tests.upload.simline import SimLine

from kprof.capture import open_capture
from kprof.upload.failures import InterruptedUploadError, TransferError, VerifyError
from kprof.upload.memory_session import MemoryOptions, fetch_memory_over
from kprof.upload.prompt import Greeting

RAM, OTHER = run_ram(3000), run_ram(3000, seed=2)
BASE = 0x8000
ASK = r"d {addr:x} {end:x}\r"
ASKED = MemoryOptions("srec", records=3000, addr=BASE, ask=ASK)


def _lines(ram: bytes, first: int, last: int) -> bytes:
    """S-records of these lines of 16 bytes."""
    return b"".join(srec_line(BASE + 16 * n, ram[16 * n : 16 * n + 16]) for n in range(first, last))


class Spoiling(Monitor):
    """A monitor whose answers are changed on their way."""

    def __init__(self, change: Callable[[int, bytes], bytes], line: object = srec_line) -> None:
        super().__init__(RAM, BASE, line)  # type: ignore[arg-type]
        self._change, self.asked = change, 0

    def receive(self, byte: int) -> Iterator[bytes]:
        if byte != 13:
            yield from super().receive(byte)
            return
        self.asked += 1
        yield self._change(self.asked, b"".join(super().receive(byte)))


def test_a_line_that_was_not_asked_for_is_left_out(tmp_path: Path) -> None:
    stray = srec_line(BASE, b"\xee" * 16)  # sound, but with another address than it was sent with
    board = Spoiling(lambda n, text: text + (stray if 1 < n < 5 else b""))
    fetch_memory_over(SimLine(board), tmp_path / "a.bin", ASKED)  # type: ignore[arg-type]
    assert open_capture(tmp_path / "a.bin").records.tobytes() == RAM


@pytest.mark.parametrize("verify", [False, True])
def test_a_lost_upper_address_puts_nothing_over_another_bank(tmp_path: Path, verify: bool) -> None:
    banks = tuple(0x1000 + (n << 16) for n in range(5))
    memory = bytearray(banks[-1] + 3000)
    for byte, start in enumerate(banks):
        memory[start : start + 3000] = RAM[byte::5]

    class Headless(Monitor):
        def receive(self, byte: int) -> Iterator[bytes]:
            for part in super().receive(byte):  # the colon of the upper address is lost
                yield part[1:] if part == ihex_head(0x40000) else part

    board = Headless(bytes(memory), 0, ihex_lines, head=ihex_head)
    options = MemoryOptions("ihex", records=3000, banks=banks, ask=ASK, verify=verify)
    with pytest.raises((TransferError, VerifyError), match="bytes are missing"):
        fetch_memory_over(SimLine(board), tmp_path / "a.bin", options)  # type: ignore[arg-type]
    assert not (tmp_path / "a.bin").exists()


def test_digits_among_the_characters_of_a_dump_are_not_data(tmp_path: Path) -> None:
    digits = bytes(b"0123456789ABCDEF"[n * 7 % 16] for n in range(3000))

    def line(address: int, data: bytes) -> bytes:
        return b"%08X: %s  %s\r\n" % (address, data.hex(" ").encode(), data)

    lost: set[int] = set()

    def drop(address: int, data: bytes) -> bytes:
        if address in (BASE + 320, BASE + 1600) and address not in lost:
            lost.add(address)
            return b"\r\n"
        return line(address, data)

    options = MemoryOptions("hexdump", records=600, addr=BASE, ask=ASK)
    board = Monitor(digits, BASE, drop)
    fetch_memory_over(SimLine(board), tmp_path / "a.bin", options)  # type: ignore[arg-type]
    assert open_capture(tmp_path / "a.bin").records.tobytes() == digits


def test_a_dump_of_two_runs_is_no_file(tmp_path: Path) -> None:
    line = SimLine(None)
    line.prints(1.0, _lines(OTHER, 0, 200) + _lines(RAM, 100, 938))
    options = MemoryOptions("srec", records=3000, addr=BASE)
    with pytest.raises(VerifyError, match="came twice and were others the second time"):
        fetch_memory_over(line, tmp_path / "a.bin", options)
    assert list(tmp_path.iterdir()) == []


def test_a_dump_that_comes_twice_is_a_file(tmp_path: Path) -> None:
    line = SimLine(None)
    line.prints(1.0, _lines(RAM, 0, 200) + _lines(RAM, 100, 938))
    fetch_memory_over(line, tmp_path / "a.bin", MemoryOptions("srec", records=3000, addr=BASE))
    assert open_capture(tmp_path / "a.bin").records.tobytes() == RAM


def _damaged(text: bytes) -> bytes:
    """A digit of the sixth line's data is another."""
    lines = text.split(b"\r\n")
    lines[6] = lines[6][:20] + (b"0" if lines[6][20:21] != b"0" else b"1") + lines[6][21:]
    return b"\r\n".join(lines)


def test_a_damaged_line_asks_for_one_more_dump(tmp_path: Path) -> None:
    board = Spoiling(lambda n, text: _damaged(text) if n == 1 else text)
    result = fetch_memory_over(SimLine(board), tmp_path / "a.bin", ASKED)  # type: ignore[arg-type]
    assert open_capture(tmp_path / "a.bin").records.tobytes() == RAM
    assert board.asked == 4 + 1 + 4  # pieces of 4 KB, the line again, all again
    assert result.verified == "twice"


def test_what_a_second_dump_confirms_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "a.bin"
    # The second dump stops in its third piece.
    board = Spoiling(lambda n, text: _damaged(text) if n == 1 else text if n < 8 else b"")
    with pytest.raises(VerifyError, match=r"1,638 of 3,000 records are kept in .*--resume"):
        fetch_memory_over(SimLine(board), out, ASKED)  # type: ignore[arg-type]
    assert Path(f"{out}.part").read_bytes()[: 5 * 1638] == RAM[: 5 * 1638]
    options = dataclasses.replace(ASKED, resume=True)
    fetch_memory_over(SimLine(Monitor(RAM, BASE)), out, options)  # type: ignore[arg-type]
    assert open_capture(out).records.tobytes() == RAM


class Hexdump(Board):
    """Prints all of it whenever return is typed."""

    def receive(self, byte: int) -> Iterator[bytes]:
        if byte == 13:
            for at in range(0, len(RAM), 16):
                yield hex_line(BASE + at, RAM[at : at + 16])


def test_a_dump_that_is_stopped_keeps_what_two_agree_on(tmp_path: Path) -> None:
    out = tmp_path / "a.bin"
    options = MemoryOptions("hexdump", records=3000, addr=BASE, greeting=Greeting((b"dump\r",)))
    line = SimLine(Hexdump())  # type: ignore[arg-type]
    whole = len(b"".join(hex_line(BASE + at, RAM[at : at + 16]) for at in range(0, len(RAM), 16)))

    def interrupts() -> int:
        return int(line.carried > whole * 1.6)

    with pytest.raises(InterruptedUploadError, match=r"records are kept in .*--resume"):
        fetch_memory_over(line, out, options, interrupts=interrupts)
    kept = Path(f"{out}.part").read_bytes()
    assert len(kept) > len(RAM) // 2
    assert kept[: len(RAM) // 2] == RAM[: len(RAM) // 2]


def test_two_dumps_that_agree_against_two_others(tmp_path: Path) -> None:
    class Changing(Board):
        dumps = 0

        def receive(self, byte: int) -> Iterator[bytes]:
            if byte == 13:
                self.dumps += 1
                ram = RAM if self.dumps < 3 else OTHER
                for at in range(0, len(ram), 16):
                    if at != 16 * self.dumps:  # each lacks one line
                        yield hex_line(BASE + at, ram[at : at + 16])

    options = MemoryOptions("hexdump", records=3000, addr=BASE, greeting=Greeting((b"dump\r",)))
    with pytest.raises(VerifyError, match="two dumps agree on other bytes than two before them"):
        fetch_memory_over(SimLine(Changing()), tmp_path / "a.bin", options)  # type: ignore[arg-type]
    assert not (tmp_path / "a.bin").exists()


@pytest.mark.parametrize("proto", ["srec", "hexdump", "raw"])
@pytest.mark.parametrize("start", [0x8000, 0x8002, 0x8001])
def test_a_board_with_16_bit_words_is_asked_for_whole_ones(
    tmp_path: Path, proto: str, start: int
) -> None:
    """A dump in longs takes an address error at an odd address, but for where the RAM begins."""
    asked: list[tuple[int, int]] = []

    class Longs(Monitor):
        def receive(self, byte: int) -> Iterator[bytes]:
            if byte == 13:
                first, stop = (int(digits, 16) for digits in self.typed.split()[-2:])
                asked.append((first, stop))
            yield from super().receive(byte)

    lines = {"srec": srec_line, "hexdump": _spoilt(), "raw": lambda _, data: data}
    board = Longs(RAM, start, lines[proto], quiet=proto == "raw")
    options = MemoryOptions(proto, records=3000, addr=start, ask=r"d {addr:x} {end:x}\r")
    fetch_memory_over(SimLine(board), tmp_path / "a.bin", options)
    assert open_capture(tmp_path / "a.bin").records.tobytes() == RAM
    assert len(asked) > 8
    assert {first % 4 for first, _ in asked if first != start} == {0}
    assert {(stop + 1) % 4 for _, stop in asked if stop != start + len(RAM) - 1} == {0}


def _spoilt() -> Callable[[int, bytes], bytes]:
    """A dump in longs of which one line is cut short now and then."""
    printed: list[int] = []

    def line(address: int, data: bytes) -> bytes:
        printed.append(address)
        whole = hex_line(address, data, 4)
        return whole[:23] + b"\r\n" if len(printed) % 97 == 0 else whole

    return line
