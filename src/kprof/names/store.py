"""The name file on disk, shared by compilations that run at once.

A writer locks the file itself (flock), reads it again, and appends all its lines in one write; a
value is promised to the caller after that write is on the disk. The file is never renamed, so a
waiting writer waits on the right file. A writer that is killed leaves at most one torn last line,
which was promised to nobody: it is dropped when the file is read, and cut off before the next
append. Locks are the operating system's: they need a file system that has them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kprof import locks
from kprof.errors import FileAccessError, NameFileError, UsageError
from kprof.files import explain, is_at, no_text, write_bytes
from kprof.names.grammar import (
    MAX_TAG,
    Modifier,
    NameEntry,
    NameFile,
    check_name,
    display_name,
)
from kprof.names.index import NameIndex
from kprof.names.reading import FIRST_TAG, read_names, read_shared, whole_lines

_VALUE = re.compile("[0-9]+")


@dataclass(frozen=True)
class Function:
    """A function that wants a tag.

    Attributes
    ----------
    name
        Its name in C.
    source
        The file that defines it, as the current folder sees it.
    static
        It is static: another file's function of this name is another function.
    """

    name: str
    source: str = ""
    static: bool = False


def allocate(
    path: Path | str,
    names: Iterable[str],
    *,
    first_tag: int = FIRST_TAG,
    modifier: Modifier = Modifier.FUNCTION,
) -> dict[str, NameEntry]:
    """The entries of these names, appending those that the file lacks; safe across processes.

    Parameters
    ----------
    path
        The name file; made where it is missing.
    names
        Names as they stand in the file.
    first_tag
        The first value where the file has none in use; even, 2..65534.
    modifier
        Of the entries that are appended.

    Raises
    ------
    NameFileError
        The file has problems, a name cannot be written, or no values are left.
    FileAccessError
        The file cannot be read or written; it is as it was.
    """
    wanted = [Function(name) for name in dict.fromkeys(names)]
    found = _allocate(Path(path), wanted, first_tag, modifier)
    return {function.name: entry for function, entry in found.items()}


def allocate_functions(
    path: Path | str, functions: Iterable[Function], *, first_tag: int = FIRST_TAG
) -> dict[Function, NameEntry]:
    """The entries of these functions, with static functions of one name kept apart.

    A static function whose name another file has is entered as ``file.c:name``, with as much of
    the folder as tells it apart. Parameters and errors are those of `allocate`.
    """
    return _allocate(Path(path), list(dict.fromkeys(functions)), first_tag, Modifier.FUNCTION)


def start_names(path: Path | str, first: int = FIRST_TAG, last: int = MAX_TAG) -> None:
    """Make an empty name file whose functions get the tags from `first` to `last`.

    Raises
    ------
    UsageError
        It already exists, or these are no such tags.
    FileAccessError
        It cannot be written.
    """
    if first % 2 or not 2 <= first < last <= MAX_TAG:
        raise UsageError(
            f"the tags are to be {first} to {last}; expected an even first one, at least 2, below "
            f"the last, which is at most {MAX_TAG}"
        )
    try:
        with Path(path).open("x") as stream:
            stream.write(f"#@tags {first} {last}\n")
    except FileExistsError:
        raise UsageError(f"{path}: already exists; remove it, or name another file") from None
    except OSError as error:
        raise FileAccessError(explain(path, "write", error)) from error


def _allocate(
    path: Path, wanted: Sequence[Function], first_tag: int, modifier: Modifier
) -> dict[Function, NameEntry]:
    if str(path) == "-":
        raise UsageError("-: a name file is read and appended to; expected the name of a file")
    if first_tag % 2 or not 2 <= first_tag < MAX_TAG:
        raise UsageError(
            f"the first tag is {first_tag}; expected an even number from 2 to {MAX_TAG - 1}"
        )
    problems = [f"{path}: {why}" for f in wanted if (why := check_name(f.name))]
    if problems:
        raise NameFileError(problems)
    with contextlib.suppress(FileAccessError):
        # Most compilations find all their names: no exclusive lock, and a read-only file will do.
        plan = _Plan(_read(path), path, first_tag, modifier)
        found = {function: plan.resolve(function) for function in wanted}
        if not plan.appended:
            return found
    try:
        with locked(path) as descriptor:
            names, keep = _known(_read_all(descriptor), str(path), first_tag)
            plan = _Plan(names, path, first_tag, modifier)
            found = {function: plan.resolve(function) for function in wanted}
            if plan.appended:
                _append(descriptor, keep, plan.block(names.text))
        return found
    except OSError as error:
        raise FileAccessError(explain(path, "write", error)) from error


def silence(path: Path | str, names: Iterable[str], output: Path | str | None = None) -> None:
    """Give these functions value 0, which is no trigger, and leave all else as it is.

    Parameters
    ----------
    output
        The file to write; None: `path` itself, safe across processes.

    Raises
    ------
    NameFileError, FileAccessError
        The file is as it was.
    """
    quiet = frozenset(names)
    if output is not None:
        _write_text(output, _silenced(read_names(path).text, quiet))
        return
    try:
        with locked(Path(path)) as descriptor:
            text = whole_lines(_read_all(descriptor), str(path))[0].text
            if quiet:
                _write_text(path, _silenced(text, quiet))
    except OSError as error:
        raise FileAccessError(explain(path, "write", error)) from error


def _silenced(text: str, names: frozenset[str]) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        name, slash, rest = line.rpartition("/")
        if slash and not line.lstrip(" \t").startswith("#") and name.strip(" \t") in names:
            lines[number] = name + slash + _VALUE.sub("0", rest, count=1)
    return "\n".join(lines)


def _write_text(path: Path | str, text: str) -> None:
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def _read(path: Path) -> NameFile | NameIndex:
    """The name file as it is, which others may be appending to."""
    return _known(read_shared(path), str(path))[0]


def _known(
    data: bytes, source: str, first_tag: int = FIRST_TAG
) -> tuple[NameFile | NameIndex, int]:
    """What is in these bytes of a name file, and how many of them to keep before an append."""
    if data.endswith(b"\n") and not no_text(data):
        index = NameIndex.of(data.decode("utf-8", "surrogateescape"))
        if index is not None:
            return index, len(data)
    return whole_lines(data, source, first_tag)


class _Plan:
    """What to append to one reading of the file so that every function has its entry."""

    def __init__(
        self, names: NameFile | NameIndex, path: Path, first_tag: int, modifier: Modifier
    ) -> None:
        self.appended: list[NameEntry | str] = []
        self._path, self._modifier = path, modifier
        self._names = names
        self._new: dict[str, NameEntry] = {}
        self._sources: dict[str, str] = {}
        self._next = names.next_value(first_tag)
        self._last = names.last_tag

    def resolve(self, function: Function) -> NameEntry:
        source = self._relative(function.source)
        candidates = list(_candidates(function.name, source))
        for name in reversed(candidates):
            entry = self._get(name)
            if entry is not None and _is_that(entry, function, source):
                unowned = function.static and source and not entry.source
                return self._claim(entry, source) if unowned else entry
        for name in candidates:
            if self._get(name) is None:
                return self._add(name, source, function.static)
        raise NameFileError(
            [
                f"{self._path}: every name for {display_name(function.name)} of "
                f"{display_name(source)} is another function's (remove one from the file)"
            ]
        )

    def _get(self, name: str) -> NameEntry | None:
        return self._new.get(name) or self._names.get(name)

    def block(self, text: str) -> bytes:
        """The lines to append to a file that holds `text`."""
        lines: list[str] = []
        origin: tuple[str, bool] | None = None
        for item in self.appended:
            if isinstance(item, str):
                lines.append(item)
                continue
            if (item.source, item.static) != origin:
                # Without a source, a directive is needed only to end one that is in force.
                if item.source:
                    lines.append(f"#@{'static' if item.static else ''} {item.source}")
                elif origin is not None or "#@" in text:
                    lines.append("#@")
                origin = (item.source, item.static)
            lines.append(item.line())
        start = "\n" if text and not text.endswith("\n") else ""
        return (start + "".join(f"{line}\n" for line in lines)).encode("utf-8", "surrogateescape")

    def _add(self, name: str, source: str, static: bool) -> NameEntry:
        if self._next > self._last - 1:
            raise NameFileError(
                [
                    f"{self._path}: no value is left for {display_name(name)}; expected a highest "
                    f"value below {self._last - 2} (remove names, or give high ones lower values)"
                ]
            )
        entry = NameEntry(name, self._next, self._modifier, source, static)
        self._next += 2
        self._new[name] = entry
        self.appended.append(entry)
        return entry

    def _claim(self, entry: NameEntry, source: str) -> NameEntry:
        if entry.value == 0:  # "no trigger for this name" holds for every file
            return entry
        self.appended.append(f"#@own {entry.name}\t{source}")
        owned = NameEntry(entry.name, entry.value, entry.modifier, source, True)
        self._new[entry.name] = owned
        return owned

    def _relative(self, source: str) -> str:
        if not source:
            return ""
        if source not in self._sources:
            self._sources[source] = file_of_names(source, self._path)
        return self._sources[source]


def file_of_names(source: str, names: Path | str) -> str:
    """A source file, as the current folder sees it, the way the name file `names` writes it."""
    folder = os.path.dirname(os.path.abspath(names))  # noqa: PTH100, PTH120 - follows no links
    shown = os.path.relpath(os.path.abspath(source), folder)  # noqa: PTH100
    return "".join("?" if char in "\r\n\t" else char for char in shown).strip()


def _candidates(name: str, source: str) -> Iterator[str]:
    yield name
    parts = [part for part in source.split("/") if part]
    for length in range(1, len(parts) + 1):
        yield f"{'/'.join(parts[-length:])}:{name}".lstrip("# \t")


def _is_that(entry: NameEntry, function: Function, source: str) -> bool:
    if not source or not entry.source:
        return True
    if entry.static or function.static:
        return entry.source == source
    return True


@contextlib.contextmanager
def locked(path: Path, *, replaced: bool = False) -> Iterator[int]:
    """The file open for reading and appending, and locked; on the disk when the block has ended.

    It is made where it is missing. With `replaced` the block may rename another file over it: who
    waits for the lock then locks that one. Where an open file cannot be replaced, a file beside it
    is locked instead.
    """
    if replaced and not locks.RENAMES:
        path = path.with_name(f".{path.name}.lock")
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | locks.FLAGS, 0o666)
        try:
            locks.lock(descriptor)
            if not is_at(descriptor, path):  # an editor put a new file there while this waited
                continue
            yield descriptor
            locks.unlock(descriptor)
            os.fsync(descriptor)
            return
        finally:
            os.close(descriptor)


def _read_all(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _append(descriptor: int, keep: int, block: bytes) -> None:
    os.ftruncate(descriptor, keep)
    try:
        if os.write(descriptor, block) != len(block):
            raise OSError(28, "no space left on device")
    except OSError:
        os.ftruncate(descriptor, keep)
        raise
