"""What has arrived of an unfinished upload, in two files beside the output.

``OUT.part`` holds the records where they belong; ``OUT.part.json`` says what board they are of and
which are there, with their CRC-32. With the agent each piece is written as it arrives, the list of
what is there about every second (after the records are on the disk), so that whatever dies,
`--resume` finds nothing wrong. Without the agent both are written when the transfer ends, fails or
is stopped by a signal that can be caught: a process that is killed outright keeps nothing. What no
transfer can go on with is in ``OUT.part`` alone, as it came.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kprof import locks
from kprof.errors import FileAccessError, KprofError, UsageError
from kprof.files import explain, spare_existing, write_text
from kprof.upload.failures import TransferError
from kprof.upload.image import RECORD_BYTES, Image

SAVE_EVERY_S = 1.0
VERSION = 2
NOTHING_USABLE = "nothing usable was kept of an earlier upload"


class Partial:
    """The two files; made by `partial_files`.

    Attributes
    ----------
    fresh
        What is in them is of no use: the first piece takes its place, and until then it stays.
    """

    def __init__(self, path: Path, descriptor: int, *, fresh: bool = False) -> None:
        self.path = path
        self.list_path = Path(f"{path}.json")
        self.fresh = fresh
        self._descriptor = descriptor
        self._saved_at = 0.0

    def sink(self, offset: int, data: bytes) -> None:
        """Store a piece.

        Raises
        ------
        FileAccessError
            The disk is full, or gone.
        """
        try:
            if self.fresh:
                self._empty()
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise FileAccessError(explain(self.path, "write", error)) from error

    def save(self, board: dict[str, Any], image: Image, now: float | None = None) -> None:
        """List what is there; with a time `now`, only if the last list is old."""
        if self.fresh:  # no piece has come
            return
        if now is not None:
            if now - self._saved_at < SAVE_EVERY_S:
                return
            self._saved_at = now
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise FileAccessError(explain(self.path, "write", error)) from error
        content = {
            "kprof": VERSION,
            "board": board,
            "bitmap": image.bitmap(),
            "crc": image.held_crc(),
        }
        write_text(self.list_path, json.dumps(content, indent=1) + "\n")

    def restore(self, board: dict[str, Any], image: Image) -> str:
        """Put what was kept into `image`; why nothing was, or an empty string."""
        problem = self._restore(board, image)
        self.fresh = bool(problem)
        return problem

    def _restore(self, board: dict[str, Any], image: Image) -> str:
        content, problem = _listed(self.list_path, board)
        if problem:
            return problem
        try:
            data = self.path.read_bytes()
        except OSError:
            return NOTHING_USABLE
        found = Image(image.records)
        found.restore(data.ljust(len(image.data), b"\0"), content["bitmap"])
        if found.held_crc() != content.get("crc"):
            return f"what was kept in {self.path} is damaged (other bytes than its list says)"
        for first, count in found.present():
            here = slice(first * RECORD_BYTES, (first + count) * RECORD_BYTES)
            image.put(first, bytes(found.data[here]))
        return ""

    def keep(self, data: bytes) -> None:
        """Keep bytes as they came, with no list: what cannot be gone on with.

        Raises
        ------
        FileAccessError
            The disk is full, or gone.
        """
        self.fresh = True
        self.sink(0, data)

    def remove(self) -> None:
        """The upload is done, or there is nothing to keep."""
        for path in (self.list_path, self.path):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _empty(self) -> None:
        self.list_path.unlink(missing_ok=True)
        os.ftruncate(self._descriptor, 0)
        self.fresh = False


def check_output(out: Path, *, resume: bool, force: bool, resumable: bool = True) -> None:
    """Refuse an output as `partial_files` would, before anything is opened or changed.

    Raises
    ------
    UsageError, FileAccessError
        See `partial_files`.
    """
    _check_name(out, force=force)
    descriptor = _opened(out, os.O_RDWR)
    if descriptor is not None:
        try:
            _claim(out, descriptor, begin=resume or force, resumable=resumable)
        finally:
            os.close(descriptor)
    _check_folder(out)


@contextlib.contextmanager
def partial_files(
    out: Path, *, resume: bool, force: bool, resumable: bool = True
) -> Iterator[Partial]:
    """Open the two files for an output, and hold them against a second upload to the same output.

    Parameters
    ----------
    resumable
        The transfer can go on with what is kept; where it cannot, `resume` is not advised.

    Raises
    ------
    UsageError
        The output exists and may not be replaced; an unfinished upload is there, and neither
        `resume` nor `force` says what to do; another upload writes it now.
    FileAccessError
        The folder cannot be written.
    TransferError
        Inside the block a `FileAccessError` came up: the disk is full, or gone.
    """
    check_output(out, resume=resume, force=force, resumable=resumable)
    descriptor, path = _opened(out, os.O_RDWR | os.O_CREAT), _part(out)
    if descriptor is None:
        raise _no_folder(out)
    try:
        _claim(out, descriptor, begin=resume or force, resumable=resumable)
        partial = Partial(path, descriptor, fresh=not resume)
        try:
            yield partial
        except KprofError as error:
            disk = isinstance(error, FileAccessError)
            kept = os.fstat(descriptor).st_size > 0
            kept = kept and (partial.fresh or partial.list_path.exists() or not disk)
            if not kept:
                partial.remove()
            if disk:
                kept = kept and not partial.fresh
                what = f"what arrived is kept in {path}"
                what += " (--resume goes on with it)" if resumable else ""
                raise TransferError(f"{error}; {what if kept else 'nothing is kept'}") from error
            raise
    finally:
        os.close(descriptor)


def check_usable(out: Path, board: dict[str, Any]) -> None:
    """Refuse to go on with a part that is of something else; with a damaged one, or none, one may.

    Raises
    ------
    UsageError
        Going on would replace it.
    """
    path = _part(out)
    try:
        there = path.stat().st_size > 0
    except OSError:
        there = False
    problem = _listed(Path(f"{path}.json"), board)[1] if there else ""
    if problem:
        raise UsageError(
            f"{path}: --resume cannot go on with it: {problem} (move it away to keep it; --force "
            "begins anew)"
        )


def _listed(path: Path, board: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """What the list at `path` says, and why it is of no use for `board`, or an empty string."""
    try:
        content = json.loads(path.read_text("utf-8"))
        bitmap, kept = content["bitmap"], content["board"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}, NOTHING_USABLE
    if content.get("kprof") != VERSION or not isinstance(bitmap, str):
        return {}, "what was kept is of another version of kprof"
    if kept != board:
        return {}, "what was kept is of another board or another run"
    return content, ""


def _check_name(out: Path, *, force: bool) -> None:
    try:
        if out.is_dir():
            raise FileAccessError(f"{out}: is a folder; expected the name of a file to write")
        if out.exists() and not out.is_file():
            raise FileAccessError(
                f"{out}: is a device or a pipe; expected the name of a file to write"
            )
    except OSError as error:
        raise FileAccessError(explain(out, "write", error)) from error
    spare_existing(out, force)


def _check_folder(out: Path) -> None:
    if not out.parent.is_dir():
        raise _no_folder(out)
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise FileAccessError(f"{out}: cannot write: permission denied (name another place for it)")


def _no_folder(out: Path) -> FileAccessError:
    return FileAccessError(
        f"{out}: cannot write: its folder is not there (make it, or name another place)"
    )


def _opened(out: Path, flags: int) -> int | None:
    """Open the part of `out`; None: it is not there."""
    path = _part(out)
    try:
        return os.open(path, flags | locks.FLAGS, 0o666)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileAccessError(explain(path, "write", error)) from error


def _claim(out: Path, descriptor: int, *, begin: bool, resumable: bool) -> None:
    """Lock the part of `out`, or refuse it; an empty one is left by a killed upload, and free.

    Parameters
    ----------
    begin
        Something may be in it.
    """
    path = _part(out)
    held = UsageError(f"{path}: another upload is writing it now (wait for it)")
    try:
        locks.lock(descriptor, wait=False)
    except OSError as error:
        raise held from error
    status = os.fstat(descriptor)
    if status.st_nlink == 0:  # the other one has removed it in this moment
        raise held
    if status.st_size > 0 and not begin:
        resuming = "--resume goes on with it, " if resumable else ""
        raise UsageError(f"{path}: an unfinished upload is there ({resuming}-f begins anew)")


def _part(out: Path) -> Path:
    return Path(f"{out}.part")
