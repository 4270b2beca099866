"""Text dumps, line by line: what counts, and what does not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.upload.boards import hex_line, ihex_head, ihex_lines, srec_line
from tests.upload.peers import compiler
from tests.upload.rams import random_ram

from kprof.upload.dumplines import HexDump, IntelHex, Parser, RawBytes, SRecords

DATA = random_ram(32)[:160]
ROWS = [(0x8000 + at, DATA[at : at + 16]) for at in range(0, 160, 16)]


def _all(parser: Parser, text: bytes) -> list[tuple[int, bytes]]:
    return [*parser.feed(text), *parser.finish()]


@pytest.mark.parametrize("at", range(2, 44, 3))
@pytest.mark.parametrize(("parser", "line"), [(SRecords, srec_line), (IntelHex, ihex_lines)])
def test_a_wrong_digit_loses_the_line(parser: type[Parser], line: object, at: int) -> None:
    assert callable(line)
    good = line(0x8010, DATA[:16])
    digit = b"0" if good[at : at + 1] != b"0" else b"1"
    found = parser()
    assert _all(found, good[:at] + digit + good[at + 1 :]) == []
    assert found.bad == 1
    assert _all(parser(), good) == [(0x8010, DATA[:16])]


@pytest.mark.parametrize("cut", [1, 2, 3, 10])
def test_a_line_that_is_cut_or_too_long_is_lost(cut: int) -> None:
    for parser, line in ((SRecords(), srec_line), (IntelHex(), ihex_lines)):
        good = line(0x8010, DATA[:16]).strip()
        assert _all(parser, good[:-cut]) == []
        assert _all(parser, good + b"0" * cut) == []
        assert parser.bad == 2


def test_prompts_and_echoes_are_passed_over() -> None:
    text = b"MON> d 8000 80a0\r\n" + b"MON> ".join(srec_line(*row) for row in ROWS) + b"MON> "
    parser = SRecords()
    assert _all(parser, text) == ROWS
    assert parser.bad == 0


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_text_may_come_in_any_pieces(piece: int) -> None:
    text = b"".join(srec_line(*row) for row in ROWS)
    parser, got = SRecords(), []
    for at in range(0, len(text), piece):
        got += parser.feed(text[at : at + piece])
    assert got == ROWS


def test_intel_hex_without_a_lost_upper_address_is_not_believed() -> None:
    low = [(0x1FFF0, DATA[:16]), (0x20000, DATA[16:32]), (0x20010, DATA[32:48])]
    text = ihex_head(0x1FFF0) + b"".join(ihex_lines(*row) for row in low)
    assert _all(IntelHex(), text) == low
    lost = IntelHex()
    assert _all(lost, text.replace(ihex_head(0x20000), b"")) == low[:1]
    assert lost.bad == 2
    later = ihex_head(0x30000) + ihex_lines(0x3FF00, DATA[:16])
    again = IntelHex()
    text = text.replace(ihex_head(0x20000), b"") + later
    assert _all(again, text) == [low[0], (0x3FF00, DATA[:16])]


@pytest.mark.parametrize("word", [1, 2, 4, 8])
def test_hexadecimal_dumps_of_words(word: int) -> None:
    text = b"> d\r\n" + b"".join(hex_line(address, data, word) for address, data in ROWS)
    parser = HexDump()
    assert _all(parser, text) == ROWS
    assert parser.bad == 0
    little = HexDump(little=True)
    first = next(iter(_all(little, text)))[1]
    assert first[:word] == DATA[:word][::-1]


@pytest.mark.parametrize(
    "line",
    [
        b"00008000  41 42 43 44 45 46 47 48  49 4a 4b 4c 4d 4e 4f 50  |ABCDEFGHIJKLMNOP|",
        b"00008000: 4142 4344 4546 4748 494a 4b4c 4d4e 4f50  ABCDEFGHIJKLMNOP",
        b"8000: 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50    ABCDEFGHIJKLMNOP",
        b"0x00008000 | 41424344 45464748 494a4b4c 4d4e4f50",
        b"8000  41 42 43 44 45 46 47 48-49 4A 4B 4C 4D 4E 4F 50   ABCDEFGHIJKLMNOP",
    ],
)
def test_the_dumps_of_known_monitors(line: bytes) -> None:
    next_line = line.replace(b"8000", b"8010", 1)
    got = _all(HexDump(), line + b"\r\n" + next_line + b"\r\n")
    assert got == [(0x8000, b"ABCDEFGHIJKLMNOP"), (0x8010, b"ABCDEFGHIJKLMNOP")]


def test_a_short_line_in_the_middle_is_left_out() -> None:
    lines = [hex_line(address, data) for address, data in ROWS]
    lines[3] = hex_line(ROWS[3][0], ROWS[3][1][:9])
    parser = HexDump()
    assert _all(parser, b"".join(lines)) == ROWS[:3] + ROWS[4:]
    assert parser.bad == 1
    lines = [hex_line(address, data) for address, data in ROWS[:3]]
    lines.append(hex_line(ROWS[3][0], ROWS[3][1][:9]))
    assert _all(HexDump(), b"".join(lines))[-1] == (ROWS[3][0], ROWS[3][1][:9])


def test_raw_bytes_begin_anew_with_each_dump() -> None:
    parser = RawBytes()
    parser.begin(0x100, 3)
    assert list(parser.feed(b"ab")) == []
    assert (parser.reached, parser.waiting) == (False, 2)
    assert _all(parser, b"c") == [(0x100, b"abc")]
    assert (parser.reached, parser.surplus) == (True, 0)
    parser.begin(0x200, 1)
    assert _all(parser, b"e") == [(0x200, b"e")]
    assert parser.longest == b"abc"


@pytest.mark.parametrize(("text", "surplus"), [(b"ab", -1), (b"abcd", 1), (b"", -3)])
def test_raw_bytes_of_another_number_count_for_nothing(text: bytes, surplus: int) -> None:
    parser = RawBytes()
    parser.begin(0x100, 3)
    assert _all(parser, text) == []
    assert parser.surplus == surplus


def test_a_hexadecimal_dump_says_when_its_last_byte_is_there() -> None:
    parser = HexDump()
    parser.begin(0x8000, 160)
    for address, data in ROWS[:-1]:
        assert list(parser.feed(hex_line(address, data))) == []
        assert not parser.reached
    assert list(parser.feed(hex_line(*ROWS[-1]))) == []
    assert (parser.reached, parser.waiting) == (True, 160)
    assert list(parser.finish()) == ROWS
    assert parser.waiting == 0


def _joined(parser: HexDump, text: bytes, start: int, length: int) -> bytes:
    """The memory in a dump; AA where nothing came."""
    memory = bytearray(b"\xaa" * length)
    parser.begin(start, length)
    for address, data in [*parser.feed(text), *parser.finish()]:
        end = min(address - start + len(data), length)
        assert address >= start
        memory[address - start : end] = data[: end - (address - start)]
    return bytes(memory)


REPEATS = DATA + bytes(320) + DATA[:48] + b"\x55" * 4000 + DATA + bytes(77)


@pytest.mark.parametrize(
    ("command", "little"),
    [
        ("hexdump -C", False),
        ("hexdump", True),
        ("od -A x -t x1", False),
        ("od -A x -t x1z -w32", False),
        ("od -A x -t x4 --endian=big", False),
        ("xxd", False),
        ("xxd -a -g 4", False),
    ],
)
@pytest.mark.parametrize("data", [REPEATS, bytes(4096), DATA], ids=["some", "all", "none"])
def test_dumps_of_real_programs(tmp_path: Path, command: str, little: bool, data: bytes) -> None:
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"no {command.split()[0]}")
    data = data[: len(data) // 4 * 4]
    (tmp_path / "ram").write_bytes(data)
    text = subprocess.run(
        [*command.split(), tmp_path / "ram"], capture_output=True, check=True
    ).stdout
    parser = HexDump(little=little)
    assert _joined(parser, text, 0, len(data)) == data
    assert parser.bad == 0


@pytest.mark.parametrize(("letter", "word"), [("b", 1), ("h", 2), ("w", 4), ("g", 8)])
def test_dumps_of_gdb(tmp_path: Path, letter: str, word: int) -> None:
    if shutil.which("gdb") is None:
        pytest.skip("no gdb")
    (tmp_path / "main.c").write_text(
        f"char ram[] = {{{','.join(map(str, DATA))}}};\nint main(void) {{ return ram[0]; }}"
    )
    program = tmp_path / "program"
    subprocess.run(
        [compiler(), "-no-pie", "-o", program, tmp_path / "main.c"], check=True, timeout=60
    )
    asked = f"x/{len(DATA) // word}x{letter} &ram"
    command = ["gdb", "-nx", "-batch", "-ex", "set prompt", "-ex", asked, str(program)]
    text = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    start = int(text.split()[0], 16)
    parser = HexDump(little=True)
    assert _joined(parser, b"(gdb) " + asked.encode() + b"\n" + text, start, len(DATA)) == DATA
    assert (parser.bad, parser.word) == (0, word)


def test_dumps_of_debug_have_segments() -> None:
    text = b"-d 2000:100 l a0\r\n"
    for address, data in ROWS:
        shown = data[:8].hex(" ") + "-" + data[8:].hex(" ")
        ascii_ = "".join(chr(c) if 32 <= c < 127 else "." for c in data)
        text += f"2000:{address - 0x8000 + 0x100:04X}  {shown.upper()}   {ascii_}\r\n".encode()
    assert _joined(HexDump(), text + b"-", 0x20100, len(DATA)) == DATA
    words = b"2000:1234 5678 9abc def0\r\n2008:1111 2222 3333 4444\r\n"
    assert _joined(HexDump(), words, 0x2000, 16).hex() == "123456789abcdef01111222233334444"


def test_a_star_that_does_not_fit_is_no_line() -> None:
    first = b"00000000: 01 02 03 04\n*\n"
    for rest in (b"00000006: 05 06 07 08\n", b"00000000: 01 02 03 04\n", b"*\n", b""):
        assert b"\1\2\3\4\1" not in _joined(HexDump(), first + rest, 0, 16)
    assert _joined(HexDump(), b"*\n00000008: 05 06 07 08\n", 0, 12) == b"\xaa" * 8 + b"\5\6\7\b"
    assert _joined(HexDump(), first + b"7ffffff0: 05 06 07 08\n", 0, 64) == b"\1\2\3\4" * 16
