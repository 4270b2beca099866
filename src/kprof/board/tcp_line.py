"""The other end of the board's serial line as a TCP server, where there are no pseudo-terminals.

One program at a time is connected; nobody is a cable that hangs loose, as in `kprof.board.pty`.
"""

from __future__ import annotations

import contextlib
import select
import socket

from kprof.board.pty import KEPT_BYTES, Pty, has_ptys
from kprof.errors import BoardError


class TcpLine:
    """A server on the loopback interface; the members of `kprof.board.pty.Pty`.

    Attributes
    ----------
    path
        What the other program opens: ``socket://127.0.0.1:PORT``.
    dropped
        Bytes that found no room.
    """

    def __init__(self) -> None:
        try:
            self._server = socket.create_server(("127.0.0.1", 0), backlog=1)
        except OSError as error:
            raise BoardError(f"no TCP port to be had: {error.strerror}") from error
        self._server.setblocking(False)
        self._peer: socket.socket | None = None
        self.path = f"socket://127.0.0.1:{self._server.getsockname()[1]}"
        self.dropped = 0
        self._pending = bytearray()

    def close(self) -> None:
        """Close the connection and the server."""
        self._hang_up()
        self._server.close()

    def exchange(self, sent: bytes) -> bytes:
        """Put `sent` on the line, and take what has arrived; never waits."""
        room = KEPT_BYTES - len(self._pending)
        self._pending += sent[:room]
        self.dropped += len(sent[room:])
        peer = self._connected()
        if peer is None:
            return b""
        try:
            if self._pending:
                with contextlib.suppress(BlockingIOError):
                    written = peer.send(self._pending)
                    del self._pending[:written]
            arrived = peer.recv(4096)
        except BlockingIOError:
            return b""
        except OSError:
            arrived = b""
        if not arrived:
            self._hang_up()
        return arrived

    def wait(self, seconds: float) -> None:
        """Wait until something arrives, or pending bytes can go out, or the time is over."""
        peer = self._connected()
        readers = [self._server] if peer is None else [peer]
        writers = [peer] if peer is not None and self._pending else []
        select.select(readers, writers, [], seconds)

    def _connected(self) -> socket.socket | None:
        if self._peer is None:
            with contextlib.suppress(OSError):
                self._peer, _ = self._server.accept()
                self._peer.setblocking(False)
                self._peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._peer

    def _hang_up(self) -> None:
        if self._peer is not None:
            self._peer.close()
            self._peer = None


def open_line() -> Pty | TcpLine:
    """A pseudo-terminal, or a TCP server where the system has none."""
    return Pty() if has_ptys() else TcpLine()
