"""Columns that a format wants one after another, kept on disk until all are complete."""

from __future__ import annotations

import shutil
import tempfile
from types import TracebackType
from typing import BinaryIO, cast

_IN_MEMORY = 1 << 16  # bytes of a column from which it goes to a file


class Column:
    """Items of a JSON array, written as they come."""

    def __init__(self) -> None:
        self._file = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115
        self._any = False

    def extend(self, items: list[str]) -> None:
        """Append items, each the text of a JSON value."""
        if items:
            text = ",".join(items)
            self._file.write(("," + text if self._any else text).encode("ascii"))
            self._any = True

    def copy_to(self, out: BinaryIO) -> None:
        """Write the array, brackets included."""
        out.write(b"[")
        self._file.seek(0)
        shutil.copyfileobj(self._file, out, 1 << 20)
        out.write(b"]")

    def __enter__(self) -> Column:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
