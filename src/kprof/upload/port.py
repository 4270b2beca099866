"""Serial ports and pyserial's URLs as lines; the only importer of pyserial.

A device is opened without becoming the controlling terminal, locked (flock, which keeps out other
locking programs, and TIOCEXCL, which keeps out all but root), and given back as it was found: its
settings, and whether closing it drops DTR. A URL (``socket://``, ``rfc2217://``, ``loop://``) is
pyserial's own affair.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import termios
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kprof.upload.causes import (
    explain_busy,
    explain_lost,
    explain_open,
    explain_stalled,
    explain_url,
)
from kprof.upload.failures import PortError

if TYPE_CHECKING:
    import serial

WRITE_TIMEOUT_S = 5.0
_READ_S = 0.02
_SERVERS = ("socket", "rfc2217")


class Port:
    """An open port; a `kprof.upload.line.Line`."""

    def __init__(self, name: str, device: serial.SerialBase) -> None:
        self._name, self._device = name, device

    def clock(self) -> float:
        """See `Line`."""
        return time.monotonic()

    def read(self, timeout: float) -> bytes:
        """See `Line`.

        Raises
        ------
        PortError
            The port is gone.
        """
        until = time.monotonic() + timeout
        with self._explained():
            while True:
                data: bytes = self._device.read(self._device.in_waiting or 1)
                if data:
                    whole = bytearray(data)  # a socket tells of one byte at a time
                    # What came before a failure is given first; the next read tells of it.
                    with contextlib.suppress(OSError):
                        while len(whole) < 4096 and (waiting := self._device.in_waiting):
                            whole += self._device.read(waiting)
                    return bytes(whole)
                if time.monotonic() >= until:
                    return b""

    def write(self, data: bytes) -> None:
        """See `Line`.

        Raises
        ------
        PortError
            The port is gone, or takes nothing.
        """
        with self._explained():
            self._device.write(data)

    def set_baud(self, rate: int) -> None:
        """See `Line`.

        Raises
        ------
        PortError
            The port cannot run at this rate.
        """
        with self._explained():
            self._device.flush()
            try:
                self._device.baudrate = rate
            except (ValueError, OSError) as error:
                raise PortError(
                    f"{self._name}: cannot run at {rate} baud: {error} (name another rate)"
                ) from error

    def discard(self) -> None:
        """See `Line`."""
        with self._explained():
            self._device.reset_input_buffer()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        import serial

        try:
            yield
        except serial.SerialTimeoutException as error:
            raise PortError(explain_stalled(self._name, WRITE_TIMEOUT_S)) from error
        except (serial.SerialException, OSError, termios.error) as error:
            raise PortError(explain_lost(self._name, str(error).lower())) from error


@contextlib.contextmanager
def open_port(name: str, baud: int) -> Iterator[Port]:
    """Open a device or a URL at this rate, 8N1, no flow control; closed when the block ends.

    Raises
    ------
    PortError
        It cannot be opened; the message names the cause and the remedy.
    """
    if "://" in name:
        _check_url(name)
        with _opened(name, baud) as device:
            yield Port(name, device)
        return
    with _held(name), _opened(name, baud) as device:
        with contextlib.suppress(OSError):
            fcntl.ioctl(device.fileno(), termios.TIOCEXCL)
        try:
            yield Port(name, device)
        finally:
            with contextlib.suppress(OSError):
                fcntl.ioctl(device.fileno(), termios.TIOCNXCL)


def _check_url(url: str) -> None:
    """Refuse a URL of a server that names no port."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        whole = parts.scheme not in _SERVERS or (parts.hostname and parts.port)
    except ValueError:
        whole = False
    if not whole:
        kind = url.partition("://")[0]
        raise PortError(
            f"{url}: names no server and port; expected {kind}://HOST:PORT, such as "
            f"{kind}://localhost:4001"
        )


@contextlib.contextmanager
def _opened(name: str, baud: int) -> Iterator[Any]:
    import serial

    # RFC 2217 has no time limit for writing.
    limit = {} if name.startswith("rfc2217:") else {"write_timeout": WRITE_TIMEOUT_S}
    try:
        device = serial.serial_for_url(name, baudrate=baud, timeout=_READ_S, **limit)
    except (ValueError, OSError, LookupError, TypeError, termios.error) as error:
        if "://" in name:
            raise PortError(explain_url(name, error)) from error
        code = getattr(error, "errno", None) or 0
        raise PortError(explain_open(name, code, _reason(error, code))) from error
    try:
        yield device
    finally:
        with contextlib.suppress(OSError, serial.SerialException, termios.error):
            device.close()


@contextlib.contextmanager
def _held(path: str) -> Iterator[None]:
    """Hold a device locked, and give its settings back at the end."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        message = explain_open(path, error.errno or 0, error.strerror or str(error))
        raise PortError(message) from error
    try:
        try:
            saved = termios.tcgetattr(descriptor)
        except termios.error as error:
            code = errno.ENOTTY if error.args[0] != errno.EIO else errno.EIO
            raise PortError(explain_open(path, code, os.strerror(code))) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise PortError(explain_busy(path)) from error
        try:
            yield
        finally:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(descriptor, termios.TCSANOW, saved)
    finally:
        os.close(descriptor)


def _reason(error: Exception, code: int) -> str:
    return os.strerror(code) if code else str(error)
