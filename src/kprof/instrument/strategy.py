"""Where the triggers of a function go: the two strategies.

``cleanup`` (GCC and clang) puts one declaration behind the body's ``{``: its initialiser fires the
entry, and an always-inline function that the compiler calls when the variable's scope is left fires
the exit, whichever way out is taken, those in macros included.

``returns`` (any compiler) puts the body into a block of its own behind the entry trigger, and gives
each ``return`` a block: the value goes into a variable of the function's own type, then the exit
fires, then the variable is returned. It sees the returns that stand in the text.

Both write C90, with spellings of keywords that sources neither redefine nor poison. With GCC the
compiler needs ``-fno-tree-ter`` to keep a return value's arithmetic before the exit trigger: no
form of asm holds it back.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from kprof.instrument.edits import Edit
from kprof.instrument.functions import Function
from kprof.instrument.heads import TOKEN
from kprof.instrument.shadow import Shadow
from kprof.instrument.targets import Target

RETURN = re.compile(r"(?<![\w$.#])return(?![\w$])")
_STEP = re.compile(r"[;(){}\[\]]")
_CODE = re.compile(r"\S")
_LOCAL_LABELS = re.compile(r"\s*(?:__extension__\s*)?__label__\b[^;{}]*;")
# A clang block, ^(int a) { .. }, is where an operand may begin.
_BLOCK = re.compile(r"[=(,?:;{}&|!]\s*\^|\breturn\s*\^")
_STDC = re.compile(r"#[ \t]*pragma[ \t]+STDC\b")
_TAGS = frozenset({"struct", "union", "enum"})


class CannotPlant(Exception):  # noqa: N818 - a reason, caught where functions are listed
    """This function cannot have its triggers; `args[0]` is the reason."""


def prologue(target: Target, tags: Sequence[int]) -> str:
    """What the triggers of these functions (entry tags) need before the first of them, one line."""
    if not target.plants:
        return ""
    parts = [target.declaration] if target.declaration else []
    if target.strategy == "cleanup":
        parts += [_exit_function(target, tag) for tag in tags]
    return " ".join(parts)


def function_edits(
    shadow: Shadow, function: Function, inner: Sequence[Function], tag: int, target: Target
) -> list[Edit]:
    """The edits, at offsets in `shadow.raw`, that plant `tag` and ``tag + 1`` in a function.

    Parameters
    ----------
    inner
        The functions nested in it.

    Raises
    ------
    CannotPlant
    """
    if not target.plants:
        return []
    if target.strategy == "cleanup":
        return [Edit(_start_of_body(shadow, function), 0, _guard(target, tag))]
    return _return_edits(shadow, function, inner, tag, target)


def _start_of_body(shadow: Shadow, function: Function) -> int:
    """The offset in `raw` of the first place in a body where a declaration may stand.

    Declarations of local labels, and what ``#pragma STDC`` says of a whole block, come before it.
    """
    at = function.brace + 1
    place = behind(shadow, function.brace)
    while True:
        pragma = _last_pragma(shadow, at, _CODE.search(shadow.code, at))
        if pragma:
            at = pragma
            place = shadow.place(at, before=False)
        labels = _LOCAL_LABELS.match(shadow.code, at)
        if labels is None:
            return place
        at = labels.end()
        place = behind(shadow, at - 1)


def _last_pragma(shadow: Shadow, start: int, code: re.Match[str] | None) -> int:
    """The offset of the line behind the last ``#pragma STDC`` before this code, or 0."""
    end = code.start() if code else len(shadow.code)
    first = bisect_left(shadow.directives, (start, start))
    last = 0
    for opened, closed in shadow.directives[first:]:
        if opened >= end:
            break
        if _STDC.match(shadow.joined, opened, closed):
            last = min(closed + 1, len(shadow.joined))
    return last


def _exit_function(target: Target, tag: int) -> str:
    # extern with gnu_inline never becomes a function of its own, and an inline function with
    # external linkage may use it.
    return (
        "extern __inline__ __attribute__((__gnu_inline__,__always_inline__,__artificial__,"
        f"__no_instrument_function__)) void kprof_x{tag + 1}(__const char*p)"
        f"{{(void)p;{target.statement(tag + 1)}}}"
    )


