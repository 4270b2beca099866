"""Reading a name file that others may be appending to."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from pathlib import Path

from kprof import locks
from kprof.errors import FileAccessError, NameFileError
from kprof.files import explain, no_text
from kprof.names.grammar import NameFile, parse_names

_BYTE_ORDER_MARK = "\ufeff"
FIRST_TAG = 1024
"""The first value of an empty file: below 0x400 lies the 68k's vector table, whose fetches on an
exception would fire triggers (design decision of kprof, the paper starts lower)."""


def read_names(path: Path | str) -> NameFile:
    """The name file at `path` (``-``: the standard input), without a torn last line.

    A last line without a line feed is torn, and left out (see `NameFile.torn`), where it is what
    an interrupted append would have left; a complete line that was written by hand is kept.

    Raises
    ------
    FileAccessError
        It cannot be read.
    NameFileError
        With every problem in it.
    """
    if str(path) == "-":
        return whole_lines(sys.stdin.buffer.read(), "standard input")[0]
    return whole_lines(read_shared(path), str(path))[0]


def read_shared(path: Path | str) -> bytes:
    """The bytes of a name file that others may be appending to.

    Raises
    ------
    FileAccessError
        It cannot be read.
    """
    try:
        with Path(path).open("rb") as stream:
            with contextlib.suppress(OSError):  # a file system without locks can still be read
                locks.lock(stream.fileno(), shared=True)
            return stream.read()
    except OSError as error:
        raise FileAccessError(explain(path, "read", error)) from error


def whole_lines(data: bytes, source: str, first_tag: int = FIRST_TAG) -> tuple[NameFile, int]:
    """The name file in these bytes, and how many of them to keep before an append."""
    if problem := no_text(data.rstrip(b"\0")):  # a crash leaves zeros past the last line
        raise NameFileError([f"{source}: {problem}; expected a name file, a name/value on a line"])
    end = data.rfind(b"\n") + 1
    names = _parse(data[:end], source)
    if end == len(data):
        return names, end
    torn = data[end:].decode("utf-8", "surrogateescape")
    if not _could_be_torn(names, torn, first_tag):
        return _parse(data, source), len(data)
    return replace(names, torn=torn), end


def _parse(data: bytes, source: str) -> NameFile:
    """The name file of these bytes; a byte order mark is a part of its text and means nothing."""
    text = data.decode("utf-8", "surrogateescape")
    if not text.startswith(_BYTE_ORDER_MARK):
        return parse_names(text, source)
    return replace(parse_names(text[1:], source), text=text)


def _could_be_torn(names: NameFile, line: str, first_tag: int) -> bool:
    """Is this last line what a killed append leaves, rather than a line written by hand?

    A killed append leaves a part of a line. As an entry that reads well, it would be the next
    name with the first digits of the next value.
    """
    text = line.strip(" \t\r")
    if not text or text.startswith("#"):
        return text.startswith("#@") or "\0" in text
    try:
        entries = parse_names(line).entries
    except NameFileError:
        return True
    value = str(entries[0].value)
    expected = str(names.next_value(first_tag))
    return value != expected and expected.startswith(value)
