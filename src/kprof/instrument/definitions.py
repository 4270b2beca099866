"""Where functions are defined: the definitions in a source file that a name file knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kprof.errors import KprofError
from kprof.files import read_bytes
from kprof.instrument.source import scan_source
from kprof.names import Modifier, NameEntry, NameFile

_MOST_BYTES = 1 << 22


@dataclass(frozen=True)
class Definition:
    """A function of a source file: its entry in the name file, its first and last line."""

    entry: NameEntry
    first: int
    last: int


@dataclass(frozen=True)
class SourceFile:
    """A source text and the functions in it that the name file knows."""

    path: Path
    text: str
    definitions: tuple[Definition, ...]


def definitions(path: Path, names: NameFile) -> SourceFile | None:
    """Read a source file and find its functions; None where that fails.

    A function is the entry of its name whose source this file is, else the entry of the plain
    name. Bytes that are not UTF-8 are taken as Latin-1.
    """
    try:
        return read_definitions(path, names)
    except KprofError:
        return None


def source_places(
    names: NameFile, root: Path, most_bytes: int = _MOST_BYTES
) -> dict[str, tuple[Path, int]]:
    """File and line of the functions whose sources lie under `root`, by name.

    Of sources past the first `most_bytes` the line is 1: they are not read.
    """
    places: dict[str, tuple[Path, int]] = {}
    of_source: dict[str, list[NameEntry]] = {}
    for entry in names.entries:
        if entry.source and entry.modifier is not Modifier.INLINE:
            of_source.setdefault(entry.source, []).append(entry)
    size = 0
    for source, entries in sorted(of_source.items()):
        path = (root / source).resolve()
        if not path.is_file():
            continue
        size += path.stat().st_size
        known = definitions(path, names) if size <= most_bytes else None
        lines = {d.entry.name: d.first for d in known.definitions} if known else {}
        places.update({entry.name: (path, lines.get(entry.name, 1)) for entry in entries})
    return places


def read_definitions(path: Path, names: NameFile) -> SourceFile:
    """As `definitions`, with the reason where it fails.

    Raises
    ------
    FileAccessError
        The file cannot be read.
    InstrumentError
        Its braces do not match.
    """
    data = read_bytes(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n")
    scan = scan_source(text, str(path))
    entries: dict[str, list[NameEntry]] = {}
    for entry in names.entries:
        if entry.modifier is not Modifier.INLINE:
            entries.setdefault(entry.name.rpartition(":")[2], []).append(entry)
    found: dict[str, Definition] = {}
    for _, functions in scan.ways:
        for function in functions:
            mine = _entry(function.name, path, entries)
            if mine is not None:
                last = text.count("\n", 0, scan.shadow.place(function.end, before=True)) + 1
                found.setdefault(mine.name, Definition(mine, scan.line(function), last))
    return SourceFile(path, text, tuple(sorted(found.values(), key=lambda d: d.first)))


def _entry(name: str, path: Path, entries: dict[str, list[NameEntry]]) -> NameEntry | None:
    """The entry of a function of this file: one whose source it is, else one of no known source."""
    found = entries.get(name, [])
    mine = [e for e in found if e.source and Path(e.source).name == path.name]
    return next(iter(mine or [e for e in found if not e.source]), None)
