"""The other end of the board's serial line: a pseudo-terminal that a program opens like any port.

Both ends are kept open here, so that the line survives programs that come and go; nobody at the
other end is a cable that hangs loose: what does not fit into the terminal's buffer is kept up to
`KEPT_BYTES`, and what comes after that is dropped.
"""

from __future__ import annotations

import contextlib
import os
import select

from kprof.errors import BoardError

KEPT_BYTES = 1 << 20


def has_ptys() -> bool:
    """Has this system pseudo-terminals?"""
    try:
        import termios  # noqa: F401
        import tty  # noqa: F401
    except ImportError:
        return False
    return hasattr(os, "openpty")


class Pty:
    """A raw pseudo-terminal.

    Attributes
    ----------
    path
        What the other program opens: ``/dev/pts/N``.
    dropped
        Bytes that found no room.
    """

    def __init__(self) -> None:
        try:
            import termios
            import tty
        except ImportError as error:
            raise BoardError("pseudo-terminals need a POSIX system (Linux, BSD, macOS)") from error
        try:
            self._board, self._other = os.openpty()
        except OSError as error:
            raise BoardError(f"no pseudo-terminal to be had: {error.strerror}") from error
        self._errors: type[Exception] = termios.error
        tty.setraw(self._other)
        os.set_blocking(self._board, False)
        self.path = os.ttyname(self._other)
        self.dropped = 0
        self._pending = bytearray()

    def close(self) -> None:
        """Close both ends."""
        for descriptor in (self._board, self._other):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def exchange(self, sent: bytes) -> bytes:
        """Put `sent` on the line, and take what has arrived; never waits."""
        room = KEPT_BYTES - len(self._pending)
        self._pending += sent[:room]
        self.dropped += len(sent[room:])
        if self._pending:
            with contextlib.suppress(BlockingIOError):
                written = os.write(self._board, self._pending)
                del self._pending[:written]
        try:
            return os.read(self._board, 4096)
        except BlockingIOError:
            return b""

    def wait(self, seconds: float) -> None:
        """Wait until something arrives, or pending bytes can go out, or the time is over."""
        writers = [self._board] if self._pending else []
        select.select([self._board], writers, [], seconds)
