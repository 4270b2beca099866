"""Which functions the user wants triggers in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kprof.instrument.heads import Head


@dataclass(frozen=True)
class Selection:
    """Patterns of names, as a shell writes them; ``file.c:name`` patterns look at the file too.

    Attributes
    ----------
    only
        Where not empty, what no pattern of it matches is left out.
    exclude
        What a pattern of it matches is left out.
    """

    only: Sequence[str] = ()
    exclude: Sequence[str] = ()

    def reason(self, name: str, file: str) -> str:
        """Why this function is left out, or ""."""
        if name.startswith("kprof_"):
            return "it is part of the profiler"
        for pattern in self.exclude:
            if _matches(pattern, name, file):
                return f"excluded by {pattern}"
        if self.only and not any(_matches(pattern, name, file) for pattern in self.only):
            return "not among --only"
        return ""


def attribute_reason(head: Head, declared: frozenset[str] = frozenset()) -> str:
    """Why a function's attributes keep triggers out of it, or "".

    Parameters
    ----------
    declared
        The attributes of its earlier declarations.
    """
    words = head.words | declared
    if "no_instrument_function" in words:
        return "has __attribute__((no_instrument_function))"
    if "naked" in words:
        return "is naked: it has no frame of its own to put code into"
    return ""


def _matches(pattern: str, name: str, file: str) -> bool:
    where, colon, what = pattern.rpartition(":")
    if not colon:
        return fnmatchcase(name, pattern)
    return fnmatchcase(name, what) and (fnmatchcase(file, where) or fnmatchcase(file, f"*/{where}"))