def _guard(target: Target, tag: int) -> str:
    return (
        f"__extension__ __const char kprof_{tag} __attribute__((__unused__,"
        f"__cleanup__(kprof_x{tag + 1})))=({{{target.statement(tag)}(char)0;}});"
    )


def _return_edits(
    shadow: Shadow, function: Function, inner: Sequence[Function], tag: int, target: Target
) -> list[Edit]:
    code = shadow.code
    entry, leave = f"{{{target.statement(tag)}}}", f"{{{target.statement(tag + 1)}}}"
    edits: list[Edit] = []
    typed = False
    if _BLOCK.search(code, function.brace, function.end):
        raise CannotPlant("has blocks, whose returns are not its own (the cleanup strategy can)")
    for match in RETURN.finditer(code, function.brace, function.end):
        if any(nested.start <= match.start() < nested.end for nested in inner):
            continue
        end = _semicolon(code, match.end(), function.end)
        at = shadow.place(match.start(), before=False)
        if shadow.raw[at : at + 6] != "return":
            raise CannotPlant("a return is split over two lines with a backslash")
        stop = behind(shadow, end)
        if code[match.end() : end].isspace() or match.end() == end:
            edits.append(Edit(at, 2, f"{{{leave}return", "return"))
        elif function.head.returns_nothing:
            edits.append(Edit(at, 2, "{(", "return"))
            edits.append(Edit(stop - 1, 1, f");{leave}return"))
        else:
            typed = True
            name = f"kprof_r{match.start() - function.brace}"
            edits.append(Edit(at, 2, f"{{kprof_t {name}=(", "return"))
            edits.append(Edit(stop - 1, 1, f");{leave}return {name}"))
        edits.append(Edit(stop, 0, "}"))
    edits.append(Edit(_start_of_body(shadow, function), -1, _opening(code, function, entry, typed)))
    edits.append(Edit(shadow.place(function.end - 1, before=False), 1, f"}}{leave}"))
    return edits


def _opening(code: str, function: Function, entry: str, typed: bool) -> str:
    if not typed:
        return f"{entry}{{"
    before, after = function.head.type_parts
    words = before.split()
    if not words:
        raise CannotPlant(
            f"the type that it returns is in the macro {function.head.macro}; "
            "the cleanup strategy does not need it"
        )
    if words[-1] in _TAGS:
        raise CannotPlant("it returns a type that has no name; give it a tag")
    tagged = {words[index + 1] for index in range(len(words) - 1) if words[index] in _TAGS}
    if _parameters(code, function) & (set(words) - tagged):
        raise CannotPlant("a parameter hides the name of the type that it returns")
    return f"{entry}{{typedef {before} kprof_t{after};"


def _parameters(code: str, function: Function) -> set[str]:
    """The names of the parameters, of function parameters and arrays of pointers not all."""
    names: set[str] = set()
    depth = 0
    last = ""
    for match in TOKEN.finditer(code, function.head.offset, function.brace):
        token = match[0]
        if depth == 1 and token in (",", ")", "["):
            names.add(last)
        depth += (token in "([") - (token in ")]")
        last = token
    return names


def _semicolon(code: str, start: int, end: int) -> int:
    depth = 0
    for match in _STEP.finditer(code, start, end):
        char = match[0]
        if char == ";" and depth == 0:
            return match.start()
        if char in "([{":
            depth += 1
        elif char != ";":
            depth -= 1
            if depth < 0:
                break
    raise CannotPlant("a return has no semicolon in this text")


def behind(shadow: Shadow, offset: int) -> int:
    """The offset in `raw` behind the character, digraph or trigraph at `offset` in the shadow."""
    first = shadow.joined[offset]
    length = 1 if first in "{};" else 2 if first in "<%" else 3
    return shadow.place(offset + length - 1, before=False) + 1
