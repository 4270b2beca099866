"""Running the compilers: in processes of this one's, or where a compile server's client is.

Compiler mode runs one compiler at a time: `Running.start` begins it, `Running.wait` gives its exit
code. What it prints goes into files; where none is given, where this command's own goes.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NoReturn, Protocol

from kprof.errors import KprofError

_COMMAND_BYTES = 100_000


class Running(Protocol):
    """How commands are run; an OSError of `start` or `wait` where one cannot be."""

    def start(
        self, command: Sequence[str], stdout: Path | None = None, stderr: Path | None = None
    ) -> None:
        """Begin a command."""

    def wait(self) -> int:
        """The exit code of what was begun last; minus the number of a signal that ended it."""

    def become(self, command: Sequence[str]) -> NoReturn:
        """Run a command in place of this one."""


class Here:
    """Runs commands as processes of this one's."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(
        self, command: Sequence[str], stdout: Path | None = None, stderr: Path | None = None
    ) -> None:
        """See `Running`."""
        with contextlib.ExitStack() as stack:
            files: list[IO[bytes] | None] = [
                stack.enter_context(path.open("wb")) if path else None for path in (stdout, stderr)
            ]
            self._process = subprocess.Popen(command, stdout=files[0], stderr=files[1])

    def wait(self) -> int:
        """See `Running`."""
        assert self._process is not None
        try:
            return self._process.wait()
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def become(self, command: Sequence[str]) -> NoReturn:
        """See `Running`."""
        os.execvp(command[0], list(command))


class Compiler:
    """Runs the commands of one compilation, with a folder for what they print.

    Every method raises KprofError where a command cannot be run.
    """

    def __init__(self, running: Running, scratch: Path) -> None:
        self._running, self._said = running, scratch / "said"
        self._arguments = scratch / "arguments"
        self._command: Sequence[str] = ()

    def start(self, command: Sequence[str], output: Path) -> None:
        """Begin a command, its output into a file; `finish` it."""
        self._start(command, output, self._said)

    def finish(self) -> tuple[int, bytes]:
        """The exit code of what was begun, and what it said."""
        return self._wait(), self._said.read_bytes()

    def run(self, command: Sequence[str]) -> int:
        """The exit code of a command, whose messages are this command's."""
        self._start(command, None, None)
        return self._wait()

    def hear(self, command: Sequence[str]) -> tuple[int, bytes]:
        """The exit code of a command, and what it said."""
        self._start(command, None, self._said)
        return self.finish()

    def _start(self, command: Sequence[str], stdout: Path | None, stderr: Path | None) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._command = command
        with cannot_run(command):
            self._running.start(self._short(command), stdout, stderr)

    def _wait(self) -> int:
        with cannot_run(self._command):
            return self._running.wait()

    def _short(self, command: Sequence[str]) -> Sequence[str]:
        """The command, its arguments in a response file where they are too long for a system."""
        if sum(map(len, command)) <= _COMMAND_BYTES:
            return command
        quoted = (
            a.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'") for a in command[1:]
        )
        text = "\n".join(f'"{word}"' for word in quoted)
        self._arguments.write_bytes(text.encode("utf-8", "surrogateescape"))
        return [command[0], f"@{self._arguments}"]


def become(running: Running, command: Sequence[str]) -> NoReturn:
    """Run a command in place of this one.

    Raises
    ------
    KprofError
        It cannot be run.
    """
    sys.stdout.flush()
    with cannot_run(command):
        running.become(command)


@contextlib.contextmanager
def cannot_run(command: Sequence[str]) -> Iterator[None]:
    """An OSError of this block is that of a command that cannot be run.

    Raises
    ------
    KprofError
    """
    try:
        yield
    except OSError as error:
        reason = (error.strerror or "").lower()
        raise KprofError(f"{command[0]}: cannot run: {reason}") from error
