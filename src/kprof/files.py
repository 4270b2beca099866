"""Writing files so that an interrupted run leaves what was there before.

Every output of kprof goes through `writing`: a temporary beside the target, flushed to the disk,
then renamed over it, and the folder flushed. Whatever fails or dies when, the name stands for the
old file or for the complete new one; a killed process may leave its temporary, ``.NAME.*.tmp``.
A special file (a pipe, a terminal) and the standard output are written in place.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from kprof.errors import FileAccessError, KprofError, UsageError


@contextlib.contextmanager
def writing(path: Path | str) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` when the block ends without an exception.

    ``-`` is the standard output.

    Raises
    ------
    FileAccessError
        The folder is missing or not writable, the disk is full; `path` is as it was.
    """
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    try:
        if target.is_dir():
            raise FileAccessError(f"{target}: is a folder; expected the name of a file to write")
        if target.exists() and not target.is_file():
            with target.open("wb") as special:
                yield special
            return
        with _replacing(target.resolve()) as stream:
            yield stream
    except (KprofError, BrokenPipeError):
        raise
    except OSError as error:
        raise FileAccessError(explain(target, "write", error)) from error


def write_bytes(path: Path | str, data: bytes) -> None:
    """Replace the file `path` by `data`, whole or not at all."""
    with writing(path) as stream:
        stream.write(data)


def write_text(path: Path | str, text: str) -> None:
    """Replace the file `path` by `text` in UTF-8, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def spare_existing(path: Path | str, force: bool) -> None:
    """Refuse to write a capture over a file that is there; `force` allows it.

    Reports can be made again, so what prints those replaces; a run that was captured cannot.

    Raises
    ------
    UsageError
        There is a file of that name.
    FileAccessError
        It cannot be told whether there is: no name of a file, or in a folder that may not be looked
        into.
    """
    if _asked(path, "write", Path.is_file) and not force:
        raise UsageError(f"{path}: is there already (-f replaces it, or name another file)")


def is_there(path: Path | str, verb: str = "read") -> bool:
    """Does anything have that name?

    Raises
    ------
    FileAccessError
        It cannot be told, as in `spare_existing`; it says that the file cannot be ... (`verb`).
    """
    return _asked(path, verb, Path.exists)


def _asked(path: Path | str, verb: str, question: Callable[[Path], bool]) -> bool:
    try:
        return question(Path(path))
    except OSError as error:
        raise FileAccessError(explain(path, verb, error)) from error


def same_file(one: Path | str, other: Path | str) -> bool:
    """Both names stand for one file, which is there."""
    try:
        return os.path.samefile(one, other)  # noqa: PTH121
    except OSError:
        return False


def read_bytes(path: Path | str) -> bytes:
    """Read a whole file.

    Raises
    ------
    FileAccessError
        It is missing, a folder, or not readable.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileAccessError(explain(path, "read", error)) from error


def explain(path: Path | str, verb: str, error: OSError) -> str:
    """One sentence for an operating system error: ``FILE: cannot read: reason (what to try)``."""
    hints = {
        FileNotFoundError: "check the name, and that its folder exists",
        PermissionError: "check its permissions, or name another place",
        IsADirectoryError: "name a file in it",
        NotADirectoryError: "a part of the path is a file",
    }
    hint = hints.get(type(error))
    reason = (error.strerror or str(error)).lower()
    return f"{path}: cannot {verb}: {reason}" + (f" ({hint})" if hint else "")


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    import tempfile  # takes as long to import as a small report takes to print

    prefix = f".{target.name[:60]}."  # a name has at most 255 bytes, a character at most 4
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def _flush_folder(folder: Path) -> None:
    """Put a rename on the disk; file systems that cannot flush a folder need no flush."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
