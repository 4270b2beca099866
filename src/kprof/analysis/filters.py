"""Filters: which calls a report is about. Options have the names that uftrace users know.

What a filter keeps, `kprof.analysis.selection` decides. The figures of the calls that stay do not
change, and the net time of the others is booked as left out, so that the ledger balances.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kprof.errors import UsageError
from kprof.names import NameEntry

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Filter:
    """What to keep; every condition that is given must hold. Times in ticks.

    Attributes
    ----------
    only
        Patterns: calls of these functions and what is called below them.
    without
        Patterns: not these, nor what is called below them.
    callers
        Patterns: only the calls of these functions and those that they were called from.
    hide
        Patterns: not these; what they call stays.
    depth
        At most so many levels: below what `only` names, else from the bottom.
    least
        Calls of at least so much elapsed time.
    start, end
        Calls that began in this range.
    tasks
        Contexts: 0 is the system context.
    match
        How patterns are written: ``regex`` (searched in the name) or ``glob``.
    """

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    depth: int | None = None
    least: int | None = None
    start: int | None = None
    end: int | None = None
    tasks: tuple[int, ...] = ()
    match: str = "regex"

    def __bool__(self) -> bool:
        return self != replace(Filter(), match=self.match)

    def named(
        self, functions: tuple[NameEntry, ...], option: str, patterns: tuple[str, ...]
    ) -> Mask:
        """Which functions the patterns of an option name; shape (functions,), at least 1.

        Raises
        ------
        UsageError
            A pattern is no regular expression, or matches none of them.
        """
        names = [entry.name for entry in functions]
        wanted = np.zeros(max(1, len(names)), np.bool_)
        for pattern in patterns:
            matches = matcher(pattern, self.match)
            found = [matches(name) for name in names]
            if not any(found):
                raise UsageError(
                    f"{option} {pattern}: matches no function of the name file; expected a "
                    f"{self.match} (see kprof names list)"
                )
            wanted[: len(names)] |= np.array(found, np.bool_)
        return wanted

    def check_tasks(self, contexts: int) -> None:
        """Raise UsageError where one of `tasks` is more than `contexts`."""
        for task in self.tasks:
            if not 0 <= task <= contexts:
                raise UsageError(
                    f"--task {task}: is not a context; expected 0 (the system) to {contexts} "
                    "(see --tasks)"
                )


def matcher(pattern: str, match: str) -> Callable[[str], bool]:
    """Does a name match? ``regex`` is searched in it, ``glob`` must match the whole.

    Raises
    ------
    UsageError
        The pattern is no regular expression.
    """
    if match == "glob":
        return lambda name: fnmatch.fnmatchcase(name, pattern)
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"{pattern}: is not a regular expression: {error} (for a pattern like *_input: --match "
            "glob)"
        ) from error
    return lambda name: compiled.search(name) is not None
