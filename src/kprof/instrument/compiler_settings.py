"""How compiler mode instruments, and which target a compiler is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kprof.errors import UsageError
from kprof.instrument.driver import read_command
from kprof.instrument.select import Selection
from kprof.instrument.targets import Target, target_of


@dataclass(frozen=True)
class Compiling:
    """How to instrument what a compiler compiles.

    Attributes
    ----------
    given
        The user has named the name file; else the project's is looked for.
    header
        The header with ``PROFILE(name)`` that is to be made, or "".
    """

    target: Target
    names: Path
    selection: Selection = field(default_factory=Selection)
    first_tag: int = 1024
    given: bool = True
    header: str = ""


def guess_target(command: Sequence[str]) -> str:
    """The target that a compiler compiles for, from its name and options, else this machine's.

    Raises
    ------
    UsageError
        It cannot be guessed.
    """
    line = read_command(command)
    found = target_of(Path(line.compiler[-1]).name, line.arguments)
    if not found:
        raise UsageError("the compiler's target is not known; give it with --target")
    return found
