"""Writing files so that an interrupted run leaves what was there before.

Every output of kprof goes through `writing`: a temporary beside the target, flushed to the disk,
then renamed over it, and the folder flushed. Whatever fails or dies when, the name stands for the
old file or for the complete new one. A killed process leaves its temporary, ``.NAME.*.tmp``: a
writer locks its own, and the next writer of that name removes those that nobody locks. A special
file (a pipe, a terminal) and the standard output are written in place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from kprof import locks
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
    if str(path) != "-" and _asked(path, "write", Path.is_file) and not force:
        raise UsageError(f"{path}: already exists (--force replaces it, or name another file)")


def spare_inputs(path: Path | str, inputs: Iterable[Path | str | None]) -> None:
    """Refuse to write over a file that the command reads, whatever its name there.

    Raises
    ------
    UsageError
        `path` is one of `inputs` (the same file on the disk; None and ``-`` are left out).
    """
    if str(path) == "-":
        return
    for source in inputs:
        if source is not None and str(source) != "-" and same_file(path, source):
            also = "" if str(path) == str(source) else f"is {source} too, and "
            raise UsageError(
                f"{path}: {also}would be replaced by what is made from it; name another file"
            )


def spare_foreign(
    path: Path | str, written: Callable[[bytes], bool], what: str, *, force: bool = False
) -> None:
    """Refuse to write over a file that kprof would not have written in this form.

    An empty file may be replaced.

    Parameters
    ----------
    written
        Told the file's content, its first and last `ENDS` bytes where it is longer: is it `what`?
    force
        Allows it.

    Raises
    ------
    UsageError
        There is such a file.
    FileAccessError
        It is a folder, cannot be looked at, or its own folder is missing.
    """
    if str(path) == "-":
        return
    target = Path(path)
    if _asked(target, "write", Path.is_dir):
        raise FileAccessError(f"{target}: is a folder; expected the name of a file to write")
    if not _asked(target, "write", Path.exists):
        _check_folder(target)
        return
    if force or not target.is_file():
        return
    content = _ends(target)
    if content and not written(content):
        raise UsageError(
            f"{target}: already exists, and kprof did not write it (expected form: {what}; "
            "--force replaces it, or name another file)"
        )


ENDS = 1 << 16
"""Bytes at each end of a file that tell its form."""


def _ends(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            if size <= 2 * ENDS:
                return stream.read()
            head = stream.read(ENDS)
            stream.seek(-ENDS, 2)
            return head + stream.read()
    except OSError as error:
        raise FileAccessError(explain(path, "read", error)) from error


def _check_folder(target: Path) -> None:
    folder = target.parent
    if not folder.is_dir():
        kind = NotADirectoryError if folder.exists() else FileNotFoundError
        number = errno.ENOTDIR if folder.exists() else errno.ENOENT
        raise FileAccessError(explain(target, "write", kind(number, os.strerror(number))))
    if not os.access(folder, os.W_OK | os.X_OK):
        number = errno.EACCES
        raise FileAccessError(
            explain(target, "write", PermissionError(number, os.strerror(number)))
        )


def cache_folder() -> Path | None:
    """Where kprof keeps what it can make again: ``$KPROF_CACHE``, else ``kprof`` in the user's
    cache folder; None where that variable is set to nothing."""
    folder = os.environ.get("KPROF_CACHE")
    if folder is None:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kprof"
    return Path(folder) if folder else None


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


_KINDS = {
    b"\x89KPD": "a capture file",
    b"\x7fELF": "a program (ELF)",
    b"\x1f\x8b\x08": "packed with gzip",
    b"\xfd7zXZ\0": "packed with xz",
    b"(\xb5/\xfd": "packed with zstd",
    b"BZh91AY&SY": "packed with bzip2",
    b"PK\x03\x04": "a ZIP archive",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}


def kind_of(data: bytes) -> str | None:
    """What a file is whose first bytes are known: ``a capture file``; None where they are not."""
    return next((kind for start, kind in _KINDS.items() if data.startswith(start)), None)


def no_text(data: bytes) -> str | None:
    """Why these bytes are no text in UTF-8 or the like: ``is a capture file``; None where they are.

    What is looked for are the first bytes, and zeros.
    """
    if kind := kind_of(data):
        return f"is {kind}"
    zero = data.find(b"\0")
    return None if zero < 0 else f"is not text: byte {zero} is zero"


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
    _sweep(target)
    with _temporary(target) as temporary:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    _flush(target.parent)


@contextlib.contextmanager
def writing_folder(path: Path | str) -> Iterator[Path]:
    """A new folder to write files into; it takes the name `path` when the block has ended.

    Where there is a folder `path`, the files replace those of their names in it. If the block ends
    with an exception, `path` is as it was.

    Raises
    ------
    FileAccessError
        It cannot be made or written.
    """
    target = Path(path).resolve()
    try:
        _sweep(target)
        with _temporary(target, folder=True) as temporary:
            yield temporary
            temporary.chmod(0o777 & ~_umask())
            for file in sorted(temporary.iterdir()):
                _flush(file)
            _flush(temporary)
            if target.is_dir():
                for file in sorted(temporary.iterdir()):
                    file.replace(target / file.name)
            else:
                temporary.rename(target)
        _flush(target.parent)
    except OSError as error:
        raise FileAccessError(explain(path, "write", error)) from error


def _prefix(target: Path) -> str:
    return f".{target.name[:60]}."  # a name has at most 255 bytes, a character at most 4


@contextlib.contextmanager
def _temporary(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """A temporary file or folder beside `target`, locked while its writer lives; then removed."""
    while True:
        temporary = _make(target, folder)
        try:
            lock = os.open(temporary, os.O_RDONLY | locks.FLAGS) if locks.RENAMES else None
        except FileNotFoundError:  # swept by another writer before it was locked
            continue
        if lock is None:
            break
        with contextlib.suppress(OSError):  # a file system without locks
            locks.lock(lock)
        if is_at(lock, temporary):
            break
        os.close(lock)
    try:
        yield temporary
    finally:
        _remove(temporary)
        if lock is not None:
            os.close(lock)


def _make(target: Path, folder: bool) -> Path:
    import tempfile  # takes as long to import as a small report takes to print

    if folder:
        return Path(tempfile.mkdtemp(dir=target.parent, prefix=_prefix(target), suffix=".tmp"))
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=_prefix(target), suffix=".tmp")
    os.close(descriptor)
    return Path(name)


def _sweep(target: Path) -> None:
    """Remove the temporaries of writers of `target` that were killed: nobody locks those.

    Where an open file cannot be renamed no temporary is locked, and each stays.
    """
    if not locks.RENAMES:
        return
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):  # noqa: PTH208 - a glob takes the name as a pattern
            if name.startswith(_prefix(target)) and name.endswith(".tmp"):
                _remove_if_stale(target.parent / name)


def _remove_if_stale(temporary: Path) -> None:
    with contextlib.suppress(OSError):
        lock = os.open(temporary, os.O_RDONLY | locks.FLAGS | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            locks.lock(lock, wait=False)
            if is_at(lock, temporary):
                _remove(temporary)
        finally:
            os.close(lock)


def _remove(temporary: Path) -> None:
    with contextlib.suppress(OSError):
        if temporary.is_dir():
            import shutil

            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def is_at(descriptor: int, path: Path) -> bool:
    """Is the open file still the one that has the name `path`?"""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _flush(path: Path) -> None:
    """Put a file, or the renames in a folder, on the disk; where that cannot be, it need not."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
