"""Source mode: triggers put into source text, everything else kept to the byte.

`scan_source` finds the functions, `plant` writes the triggers once the name file has given each its
tag. Between the two the caller may drop functions or correct their names. The text keeps its line
numbers: what has to stand before the first function goes onto a line that is there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kprof.errors import InstrumentError
from kprof.instrument.branches import Branches
from kprof.instrument.edits import Edit, apply_edits, has_edits
from kprof.instrument.functions import Function, Memory, Unbalanced, find_functions
from kprof.instrument.listing import Skipped
from kprof.instrument.shadow import Shadow, foreign, shadow_of
from kprof.instrument.strategy import CannotPlant, function_edits, prologue
from kprof.instrument.targets import Target

_INCLUDE = re.compile(r"\s*#\s*include\b")
# Words that stand in functions only: before one of these a macro has opened a body.
_IN_FUNCTIONS = re.compile(r"\b(?:return|if|else|for|while|do|switch|break|continue|goto)\b")
_CODE = re.compile(r"\S")

# What GCC's optimiser finds depends on what is inlined and what a call may change.
# The first two are about what a compiler does not know of the others.
_WARNINGS_OF_THE_OPTIMISER = (
    *("pragmas", "unknown-warning-option", "maybe-uninitialized", "uninitialized", "array-bounds"),
    *("stringop-overflow", "stringop-overread", "stringop-truncation", "format-overflow"),
    *("format-truncation", "null-dereference", "restrict", "clobbered"),
)
_QUIET = " ".join(
    f'_Pragma("GCC diagnostic ignored \\"-W{name}\\"")' for name in _WARNINGS_OF_THE_OPTIMISER
)


class UnmatchedError(InstrumentError):
    """A brace that the text does not close: an error, or closed by a macro or an included file.

    Attributes
    ----------
    elsewhere
        How to say it where the compiler takes the file.
    included
        A file is included behind the brace.
    """

    def __init__(self, path: str, shadow: Shadow, offset: int) -> None:
        where = f"{path}:{shadow.line(offset)}"
        super().__init__([f"{where}: syntax error: this {{ has no matching }}"])
        self.elsewhere = (
            f"{where}: the {{ here is closed by a macro or in an included file: this file is left "
            "out (kprof cc can do it)"
        )
        self.included = any(
            _INCLUDE.match(shadow.joined, *directive)
            for directive in shadow.directives
            if directive[0] > offset
        )


@dataclass(frozen=True)
class Scan:
    """The functions of one source text.

    Attributes
    ----------
    path
        The file as messages name it.
    shadow
        The text.
    functions
        Every function by the offset of its ``{`` in the shadow, on whichever way it was found.
    ways
        Each way through the text as its functions and its shadow text.
    boundaries
        For each way the offsets at which its declarations at file scope begin, ascending.
    made
        Offsets at which functions stand that a macro makes.
    expanded
        A preprocessor has read the text: `made` is all that macros hide.
    """

    path: str
    shadow: Shadow
    branches: Branches
    functions: Mapping[int, Function]
    ways: Sequence[tuple[str, Sequence[Function]]]
    boundaries: Sequence[Sequence[int]]
    made: Sequence[int] = ()
    expanded: bool = False

    def with_functions(self, functions: Mapping[int, Function]) -> Scan:
        """The scan with these functions in place of its own; what is not among them is gone."""
        ways = [
            (code, [functions[f.brace] for f in found if f.brace in functions])
            for code, found in self.ways
        ]
        return replace(self, functions=functions, ways=ways)

    def line(self, function: Function) -> int:
        """The line of a function's name."""
        return self.shadow.line(function.head.offset)

    def skip(
        self, function: Function, reason: str, *, wanted: bool = False, planted: bool = False
    ) -> Skipped:
        """This function as one to list (see `Skipped`)."""
        return Skipped(function.name, self.path, self.line(function), reason, wanted, planted)


def scan_source(raw: str, path: str) -> Scan:
    """Find the functions of a source text.

    Raises
    ------
    UnmatchedError
        A brace of it is not closed in the text.
    InstrumentError
        It has triggers already, or its directives do not match.
    """
    if has_edits(raw):
        raise InstrumentError(
            [
                f"{path}: has been instrumented already (instrument the original, or get it back "
                "with --un-instrument)"
            ]
        )
    shadow = shadow_of(raw)
    branches = Branches(shadow)
    if not branches.balanced:
        raise InstrumentError([f"{path}: an #if and its #endif do not match"])
    functions: dict[int, Function] = {}
    ways: list[tuple[str, Sequence[Function]]] = []
    boundaries: list[list[int]] = []
    problem: Unbalanced | None = None
    memory = Memory(branches.offsets())
    for code in branches.ways():
        seen: list[int] = []
        try:
            found = find_functions(code, expanded=False, boundaries=seen, memory=memory)
        except Unbalanced as error:
            problem = problem or error
            continue
        ways.append((code, found))
        boundaries.append(seen)
        for function in found:
            functions.setdefault(function.brace, function)
    if problem is not None and not ways:
        raise UnmatchedError(path, shadow, problem.args[0])
    return Scan(path, shadow, branches, dict(sorted(functions.items())), ways, boundaries)


def plant(scan: Scan, tags: Mapping[int, int], target: Target) -> tuple[str, Mapping[int, Skipped]]:
    """The text with triggers, and the functions that could not have theirs, by their ``{``.

    Parameters
    ----------
    tags
        Entry tags by the offset of the function's ``{``; functions not in it are left alone.
    """
    edits: dict[tuple[int, int], Edit] = {}
    failed: dict[int, Skipped] = {}
    done: set[int] = set()
    for code, found in scan.ways:
        view = replace(scan.shadow, code=code)
        for function in found:
            if function.brace not in tags or function.brace in failed:
                continue
            if function.brace in done and target.strategy == "cleanup":
                continue
            done.add(function.brace)
            inner = [f for f in found if f.outer and f.outer.brace == function.brace]
            try:
                new = function_edits(view, function, inner, tags[function.brace], target)
            except CannotPlant as error:
                failed[function.brace] = scan.skip(function, str(error))
                continue
            edits.update({(edit.offset, edit.rank): edit for edit in new})
    planted = [tag for brace, tag in tags.items() if brace not in failed]
    if not edits:
        return scan.shadow.raw, failed
    text = prologue(target, sorted(set(planted)))
    if text and target.strategy == "cleanup":
        text = f"{_QUIET} {text}"
    top = _top_edit(scan, text) if text else None
    everything = [*edits.values(), *([top] if top else [])]
    return apply_edits(scan.shadow.raw, everything), failed


def _top_edit(scan: Scan, text: str) -> Edit:
    """Put `text` at file scope before every function, on no condition that one is not on."""
    first = min(function.start for function in scan.functions.values())
    hidden = _IN_FUNCTIONS.search(scan.ways[0][0], 0, first)
    offsets = [function.brace for function in scan.functions.values()] + list(scan.made)
    common = scan.branches.chain(offsets[0])
    for offset in offsets[1:]:
        chain = scan.branches.chain(offset)
        same = 0
        while same < min(len(common), len(chain)) and common[same] is chain[same]:
            same += 1
        common = common[:same]
    limit = min([first, *scan.made, *([hidden.start()] if hidden else [])])
    places = _places(scan, limit)
    # Where nobody knows what the macros hide, the first place is the safest.
    for offset in places if scan.expanded else reversed(list(places)):
        chain = scan.branches.chain(offset)
        if chain == common[: len(chain)] and _at_file_scope(scan, offset):
            return Edit(scan.shadow.place(offset, before=False), 0, text + " ")
    ending = "\r\n" if "\r\n" in scan.shadow.raw else "\n"
    name = foreign(scan.path).replace("\\", "\\\\").replace('"', '\\"')
    return Edit(0, 0, f'{text}{ending}#line 1 "{name}"{ending}')


def _at_file_scope(scan: Scan, offset: int) -> bool:
    """Is this offset between declarations, whichever way is taken?"""
    for (code, _), boundaries in zip(scan.ways, scan.boundaries, strict=True):
        last = boundaries[bisect_right(boundaries, offset) - 1]
        if code[last:offset].strip():
            return False
    return True


def _places(scan: Scan, limit: int) -> Iterator[int]:
    """Offsets at file scope before the declaration that holds the offset `limit`, nearest first."""
    code, joined = scan.shadow.code, scan.shadow.joined
    starts = [start for start, _ in scan.shadow.directives]
    end = len(code)
    for boundary in reversed([offset for offset in scan.boundaries[0] if offset <= limit]):
        found = _CODE.search(code, boundary, end)
        token = line = found.start() if found else end
        while line >= boundary:
            if _is_free(scan, starts, line):
                yield line
            line = joined.rfind("\n", boundary, line - 1) + 1 if line > boundary else -1
            if line == 0:
                break
        if boundary == 0 and token and _is_free(scan, starts, 0):
            yield 0
        end = boundary


def _is_free(scan: Scan, starts: Sequence[int], offset: int) -> bool:
    """Can a declaration be put here: not in a comment, nor on the line of a directive?"""
    joined = scan.shadow.joined
    index = bisect_right(starts, offset)
    if index and offset <= scan.shadow.directives[index - 1][1]:
        return False
    if index < len(starts) and "\n" not in joined[offset : starts[index]]:
        return False
    comment = joined.rfind("/*", 0, offset)
    return comment < 0 or joined.find("*/", comment + 2) + 2 <= offset
