"""Functions that were left without triggers, as they are listed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Skipped:
    """A function without triggers: its name, where it is, and why."""

    name: str
    file: str
    line: int
    reason: str
    wanted: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}: {self.reason}"
