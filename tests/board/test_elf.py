"""Kernel images."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.board.elf import load_kernel, parse_elf
from kprof.board.minikernel import ready_built
from kprof.errors import BoardError, FileAccessError


def elf(
    segments: list[tuple[int, bytes]],
    *,
    machine: int = 4,
    kind: int = 2,
    ident: bytes = b"\x01\x02",
) -> bytes:
    """A smallest ELF file."""
    header = b"\x7fELF" + ident + bytes(10)
    header += struct.pack(
        ">HHIIIIIHHHHHH", kind, machine, 1, 0x100400, 52, 0, 0, 52, 32, 0, 40, 0, 0
    )
    header = header[:44] + struct.pack(">H", len(segments)) + header[46:]
    table, body = b"", b""
    start = 52 + 32 * len(segments)
    for address, content in segments:
        size = len(content)
        table += struct.pack(">8I", 1, start + len(body), address, address, size, size, 7, 4)
        body += content
    return header + table + body


def test_segments_go_where_their_physical_address_says() -> None:
    image = parse_elf(elf([(0, b"reset"), (8, b"boot"), (0x100400, b"kernel")]))
    assert image.eprom == b"reset\xff\xff\xffboot"
    assert image.memory == ((0x100400, b"kernel"),)
    assert image.entry == 0x100400


def test_symbols_of_the_example_kernel() -> None:
    image = load_kernel(ready_built()[0])
    assert image.symbols["vectors"].address == 0x100000
    assert image.symbols["ticks"].size == 4
    assert len(image.eprom) < 65_536
    assert not image.memory


def test_a_symbol_table_without_its_strings_is_no_table() -> None:
    whole = bytearray(ready_built()[0].read_bytes())
    sections, count = struct.unpack_from(">I", whole, 32)[0], struct.unpack_from(">H", whole, 48)[0]
    for at in range(sections, sections + count * 40, 40):
        if struct.unpack_from(">I", whole, at + 4)[0] == 2:
            struct.pack_into(">I", whole, at + 24, count)
    assert parse_elf(bytes(whole)).symbols == {}


def test_a_plain_eprom_image(tmp_path: Path) -> None:
    path = tmp_path / "boot.rom"
    path.write_bytes(b"12345678")
    assert load_kernel(path).eprom == b"12345678"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes and no ELF header"),
        (bytes(300_000), "300000 bytes and no ELF header"),
        (b"\x7fELF", "not a 32-bit big-endian"),
        (b"\x7fELF\x01\x02", "cut short or damaged"),
        (elf([], ident=b"\x02\x01"), "not a 32-bit big-endian"),
        (elf([(0, b"x")], machine=62), "machine 62; expected 4"),
        (elf([(0, b"x")], kind=1), "not linked"),
        (elf([(0, b"xyz")])[:-1], "cut short in its segment 0"),
        (elf([]), "nothing to load"),
        (elf([(0, b"x")])[:42] + bytes(2) + elf([(0, b"x")])[44:], "tables have too short entries"),
    ],
)
def test_wrong_files(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "kernel.elf"
    path.write_bytes(data)
    with pytest.raises(BoardError, match=message) as caught:
        load_kernel(path)
    assert str(path) in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="cannot read"):
        load_kernel(tmp_path / "none.elf")


@given(st.data())
def test_damaged_files_never_crash(data: st.DataObject) -> None:
    whole = bytearray(ready_built()[0].read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, 120) | st.integers(0, len(whole) - 1))] ^= data.draw(
            st.integers(1, 255)
        )
    cut = bytes(whole[: data.draw(st.integers(6, len(whole)))])
    with contextlib.suppress(BoardError, struct.error):
        parse_elf(cut)
