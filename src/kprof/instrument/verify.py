"""What a compiler makes of a source text, held against what was found in it.

The text is preprocessed with marks behind each ``{`` and before each ``}`` that was taken for a
function's, and before each ``return``. In the result, where macros are gone, the marks are taken
out again and the parser reads the functions: one whose ``{`` had a mark behind it is the function
of that ``{`` in the source, with its true name, storage class and attributes; one without came out
of a macro; a mark anywhere else was no function's. What this configuration leaves out is read as it
stands.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kprof.instrument.branches import Branches
from kprof.instrument.declarations import Declarations
from kprof.instrument.edits import Edit, apply_edits
from kprof.instrument.facts import function_facts, scope_facts
from kprof.instrument.functions import Function, Unbalanced, matching_brace, nested_in
from kprof.instrument.listing import Skipped
from kprof.instrument.preprocess import Preprocessor
from kprof.instrument.reading import Memory, NoTree, Reading, disagreement, read_functions
from kprof.instrument.shadow import encode, shadow_of
from kprof.instrument.source import Scan
from kprof.instrument.strategy import RETURN, behind
from kprof.instrument.syntax import syntax_error
from kprof.instrument.unit import Unit, scan_unit
from kprof.names.calls import FunctionFacts

_NO_SHADOW = shadow_of("")
_MARK = re.compile(r"\bkprof_(?:(here|end)_(\d+)|return)_\b")
# A macro that makes the head may open the body too, and declare a va_list there: the block in the
# text is then all but the end of the function.
_WORD = re.compile(r"[A-Za-z_]\w*")
_INNER = re.compile(r"[\w\s*,;]*\{\s*")
_REST = re.compile(r"(?:\s*\w*va_end\s*\([^;{}]*\)\s*)?[\s;]*(?:(?:\w+\s+)?return\s*;\s*)?\}")


@dataclass(frozen=True)
class Verified:
    """A scan with all that the parser and the compiler's preprocessor know of it.

    Attributes
    ----------
    scan
        The scan with true names; what is no function is gone.
    readings
        What the parser says of each function, by the offset of its ``{``.
    skipped
        Functions that have no ``{`` of their own in the text.
    declared
        Attributes on declarations that matter to their functions, by function name.
    unplantable
        Why a function (by the offset of its ``{``) must not have triggers, whatever the strategy.
    unreturnable
        Why one must not have those of the returns strategy.
    errors
        Syntax errors: line and description.
    facts
        Who can call whom. `placeholder` stands for a function of the scan.
    problem
        Why there is no compiler's view, or "".
    """

    scan: Scan
    readings: Mapping[int, Reading | NoTree]
    skipped: tuple[Skipped, ...] = ()
    declared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unplantable: Mapping[int, str] = field(default_factory=dict)
    unreturnable: Mapping[int, str] = field(default_factory=dict)
    errors: tuple[tuple[int, str], ...] = ()
    facts: tuple[FunctionFacts, ...] = ()
    problem: str = ""


def placeholder(brace: int) -> str:
    """What a function of a scan is called in facts until the name file has named it."""
    return f"\0{brace}"


@dataclass(frozen=True)
class Verifier:
    """How sources are held against what a compiler makes of them.

    Attributes
    ----------
    preprocessor
        None: sources are read as they stand, macros and all.
    names
        The name file.
    memory
        Readings of earlier runs.
    """

    preprocessor: Preprocessor | None
    names: Path
    memory: Memory | None = None

    def verify(self, scan: Scan, path: Path) -> Verified:
        """Read the functions of a scan, in the preprocessed text where there is one."""
        if self.preprocessor is None:
            return self._as_it_stands(scan)
        key = self._key(scan, path)
        known = self.memory.recall_source(key) if self.memory else None
        if isinstance(known, Verified):
            remembered = known.scan
            scan = scan.with_functions(remembered.functions)
            return replace(known, scan=replace(scan, made=remembered.made, expanded=True))
        found, files = self._held_against(scan, path, self.preprocessor)
        if found.errors and self.preprocessor.accepts(path):
            found = replace(found, errors=())
        if self.memory and files and not found.errors:
            scan = replace(found.scan, shadow=_NO_SHADOW, branches=Branches(_NO_SHADOW), ways=())
            self.memory.keep_source(key, files, replace(found, scan=replace(scan, boundaries=())))
        return found

    def _key(self, scan: Scan, path: Path) -> bytes:
        """What a source's reading depends on, apart from the files that it includes."""
        preprocessor = self.preprocessor
        assert preprocessor is not None
        how = repr((preprocessor, str(path), str(path.absolute()), str(self.names)))
        digest = hashlib.blake2b(encode(scan.shadow.raw), digest_size=16)
        digest.update(how.encode("utf-8", "surrogateescape"))
        return digest.digest()

    def _held_against(
        self, scan: Scan, path: Path, preprocessor: Preprocessor
    ) -> tuple[Verified, set[str]]:
        """What is known of a scan, and the files that this depends on; none: not only on files."""
        text, said = preprocessor.expand(_probe(scan), path)
        if not text:
            lines = said.strip().splitlines() or ["the preprocessor failed"]
            problem = next((x for x in lines if "error" in x), lines[0])
            return replace(self._as_it_stands(scan), problem=problem), set()
        marks = _Marks(text)
        try:
            unit = scan_unit(_MARK.sub(lambda match: " " * len(match[0]), text))
        except Unbalanced:
            problem = "its braces do not match once it is preprocessed"
            return replace(self._as_it_stands(scan), problem=problem), set()
        read = unit.read(self.memory)
        true: dict[int, Function] = {}
        made: list[Skipped] = []
        for brace, function in unit.functions.items():
            place = unit.places[brace]
            mark = _mark_of(unit, function, marks)
            if mark is not None:
                true.setdefault(mark, function)
            elif place.file == str(path):
                reason = "made by a macro: it has no { of its own here (kprof cc can do it)"
                made.append(Skipped(function.name, scan.path, place.line, reason))
        stray = marks.braces - set(true)
        functions = {
            brace: _corrected(function, true.get(brace))
            for brace, function in scan.functions.items()
            if brace not in stray
        }
        scan = replace(
            scan.with_functions(functions),
            made=tuple(scan.shadow.offset_of_line(item.line) for item in made),
            expanded=True,
        )
        true = {brace: function for brace, function in true.items() if brace in functions}
        rest = self._as_it_stands(scan, true.keys(), unit.declarations.types)
        keys = {function.brace: placeholder(brace) for brace, function in true.items()}
        compiler = shutil.which(preprocessor.command[0]) or preprocessor.command[0]
        files = {str(preprocessor.folder / file) for file in unit.lines.files() - {str(path)}}
        verified = Verified(
            scan,
            {**rest.readings, **{brace: read[f.brace] for brace, f in true.items()}},
            tuple(made),
            unit.declared,
            {**rest.unplantable, **dict(_disagreements(unit, true, read))},
            dict(_macros_in(unit, true, marks)),
            tuple(sorted({*rest.errors, *_errors(unit, true, read, path)})),
            (*unit.facts(read, keys, str(path), self.names), *rest.facts),
        )
        return verified, {compiler, *files}

    def _as_it_stands(
        self, scan: Scan, without: Collection[int] = (), types: Collection[str] = ()
    ) -> Verified:
        """Read what no preprocessor has read; types can only be guessed by their use."""
        readings: dict[int, Reading | NoTree] = {}
        unplantable: dict[int, str] = {}
        errors: set[tuple[int, str]] = set()
        facts: list[FunctionFacts] = []

        def key(function: Function) -> str:
            return placeholder(function.brace)

        def place(function: Function) -> tuple[str, int]:
            return scan.path, scan.line(function)

        for code, found in scan.ways:
            new = {f.brace: f for f in found if f.brace not in without and f.brace not in readings}
            if not new:
                continue
            declarations = Declarations(code, found)
            known = declarations.types.union(types)
            read = read_functions(code, found, known, self.memory, wanted=new, guess=True)
            readings.update(read)
            for brace, function in new.items():
                reading = read[brace]
                if isinstance(reading, NoTree):
                    plain = not scan.shadow.directives
                    error = syntax_error(code, reading.offset, plain=plain)
                    if error is not None:
                        errors.add((scan.shadow.line(error[0]), error[1]))
                elif why := disagreement(code, function, nested_in(function, found), reading):
                    unplantable[brace] = why
            facts += function_facts(code, new, read, declarations, key=key, place=place)
            if not types:
                facts += scope_facts(declarations, found, key, scan.path)
        return Verified(
            scan, readings, unplantable=unplantable, errors=tuple(errors), facts=tuple(facts)
        )


class _Marks:
    """The marks in a preprocessed text, by where they are."""

    def __init__(self, text: str) -> None:
        self._marks = [(m.start(), m[1] or "return", int(m[2] or 0)) for m in _MARK.finditer(text)]
        self._offsets = [offset for offset, _, _ in self._marks]
        self.braces = {brace for _, kind, brace in self._marks if kind == "here"}

    def within(self, start: int, end: int) -> Sequence[tuple[int, str, int]]:
        """Offset, kind and number of each mark in a part of the text."""
        return self._marks[bisect_left(self._offsets, start) : bisect_left(self._offsets, end)]


def _mark_of(unit: Unit, function: Function, marks: _Marks) -> int | None:
    """The mark that says where in the source a function's body begins, or None."""
    code = unit.shadow.code
    inside = marks.within(function.brace, function.end)
    if not inside or inside[0][1] != "here":
        return None
    offset, _, brace = inside[0]
    if not code[function.brace + 1 : offset].strip():
        return brace
    if _INNER.fullmatch(code, function.brace + 1, offset) is None:
        return None
    end = matching_brace(code, code.rindex("{", 0, offset))
    return brace if _REST.match(code, end, function.end) else None


def _probe(scan: Scan) -> str:
    shadow = scan.shadow
    edits = [Edit(behind(shadow, b), 0, f"kprof_here_{b}_") for b in scan.functions]
    ends = {(function.end, function.brace) for _, found in scan.ways for function in found}
    edits += [Edit(shadow.place(end - 1, before=False), 1, f"kprof_end_{b}_") for end, b in ends]
    returns = {
        match.start()
        for code, found in scan.ways
        for function in found
        for match in RETURN.finditer(code, function.brace, function.end)
    }
    edits += [Edit(shadow.place(at, before=False), 1, "kprof_return_") for at in returns]
    return apply_edits(shadow.raw, edits, marked=False)


def _disagreements(
    unit: Unit, true: Mapping[int, Function], read: Mapping[int, Reading | NoTree]
) -> Iterator[tuple[int, str]]:
    for brace, function in true.items():
        if why := unit.disagreement(function, read[function.brace]):
            yield brace, why


def _macros_in(
    unit: Unit, true: Mapping[int, Function], marks: _Marks
) -> Iterator[tuple[int, str]]:
    """Why functions cannot have triggers on their returns: those are not all in the text."""
    code = unit.shadow.code
    for brace, function in true.items():
        inside = marks.within(function.brace, function.end)
        hidden = len(RETURN.findall(code, function.brace, function.end))
        hidden -= sum(kind == "return" for _, kind, _ in inside)
        ends = [offset for offset, kind, number in inside if (kind, number) == ("end", brace)]
        opened = not code[function.brace + 1 : inside[0][0]].strip()
        if hidden > 0:
            yield (
                brace,
                f"{hidden} of its returns come out of macros (the cleanup strategy covers them)",
            )
        elif opened and (not ends or code[ends[-1] : function.end].strip() != "}"):
            yield brace, "its closing } comes out of a macro (the cleanup strategy covers it)"


def _errors(
    unit: Unit, true: Mapping[int, Function], read: Mapping[int, Reading | NoTree], path: Path
) -> Iterator[tuple[int, str]]:
    for function in true.values():
        reading = read[function.brace]
        if isinstance(reading, NoTree):
            error = syntax_error(unit.shadow.code, reading.offset, plain=True)
            if error is not None:
                place = unit.lines.place(error[0])
                own = place.file == str(path)
                yield place.line if own else unit.places[function.brace].line, error[1]


def _corrected(function: Function, true: Function | None) -> Function:
    if true is None:
        return function
    head = replace(
        function.head,
        name=true.head.name,
        static=true.head.static,
        inline=true.head.inline,
        overload=true.head.overload,
        words=true.head.words | function.head.words,
    )
    mine, theirs = (set(_WORD.findall(" ".join(f.head.type_parts))) for f in (function, true))
    if function.head.macro or mine != theirs:
        before, after = true.head.type_parts
        head = replace(head, type_parts=(" ".join(before.split()), " ".join(after.split())))
    return replace(function, head=head)
