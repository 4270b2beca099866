"""How compiler mode instruments, and which target a compiler is for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kprof.errors import UsageError
from kprof.instrument.driver import read_command
from kprof.instrument.select import Selection
from kprof.instrument.targets import Target

_HOSTS = {"x86_64": "x86-64", "i686": "i386", "arm": "arm", "aarch64": "aarch64"}


@dataclass(frozen=True)
class Compiling:
    """How to instrument what a compiler compiles."""

    target: Target
    names: Path
    selection: Selection = field(default_factory=Selection)
    first_tag: int = 1024


def guess_target(command: Sequence[str]) -> str:
    """The target that a compiler compiles for, from its name and options, else this machine's.

    Raises
    ------
    UsageError
        It cannot be guessed.
    """
    line = read_command(command)
    name = Path(line.compiler[-1]).name
    for word, target in (
        ("m68k", "m68k"),
        ("aarch64", "aarch64"),
        ("arm64", "aarch64"),
        ("arm", "arm"),
        ("riscv", "riscv"),
        ("x86_64", "x86-64"),
        ("i386", "i386"),
        ("i486", "i386"),
        ("i586", "i386"),
        ("i686", "i386"),
    ):
        if word in name:
            found = target
            break
    else:
        machine = os.uname().machine
        found = next((t for m, t in _HOSTS.items() if machine.startswith(m)), "")
        found = found or ("riscv" if machine.startswith("riscv") else "")
    if found == "arm" and line.has("-mthumb"):
        return "thumb"
    if found == "x86-64" and line.has("-m32"):
        return "i386"
    if not found:
        raise UsageError("the compiler's target is not known; give it with --target")
    return found
