"""Whether a source has code that looks guarded by an ``if`` or a loop and is not.

GCC warns of that (``-Wmisleading-indentation``) in a source, but never in a text with line markers,
which is what compiler mode gives it. What is found here has to be compiled as it is for its
messages. The rule is GCC's, a little wider: a body without braces, and behind it a statement in
the body's line or in the body's column. Where an ``#if`` stands between them it is not looked for.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from kprof.instrument.shadow import shadow_of

_GUARD = re.compile(r"\b(?:(?:if|for|while)\s*\(|else\b)")
_BRACKET = re.compile(r"[()]")
_STEP = re.compile(r"[;(){}\[\]]")
_HEAD = re.compile(r"(?:if|for|while|switch)\s*\(|(?:do|else)\b")
_ELSE = re.compile(r"\s*else\b")
_SPACE = re.compile(r"\s*")


def may_mislead(source: str) -> bool:
    """Is there a place in this source that ``-Wmisleading-indentation`` could name?"""
    shadow = shadow_of(source)
    code = shadow.code
    for match in _GUARD.finditer(code):
        after = match.end() if match[0] == "else" else _closed(code, match.end())
        body = _token(code, after)
        if code[body : body + 1] in ("{", "}", ""):
            continue
        if match[0] == "else" and _GUARD.match(code, body):
            continue  # an if of its own
        end = _statement_end(code, body)
        following = _token(code, end)
        if code[following : following + 1] in ("}", ";", "") or _ELSE.match(code, following):
            continue
        directive = bisect_left(shadow.directives, (body, body))
        if directive < len(shadow.directives) and shadow.directives[directive][0] < following:
            continue
        if "\n" not in code[body:following] or _aligned(code, match.start(), body, following):
            return True
    return False


def _aligned(code: str, guard: int, body: int, following: int) -> bool:
    first = _column(code, _token(code, code.rfind("\n", 0, guard) + 1))
    column = _column(code, following)
    if code[body] == ";":
        return column > first or (code[following] == "{" and column == first)
    return column == _column(code, body) != first


def _column(code: str, offset: int) -> int:
    return len(code[code.rfind("\n", 0, offset) + 1 : offset].expandtabs())


def _statement_end(code: str, start: int) -> int:
    """The offset behind the statement that begins at `start`."""
    waiting: list[str] = []
    while True:
        head = _HEAD.match(code, start)
        while head is not None:
            if head[0][:2] in ("if", "do"):
                waiting.append(head[0][:2])
            start = _closed(code, head.end()) if head[0].endswith("(") else head.end()
            start = _token(code, start)
            head = _HEAD.match(code, start)
        end = _simple_end(code, start)
        while waiting and waiting[-1] == "do":
            waiting.pop()
            end = _simple_end(code, end)  # while (...);
        other = _ELSE.match(code, end)
        if not waiting or other is None:
            return end
        waiting.pop()
        start = _token(code, other.end())


def _simple_end(code: str, start: int) -> int:
    depth = 0
    braced = code[start : start + 1] == "{"
    for match in _STEP.finditer(code, start):
        char = match[0]
        if char in "([{":
            depth += 1
        elif char == ";":
            if depth == 0:
                return match.end()
        else:
            depth -= 1
            if depth < 0:
                return match.start()
            if depth == 0 and braced:
                return match.end()
    return len(code)


def _closed(code: str, start: int) -> int:
    """The offset behind the bracket that closes the one before `start`."""
    depth = 1
    for match in _BRACKET.finditer(code, start):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(code)


def _token(code: str, start: int) -> int:
    match = _SPACE.match(code, start)
    return match.end() if match else start
