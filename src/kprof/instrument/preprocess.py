"""Having a compiler's preprocessor read a source text as it would read the file."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kprof.errors import InstrumentError, UsageError
from kprof.files import read_bytes
from kprof.instrument.driver import read_command
from kprof.instrument.shadow import decode, encode, foreign
from kprof.instrument.targets import Cpu

_LIMIT_S = 120


@dataclass(frozen=True)
class Preprocessor:
    """A compiler and the options that decide what its preprocessor makes of a file.

    Attributes
    ----------
    command
        The compiler with its options, no input.
    folder
        Where it runs.
    """

    command: tuple[str, ...]
    folder: Path = Path()

    def expand(self, text: str, path: Path) -> tuple[str, str]:
        """`text` preprocessed as if it were the file `path`, and what the compiler said.

        The first is "" where the compiler refused it.
        """
        first = self._expand(text, path, "-iquote")
        if first[0]:
            return first
        second = self._expand(text, path, "-I")  # compilers other than GCC and clang
        return second if second[0] else first

    def _expand(self, text: str, path: Path, beside: str) -> tuple[str, str]:
        name = foreign(str(path)).replace("\\", "\\\\").replace('"', '\\"')
        command = [*self.command, "-E", "-w", beside, str(path.absolute().parent), "-x", "c"]
        try:
            done = subprocess.run(
                [*command, "-"],
                input=encode(f'#line 1 "{name}"\n{text}'),
                capture_output=True,
                cwd=self.folder,
                timeout=_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return "", f"{self.command[0]}: {error}"
        said = decode(done.stderr)
        return ("" if done.returncode else decode(done.stdout)), said

    def accepts(self, path: Path) -> bool:
        """Does the compiler take the file?"""
        command = [*self.command, "-fsyntax-only", "-w", "-x", "c", str(path.absolute())]
        try:
            done = subprocess.run(
                command, capture_output=True, cwd=self.folder, timeout=_LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0


def find_compiler(cpu: Cpu, wanted: str | None) -> tuple[str, ...]:
    """The compiler to preprocess with: the one that is asked for, or one for the processor, or cc.

    Empty where there is none, or `wanted` is "none".

    Raises
    ------
    UsageError
        The wanted one is not there.
    """
    if wanted == "none":
        return ()
    asked = wanted or os.environ.get("CC", "")
    words = tuple(shlex.split(asked))
    if wanted and (not words or shutil.which(words[0]) is None):
        raise UsageError(f"no compiler {wanted!r}; expected one in PATH, or none")
    if words and shutil.which(words[0]):
        return words
    for name in (*cpu.compilers, "cc", "gcc", "clang"):
        if shutil.which(name):
            return (name,)
    return ()


def read_compile_commands(path: Path) -> Mapping[Path, Preprocessor]:
    """The commands of a ``compile_commands.json`` by source file.

    Raises
    ------
    InstrumentError
        It is no such file.
    """
    problem = f"{path}: not a compilation database; expected a list of compile commands"
    try:
        entries = json.loads(read_bytes(path))
    except ValueError as error:
        raise InstrumentError([f"{problem} ({error})"]) from error
    found: dict[Path, Preprocessor] = {}
    if not isinstance(entries, list):
        raise InstrumentError([problem])
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
            raise InstrumentError([problem])
        folder = path.parent / str(entry.get("directory", "."))
        arguments = entry.get("arguments") or shlex.split(str(entry.get("command", "")))
        if not arguments or not all(isinstance(word, str) for word in arguments):
            raise InstrumentError([problem])
        file = Path(os.path.normpath(folder.absolute() / entry["file"]))
        found.setdefault(file, Preprocessor(preprocessing(arguments), folder))
    return found


def preprocessing(command: Sequence[str]) -> tuple[str, ...]:
    """A compile command without its inputs, its output and its dependency files."""
    line = read_command(command)
    kept = line.options_without("-c", "-S", "-E", "-M", "-MM")
    return (*line.compiler, *kept)
