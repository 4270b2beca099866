"""Which functions the user wants triggers in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from kprof.instrument.reading import NoTree, Reading

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
    min_statements
        Functions with fewer statements are left out.
    leaves, inline
        Functions that call nothing, and functions that are declared inline, have triggers.
    called_from
        Where not empty, what none of these functions can call, by any way, is left out. Only
        source mode, which sees all the sources at once, knows that.
    """

    only: Sequence[str] = ()
    exclude: Sequence[str] = ()
    min_statements: int = 0
    leaves: bool = True
    inline: bool = True
    called_from: Sequence[str] = ()

    def reason(self, name: str, file: str) -> str:
        """Why this function is left out, or ""."""
        if name.startswith("kprof_"):
            return "it is part of the profiler"
        for pattern in self.exclude:
            if matches(pattern, name, file):
                return f"excluded by {pattern}"
        if self.only and not any(matches(pattern, name, file) for pattern in self.only):
            return "not among --only"
        return ""

    def structure_reason(self, reading: Reading | NoTree) -> str:
        """Why this function is left out for what is in it, or ""; one without a tree stays."""
        if isinstance(reading, NoTree):
            return ""
        if reading.statements < self.min_statements:
            few = f"{reading.statements} statement{'s' * (reading.statements != 1)}"
            return f"has {few}, fewer than --min-statements {self.min_statements}"
        if not self.leaves and not reading.calls and not reading.indirect:
            return "calls nothing (--leaf skip)"
        if not self.inline and reading.inline:
            return "is inline (--no-inline)"
        return ""


def attribute_reason(head: Head, declared: frozenset[str] = frozenset()) -> tuple[str, bool]:
    """Why a function's attributes keep triggers out of it, or "", and whether that is a wish.

    Parameters
    ----------
    declared
        The attributes of its other declarations.
    """
    words = head.words | declared
    if "no_instrument_function" in words:
        return "has __attribute__((no_instrument_function))", True
    if "naked" in words:
        return "is naked: it has no frame of its own to put code into", False
    if "musttail" in words:
        return "has a musttail return: no exit trigger can follow its call", False
    return "", False


def matches(pattern: str, name: str, file: str) -> bool:
    """Does the function of this name in this file match ``name`` or ``file.c:name``?"""
    where, colon, what = pattern.rpartition(":")
    if not colon:
        return fnmatchcase(name, pattern)
    return fnmatchcase(name, what) and (fnmatchcase(file, where) or fnmatchcase(file, f"*/{where}"))
