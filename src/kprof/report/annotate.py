"""The source view: a source file with the calls, net and max of each function in the margin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kprof.analysis.summary import FunctionFigures, Summary
from kprof.errors import UsageError
from kprof.instrument.definitions import Definition, SourceFile, read_definitions, source_places
from kprof.names import Modifier, NameEntry, NameFile, display_name
from kprof.names.calls import CallKnowledge
from kprof.report.style import PLAIN, Style
from kprof.report.units import Units, percent, safe_name

_MOST_LINKED_BYTES = 1 << 19
_TITLES = ("# calls", "net us", "max us", "% net")


def source_links(names: NameFile, root: Path) -> dict[str, str]:
    """Addresses ``file:///path#LINE`` of functions by their shown names; quick, so few sources."""
    return {
        safe_name(name): f"{path.as_uri()}#{line}"
        for name, (path, line) in source_places(names, root, _MOST_LINKED_BYTES).items()
    }


def annotate(
    path: Path,
    names: NameFile,
    summary: Summary,
    known: CallKnowledge | None = None,
    style: Style = PLAIN,
) -> Iterator[str]:
    """The lines of the source file with the figures of each function where it begins.

    Functions that begin on one line have a line each with their names, above it. A function whose
    head a macro makes begins where the call knowledge `known` places it. The functions that the
    name file places in this file and that are found in neither way follow the source.

    Raises
    ------
    FileAccessError
        The file cannot be read.
    InstrumentError
        Its braces do not match.
    UsageError
        None of its functions is in the name file.
    """
    source = read_definitions(path, names)
    placed, missing = _unseen(source, names, known)
    if not (source.definitions or placed or missing):
        raise UsageError(
            f"{path}: none of its functions is in the name file; expected a source that the "
            "captured code was built from"
        )
    units = Units(summary.info.clock_hz)
    figures = {row.entry.name: row for row in summary.functions}
    cells: dict[int, list[tuple[str, tuple[str, ...]]]] = {}
    for one in (*source.definitions, *placed):
        mine = _cells(figures.get(one.entry.name), units, summary)
        cells.setdefault(one.first, []).append((one.entry.name, mine))
    rest = [(entry.name, _cells(figures.get(entry.name), units, summary)) for entry in missing]
    all_rows = [*(row for found in cells.values() for row in found), *rest]
    rows = [_TITLES, *(row for _, row in all_rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    empty = "  ".join(" " * width for width in widths)

    def margin(row: tuple[str, ...], name: str = "") -> str:
        text = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        net = figures[name].net if name in figures else 0
        return style.share(text, net, summary.ledger.run)

    lines = source.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    digits = len(str(len(lines)))
    yield style.title(f"{margin(_TITLES)}  {'':{digits}}  {display_name(str(path))}")
    for number, line in enumerate(lines, 1):
        found = cells.get(number, [])
        left = margin(found[0][1], found[0][0]) if len(found) == 1 else empty
        for name, row in found if len(found) > 1 else ():
            yield f"{margin(row, name)}  {'':{digits}}  {style.name(safe_name(name))}:"
        yield f"{left}  {style.dim(f'{number:{digits}}')}  {_shown(line)}".rstrip()
    if rest:
        yield f"{empty}  {'':{digits}}  functions of this file that its text does not show:"
    for name, row in rest:
        yield f"{margin(row, name)}  {'':{digits}}  {style.name(safe_name(name))}"


def _unseen(
    source: SourceFile, names: NameFile, known: CallKnowledge | None
) -> tuple[list[Definition], list[NameEntry]]:
    """Functions of a file that its text does not show: those whose line is known, and the rest."""
    seen = {one.entry.name for one in source.definitions}
    lines = source.text.count("\n") + 1
    placed: list[Definition] = []
    missing: list[NameEntry] = []
    for entry in names.entries:
        mine = entry.source and Path(entry.source).name == source.path.name
        if not mine or entry.modifier is Modifier.INLINE or entry.name in seen or not entry.value:
            continue
        facts = known.functions.get(entry.name) if known else None
        if facts and 0 < facts.line <= lines and Path(facts.file).name == source.path.name:
            placed.append(Definition(entry, facts.line, facts.line))
        else:
            missing.append(entry)
    return placed, missing


def _cells(
    row: FunctionFigures | None, units: Units, summary: Summary
) -> tuple[str, str, str, str]:
    if row is None:
        return "0", "-", "-", "-"
    share = percent(row.net, summary.ledger.run)
    return str(row.calls), units.text(row.net), units.text(row.max), f"{share:.2f}%"


def _shown(line: str) -> str:
    """A line as text for a terminal: tabs stay, other control characters are escaped."""
    return "\t".join(display_name(part) for part in line.split("\t"))
