"""A count on the terminal for work whose length is not known beforehand."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

QUIET_S = 1.0  # what is done sooner shows nothing
EVERY_S = 0.1


class Counting:
    """Shows how far a pass over many events is; on a terminal only, from the first second on.

    Call it with the number reached; use it as a context, so that its line is cleared at the end.
    """

    def __init__(
        self,
        what: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what, self._stream, self._clock = what, stream or sys.stderr, clock
        self._start = clock()
        self._shown_at = self._start + QUIET_S - EVERY_S
        self._shown = False
        self.count = 0

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def add(self, count: int) -> None:
        """Count `count` more."""
        self(self.count + count)

    def __call__(self, count: int) -> None:
        """Show `count`, where it is time to."""
        self.count = count
        now = self._clock()
        if now - self._shown_at < EVERY_S or not self._stream.isatty():
            return
        self._shown_at, self._shown = now, True
        rate = count / (now - self._start)
        self._stream.write(f"\r{self._what}: {count:,} events, {rate:,.0f} a second\x1b[K")
        self._stream.flush()
