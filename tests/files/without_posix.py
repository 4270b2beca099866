"""kprof with what Windows has: run as ``python without_posix.py FOLDER WORDS...``.

The POSIX modules cannot be imported, the functions of `os` and the signals that Windows lacks are
gone, and `msvcrt` is a small stand-in whose locks are those of the real fcntl.
"""

from __future__ import annotations

import os
import sys
import types
from typing import Any

_MODULES = ("fcntl", "termios", "pty", "tty", "grp", "pwd", "resource")
_OS = (
    "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "pread", "pwrite", "fork", "forkpty",
    "openpty", "getuid", "geteuid", "getgid", "killpg", "setsid", "sched_getaffinity",
    "posix_spawn", "mkfifo",
)  # fmt: skip
_SIGNALS = ("SIGHUP", "SIGPIPE", "SIGXFSZ", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGALRM", "SIGTSTP")


def _msvcrt() -> types.ModuleType:
    import fcntl

    def locking(descriptor: int, mode: int, count: int) -> None:
        how = (fcntl.LOCK_UN, fcntl.LOCK_EX, fcntl.LOCK_EX | fcntl.LOCK_NB)[mode]
        try:
            fcntl.lockf(descriptor, how, count, os.lseek(descriptor, 0, os.SEEK_CUR), 0)
        except BlockingIOError as error:
            raise PermissionError(error.errno, "Permission denied") from error

    module: Any = types.ModuleType("msvcrt")
    module.LK_UNLCK, module.LK_LOCK, module.LK_NBLCK = 0, 1, 2
    module.locking = locking
    return module


def become_windows() -> None:
    """Take away what Windows has not; what Python's own library imports for POSIX stays."""
    import _signal  # type: ignore[import-not-found]
    import asyncio
    import multiprocessing.context
    import multiprocessing.util
    import shutil
    import signal
    import subprocess
    import tempfile

    import serial
    import serial.urlhandler.protocol_socket

    keep = (asyncio, multiprocessing, shutil, subprocess, tempfile, serial)
    assert all(keep)
    stand_in = _msvcrt()
    for name in _MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.modules["msvcrt"] = stand_in
    for name in _OS:
        if hasattr(os, name):
            delattr(os, name)
    for name in _SIGNALS:
        for module in (signal, _signal):
            if hasattr(module, name):
                delattr(module, name)


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    sys.argv[:] = ["kprof", *sys.argv[2:]]
    become_windows()
    from kprof.__main__ import main

    main()
