"""Runs the shell sessions of a page of the documentation, and compares what they print.

A session is a block of ``console``. A line that starts with ``$ `` is typed, ``> `` continues it,
the other lines are what the command prints; ``...`` is any lines. All blocks of a page are one
shell. Words behind ``console`` say how the outputs are compared:

``figures``   numbers may differ, and the order of lines (a host's times)
``silent``    only the exit code counts
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(r"^```console(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
_MARK = "=== kprof end of output "
_NUMBER = re.compile(r"[<>]?[-+]?\d[\d.,]*%?")


@dataclass
class Command:
    """What is typed, what the page says that it prints, and what it printed."""

    typed: str
    expected: list[str]
    words: set[str]
    printed: list[str] = field(default_factory=list)
    code: int = 0

    @property
    def agrees(self) -> bool:
        if self.code:
            return False
        if "silent" in self.words:
            return True
        printed = [self._plain(line) for line in self.printed]
        expected = [self._plain(line) for line in self.expected]
        if "figures" in self.words:
            there, wanted = Counter(printed), Counter(line for line in expected if line != "...")
            return there == wanted or ("..." in expected and not wanted - there)
        pattern = r"\n".join(
            r"(?:.*\n)*.*" if line == "..." else re.escape(line) for line in expected
        )
        return re.fullmatch(pattern, "\n".join(printed)) is not None

    def _plain(self, line: str) -> str:
        if "figures" not in self.words:
            return line.rstrip()
        return " ".join(_NUMBER.sub("N", line).split())


def commands(page: Path) -> list[Command]:
    """The commands of a page, in order."""
    found: list[Command] = []
    for words, block in _BLOCK.findall(page.read_text()):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Command(line[2:], [], set(words.split())))
            elif line.startswith("> "):
                found[-1].typed += "\n" + line[2:]
            else:
                found[-1].expected.append(line)
    return found


def run(
    page: Path, folder: Path, environment: dict[str, str], port: int | None = None
) -> list[Command]:
    """Run the commands of a page in one shell, with another port in place of 3333."""
    found = commands(page)
    script = "".join(f'{c.typed}\ncode=$?; echo; echo "{_MARK}$code"\n' for c in found)
    if port is not None:
        script = script.replace("3333", str(port))
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    parts = re.split(rf"\n?{_MARK}(\d+)\n", done.stdout)
    for at, command in enumerate(found):
        command.printed = parts[2 * at].rstrip("\n").splitlines()
        command.code = int(parts[2 * at + 1])
    return found


def refresh(page: Path, found: list[Command]) -> None:
    """Write what was printed into the page; an output cut by ``...`` keeps its number of lines."""
    left = iter(found)

    def block(match: re.Match[str]) -> str:
        lines: list[str] = []
        for line in match[2].splitlines():
            if line.startswith(("$ ", "> ")):
                lines.append(line)
                if line.startswith("$ "):
                    command = next(left)
                    rest = command.typed.count("\n")
            if line.startswith(("$ ", "> ")) and rest == 0:
                lines += _cut(command)
            if line.startswith(("$ ", "> ")):
                rest -= 1
        return f"```console{match[1]}\n" + "".join(f"{line}\n" for line in lines) + "```"

    page.write_text(_BLOCK.sub(block, page.read_text()))


def _cut(command: Command) -> list[str]:
    expected, printed = command.expected, [line.rstrip() for line in command.printed]
    if "silent" in command.words or (expected == ["..."] and not os.environ.get("KPROF_FILL")):
        return expected
    if expected == ["..."]:
        return printed
    if "..." not in expected:
        return printed
    first = expected.index("...")
    last = len(expected) - 1 - first
    return [*printed[:first], "...", *(printed[-last:] if last else [])]
