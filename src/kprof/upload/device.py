"""Serial devices of POSIX systems: held alone, and given back as they were found.

A device is opened without becoming the controlling terminal, and locked: flock keeps out other
locking programs, TIOCEXCL all but root. At the end its settings are put back, and whether closing
it drops DTR. Importing this raises ImportError where there is no termios.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import termios
from collections.abc import Iterator

from kprof import locks
from kprof.upload.causes import explain_busy, explain_lock_file, explain_open
from kprof.upload.failures import PortError

Error = termios.error
"""What a device raises that is gone."""


@contextlib.contextmanager
def exclusive(descriptor: int) -> Iterator[None]:
    """Nobody else can open the device while the block runs."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(descriptor, termios.TIOCEXCL)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.ioctl(descriptor, termios.TIOCNXCL)


@contextlib.contextmanager
def held(path: str, *, dtr: bool, rts: bool) -> Iterator[dict[str, bool]]:
    """Hold a device locked, and give its settings back at the end; DTR and RTS as they now are."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        message = explain_open(path, error.errno or 0, error.strerror or str(error))
        raise PortError(message) from error
    try:
        lines = _modem_lines(descriptor, dtr=dtr, rts=rts)
        try:
            saved = termios.tcgetattr(descriptor)
        except termios.error as error:
            code = errno.ENOTTY if error.args[0] != errno.EIO else errno.EIO
            raise PortError(explain_open(path, code, os.strerror(code))) from error
        try:
            locks.lock(descriptor, wait=False)
        except OSError as error:
            raise PortError(explain_busy(path)) from error
        locked = explain_lock_file(path)
        if locked:
            raise PortError(locked)
        try:
            yield lines
        finally:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(descriptor, termios.TCSANOW, saved)
    finally:
        os.close(descriptor)


def _modem_lines(descriptor: int, *, dtr: bool, rts: bool) -> dict[str, bool]:
    """Lower the lines that are to be low; how both are then."""
    low = (0 if dtr else termios.TIOCM_DTR) | (0 if rts else termios.TIOCM_RTS)
    try:
        if low:
            fcntl.ioctl(descriptor, termios.TIOCMBIC, struct.pack("i", low))
        (bits,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.TIOCMGET, bytes(4)))
    except OSError:  # a pseudo-terminal has none
        return {"dtr": dtr, "rts": rts}
    return {
        "dtr": dtr and bool(bits & termios.TIOCM_DTR),
        "rts": rts and bool(bits & termios.TIOCM_RTS),
    }
