"""A preprocessed unit: its functions, where each was written, and the triggers put into it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from kprof.instrument.declarations import Declarations
from kprof.instrument.edits import Edit, apply_edits
from kprof.instrument.facts import function_facts, scope_facts
from kprof.instrument.functions import Function, find_functions, nested_in
from kprof.instrument.heads import parse_head
from kprof.instrument.reading import Memory, NoTree, Reading, disagreement, read_functions
from kprof.instrument.shadow import Shadow, native, shadow_of
from kprof.instrument.strategy import CannotPlant, function_edits, prologue
from kprof.instrument.targets import Target
from kprof.names.calls import FunctionFacts
from kprof.names.store import file_of_names

_MARKER = re.compile(r'#(?:[ \t]*line)?[ \t]*(\d+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)"([ \t0-9]*))?')
_PLANTED = re.compile(r"__cleanup__\s*\(\s*kprof_x\d+\s*\)|\bkprof_t\b\s*[);(]")
_DECLARING = ("no_instrument_function", "naked", "oreturn")


@dataclass(frozen=True)
class Place:
    """Where a piece of a unit was written."""

    file: str
    line: int
    system: bool


class LineMap:
    """The line markers of a preprocessed text.

    Attributes
    ----------
    main
        The file of the first marker, escapes as they stand.
    """

    def __init__(self, shadow: Shadow) -> None:
        self._text = shadow.joined
        self._offsets: list[int] = []
        self._marks: list[tuple[str, int, str]] = []
        self._names: dict[str, str] = {}
        self.main = ""
        file = ""
        for start, end in shadow.directives:
            match = _MARKER.match(self._text, start, end)
            if match is not None:
                file = match[2] if match[2] is not None else file
                self.main = self.main or file
                self._offsets.append(end + 1)
                self._marks.append((file, int(match[1]), match[3] or ""))

    def place(self, offset: int) -> Place:
        """The file and line of the text at `offset`; file "" before the first marker."""
        file, line, flags, start = self._mark(offset)
        if file not in self._names:
            self._names[file] = native(re.sub(r"\\(.)", r"\1", file))
        return Place(
            self._names[file],
            line + self._text.count("\n", start, offset),
            "3" in flags.split(),
        )

    def files(self) -> set[str]:
        """The files that the text was made of, as the preprocessor names them."""
        names = {file for file, _, _ in self._marks if not file.startswith("<")}
        return {native(re.sub(r"\\(.)", r"\1", file)) for file in names if file}

    def marker(self, offset: int) -> str:
        """The marker that says again where the text at `offset` was written."""
        file, line, flags, start = self._mark(offset)
        line += self._text.count("\n", start, offset)
        kept = " ".join(flag for flag in flags.split() if flag in "34")
        return f'# {line} "{file}" {kept}'.rstrip()

    def _mark(self, offset: int) -> tuple[str, int, str, int]:
        index = bisect_right(self._offsets, offset) - 1
        return (*self._marks[index], self._offsets[index]) if index >= 0 else ("", 1, "", 0)


@dataclass(frozen=True)
class Unit:
    """The functions of a preprocessed unit.

    Attributes
    ----------
    functions
        All that stand outside of system headers, by the offset of their ``{``.
    places
        Where the name of each was written.
    declared
        Attributes on declarations that matter to their functions, by function name.
    declarations
        What is declared at file scope, system headers included.
    planted
        It has triggers already.
    """

    shadow: Shadow
    lines: LineMap
    functions: Mapping[int, Function]
    places: Mapping[int, Place]
    declared: Mapping[str, frozenset[str]]
    declarations: Declarations
    planted: bool

    def read(self, memory: Memory | None) -> dict[int, Reading | NoTree]:
        """What the parser says of each function."""
        types = self.declarations.types
        return read_functions(self.shadow.code, self.functions.values(), types, memory)

    def disagreement(self, function: Function, reading: Reading | NoTree) -> str:
        """What the parser sees otherwise than the rules that found the function, or ""."""
        if isinstance(reading, NoTree):
            return ""
        inner = nested_in(function, self.nested)
        return disagreement(self.shadow.code, function, inner, reading)

    @cached_property
    def nested(self) -> list[Function]:
        """The functions that stand in others."""
        return [function for function in self.functions.values() if function.outer is not None]

    def facts(
        self,
        readings: Mapping[int, Reading | NoTree],
        keys: Mapping[int, str],
        path: str,
        names: Path | str,
    ) -> list[FunctionFacts]:
        """Who can call whom, for the call knowledge beside the name file `names`.

        Parameters
        ----------
        keys
            The names that functions have in the name file, by their ``{``; the others have none.
        path
            The source that the unit was made of.
        """

        def key(function: Function) -> str:
            name = keys.get(function.brace)
            if name is None and (function.head.static or function.outer):
                return f"{file_of_names(self.places[function.brace].file, names)}:{function.name}"
            return name or function.name

        noreturn = {name for name, words in self.declared.items() if "noreturn" in words}
        facts = function_facts(
            self.shadow.code,
            self.functions,
            readings,
            self.declarations,
            key=key,
            place=self.place,
            noreturn=noreturn,
        )
        return [*scope_facts(self.declarations, self.functions.values(), key, path), *facts]

    def place(self, function: Function) -> tuple[str, int]:
        """The file and line that a function was written in."""
        place = self.places[function.brace]
        return place.file, place.line


def scan_unit(raw: str) -> Unit:
    """Find the functions of a preprocessed text.

    Raises
    ------
    Unbalanced
        Its braces do not match: no compiler takes it.
    """
    shadow = shadow_of(raw)
    lines = LineMap(shadow)
    functions: dict[int, Function] = {}
    places: dict[int, Place] = {}
    everything = find_functions(shadow.code, expanded=True)
    declarations = Declarations(shadow.code, everything)
    statics = declarations.statics()
    for function in everything:
        if function.head.name in statics and not function.head.static and not function.outer:
            function = replace(function, head=replace(function.head, static=True))
        place = lines.place(function.head.offset)
        if not place.system:
            functions[function.brace] = function
            places[function.brace] = place
    planted = "kprof_" in raw and _PLANTED.search(shadow.code) is not None
    return Unit(shadow, lines, functions, places, _declared(shadow.code), declarations, planted)


def plant_unit(
    unit: Unit, tags: Mapping[int, int], target: Target
) -> tuple[str, list[tuple[Function, str]]]:
    """The text with triggers, and the functions that could not have theirs, with the reason.

    Parameters
    ----------
    tags
        Entry tags by the offset of the function's ``{``.
    """
    edits: list[Edit] = []
    planted: set[int] = set()
    failed: list[tuple[Function, str]] = []
    for brace, tag in tags.items():
        function = unit.functions[brace]
        inner = nested_in(function, unit.nested)
        try:
            edits += function_edits(unit.shadow, function, inner, tag, target)
            planted.add(tag)
        except CannotPlant as error:
            failed.append((function, str(error)))
    if not planted:
        return unit.shadow.raw, failed
    text = prologue(target, sorted(planted))
    if text:
        first = min(_first_token(unit, brace) for brace in tags)
        back = unit.lines.marker(first)
        file = unit.lines.main or "kprof"
        at = unit.shadow.place(first, before=False)
        indent = unit.shadow.raw[unit.shadow.raw.rfind("\n", 0, at) + 1 : at]
        column = indent if indent.isspace() else ""
        edits.append(Edit(at - len(column), 0, f'\n# 1 "{file}" 3\n{text}\n{back}\n'))
    return apply_edits(unit.shadow.raw, edits, marked=False), failed


def _first_token(unit: Unit, brace: int) -> int:
    head = unit.shadow.code[unit.functions[brace].start : brace]
    return brace - len(head.lstrip())


def _declared(code: str) -> dict[str, frozenset[str]]:
    """The functions that are declared, apart from their definition, with such an attribute."""
    found: dict[str, frozenset[str]] = {}
    for word in _DECLARING:
        at = code.find(word)
        while at >= 0:
            start = 1 + max(code.rfind(stop, 0, at) for stop in ";{}")
            end = _next(code, at, ";{")
            if end < len(code) and code[end] == ";":
                head = parse_head(code, start, end, expanded=True)
                if head is not None:
                    found[head.name] = found.get(head.name, frozenset()) | head.words
            at = code.find(word, end)
    return found


def _next(code: str, start: int, stops: Iterable[str]) -> int:
    return min((at for stop in stops if (at := code.find(stop, start)) >= 0), default=len(code))
