"""What a compiler makes of a source text, held against what was found in it.

The text is preprocessed with a mark behind each ``{`` that was taken for a function's. In the
result, where macros are gone, functions are certain: each that begins with a mark has its true
name, storage class and attributes; one without a mark came out of a macro; a mark anywhere else
was no function's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kprof.instrument.edits import Edit, apply_edits
from kprof.instrument.functions import Function, Unbalanced, matching_brace
from kprof.instrument.listing import Skipped
from kprof.instrument.preprocess import Preprocessor
from kprof.instrument.source import Scan
from kprof.instrument.strategy import RETURN, behind
from kprof.instrument.unit import Unit, scan_unit

_MARK = re.compile(r"\s*kprof_here_(\d+)_")
# A macro that makes the head may open the body too, and declare a va_list there: the block in the
# text is then all but the end of the function.
_INNER_MARK = re.compile(r"[\w\s*,;]*(\{)\s*kprof_here_(\d+)_")
_REST = re.compile(r"(?:\s*\w*va_end\s*\([^;{}]*\)\s*)?[\s;]*(?:(?:\w+\s+)?return\s*;\s*)?\}")
_RETURN_MARK = "kprof_return_ "


@dataclass(frozen=True)
class Verified:
    """What the compiler's view adds to a scan.

    Attributes
    ----------
    scan
        The scan with true names; what is no function is gone.
    skipped
        Functions that have no ``{`` of their own in the text.
    declared
        Attributes on earlier declarations, by function name.
    hidden_returns
        How many returns of a function (by the offset of its ``{``) come out of macros.
    problem
        Why there is no compiler's view, or "".
    """

    scan: Scan
    skipped: tuple[Skipped, ...] = ()
    declared: Mapping[str, frozenset[str]] | None = None
    hidden_returns: Mapping[int, int] | None = None
    problem: str = ""


def verify(scan: Scan, path: Path, preprocessor: Preprocessor) -> Verified:
    """Hold a scan against the preprocessed text."""
    text, said = preprocessor.expand(_probe(scan), path)
    if not text:
        lines = said.strip().splitlines() or ["the preprocessor failed"]
        return Verified(scan, problem=next((x for x in lines if "error" in x), lines[0]))
    try:
        unit = scan_unit(text)
    except Unbalanced:
        return Verified(scan, problem="its braces do not match once it is preprocessed")
    true: dict[int, Function] = {}
    hidden: dict[int, int] = {}
    made: list[Skipped] = []
    for brace, function in unit.functions.items():
        place = unit.places[brace]
        mark = _mark_of(unit, function)
        if mark is not None:
            true[mark] = function
            hidden[mark] = _hidden_returns(unit, function)
        elif place.file == str(path):
            reason = "made by a macro: it has no { of its own here (kprof cc can do it)"
            made.append(Skipped(function.name, scan.path, place.line, reason))
    stray = {int(match[1]) for match in _MARK.finditer(unit.shadow.code)} - set(true)
    corrected = {
        brace: _corrected(function, true.get(brace))
        for brace, function in scan.functions.items()
        if brace not in stray
    }
    return Verified(scan.with_functions(corrected), tuple(made), unit.declared, hidden)


def _mark_of(unit: Unit, function: Function) -> int | None:
    """The mark that says where in the text a function's body begins, or None."""
    code = unit.shadow.code
    mark = _MARK.match(code, function.brace + 1)
    if mark is not None:
        return int(mark[1])
    inner = _INNER_MARK.match(code, function.brace + 1, function.end)
    if inner is None or not _REST.match(code, matching_brace(code, inner.start(1)), function.end):
        return None
    return int(inner[2])


def _probe(scan: Scan) -> str:
    shadow = scan.shadow
    edits = [Edit(behind(shadow, brace), 0, f"kprof_here_{brace}_") for brace in scan.functions]
    starts = {
        match.start()
        for code, found in scan.ways
        for function in found
        for match in RETURN.finditer(code, function.brace, function.end)
    }
    edits += [Edit(shadow.place(at, before=False), 1, _RETURN_MARK) for at in starts]
    return apply_edits(shadow.raw, edits, marked=False)


def _hidden_returns(unit: Unit, function: Function) -> int:
    body = unit.shadow.code[function.brace : function.end]
    returns = len(RETURN.findall(body))
    return returns - len(re.findall(rf"\b{_RETURN_MARK.strip()}\s+return\b", body))


def _corrected(function: Function, true: Function | None) -> Function:
    if true is None:
        return function
    head = replace(
        function.head,
        name=true.head.name,
        static=true.head.static,
        words=true.head.words | function.head.words,
    )
    if function.head.macro or function.head.name != true.head.name:
        head = replace(head, type_parts=true.head.type_parts)
    return replace(function, head=head)
