"""Syntax errors: what may be said of the place at which the parser gave up.

The parser reads source text with macros in it, and C that it does not speak. An error is one only
where no macro and no extension could explain what stands there (``1 }``, ``= ;``); for the rest the
compiler has the last word.
"""

from __future__ import annotations

import re

from kprof.instrument.heads import TOKEN

_KEYWORDS = frozenset(
    "return if else for while do switch case default break continue goto sizeof".split()  # noqa: SIM905
)
_CERTAIN_BEFORE = re.compile(r"[0-9\"]|=$|[-+/%^|?<>]$|[-+/%^|<>=!]=$")


def syntax_error(code: str, offset: int, *, plain: bool) -> tuple[int, str] | None:
    """Where the error is and what it is, or None where it may be none.

    Parameters
    ----------
    code
        Shadow text.
    offset
        Where the parser gave up.
    plain
        No macro can be in the text.
    """
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
