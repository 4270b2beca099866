"""What a text declares outside of its functions, as far as reading the functions needs it.

The names of types, which the parser must know; the names of functions, which tell an address that
is taken from a variable; and the functions that initialisers mention.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from kprof.instrument.functions import Function
from kprof.instrument.words import (
    ATTRIBUTE_WORDS,
    BASIC_TYPES,
    NOT_A_NAME,
    STORAGE,
    TAG_WORDS,
    TYPE_CALLS,
    TYPE_WORDS,
)

# Patterns for whole units begin with a letter or a sign, which is found fast: calls backwards.
_TYPEDEF = re.compile(r"typedef(?<![\w$]typedef)\b")
_STEP = re.compile(r"[;{}]")
# typedef unsigned long size_t; typedef struct s *s_pointer, s_array[4];
_PLAIN = re.compile(r"[\w\s*]*?\b([A-Za-z_$]\w*)\s*(?:\[[^][]*\]\s*)*")
_GROUP = re.compile(rf"\b({'|'.join(sorted(ATTRIBUTE_WORDS | TYPE_CALLS))})\s*\(")
_WORD = re.compile(r"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*")
_IN_PARENTHESES = re.compile(r"\(\s*[*^(][\s*^(]*(?:\w+\s+)*?[\s*]*([A-Za-z_$]\w*)\s*[)(\[]")
_CALLED_BACKWARDS = re.compile(r"\(\s*(?:\)\s*)?(\w*[A-Za-z_$])(?!\w)")
_STATIC = re.compile(r"static(?<![\w$]static)\b[^;{}()=]*\b([A-Za-z_$]\w*)\s*\(")
_INITIALISER = re.compile(r"=(?<![=!<>]=)(?!=)[^;]*;")

_USED_AS_TYPE = re.compile(
    r"(?:^|[;{}(,])\s*(?:(?:const|volatile|static|register|struct|unsigned)\s+)*"
    r"([A-Za-z_]\w*)(?=\s*\*+\s*(?:[A-Za-z_]|[),])|\s+[A-Za-z_]\w*\s*[;=,)(\[])"
)
_NOT_WORDS = re.compile(r"[^\s\w*$\x80-\xff]")
_NOT_TYPES = TYPE_WORDS | STORAGE | TAG_WORDS | NOT_A_NAME | {"typedef"}


def types_used(code: str, spans: Sequence[tuple[int, int]]) -> frozenset[str]:
    """The names in these parts of a text that stand where the name of a type does."""
    found: set[str] = set()
    for start, end in spans:
        found.update(_USED_AS_TYPE.findall(code[start:end]))
    return frozenset(found - _NOT_TYPES)


def without_macros(
    code: str, function: Function, spans: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The parts of a function's text without the words of its head that seem to be macros.

    ``local uInt f()``, ``static void *CDECL f()``: a name beside a type is none itself.
    """
    start, end = function.start, function.head.offset
    if not start < end <= spans[0][1] or _NOT_WORDS.search(code, start, end):
        return list(spans)
    words = [(m.start(), m.end(), m[0]) for m in _WORD.finditer(code, start, end)]
    known = TYPE_WORDS | STORAGE | TAG_WORDS
    others = [i for i, (_, _, word) in enumerate(words) if word not in known]
    tagged = {i for i in others if i and words[i - 1][2] in TAG_WORDS}
    typed = tagged or any(word in BASIC_TYPES for _, _, word in words)
    kept = tagged if typed else set(others[-1:])
    parts: list[tuple[int, int]] = [(start, start)]
    position = start
    for index in others:
        if index not in kept:
            parts.append((position, words[index][0]))
            position = words[index][1]
    return [*parts, (position, spans[0][1]), *spans[1:]]


class Declarations:
    """The declarations of a shadow text at file scope, between these functions."""

    def __init__(self, code: str, functions: Iterable[Function]) -> None:
        self._code = code
        outer = [function for function in functions if function.outer is None]
        self._functions = sorted(outer, key=lambda function: function.start)

    @cached_property
    def types(self) -> frozenset[str]:
        """The names that typedefs at file scope define."""
        return frozenset(name for text in self._typedefs() for name in _names_of(text))

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names that are declared or defined as functions, and some that only look so."""
        found = {function.head.name for function in self._functions}
        for start, end in self._between():
            backwards = self._code[start:end][::-1]
            found.update(name[::-1] for name in _CALLED_BACKWARDS.findall(backwards))
        return frozenset(found)

    def statics(self) -> frozenset[str]:
        """The functions that are declared static, which their definitions need not repeat."""
        found: set[str] = set()
        for start, end in self._between():
            found.update(_STATIC.findall(self._code, start, end))
        return frozenset(found)

    def initialisers(self) -> frozenset[str]:
        """The functions that initialisers at file scope mention."""
        found: set[str] = set()
        for start, end in self._between():
            if self._code.find("=", start, end) >= 0:
                for match in _INITIALISER.finditer(self._code, start, end):
                    found.update(_WORD.findall(match[0]))
        return self.functions & found if found else frozenset()

    def _between(self) -> Iterator[tuple[int, int]]:
        position = 0
        for function in self._functions:
            if function.start > position:
                yield position, function.start
            position = max(position, function.end)
        yield position, len(self._code)

    def _typedefs(self) -> Iterator[str]:
        """What stands between each ``typedef`` and its semicolon, blocks left out."""
        code = self._code
        starts = [function.brace for function in self._functions]
        for match in _TYPEDEF.finditer(code):
            index = bisect_right(starts, match.start()) - 1
            if index >= 0 and match.start() < self._functions[index].end:
                continue
            depth, position = 0, match.end()
            parts: list[str] = []
            while (step := _STEP.search(code, position)) is not None:
                if not depth:
                    parts.append(code[position : step.start()])
                position = step.end()
                if step[0] == ";" and not depth:
                    break
                depth += (step[0] == "{") - (step[0] == "}")
            yield " ".join(parts)


@lru_cache(maxsize=10_000)  # a compile server sees the same headers again and again
def _names_of(text: str) -> Sequence[str]:
    """The names that a typedef of this text, blocks left out, defines."""
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return (plain[1],)
    text = _without_groups(text)
    names: list[str] = []
    for part in _split(text):
        inside = _IN_PARENTHESES.search(part)
        if inside is not None:
            names.append(inside[1])
            continue
        words = _WORD.findall(re.split(r"[\[(:]", part, maxsplit=1)[0])
        if not words:  # typedef int (name)(int);
            words = _WORD.findall(part)[:1]
        elif part.count("(") and re.match(r"[^(]*\(\s*[A-Za-z_]\w*\s*\)\s*[(\[]", part):
            words = _WORD.findall(part[part.index("(") :])[:1]
        names += words[-1:]
    return names


def _without_groups(text: str) -> str:
    """The text without attributes, and typeof(..) as a word."""
    while (match := _GROUP.search(text)) is not None:
        depth, end = 0, match.end() - 1
        while end < len(text):
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
            if not depth:
                break
        word = "int" if match[1] in TYPE_CALLS else ""
        text = f"{text[: match.start()]} {word} {text[end:]}"
    return text


def _split(text: str) -> Iterator[str]:
    """The parts between the commas that are in no brackets."""
    depth = first = 0
    for index, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and not depth:
            yield text[first:index]
            first = index + 1
    yield text[first:]
