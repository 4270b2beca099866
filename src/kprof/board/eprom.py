"""The boot EPROM's socket, with the Profiler between the EPROM and the board.

64 KB on an 8-bit port: a word is read as two bytes, a long as four, in rising addresses, and each
byte is one select of the Profiler (68020 dynamic bus sizing). Writes select nothing: the EPROM has
no write line.
"""

from __future__ import annotations

from kprof.board.profiler import Profiler
from kprof.errors import BoardError

EPROM_BYTES = 65_536
ERASED = 0xFF


class EpromSocket:
    """The EPROM and the Profiler on one socket.

    Parameters
    ----------
    image
        Contents of the EPROM, up to 65,536 bytes; what is missing reads 0xFF.
    profiler
        The Profiler on the socket, or None for a bare EPROM.
    """

    def __init__(self, image: bytes, profiler: Profiler | None) -> None:
        if len(image) > EPROM_BYTES:
            raise BoardError(
                f"an EPROM image of {len(image)} bytes; the socket takes {EPROM_BYTES}"
            )
        self._image = image + bytes([ERASED]) * (EPROM_BYTES - len(image))
        self._profiler = profiler

    def read(self, offset: int, now: int) -> int:
        """The byte at `offset` (0..0xFFFF), read at the board's clock count `now`."""
        if self._profiler is not None:
            answer = self._profiler.select(offset, now)
            if answer is not None:
                return answer
        return self._image[offset]

    def write(self, offset: int, value: int, now: int) -> None:
        """Nothing: an EPROM cannot be written."""
