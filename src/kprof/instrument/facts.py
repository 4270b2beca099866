"""From readings to call knowledge: who can call whom in one text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from kprof.instrument.declarations import Declarations
from kprof.instrument.functions import Function
from kprof.instrument.reading import NoTree, Reading
from kprof.instrument.shadow import native
from kprof.instrument.words import ATTRIBUTE_WORDS, NOT_A_NAME
from kprof.names.calls import FunctionFacts

_SETJMP = frozenset({"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "__builtin_setjmp"})
_LONGJMP = frozenset(
    {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "____longjmp_chk", "__builtin_longjmp"}
)
_ATTRIBUTES = re.compile(
    rf"\b(?:{'|'.join(sorted(ATTRIBUTE_WORDS))})\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)
_CALL = re.compile(r"([A-Za-z_$\x80-\xff][\w$\x80-\xff]*)\s*\(")
_WORD = re.compile(r"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*")


def function_facts(
    code: str,
    functions: Mapping[int, Function],
    readings: Mapping[int, Reading | NoTree],
    declarations: Declarations,
    *,
    key: Callable[[Function], str],
    place: Callable[[Function], tuple[str, int]],
    noreturn: Collection[str] = (),
) -> Iterator[FunctionFacts]:
    """The facts of these functions of a shadow text.

    Parameters
    ----------
    key
        The name that a function has in the call knowledge.
    place
        The file and line that it was written in.
    noreturn
        The names of functions that are declared not to return.
    """
    outer: dict[str, set[str]] = {}
    for function in functions.values():
        if function.outer is None:
            outer.setdefault(function.head.name, set()).add(key(function))
    nested = {
        (f.outer.brace, f.head.name): key(f) for f in functions.values() if f.outer is not None
    }

    def meant(names: Iterable[str], inside: Function) -> frozenset[str]:
        found: set[str] = set()
        for name in names:
            scope: Function | None = inside
            while scope is not None and (scope.brace, name) not in nested:
                scope = scope.outer
            if scope is not None:
                found.add(nested[scope.brace, name])
            else:
                found |= outer.get(name) or {native(name)}
        return frozenset(found)

    inner_names = {name for _, name in nested}
    for brace, function in functions.items():
        reading = readings[brace]
        if isinstance(reading, Reading):
            calls, mentions = frozenset(reading.calls), frozenset(reading.mentions)
            indirect = reading.indirect
        else:
            calls, mentions = _lexical(code, function)
            indirect = True
        addresses = mentions & (declarations.functions | inner_names)
        file, line = place(function)
        yield FunctionFacts(
            key(function),
            file,
            line,
            _signature(code, function),
            meant((name for name in calls if not name.startswith("__builtin_")), function),
            indirect=indirect,
            noreturn="noreturn" in function.head.words or function.head.name in noreturn,
            setjmp=not calls.isdisjoint(_SETJMP),
            longjmp=not calls.isdisjoint(_LONGJMP),
            static=function.head.static or function.outer is not None,
            addresses=meant(addresses, function),
        )


def scope_facts(
    declarations: Declarations,
    functions: Iterable[Function],
    key: Callable[[Function], str],
    file: str,
) -> Iterator[FunctionFacts]:
    """The facts of the initialisers at file scope of this file, if they mention functions."""
    keys = {f.head.name: key(f) for f in functions if f.outer is None}
    names = declarations.initialisers()
    if names:
        addresses = frozenset(keys.get(name) or native(name) for name in names)
        yield FunctionFacts("", file, addresses=addresses)


def _lexical(code: str, function: Function) -> tuple[frozenset[str], frozenset[str]]:
    """The names that seem to be called in a function without a tree, and all its names."""
    calls = frozenset(_CALL.findall(code, function.brace, function.end)) - NOT_A_NAME
    return calls, frozenset(_WORD.findall(code, function.brace, function.end)) - calls


def _signature(code: str, function: Function) -> str:
    head = _ATTRIBUTES.sub(" ", code[function.start : function.brace])
    return " ".join(native(head).replace(" ;", ";").split())
