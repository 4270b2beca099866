"""What a file is by its first bytes. Apart from the rest: raw images are opened without that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x89KPD\r\n\x1a\n"
_PRINTABLE = bytes([9, 10, 12, 13, *range(32, 127)])
STATISTICS = b'{"kprof_statistics":'


def is_container(data: NDArray[np.uint8]) -> bool:
    """Do these bytes begin as a capture file does, though it be cut off or damaged?"""
    start = data[:4].tobytes()
    return len(start) > 0 and MAGIC.startswith(start)


def is_text(data: bytes, least: int = 100) -> bool:
    """Are these bytes text, as no image of a RAM or ROM is? Fewer than `least` tell nothing."""
    start = data[:4096]
    return len(start) >= least and not start.translate(None, _PRINTABLE)


def is_statistics(data: NDArray[np.uint8]) -> bool:
    """Do these bytes begin as saved statistics do (`kprof.analysis.saved`)?"""
    start = data[:64].tobytes()
    return start.lstrip()[:1] == b"{" and b"".join(start.split()).startswith(STATISTICS)
