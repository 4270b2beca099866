"""The client of the compile server (`compile_server`): `kprof cc` without the imports.

What `kprof cc` does for a small source takes less time than Python takes to import it, so a build
has a server that has imported it. The server works out what to run; this process runs it, where its
terminal, limits, signals and make's job server are. Imports are few here, on purpose.

Messages are `marshal` values behind their length in 4 bytes. The client begins with its state (it
is refused where that is not the server's), arguments, folder, environment and umask, and its stdout
and stderr. The server answers with requests:

======================================  ==========================================================
``("run", command, stdout, stderr)``    run it, its output into these files or, where one is None,
                                        to where this process has its own; answered with
                                        (exit code, errno)
``("become", command)``                 run it in place of this process; answered with (0, errno)
                                        where that fails
``("exit", code)``                      that was all
======================================  ==========================================================

Whatever goes wrong before the end, the caller compiles by itself, from the beginning.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # see `kprof.__main__`
import _socket
import binascii
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

START_WITHIN_S = 10.0
"""A server is started by a compilation that follows another within this time."""
_LONGEST_PATH = 100  # of a socket; Linux takes 107 bytes
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)  # by Python, but not by what it runs
_SPEAKS = ("LANG", "LC_", "PYTHON")
_READ = ("", "cli", "instrument", "names")


def state() -> str:
    """What client and server must have in common: Python, kprof's sources, and the files."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parts = [sys.version, sys.executable, package]
    parts += sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(_SPEAKS))
    for name in _READ:
        with os.scandir(os.path.join(package, name)) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found = entry.stat()
                    parts.append(f"{entry.name} {found.st_size} {found.st_mtime_ns}")
    root = os.stat("/")
    parts.append(f"{os.readlink('/proc/self/ns/mnt')} {root.st_dev} {root.st_ino}")
    return "\n".join(sorted(parts))


def address(of: str) -> str:
    """The socket of the server with this state; "" where there is to be none.

    Its folder is ``$KPROF_SERVER``, else one in ``$XDG_RUNTIME_DIR`` or ``/tmp``. It is made, and
    must be this user's alone.
    """
    folder = os.environ.get("KPROF_SERVER")
    if folder is None:
        runtime = os.environ.get("XDG_RUNTIME_DIR")
        folder = f"{runtime}/kprof" if runtime else f"/tmp/kprof-{os.getuid()}"
    path = f"{folder}/cc-{binascii.crc32(of.encode('utf-8', 'surrogateescape')):08x}"
    if not os.path.isabs(folder) or len(os.fsencode(path)) > _LONGEST_PATH:
        return ""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if found.st_uid != os.getuid() or found.st_mode & 0o170077 != 0o040000:
            return ""
    return path


def send(connection: _socket.socket, value: Any) -> None:
    """Send a message."""
    data = marshal.dumps(value)
    connection.sendall(len(data).to_bytes(4, "big") + data)


def receive(connection: _socket.socket) -> Any:
    """Receive a message; EOFError where the other end has gone."""
    return marshal.loads(_bytes(connection, int.from_bytes(_bytes(connection, 4), "big")))


def _bytes(connection: _socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def compile_at_server(arguments: list[str]) -> None:
    """Have a server compile, and end with its exit code; return where there is none."""
    if not sys.platform.startswith("linux"):
        return
    try:
        own = state()
        path = address(own)
        if not path:
            return
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.connect(path)
        except (FileNotFoundError, ConnectionError):
            _start_server(path)
            return
        mask = os.umask(0)
        os.umask(mask)
        kept = (own, arguments, os.getcwd(), dict(os.environ), mask)
        files = b"".join(fd.to_bytes(4, sys.byteorder) for fd in (1, 2) if os.fstat(fd))
        connection.sendmsg([b"+"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
        send(connection, kept)
        _serve(connection)
    except (OSError, EOFError, ValueError):
        return


def _serve(connection: _socket.socket) -> None:
    """Do what the server asks for."""
    child = 0

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if child:
            os.kill(child, signal.SIGKILL)
        if number == signal.SIGINT:
            os.write(2, b"kprof: interrupted\n")
        os._exit(128 + number)

    stopping = (signal.SIGINT, signal.SIGTERM)
    for number in stopping:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    while True:
        kind, what, *files = receive(connection)
        if kind == "exit":
            os._exit(what)
        try:
            if kind == "become":
                os.execvp(what[0], what)
            signal.pthread_sigmask(signal.SIG_BLOCK, stopping)  # until the child is known
            try:
                child = os.posix_spawnp(
                    what[0],
                    what,
                    os.environ,
                    file_actions=_opened(files),
                    setsigmask=(),
                    setsigdef=_IGNORED,
                )
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping)
            status = os.waitpid(child, 0)[1]
            child = 0
            send(connection, (os.waitstatus_to_exitcode(status), 0))
        except OSError as error:
            send(connection, (0, error.errno or 1))


def _opened(files: list[str | None]) -> list[tuple[int, int, str, int, int]]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    named = [(number, path) for number, path in enumerate(files, 1) if path]
    return [(os.POSIX_SPAWN_OPEN, number, path, flags, 0o666) for number, path in named]


def _start_server(path: str) -> None:
    """Start a server where compilations follow each other; who has the lock is or starts it."""
    import fcntl
    import time

    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        known = os.fstat(lock)
        if not known.st_size or time.time() - known.st_mtime > START_WITHIN_S:
            os.pwrite(lock, b"kprof\n", 0)
            os.utime(lock)
            return
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        command = [sys.executable, "-m", "kprof.cli.compile_server", str(lock), path]
        os.set_inheritable(lock, True)
        os.posix_spawn(command[0], command, os.environ, file_actions=null, setsid=True)
    finally:
        os.close(lock)
