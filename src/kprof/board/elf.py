"""Kernel images: an ELF file is read into an EPROM image, memory contents and symbols.

A segment goes where its *physical* address says (what an EPROM programmer uses): into the board's
EPROM, else straight into RAM, as a monitor's download would. A kernel without anything in the EPROM
gets a reset vector of ours: stack at the top of RAM, start at the ELF's entry.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from kprof.board.bus import ERASED
from kprof.board.description import Description, Eprom
from kprof.capture.sniff import is_text
from kprof.errors import BoardError, FileAccessError
from kprof.files import explain, kind_of
from kprof.symbols import MAGIC, Symbol, read_symbols

_EM_68K = 4
_ET_EXEC = 2
_PT_LOAD = 1
_WIDEST = Eprom(bytes=4 * 65_536)
_MOST_FILE_BYTES = 64 << 20


@dataclass(frozen=True)
class KernelImage:
    """What goes into the board.

    Attributes
    ----------
    eprom
        Contents of the EPROM from address 0.
    memory
        (address, bytes) to put into RAM before the reset.
    entry
        The ELF's entry point; 0 for a plain EPROM image.
    symbols
        By name; static ones included, the last of several with one name.
    """

    eprom: bytes
    memory: tuple[tuple[int, bytes], ...]
    entry: int
    symbols: dict[str, Symbol]


def load_kernel(path: Path | str, board: Description | None = None) -> KernelImage:
    """Read an ELF executable for the 68k, or a plain EPROM image (what is no ELF).

    Parameters
    ----------
    board
        Says where the EPROM is; None: at 0, up to four of 64 KB.

    Raises
    ------
    FileAccessError
        It cannot be read.
    BoardError
        It is not for this board; the message says why.
    """
    data = _read(Path(path))
    eprom = board.eprom if board is not None else _WIDEST
    if data[:4] == MAGIC:
        try:
            return parse_elf(data, str(path), eprom)
        except struct.error as error:
            raise BoardError(f"{path}: the ELF file is cut short or damaged ({error})") from error
    if not 8 <= len(data) <= eprom.bytes:
        raise BoardError(
            f"{path}: {len(data)} bytes and no ELF header; expected an ELF executable for the 68k, "
            f"or an EPROM image of 8..{eprom.bytes} bytes"
        )
    if kind := kind_of(data) or ("text" if is_text(data, least=16) else None):
        raise BoardError(
            f"{path}: is {kind}; expected an ELF executable for the 68k, or an EPROM image"
        )
    return KernelImage(data, (), 0, {})


def _read(path: Path) -> bytes:
    """The file, if it has an end within reason."""
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_FILE_BYTES + 1)
    except OSError as error:
        raise FileAccessError(explain(path, "read", error)) from error
    if len(data) > _MOST_FILE_BYTES:
        raise BoardError(f"{path}: more than {_MOST_FILE_BYTES} bytes; expected a kernel")
    return data


def parse_elf(data: bytes, source: str = "kernel", eprom: Eprom = _WIDEST) -> KernelImage:
    """The image in an ELF file's bytes; raises `BoardError`, or `struct.error` where it is cut."""
    if data[4:6] != b"\x01\x02":
        raise BoardError(f"{source}: not a 32-bit big-endian ELF file; is it built for the 68k?")
    kind, machine, _, entry, segments = struct.unpack_from(">HHIII", data, 16)
    if machine != _EM_68K:
        raise BoardError(f"{source}: ELF machine {machine}; expected {_EM_68K}, the 68k")
    if kind != _ET_EXEC:
        raise BoardError(f"{source}: not linked (ELF type {kind}); expected an executable")
    segment_size, segment_count, section_size, section_count = struct.unpack_from(">4H", data, 42)
    if segment_size < 32 or (section_count and section_size < 40):
        raise BoardError(f"{source}: the ELF header is damaged: its tables have too short entries")
    burnt: dict[int, bytes] = {}
    memory: list[tuple[int, bytes]] = []
    for number in range(segment_count):
        at = segments + number * segment_size
        type_, offset, _, address, size = struct.unpack_from(">5I", data, at)
        if type_ != _PT_LOAD or not size:
            continue
        content = data[offset : offset + size]
        if len(content) != size:
            raise BoardError(f"{source}: the ELF file is cut short in its segment {number}")
        if eprom.base <= address and address + size <= eprom.base + eprom.bytes:
            burnt[address - eprom.base] = content
        else:
            memory.append((address, content))
    if not burnt and not memory:
        raise BoardError(f"{source}: nothing to load in it")
    return KernelImage(_burn(burnt), tuple(memory), entry, dict(read_symbols(data)))


def _burn(segments: dict[int, bytes]) -> bytes:
    size = max((address + len(content) for address, content in segments.items()), default=0)
    image = bytearray([ERASED]) * size
    for address, content in segments.items():
        image[address : address + len(content)] = content
    return bytes(image)
