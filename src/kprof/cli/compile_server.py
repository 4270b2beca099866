"""The compile server: `kprof cc` with all its imports done, for a build's many compilations.

    python -m kprof.cli.compile_server LOCK SOCKET

A client (`compile_client`) starts it, and gives it the file descriptor of its lock: there is one
server for each user, version of kprof, and view of the files. Each compilation has one of its
workers, processes that wait for clients, to itself; the worker moves to the client's folder and
environment and prints where the client does, but has the client run the compiler. The server keeps
one worker waiting, and ends when nobody has come for `IDLE_S`. A client that finds it gone, or that
loses it, compiles by itself.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import select
import socket
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from kprof.cli import main
from kprof.cli.compile_client import receive, send, state

IDLE_S = 30.0
_MOST_COMPILATIONS = 500
_MOST_KILOBYTES = 200_000  # of a worker; units of kernels leave theirs large
_MOST_WORKERS = 64
_MOST_DESCRIPTORS = 1 << 16
_BUSY, _WAITING = b"+", b"-"


class There:
    """Runs commands where the client of this compilation is; see `kprof.instrument.running`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def start(
        self, command: Sequence[str], stdout: Path | None = None, stderr: Path | None = None
    ) -> None:
        """Begin a command there."""
        files = [str(path) if path else None for path in (stdout, stderr)]
        self._send(("run", list(command), *files))

    def wait(self) -> int:
        """The exit code of what was begun last."""
        return self._answer()

    def become(self, command: Sequence[str]) -> NoReturn:
        """Have the client run a command in place of itself."""
        self._send(("become", list(command)))
        self._answer()
        raise AssertionError  # it runs, or that was an error

    def _send(self, value: object) -> None:
        try:
            send(self._connection, value)
        except OSError:
            raise SystemExit(1) from None  # the client was stopped

    def _answer(self) -> int:
        try:
            code, number = receive(self._connection)
        except (EOFError, OSError):
            raise SystemExit(1) from None
        if number:
            raise OSError(number, os.strerror(number))
        return int(code)


def compile_for(connection: socket.socket, own: str) -> None:
    """One compilation."""
    _, files, _, _ = socket.recv_fds(connection, 1, 2)
    try:
        theirs, arguments, folder, environment, mask = receive(connection)
        if theirs != own or len(files) != 2:
            raise ValueError("a client of another kprof")
        for number, descriptor in enumerate(files, 1):
            os.dup2(descriptor, number)
    finally:
        for descriptor in files:
            os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.umask(mask)
    tempfile.tempdir = None  # it is the environment's
    sys.argv = ["kprof", *arguments]
    code: object = 1
    try:
        main.main(There(connection))
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    send(connection, ("exit", code if isinstance(code, int) else int(bool(code))))


def work(listening: socket.socket, server: socket.socket, own: str) -> None:
    """Compile for one client after another, until the server has gone."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    listening.setblocking(False)  # another worker may be the first to accept
    for _ in range(_MOST_COMPILATIONS):
        connection = None
        while connection is None:
            if server in select.select([listening, server], [], [])[0]:
                return
            with contextlib.suppress(OSError):
                connection = listening.accept()[0]
        server.send(_BUSY)
        with connection:
            connection.setblocking(True)
            compile_for(connection, own)  # whatever goes wrong there ends this worker
        for number in (1, 2):
            os.dup2(null, number)  # nobody waits for the end of what the client's are
        os.chdir("/")
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _MOST_KILOBYTES:
            return
        server.send(_WAITING)


def serve(listening: socket.socket, lock: int, own: str) -> None:
    """Keep a worker waiting until nobody has come for a while."""
    workers: dict[socket.socket, bytes] = {}
    while True:
        if _WAITING not in workers.values() and len(workers) < _MOST_WORKERS:
            workers[_worker(listening, workers, lock, own)] = _WAITING
        idle = _BUSY not in workers.values()
        ready = select.select([*workers], [], [], IDLE_S if idle else None)[0]
        if not ready:
            return
        for worker in ready:
            said = worker.recv(64)
            if said:
                workers[worker] = said[-1:]
            else:  # it has done its share, or died
                worker.close()
                del workers[worker]
                os.waitpid(-1, 0)


def _worker(
    listening: socket.socket, others: Iterable[socket.socket], lock: int, own: str
) -> socket.socket:
    """Fork a worker; what it says of itself comes out of the socket, whose other end is its."""
    ours, its = socket.socketpair()
    if os.fork():
        its.close()
        return ours
    code = 1
    with contextlib.suppress(BaseException):  # its client sees that it has gone
        for other in (ours, *others):
            other.close()
        os.close(lock)
        work(listening, its, own)
        code = 0
    os._exit(code)


def _main() -> None:
    lock, path = int(sys.argv[1]), sys.argv[2]
    for first, last in ((3, lock), (lock + 1, _MOST_DESCRIPTORS)):
        os.closerange(first, last)  # make's, for one
    os.set_inheritable(lock, False)
    os.pwrite(lock, b"%d\n" % os.getpid(), 0)
    own = state()
    os.chdir("/")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108 - of one that was killed: the lock is ours
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        import kprof.cli.cc
        import kprof.instrument.compiling
        import kprof.instrument.indentation
        import kprof.instrument.linking
        import kprof.instrument.messages
        import kprof.instrument.planting
        import kprof.instrument.tree  # noqa: F401

        gc.collect()
        gc.freeze()
        listening.bind(path)
        listening.listen(64)
        try:
            serve(listening, lock, own)
        finally:
            os.unlink(path)  # noqa: PTH108


if __name__ == "__main__":
    _main()
