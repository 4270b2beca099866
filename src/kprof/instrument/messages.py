"""The compiler's messages on a unit with triggers, as it would give them on the source.

Line markers keep the lines. Columns are another matter: the preprocessor makes one blank of many,
and of a comment. `source_columns` puts the source's own lines back into the preprocessed text where
nothing but that has changed, so that the compiler names the right columns. `are_the_sources` says
whether a compiler's messages are those that it has for the source. They are if each place that they
name stands in a line of the source as it was written, before any macro or trigger in it, and none
comes out of the optimiser, to which triggers make a difference. Otherwise the source itself has to
be compiled for its messages.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kprof.instrument.shadow import decode, native

_MARKER = re.compile(r'^#(?: |line )(\d+) "((?:[^"\\\n]|\\.)*)"([ 0-9]*)\n', re.M)
_COMMENT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.S)
_COLOURS = re.compile(r"\x1b\[[0-9;]*[mK]")
_PLACE = re.compile(r"(?:^|(?<=\s))([^\s:][^:\n]*):(\d+):(?:(\d+):)?(?=\s|($))")
_SHOWN = re.compile(r"^ *(\d+) \|")
_MARKS = re.compile(r"^ *\| ([ ~^]*[~^])$")
_OPTION = re.compile(r"\[-W(?:error=)?([\w+-]+)[^\]\n]*\]$")

# What the optimiser finds; whether it does depends on what is inlined and kept apart.
_OF_THE_OPTIMISER = (
    *("maybe-uninitialized", "uninitialized", "array-bounds", "stringop", "format-overflow"),
    *("format-truncation", "restrict", "null-dereference", "nonnull", "clobbered", "strict-"),
    *("aggressive-loop", "dangling-pointer", "use-after-free", "free-nonheap", "mismatched-"),
    *("return-local-addr", "infinite-recursion", "alloc", "inline", "suggest-", "frame-larger"),
    *("stack-usage", "analyzer", "disabled-optimization", "vector-operation", "attribute-warning"),
    *(
        "larger-than",
        "pass-failed",
        "vla-larger",
        "uninit",
        "sometimes-uninit",
        "conditional-uninit",
    ),
)


def source_columns(text: str) -> str:
    """A preprocessed text with the lines of its main file as they stand there.

    A line that differs from the source's by blanks and comments alone is replaced by that, its
    comments blank.
    """
    main = _MARKER.search(text)
    lines = _Lines(main[2] if main else "")
    if main is None or not lines.raw:
        return text
    parts: list[str] = []
    last = 0
    for start, end, file, number in _segments(text):
        if file != main[2]:
            continue
        found = text[start:end].split("\n")
        there = lines.blanked[number - 1 : number - 1 + len(found)]
        raw = lines.raw[number - 1 : number - 1 + len(found)]
        for index, (line, blanked, written) in enumerate(zip(found, there, raw, strict=False)):
            if line == blanked or not line or line[0] == "#":  # a pragma begins its line
                continue
            words = line.split()
            if words == blanked.split():
                found[index] = blanked
            elif words == written.split():
                found[index] = written  # the preprocessor was asked to keep comments
        parts += [text[last:start], "\n".join(found)]
        last = end
    parts.append(text[last:])
    return "".join(parts)


def are_the_sources(said: str, text: str, *, shows_text: bool) -> bool:
    """Are these messages of a compiler, on the `text` with triggers, those for the source?

    Parameters
    ----------
    said
        The messages.
    shows_text
        The compiler quotes the text that it compiles (clang), not the source that the markers name
        (GCC).
    """
    places: set[_Place] = set()
    file, line = "", 0
    for text_line in _COLOURS.sub("", said).splitlines():
        option = _OPTION.search(text_line)
        if option and option[1].startswith(_OF_THE_OPTIMISER):
            return False
        if shown := _SHOWN.match(text_line):
            line = int(shown[1])
            places.add(_Place(file, line))
        elif marks := _MARKS.match(text_line):
            places.add(_Place(file, line, marked=len(marks[1])))
        else:
            for place in _PLACE.finditer(text_line):
                file = place[1]
                if place[3] or place[4] is None:  # else it is where a header was included
                    places.add(_Place(file, int(place[2]), int(place[3] or 0)))
    return bool(places) and _stand_as_written(text, places, shows_text)


@dataclass(frozen=True)
class _Place:
    """A line that a message names or quotes, the byte column, and how far marks under it reach."""

    file: str
    line: int
    column: int = 0
    marked: int = 0


def _stand_as_written(text: str, places: set[_Place], shows_text: bool) -> bool:
    files = {file: _Lines(file) for file in {place.file for place in places}}
    segments: dict[str, list[tuple[int, int, int]]] = {file: [] for file in files}
    for start, end, file, number in _segments(text):
        if file in segments:
            segments[file].append((start, end, number))
    wanted: dict[str, set[int]] = {}
    for place in places:
        wanted.setdefault(place.file, set()).add(place.line)
    pieces = {file: _pieces(text, segments[file], lines) for file, lines in wanted.items()}
    return all(
        files[place.file].has(place, pieces[place.file][place.line], shows_text) for place in places
    )


class _Lines:
    """The lines of a source, as they are and with their comments blank; none if it is not there."""

    def __init__(self, path: str) -> None:
        try:
            text = decode(Path(native(re.sub(r"\\(.)", r"\1", path))).read_bytes())
        except OSError:
            text = ""
        self.raw = text.split("\n") if text else []
        self.blanked = _COMMENT.sub(_blank, text).split("\n") if "/" in text else self.raw

    def has(self, place: _Place, pieces: list[str], shows_text: bool) -> bool:
        """Is what the text has of this line what the source has, as far as a message goes by it?"""
        if not 0 < place.line <= len(self.raw) or len(pieces) != 1:
            return False
        piece, raw = pieces[0].rstrip(), self.raw[place.line - 1].rstrip()
        blanked = self.blanked[place.line - 1].rstrip()
        if piece == raw or (piece == blanked and not shows_text):
            return True
        same = os.path.commonprefix([piece, blanked])  # noqa: RUF071 - characters, not a path
        if shows_text or not same.isascii():
            return False
        return place.column <= len(same) and place.marked <= len(same.expandtabs())


def _blank(match: re.Match[str]) -> str:
    text = match[0]
    if text[0] != "/":
        return text
    return re.sub(r"[^\n]", " ", text)


def _segments(text: str) -> Iterator[tuple[int, int, str, int]]:
    """Start and end of what stands between two line markers, its file, and its first line.

    Without what a system header has, or is marked as such, as the triggers' functions are.
    """
    start, file, number = 0, "", 1
    for marker in _MARKER.finditer(text):
        if file:
            yield start, max(start, marker.start() - 1), file, number
        start, number = marker.end(), int(marker[1])
        file = "" if "3" in marker[3] else marker[2]
    if file:
        yield start, len(text), file, number


def _pieces(
    text: str, segments: list[tuple[int, int, int]], wanted: set[int]
) -> dict[int, list[str]]:
    """The wanted lines of a file, each with all that is not blank of it in the text."""
    found: dict[int, list[str]] = {line: [] for line in wanted}
    ordered = sorted(wanted)
    for start, end, number in segments:
        length = text.count("\n", start, end) + 1
        first, last = (bisect_right(ordered, at - 1) for at in (number, number + length))
        if first == last:
            continue
        lines = text[start:end].split("\n")
        for line in ordered[first:last]:
            if lines[line - number].strip():
                found[line].append(lines[line - number])
    return found
