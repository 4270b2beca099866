"""Finding the function definitions of a C text, nested ones included.

The text is split at file scope into external declarations; only those that have a ``{`` are looked
at closely. It is a shadow (see `shadow`), and of source text one way through its ``#if``
alternatives (see `branches`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kprof.instrument.heads import Head, parse_head
from kprof.instrument.plain_heads import plain_head
from kprof.instrument.shadow import native

_STOP = re.compile(r"[;{}]")
_BRACE = re.compile(r"[{}]")
_BLOCK_BEHIND_PARENTHESES = re.compile(r"\)\s*\{")
_BLOCK_BEHIND_SEMICOLON = re.compile(r";\s*\{")
_LABEL = re.compile(r"\s*[A-Za-z_]\w*\s*:(?!:)")
_NESTED = re.compile(
    r"\s*(?!(?:if|for|while|switch|else|do|return|case|default|goto|sizeof)\b)"
    r"(?:__extension__\s+|__attribute(?:__)?\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)\s*)*"
    r"[A-Za-z_]\w*\b[\s*\w]*?[\s*]\(?[\s*]*[A-Za-z_]\w*\s*\("
)
_BARE_MACRO = re.compile(r"\s*(?!(?:struct|union|enum|else|do)\b)[A-Za-z_]\w*\s*")
_MUSTTAIL = re.compile(r"\b_*musttail_*\b")
_MAX_PARAMETER_DECLARATIONS = 256
_MAX_NESTED_DECLARATIONS = 16
# That many of a function's parameters may be what only a function's head looks like.
_MOST_ATTEMPTS = 32
# Past this it is no head, and would be read again at each brace.
_LONGEST_HEAD, _LONGEST_OPEN = 65536, 4096


@dataclass(frozen=True)
class Function:
    """A function definition.

    Attributes
    ----------
    head
        Its head.
    start, brace, end
        Offsets of the declaration's first character, of the body's ``{`` and behind its ``}``.
    outer
        The function that it is nested in.
    """

    head: Head
    start: int
    brace: int
    end: int
    outer: Function | None = None

    @property
    def name(self) -> str:
        """Its name in C; of a nested function with that of the one around it."""
        name = native(self.head.name + self.head.overload)
        return f"{self.outer.name}.{name}" if self.outer else name


class Unbalanced(Exception):  # noqa: N818 - never leaves this package
    """A ``{`` without its ``}``; `args[0]` is its offset."""


@dataclass
class Memory:
    """What earlier ways through the same text have found, where no directive can change it.

    Attributes
    ----------
    conditionals
        Offsets of the conditional directives, sorted.
    blocks
        For a declaration's start and its ``{``: the functions there, and the end of the block.
    """

    conditionals: Sequence[int] = ()
    blocks: dict[tuple[int, int], tuple[list[Function], int]] = field(default_factory=dict)

    def keep(self, start: int, brace: int, found: list[Function], end: int) -> None:
        """Remember a block that reads the same on every way."""
        after = bisect_left(self.conditionals, start)
        if after == len(self.conditionals) or self.conditionals[after] >= end:
            self.blocks[start, brace] = found, end


def find_functions(
    code: str,
    *,
    expanded: bool,
    boundaries: list[int] | None = None,
    memory: Memory | None = None,
) -> list[Function]:
    """The functions of a shadow text, in the order of their braces.

    Parameters
    ----------
    boundaries
        Filled with the offsets at which declarations at file scope begin.
    memory
        Shared by the calls for the ways through one text.

    Raises
    ------
    Unbalanced
        A ``{`` is not closed.
    """
    found: list[Function] = []
    memory = memory or Memory()
    for block in _blocks(code, expanded, [] if boundaries is None else boundaries, memory):
        found += block
    if "musttail" in code or "overloadable" in code:
        return [_with_clang_words(code, function) for function in found]
    return found


def _with_clang_words(code: str, function: Function) -> Function:
    """`musttail` is an attribute of a return; functions that are `overloadable` share a name."""
    head = function.head
    if _MUSTTAIL.search(code, function.brace, function.end):
        head = replace(head, words=head.words | {"musttail"})
    if "overloadable" in head.words:
        parameters = code[head.offset + len(head.name) : function.brace]
        head = replace(head, overload=" ".join(parameters.split()))
    return replace(function, head=head)


def _blocks(
    code: str, expanded: bool, boundaries: list[int], memory: Memory
) -> Iterator[list[Function]]:
    """The functions of each block at file scope, an outer one before those nested in it."""
    start = position = counted = depth = 0
    boundaries.append(start)
    earlier: list[int] = []  # where the declarations before this one began, back to the last body
    while (stop := _STOP.search(code, position)) is not None:
        at, position = stop.start(), stop.end()
        if start > counted:
            counted, depth = start, 0
        depth += code.count("(", counted, at) - code.count(")", counted, at)
        counted = at
        if stop[0] == ";":
            if depth > 0:
                continue
            earlier.append(start)
            start = position
            boundaries.append(start)
        elif stop[0] == "}":
            start = position
            earlier.clear()
        elif depth > 0 and (expanded or at - start > _LONGEST_OPEN):
            # Within parentheses no function begins, and they may never be closed; in source text
            # the one that closes them may be on another way through its #if alternatives.
            position = matching_brace(code, at)
        else:
            before = code[start:at].rstrip()
            if before[-1:] == '"' and before.lstrip().startswith("extern"):
                start = position  # extern "C" {
                continue
            known = memory.blocks.get((start, at))
            if known is not None:
                found, position = known
            else:
                head, first = _head_before(code, start, at, before, earlier, expanded)
                position = matching_brace(code, at)
                found = []
                if head is not None:
                    function = Function(head, first, at, position)
                    found = [function, *_nested_functions(code, function, expanded)]
                if before:
                    memory.keep(start, at, found, position)
            if found:
                yield found
                start = position
                boundaries.append(start)
                earlier.clear()


def _head_before(
    code: str, start: int, brace: int, before: str, earlier: list[int], expanded: bool
) -> tuple[Head | None, int]:
    if before and (expanded or not _BARE_MACRO.fullmatch(before)):
        if before[-1] in ")]" or not expanded:
            if "(" not in before or len(before.lstrip()) > _LONGEST_HEAD:
                return None, start
            plain = plain_head(code, start, brace) if expanded else None
            return plain or parse_head(code, start, brace, expanded=expanded), start
        return None, start
    # Directly behind a semicolon, or with only the name of a macro between: parameter
    # declarations of the old style lead up to it.
    attempts = 0
    for begin in reversed(earlier[-_MAX_PARAMETER_DECLARATIONS:]):
        end = code.index(";", begin)
        if not re.search(r"\)[^;]*[A-Za-z_]", code[begin : end + 1]):
            continue
        attempts += 1
        if attempts > _MOST_ATTEMPTS or brace - begin > _LONGEST_HEAD:
            break
        head = parse_head(code, begin, brace, expanded=expanded)
        if head is not None:
            return head, begin
    return None, start


def _nested_functions(code: str, outer: Function, expanded: bool) -> Iterator[Function]:
    position = outer.brace + 1
    last = outer.brace
    while (match := _next_block(code, position, outer.end)) is not None:
        position = match.end()
        at = match.end() - 1
        old_style = match[0][0] == ";"
        head, begin = _nested_head(code, last, match.start() if old_style else at, at, old_style)
        if head is None:
            continue
        end = matching_brace(code, at)
        function = Function(head, begin, at, end, outer)
        yield function
        yield from _nested_functions(code, function, expanded)
        position = last = end


def _nested_head(
    code: str, last: int, before: int, brace: int, old_style: bool
) -> tuple[Head | None, int]:
    """The head of a nested function with this ``{``, and where it begins; None: it is none.

    In the old style as many declarations of parameters as it takes lie between.
    """
    for _ in range(_MAX_NESTED_DECLARATIONS if old_style else 1):
        begin = max(last, 1 + max(code.rfind(stop, last, before) for stop in ";{}"))
        label = _LABEL.match(code, begin, brace)
        first = label.end() if label else begin
        if _NESTED.match(code, first, brace):
            head = parse_head(code, first, brace, expanded=True)
            if head is not None and old_style == (";" in code[first:brace]):
                return head, first
        if begin <= last or code[begin - 1] != ";":
            break
        before = begin - 1
    return None, last


def _next_block(code: str, position: int, end: int) -> re.Match[str] | None:
    plain = _BLOCK_BEHIND_PARENTHESES.search(code, position, end)
    old = _BLOCK_BEHIND_SEMICOLON.search(code, position, plain.start() if plain else end)
    return old or plain


def nested_in(function: Function, functions: Iterable[Function]) -> list[Function]:
    """Those among these functions that stand directly in this one."""
    return [f for f in functions if f.outer is not None and f.outer.brace == function.brace]


def matching_brace(code: str, brace: int) -> int:
    """The offset behind the ``}`` that closes the ``{`` at `brace`.

    Raises
    ------
    Unbalanced
        There is none.
    """
    depth = 0
    for match in _BRACE.finditer(code, brace):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    raise Unbalanced(brace)
