"""Serial ports and pyserial's URLs as lines; the only importer of pyserial.

A device of a POSIX system is locked and given back as it was found (`kprof.upload.device`). DTR and
RTS stay as the system sets them when it opens the device (Linux raises both, before any program has
a say), or are lowered at once. A URL (``socket://``, ``rfc2217://``, ``loop://``) is pyserial's own
affair.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kprof.upload.causes import (
    explain_lost,
    explain_open,
    explain_readers,
    explain_stalled,
    explain_url,
)
from kprof.upload.failures import NoAnswerError, PortError, TransferError

try:
    from kprof.upload import device as posix
except ImportError:  # Windows: the system gives a port to one program, and keeps no settings
    posix = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import serial

_LOST: tuple[type[Exception], ...] = (OSError, *((posix.Error,) if posix else ()))
_NOT_OPENED: tuple[type[Exception], ...] = (ValueError, LookupError, TypeError, *_LOST)

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
        except _LOST as error:  # serial.SerialException is an OSError
            raise PortError(explain_lost(self._name, str(error).lower())) from error


@contextlib.contextmanager
def open_port(name: str, baud: int, *, dtr: bool = True, rts: bool = True) -> Iterator[Port]:
    """Open a device or a URL at this rate, 8N1, no flow control; closed when the block ends.

    Parameters
    ----------
    dtr, rts
        False: hold this line low. True: as the system has it once the device is open; of a server,
        raise it.

    Raises
    ------
    PortError
        It cannot be opened; the message names the cause and the remedy.
    """
    if "://" in name:
        _check_url(name)
        with _opened(name, baud, dtr=dtr, rts=rts) as device:
            yield Port(name, device)
        return
    with contextlib.ExitStack() as stack:
        lines = {"dtr": dtr, "rts": rts}
        if posix:
            lines = stack.enter_context(posix.held(name, **lines))
        device = stack.enter_context(_opened(name, baud, **lines))
        if posix:
            stack.enter_context(posix.exclusive(device.fileno()))
        try:
            yield Port(name, device)
        except (NoAnswerError, TransferError) as error:
            readers = explain_readers(name)
            if readers:
                raise type(error)(f"{error}; {readers}") from error
            raise


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
def _opened(name: str, baud: int, *, dtr: bool, rts: bool) -> Iterator[Any]:
    import serial

    # RFC 2217 has no time limit for writing.
    limit = {} if name.startswith("rfc2217:") else {"write_timeout": WRITE_TIMEOUT_S}
    try:
        device = serial.serial_for_url(
            name, baudrate=baud, timeout=_READ_S, do_not_open=True, **limit
        )
        device.dtr, device.rts = dtr, rts  # what it sets when it opens
        device.open()
    except _NOT_OPENED as error:
        if "://" in name:
            raise PortError(explain_url(name, error)) from error
        code = getattr(error, "errno", None) or 0
        raise PortError(explain_open(name, code, _reason(error, code))) from error
    try:
        yield device
    finally:
        with contextlib.suppress(*_LOST):
            device.close()


def _reason(error: Exception, code: int) -> str:
    return os.strerror(code) if code else str(error)
