"""The log of `kprof upload --trace-line`: what passes over the line, into a file.

The log is for people; the upload does not fail because of it. When it cannot be written any more,
that is said once and the upload goes on without it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from kprof.errors import FileAccessError
from kprof.files import explain

Trace = Callable[[str], None]


@contextlib.contextmanager
def line_log(path: str | None, warn: Callable[[str], None]) -> Iterator[Trace | None]:
    """A function that writes lines into a log; None without a path.

    Parameters
    ----------
    warn
        Is given a sentence when the log cannot be written any more.

    Raises
    ------
    FileAccessError
        It cannot be begun.
    """
    if not path:
        yield None
        return
    try:
        stream = Path(path).open("wb", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise FileAccessError(explain(path, "write", error)) from error
    broken = False

    def write(text: str) -> None:
        nonlocal broken
        if broken:
            return
        data = f"{text}\n".encode()
        try:
            while data:
                data = data[stream.write(data) :]
        except OSError as error:
            broken = True
            warn(f"{explain(path, 'write', error)}; the upload goes on without this log")

    try:
        yield write
    finally:
        with contextlib.suppress(OSError):
            stream.close()
