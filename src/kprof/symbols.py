"""The symbol table of an ELF file, of 32 or 64 bits and either byte order, and what it leads to.

Layouts: System V ABI, chapter 4 (Object Files).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kprof.errors import UsageError
from kprof.files import read_bytes

MAGIC = b"\x7fELF"
DIGEST = "kprof_names_sha256"
"""Name of the 32 bytes in a program that are the SHA-256 of its name file."""
_DIGEST_BYTES = 32
_SHT_SYMTAB = 2
_SHT_NOBITS = 8
_STT_FUNC = 2


class Symbol(NamedTuple):
    """A symbol: address and size in bytes, and where in the file its bytes are (0: nowhere)."""

    address: int
    size: int
    is_function: bool
    offset: int = 0


class _Layout(NamedTuple):
    section_table: tuple[str, int]  # format and offset of e_shoff
    section_count: int  # offset of e_shentsize and e_shnum
    section: str
    symbol: str
    fields: tuple[int, int, int, int]  # places of value, size, info and section in a symbol


_LAYOUTS = {
    1: _Layout(("I", 32), 46, "10I", "IIIBBH", (1, 2, 3, 5)),
    2: _Layout(("Q", 40), 58, "IIQQQQIIQQ", "IBBHQQ", (4, 5, 1, 3)),
}
_ORDERS = {1: "<", 2: ">"}


def read_symbols(data: bytes) -> Iterator[tuple[str, Symbol]]:
    """Names and symbols in the file's order, static ones included; none of a stripped file.

    Raises
    ------
    struct.error
        The file is cut short, or no ELF file.
    """
    layout, order = _LAYOUTS.get(data[4]), _ORDERS.get(data[5])
    if data[:4] != MAGIC or layout is None or order is None:
        raise struct.error("no ELF header")
    (sections,) = struct.unpack_from(order + layout.section_table[0], data, layout.section_table[1])
    entry_size, count = struct.unpack_from(f"{order}HH", data, layout.section_count)
    headers = [
        struct.unpack_from(order + layout.section, data, sections + number * entry_size)
        for number in range(count)
    ]
    value, size, info, section = layout.fields
    for header in headers:
        if header[1] != _SHT_SYMTAB or header[6] >= count:
            continue
        names = headers[header[6]][4]
        step = struct.calcsize(order + layout.symbol)
        for at in range(header[4], header[4] + header[5], step):
            parts = struct.unpack_from(order + layout.symbol, data, at)
            start = names + parts[0]
            name = data[start : data.find(b"\0", start)].decode("latin-1")
            if name:
                offset = _offset(headers, parts[section], parts[value])
                is_function = parts[info] & 15 == _STT_FUNC
                yield name, Symbol(parts[value], parts[size], is_function, offset)
        break  # an ELF file has one symbol table


def _offset(headers: Sequence[tuple[int, ...]], section: int, value: int) -> int:
    """Where in the file the bytes at the address `value` are, of a symbol in `section`."""
    if not 0 < section < len(headers) or headers[section][1] == _SHT_NOBITS:
        return 0
    return headers[section][4] + value - headers[section][3]


def planted_digest(path: Path | str) -> bytes | None:
    """The SHA-256 of the name file that a program was built with, as `kprof cc` plants it.

    None where it has none: it was not built with triggers, by an older kprof, or is stripped.

    Raises
    ------
    FileAccessError
        It cannot be read.
    UsageError
        It is no ELF file.
    """
    data = read_bytes(path)
    try:
        for name, symbol in read_symbols(data):
            if name == DIGEST and symbol.size == _DIGEST_BYTES and symbol.offset > 0:
                digest = data[symbol.offset : symbol.offset + _DIGEST_BYTES]
                return digest if len(digest) == _DIGEST_BYTES and any(digest) else None
    except (struct.error, IndexError) as error:
        raise _no_elf(path) from error
    return None


def _no_elf(path: Path | str) -> UsageError:
    return UsageError(
        f"{path}: is not an ELF file, or is a damaged one; expected the linked program"
    )


def function_sizes(path: Path | str) -> dict[str, int]:
    """The sizes of a program's functions in bytes.

    A copy that the compiler made of a function (``name.isra.0``) stands for it where the function
    itself is gone. Of several functions with one name and different sizes none is told.

    Raises
    ------
    FileAccessError
        It cannot be read.
    UsageError
        It is not an ELF file, or is has no symbols.
    """
    data = read_bytes(path)
    found: dict[str, set[int]] = {}
    copies: dict[str, set[int]] = {}
    try:
        for name, symbol in read_symbols(data):
            if symbol.is_function and symbol.size:
                found.setdefault(name, set()).add(symbol.size)
                copies.setdefault(name.partition(".")[0], set()).add(symbol.size)
    except (struct.error, IndexError) as error:
        raise _no_elf(path) from error
    if not found:
        raise UsageError(f"{path}: has no functions in its symbol table; is it stripped?")
    return {name: sizes.pop() for name, sizes in {**copies, **found}.items() if len(sizes) == 1}
