"""Building a host program with triggers, running it, and reporting its run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from kprof.capture.sniff import MAGIC
from kprof.cli.choices import Choice
from kprof.cli.output import say, write_product
from kprof.cli.source import open_with_names
from kprof.errors import FileAccessError, KprofError, UsageError
from kprof.files import explain, is_there, read_bytes
from kprof.instrument.linking import named_in
from kprof.report.choose import report_parts

CAPTURE = "kprof.bin"
_ENDING = ".kprof"


@dataclass(frozen=True)
class Recording:
    """How a program's run is recorded.

    Attributes
    ----------
    output
        The capture file.
    events
        Events kept of each thread, a power of two; None: the event RAM's own number.
    keep
        ``first`` or ``last`` events; None for the first.
    names
        The name file; None: the one that the program was built with.
    report
        The summary is shown.
    force
        A foreign file at `output` is replaced.
    """

    output: str
    events: int | None = None
    keep: str | None = None
    names: str | None = None
    report: bool = True
    force: bool = False


def recording_choices() -> list[Choice]:
    """The options of a recording."""
    return [
        Choice(["-o", "--output"], metavar="CAPTURE", default=CAPTURE,
               help=f"The capture file. [default: {CAPTURE}]"),
        Choice(["--events"], type=click.IntRange(2), metavar="N",
               help="Events kept of each thread, a power of two. [default: 16384]"),
        Choice(["--keep"], type=click.Choice(["first", "last"]),
               help="Keep the first or the last events. [default: first]"),
        Choice(["--no-report"], is_flag=True, help="Only write the capture."),
    ]  # fmt: skip


def build_program(
    sources: Sequence[str], program: str | None, compiler: str, recording: Recording
) -> str:
    """Compile and link `sources` with triggers and the event RAM; the path of the program.

    Raises
    ------
    UsageError
        No sources, or the program would replace a file that no `kprof record` built.
    KprofError
        The compiler failed.
    """
    if not sources:
        raise UsageError("no sources; expected such as: kprof record prog.c")
    target = Path(program or Path(sources[0]).with_suffix(_ENDING).name)
    if is_there(target, "write") and not recording.force and not named_in([target]):
        raise UsageError(
            f"{target}: already exists, and kprof did not build it (--force replaces it, or name "
            "another file: --program FILE)"
        )
    words = shlex.split(compiler)
    options = [word for word in words if not word.startswith("-l")]
    libraries = [word for word in words if word.startswith("-l")]
    _run_compiler([*_wrapper(recording), *options, "-o", str(target), *sources, *libraries])
    return f"./{target}" if target.parent == Path() else str(target)


def run_build(
    command: str,
    sources: Sequence[str],
    program: Sequence[str],
    compiler: str,
    recording: Recording,
) -> list[str]:
    """Run a build whose ``$CC`` plants triggers; the program to run.

    GNU make takes the compiler as a variable of its command line, which wins over the makefile.

    Raises
    ------
    UsageError
        The program is not named, or sources are.
    KprofError
        The build failed.
    """
    if sources or not program:
        raise UsageError("--build needs the program: kprof record --build make -- ./prog ARGS")
    wrapper = shlex.join([*_wrapper(recording), *shlex.split(compiler)])
    variable = "CC=" + wrapper.replace("$", "$$").replace(" ", "\\ ")
    made = subprocess.run(
        command, shell=True, env={**os.environ, "CC": wrapper, "MAKEFLAGS": f" -- {variable}"}
    )
    if made.returncode:
        raise KprofError(f"{command}: failed with exit code {made.returncode}")
    return list(program)


def run_program(words: Sequence[str], recording: Recording) -> int:
    """Run a program, and show the summary of the capture that it wrote.

    Returns
    -------
    int
        The exit code of the program; 128 + n where it died of signal n.

    Raises
    ------
    KprofError
        It cannot be run, or wrote no capture.
    """
    capture = Path(recording.output)
    aside = _make_room(capture, recording.force)
    environment = {**os.environ, "KPROF_OUT": str(capture.absolute())}
    if recording.events is not None:
        environment["KPROF_EVENTS"] = str(recording.events)
    if recording.keep is not None:
        environment["KPROF_KEEP"] = recording.keep
    try:
        done = subprocess.run(words, env=environment)
    except OSError as error:
        raise FileAccessError(explain(words[0], "run", error)) from error
    finally:
        if aside is not None and not capture.exists():
            aside.replace(capture)
            aside = capture
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    if aside == capture or not capture.is_file():
        raise KprofError(
            f"{words[0]}: wrote no capture (exit code {code}); expected a program with triggers "
            "(build it with kprof record SOURCE.c, or with kprof cc --target soft -- COMPILER ...)"
        )
    if code:
        say(f"{words[0]}: exit code {code}")
    if recording.report:
        run = open_with_names(str(capture), _names_of(words[0], recording))
        sys.stdout.flush()
        write_product(Path("-"), report_parts(run.capture, run.names, known=run.known))
    say(f"{capture}: the capture; kprof trace {shlex.quote(str(capture))} shows every call")
    return code


def _names_of(program: str, recording: Recording) -> str | None:
    """The name file that the program's objects name; None where they do not."""
    if recording.names is not None:
        return recording.names
    found = [path for path in named_in([Path(program)]) if Path(path).is_file()]
    return found[0] if len(found) == 1 else None


def _wrapper(recording: Recording) -> list[str]:
    named = ["--names", str(Path(recording.names).absolute())] if recording.names else []
    return [sys.executable, "-m", "kprof", "cc", *named, "--target", "soft", "--"]


def _run_compiler(command: Sequence[str]) -> None:
    code = subprocess.run(command).returncode
    if code:
        raise KprofError(f"the compiler failed with exit code {code}; the command was: "
                         f"{shlex.join(command[command.index('--') + 1 :])}")  # fmt: skip


def _make_room(capture: Path, force: bool) -> Path | None:
    """Move an earlier capture aside, to the path returned; refuse to replace any other file.

    Raises
    ------
    UsageError
        The file is no capture.
    """
    if not is_there(capture, "write"):
        return None
    if not capture.is_file():
        raise FileAccessError(f"{capture}: is not a file; expected the name of a capture to write")
    if not force and not read_bytes(capture).startswith(MAGIC):
        raise UsageError(
            f"{capture}: already exists, and is not a capture file (--force replaces it, or name "
            "another file: -o FILE)"
        )
    return capture.replace(capture.with_name(capture.name + ".old"))
