"""Functions that users are told of: left without triggers, or read without the parser."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Skipped:
    """A function to list: its name, where it is, and why.

    Attributes
    ----------
    wanted
        It has no triggers because the user asked for that.
    planted
        It has triggers, but only the lexical rules read it: pycparser could not.
    """

    name: str
    file: str
    line: int
    reason: str
    wanted: bool = False
    planted: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}: {self.reason}"
