"""Is a file a capture file? Apart from the rest, so that a raw image is opened without it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x89KPD\r\n\x1a\n"


def is_container(data: NDArray[np.uint8]) -> bool:
    """Do these bytes begin as a capture file does, though it be cut off or damaged?"""
    start = data[:4].tobytes()
    return len(start) > 0 and MAGIC.startswith(start)
