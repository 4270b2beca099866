"""The MD20, the board of kprof's own example kernel, described in ``boards/md20.toml``.

========== =================================================== ===== ===========
address    what                                                port  wait states
========== =================================================== ===== ===========
0x000000   EPROM, 64 KB; the Profiler is on its socket         8 *   2
0x100000   RAM, 1 MB                                           32    0
0x400000   DUART; its interrupt is level 5                     8     2
0x470000   Ethernet controller's registers; level 4            16    12
0x480000   Ethernet controller's buffer memory, 64 KB          16    12
========== =================================================== ===== ===========

(*) Or two EPROMs on 16 bits, or four on 32: the Profiler then sees the address without its lowest
bit or two, and triggers are instrumented with a shift of 1 or 2.
"""

from __future__ import annotations

from dataclasses import replace

from kprof.board.board import DEFAULT_PHASE, DEFAULT_PPM, Board, Traffic
from kprof.board.cpu import PAGE_BYTES
from kprof.board.description import MOST_ADDRESS, Description, find_board, occupied
from kprof.board.elf import KernelImage
from kprof.board.profiler import Profiler
from kprof.errors import BoardError

__all__ = ["DEFAULT_PHASE", "DEFAULT_PPM", "HZ", "MD20", "RAM_BASE", "with_port"]

HZ = 20_000_000
RAM_BASE = 0x10_0000


def with_port(board: Description, bits: int) -> Description:
    """The same board with as many of its EPROMs side by side as a port of `bits` takes.

    Raises
    ------
    BoardError
        There is no such port.
    """
    if bits not in (8, 16, 32):
        raise BoardError(f"an EPROM port of {bits} bits; expected 8, 16 or 32")
    eprom = board.eprom
    return replace(board, eprom=replace(eprom, port_bits=bits, bytes=eprom.chip_bytes * bits // 8))


def with_ram(board: Description, size: int) -> Description:
    """The same board with its largest RAM `size` bytes large.

    Raises
    ------
    BoardError
        The size is not a multiple of 64 KB, or another part of the board is in the way.
    """
    if size <= 0 or size % PAGE_BYTES:
        raise BoardError(f"a RAM of {size} bytes; expected a multiple of 64 KB")
    largest = max(board.ram, key=lambda one: one.bytes)
    behind = [part for part in occupied(board) if part.start > largest.base]
    nearest = min(behind, key=lambda part: part.start, default=None)
    limit, what = (nearest.start, nearest.what) if nearest else (MOST_ADDRESS, "the end")
    if largest.base + size > limit:
        raise BoardError(
            f"a RAM of {size} bytes at 0x{largest.base:x} does not fit below 0x{limit:x}, where "
            f"{what} of {board.name} is; expected {limit - largest.base} bytes at most"
        )
    ram = tuple(replace(one, bytes=size) if one is largest else one for one in board.ram)
    return replace(board, ram=ram)


class MD20(Board):
    """An MD20; the parameters are those of `Board`.

    Parameters
    ----------
    eprom_bits
        Width of the EPROM's port: 8, 16 or 32.
    """

    def __init__(
        self,
        kernel: KernelImage,
        *,
        profiler: Profiler | None = None,
        traffic: Traffic | None = None,
        eprom_bits: int = 8,
    ) -> None:
        board = with_port(find_board("md20"), eprom_bits)
        super().__init__(board, kernel, profiler=profiler, traffic=traffic)
