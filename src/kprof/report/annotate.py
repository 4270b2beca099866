"""The source view: a source file with the calls, net and max of each function in the margin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kprof.analysis.summary import FunctionFigures, Summary
from kprof.errors import UsageError
from kprof.files import read_bytes
from kprof.names import Modifier, NameEntry, NameFile, display_name
from kprof.report.units import Units, percent, safe_name

_MOST_LINKED_BYTES = 1 << 19
_MOST_PLACED_BYTES = 1 << 22
_TITLES = ("# calls", "net us", "max us", "% net")


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
    from kprof.errors import KprofError

    try:
        return _definitions(path, read_bytes(path), names)
    except KprofError:
        return None


def source_places(
    names: NameFile, root: Path, most_bytes: int = _MOST_PLACED_BYTES
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


def source_links(names: NameFile, root: Path) -> dict[str, str]:
    """Addresses ``file:///path#LINE`` of functions by their shown names; quick, so few sources."""
    return {
        safe_name(name): f"{path.as_uri()}#{line}"
        for name, (path, line) in source_places(names, root, _MOST_LINKED_BYTES).items()
    }


def annotate(path: Path, names: NameFile, summary: Summary) -> Iterator[str]:
    """The lines of the source file with the figures of each function where it begins.

    Functions that begin on one line have a line each with their names, above it.

    Raises
    ------
    FileAccessError
        The file cannot be read.
    InstrumentError
        Its braces do not match.
    UsageError
        None of its functions is in the name file.
    """
    source = _definitions(path, read_bytes(path), names)
    if not source.definitions:
        raise UsageError(
            f"{path}: none of its functions is in the name file; expected a source that the "
            "captured code was built from"
        )
    units = Units(summary.info.clock_hz)
    figures = {row.entry.name: row for row in summary.functions}
    cells: dict[int, list[tuple[str, tuple[str, ...]]]] = {}
    for one in source.definitions:
        mine = _cells(figures.get(one.entry.name), units, summary)
        cells.setdefault(one.first, []).append((one.entry.name, mine))
    rows = [_TITLES, *(row for found in cells.values() for _, row in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    empty = "  ".join(" " * width for width in widths)

    def margin(row: tuple[str, ...]) -> str:
        return "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))

    lines = source.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    digits = len(str(len(lines)))
    yield f"{margin(_TITLES)}  {'':{digits}}  {display_name(str(path))}"
    for number, line in enumerate(lines, 1):
        found = cells.get(number, [])
        left = margin(found[0][1]) if len(found) == 1 else empty
        for name, row in found if len(found) > 1 else ():
            yield f"{margin(row)}  {'':{digits}}  {safe_name(name)}:"
        yield f"{left}  {number:{digits}}  {_shown(line)}".rstrip()


def _cells(
    row: FunctionFigures | None, units: Units, summary: Summary
) -> tuple[str, str, str, str]:
    if row is None:
        return "0", "-", "-", "-"
    share = percent(row.net, summary.ledger.run)
    return str(row.calls), units.text(row.net), units.text(row.max), f"{share:.2f}%"


def _definitions(path: Path, data: bytes, names: NameFile) -> SourceFile:
    from kprof.instrument.source import scan_source

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


def _shown(line: str) -> str:
    """A line as text for a terminal: tabs stay, other control characters are escaped."""
    return "\t".join(display_name(part) for part in line.split("\t"))
