"""Locks on open files, for programs that agree on them: between processes, gone with the process.

==========  ========================================================================================
POSIX       flock(2) of the whole file
Windows     a byte far behind the end of the file (`msvcrt.locking`): the bytes before it can be
            read and written by everyone; a shared lock is an exclusive one
others      no locks
==========  ========================================================================================
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

_fcntl: Any = None
_msvcrt: Any = None
try:
    import fcntl as _fcntl
except ImportError:
    with contextlib.suppress(ImportError):
        import msvcrt as _msvcrt

RENAMES = _fcntl is not None
"""A file that is open can be renamed and removed, and another be put in its place."""
FLAGS: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""What `os.open` wants so that a file is not inherited, and holds the bytes that are written."""
_BYTE = 1 << 40
_AGAIN_S = 0.02


def lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file.

    Parameters
    ----------
    shared
        Others may hold shared locks too.
    wait
        Until nobody holds it; else raise.

    Raises
    ------
    OSError
        Somebody holds it, or the file system has no locks.
    """
    if _fcntl is not None:
        kind = _fcntl.LOCK_SH if shared else _fcntl.LOCK_EX
        _fcntl.flock(descriptor, kind if wait else kind | _fcntl.LOCK_NB)
    elif _msvcrt is not None:
        while True:
            try:
                _at_byte(descriptor, _msvcrt.LK_NBLCK)
            except PermissionError:
                if not wait:
                    raise
                time.sleep(_AGAIN_S)
            else:
                return


def unlock(descriptor: int) -> None:
    """Give a lock back before the file is closed."""
    if _fcntl is not None:
        _fcntl.flock(descriptor, _fcntl.LOCK_UN)
    elif _msvcrt is not None:
        _at_byte(descriptor, _msvcrt.LK_UNLCK)


def _at_byte(descriptor: int, mode: int) -> None:
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, _BYTE, os.SEEK_SET)
    try:
        _msvcrt.locking(descriptor, mode, 1)
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)
