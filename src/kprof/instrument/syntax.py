"""Syntax errors in source text: found where they are certain, before anything is written.

A function's text is handed to pycparser where it can be what it looks like: in a file that includes
nothing and defines no macros, every function; in any other, one in which two neighbouring tokens
look wrong whatever macros may stand for (``0 }``, ``= ;``). An error is reported only where no
macro could explain it; for the rest the compiler has the last word. GNU C is left to it as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kprof.instrument.functions import Function
from kprof.instrument.heads import TOKEN
from kprof.instrument.shadow import Shadow
from kprof.instrument.words import STORAGE, TAG_WORDS, TYPE_WORDS

_KEYWORDS = frozenset(
    "return if else for while do switch case default break continue goto sizeof".split()  # noqa: SIM905
)
_NOT_TYPES = TYPE_WORDS | STORAGE | TAG_WORDS | _KEYWORDS | {"typedef"}
_SUSPICIOUS = re.compile(
    r"""[=+/%^|?-]\s*;                                  # an operator with nothing behind it
      |[0-9"'\]]\s+(?:return|if|for|while|do|switch|goto|break|continue)\b
      |[0-9]\s*\{
    """,
    re.X,
)
_LEFT_OPEN = re.compile(r"\s*return\b")
_GNU = re.compile(
    r"\(\s*\{|\d[iIjJ]|\b(?:__\w+|asm|typeof|auto)\b|\[\[|\.\.\.|\?\s*:|&&\s*[A-Za-z_]\w*\s*[;,}]"
)
_CHARACTER = re.compile(r"'[^'\n]*'")
_TYPEDEF = re.compile(r"\btypedef\b((?:[^;{}]|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})*);")
_NAME = re.compile(r"[A-Za-z_]\w*")
_USED_AS_TYPE = re.compile(
    r"(?:^|[;{}(,])\s*(?:(?:const|volatile|static|register|struct|unsigned)\s+)*"
    r"([A-Za-z_]\w*)(?=\s*\*+\s*(?:[A-Za-z_]|[),])|\s+[A-Za-z_]\w*\s*[;=,)\[])"
)
_COORDINATES = re.compile(r"^[^:\n]*:(\d+):(\d+): ")
_CERTAIN_BEFORE = re.compile(r"[0-9\"]|=$|[-+/%^|?<>]$|[-+/%^|<>=!]=$")


def syntax_problems(
    shadow: Shadow, code: str, functions: Sequence[Function]
) -> Iterator[tuple[int, str]]:
    """The line and the description of each error in these functions of one way through a text."""
    plain = _is_plain(shadow)
    around = {function.outer.brace for function in functions if function.outer}
    # Nested functions are GNU C.
    simple = [f for f in functions if not f.outer and f.brace not in around]
    wrong = [f for f in simple if plain or _is_suspicious(code, f)]
    typedefs = _typedefs(code) if wrong else set()
    for function in wrong:
        found = _first_error(code, function, typedefs, plain)
        if found is not None:
            yield shadow.line(found[0]), found[1]


def _typedefs(code: str) -> set[str]:
    return {
        name for m in _TYPEDEF.finditer(code) for name in _NAME.findall(m[1].rpartition("}")[2])
    }


def _is_suspicious(code: str, function: Function) -> bool:
    body = code[function.brace : function.end]
    for match in _SUSPICIOUS.finditer(body):
        if match[0][-1] != ";" or body[match.start() - 1 : match.start() + 1] not in ("++", "--"):
            return True
    at = body.find("}")
    while at >= 0:
        before = body[:at].rstrip()[-1:] if at < 200 else body[at - 200 : at].rstrip()[-1:]
        if before not in ";{}:)":
            start = max(body.rfind(stop, 0, at) for stop in ";{}")
            if body[start] == ";" or _LEFT_OPEN.match(body, start + 1):
                return True
        at = body.find("}", at + 1)
    return False


def _is_plain(shadow: Shadow) -> bool:
    return not shadow.directives


def _first_error(
    code: str, function: Function, typedefs: set[str], plain: bool
) -> tuple[int, str] | None:
    from pycparser import CParser
    from pycparser.c_lexer import CLexer, Token
    from pycparser.c_parser import ParseError

    last: list[Token] = []

    class Recorder(CLexer):  # type: ignore[misc]
        """The lexer, remembering the last token that it gave: not every error says where it is."""

        def token(self) -> Token | None:
            token = super().token()
            if token is not None:
                last[:] = [token]
            return token

    start = function.start + len(code[function.start :]) - len(code[function.start :].lstrip())
    text = code[start : function.end]
    if _GNU.search(text):
        return None
    text = _CHARACTER.sub(lambda match: "0".ljust(len(match[0])), text)
    names = typedefs | set(_USED_AS_TYPE.findall(text))
    names = {name for name in names if name not in _NOT_TYPES and name in text}
    first = "".join(f"typedef int {name};" for name in sorted(names))
    implicit = "int " if function.head.offset == start else ""
    try:
        CParser(lexer=Recorder).parse(f"{first}\n{implicit}{text}")
    except ParseError as error:
        where = _COORDINATES.match(str(error))
        if where is None and not last:
            return None
        line, column = (int(where[1]), int(where[2])) if where else (last[0].lineno, last[0].column)
        offset = _offset(text, line - 2, column - 1, len(implicit))
        return _judged(code, start + offset, plain)
    except (AssertionError, RecursionError):
        return None  # beyond it: no judgement
    return None


def _offset(text: str, line: int, column: int, shift: int) -> int:
    offset = 0
    for _ in range(max(0, line)):
        offset = text.find("\n", offset) + 1
    return max(0, offset + column - (shift if line <= 0 else 0))


def _judged(code: str, offset: int, plain: bool) -> tuple[int, str] | None:
    token = TOKEN.match(code, offset)
    start = code.rfind("\n", 0, max(0, offset - 200)) + 1  # no literal goes on over a line's end
    before = [match[0] for match in TOKEN.finditer(code, start, offset)]
    if token is None or not before:
        return None
    previous = before[-1]
    name = previous[0].isalpha() or previous[0] == "_"
    certain = previous in _KEYWORDS or (not name and _CERTAIN_BEFORE.match(previous))
    follows = token[0] in _KEYWORDS or not (token[0][0].isalpha() or token[0][0] == "_")
    left_open = token[0] == "}" and re.search(r"\breturn\b[^;{}]*$", code[:offset][-400:])
    if not plain and not (certain and follows) and not left_open:
        return None
    line = code.rfind("\n", 0, offset) + 1
    at = offset if code[line:offset].strip() else len(code[:offset].rstrip()) - 1
    return at, f"syntax error between {previous!r} and {token[0]!r}"
