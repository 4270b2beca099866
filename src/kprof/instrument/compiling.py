"""Compiler mode: run a compiler so that what it compiles has triggers.

Each C source is preprocessed by the compiler itself, given its triggers, and compiled from that
text with the options that it came with; line markers keep messages and debug information on the
original lines. Everything else (other languages, objects, linking, -E, -M) is the compiler's own
business, and it is run as it was called.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kprof.errors import InstrumentError, KprofError, UsageError
from kprof.instrument.driver import CommandLine, Input, read_command
from kprof.instrument.edits import has_edits
from kprof.instrument.functions import Unbalanced
from kprof.instrument.select import Selection, attribute_reason
from kprof.instrument.shadow import decode, encode
from kprof.instrument.source import Skipped
from kprof.instrument.targets import Target
from kprof.instrument.unit import Unit, plant_unit, scan_unit
from kprof.names import FIRST_TAG, Function, NameEntry, allocate_functions

_COMMAND_BYTES = 100_000
_HOSTS = {"x86_64": "x86-64", "i686": "i386", "arm": "arm", "aarch64": "aarch64"}


@dataclass(frozen=True)
class Compiling:
    """How to instrument what a compiler compiles."""

    target: Target
    names: Path
    selection: Selection = field(default_factory=Selection)
    first_tag: int = FIRST_TAG


@dataclass(frozen=True)
class Compiled:
    """How it went.

    Attributes
    ----------
    code
        The exit code: the compiler's.
    notices
        Lines for the user.
    missed
        Functions without triggers that the user did not leave out.
    """

    code: int
    notices: tuple[str, ...] = ()
    missed: tuple[Skipped, ...] = ()


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


def compile_with_triggers(command: Sequence[str], options: Compiling) -> Compiled:
    """Run a compiler's command line with triggers in its C sources.

    Does not return where the command is none of ours: it is run in place of this process.

    Raises
    ------
    KprofError
    """
    line = read_command(command)
    if not line.ours or not options.target.plants:
        _become(command)
    if options.target.strategy == "cleanup" and line.has("-fexceptions"):
        # Cleanups would add landing pads.
        options = replace(options, target=replace(options.target, strategy="returns"))
    notices: list[Skipped] = []
    with tempfile.TemporaryDirectory(prefix="kprof-") as folder:
        objects: dict[int, str] = {}
        for number, source in enumerate(line.sources):
            scratch = Path(folder, str(number))
            scratch.mkdir()
            output = line.output_of(source)
            if line.mode == "link":
                output = str(scratch / f"{Path(source.path).stem}.o")
                objects[source.index] = output
            code = _compile(line, source, scratch, output, options, notices)
            if code:
                return _outcome(code, notices)
        if line.mode == "link":
            code = _run(line.link(objects), scratch).returncode
            return _outcome(code, notices)
        others = [item for item in line.inputs if not item.language]
        if others and line.mode != "link":
            code = _run(_only(line, others), scratch).returncode
            return _outcome(code, notices)
    return _outcome(0, notices)


def _compile(
    line: CommandLine,
    source: Input,
    scratch: Path,
    output: str,
    options: Compiling,
    notices: list[Skipped],
) -> int:
    _refuse_copies(source)
    said = b""
    if source.language == "c":
        more = ["-DKPROF", *(["-C"] if _needs_comments(line, source) else [])]
        command = line.preprocess(source)
        command[len(line.compiler) : len(line.compiler)] = more
        done = _run(command, scratch, capture=True)
        if done.returncode:
            return _finish(done)
        raw, said = decode(done.stdout), done.stderr
    else:
        raw = decode(Path(source.path).read_bytes())
    text = scratch / f"{Path(source.path).stem or 'stdin'}.i"
    text.write_bytes(encode(instrument_unit(raw, source.path, options, notices)))
    clang = "clang" in Path(line.compiler[-1]).name
    again = line.compile(str(text), output)
    again.insert(len(line.compiler), "-Qunused-arguments" if clang else "-fno-tree-ter")
    done = _run(again, scratch, capture=True)
    if not done.stderr and not done.returncode:
        _say(said)
        return 0
    # Messages are the compiler's on the original: macros are still macros there.
    original = _run(
        [*line.compile_original(source, str(scratch / "original.o")), *_colour()],
        scratch,
        capture=True,
    )
    _say(original.stderr)
    if original.returncode or not done.returncode:
        return original.returncode
    done = _run([*again, "-w"], scratch, capture=True)
    return _finish(done) if done.returncode else 0


def _finish(done: subprocess.CompletedProcess[bytes]) -> int:
    _say(done.stderr)
    return done.returncode


def _say(text: bytes) -> None:
    sys.stderr.flush()
    sys.stderr.buffer.write(text)
    sys.stderr.buffer.flush()


def _colour() -> list[str]:
    return ["-fdiagnostics-color=always"] if sys.stderr.isatty() else []


def instrument_unit(raw: str, path: str, options: Compiling, notices: list[Skipped]) -> str:
    """A preprocessed unit with triggers; what could not have them is added to `notices`.

    Raises
    ------
    InstrumentError
        It has triggers already.
    """
    try:
        unit = scan_unit(raw)
    except Unbalanced:
        return raw  # the compiler says what is wrong, and where
    if unit.planted:
        raise InstrumentError([f"{path}: has been instrumented already; compile the original"])
    wanted: dict[int, Function] = {}
    for brace, function in unit.functions.items():
        place = unit.places[brace]
        reason = options.selection.reason(function.name, place.file)
        by_user = bool(reason)
        declared = unit.declared.get(function.head.name, frozenset())
        reason = reason or attribute_reason(function.head, declared)
        if reason:
            mine = by_user or "no_instrument" in reason
            notices.append(Skipped(function.name, place.file, place.line, reason, mine))
        else:
            static = function.head.static or function.outer is not None
            wanted[brace] = Function(function.name, place.file, static)
    if not wanted:
        return raw
    entries = allocate_functions(options.names, wanted.values(), first_tag=options.first_tag)
    tags = _tags(unit, wanted, entries, notices)
    text, failed = plant_unit(unit, tags, options.target)
    for function, reason in failed:
        place = unit.places[function.brace]
        notices.append(Skipped(function.name, place.file, place.line, reason))
    return text


def _tags(
    unit: Unit,
    wanted: Mapping[int, Function],
    entries: Mapping[Function, NameEntry],
    notices: list[Skipped],
) -> dict[int, int]:
    tags: dict[int, int] = {}
    for brace, function in wanted.items():
        entry = entries[function]
        if entry.value and entry.exit_tag is not None:
            tags[brace] = entry.value
            continue
        place = unit.places[brace]
        why = "value 0" if not entry.value else "an inline trigger has its name"
        reason = f"{why} in the name file"
        notices.append(
            Skipped(function.name, place.file, place.line, reason, wanted=not entry.value)
        )
    return tags


def _refuse_copies(source: Input) -> None:
    try:
        text = decode(Path(source.path).read_bytes()) if source.path != "-" else ""
    except OSError:
        return  # the compiler says so
    if has_edits(text):
        raise InstrumentError(
            [f"{source.path}: has been instrumented already; compile the original"]
        )


def _needs_comments(line: CommandLine, source: Input) -> bool:
    """Do comments such as /* fall through */ steer a warning?"""
    asked = any(
        a in ("-W", "-Wextra") or a.startswith("-Wimplicit-fallthrough") for a in line.arguments
    )
    if not asked or line.has("-C", "-CC"):
        return False
    try:
        return b"fall" in Path(source.path).read_bytes().lower()
    except OSError:
        return False


def _only(line: CommandLine, others: Sequence[Input]) -> list[str]:
    """The command with the inputs that are not ours alone."""
    ours = {item.index for item in line.inputs} - {item.index for item in others}
    return [*line.compiler, *(a for i, a in enumerate(line.arguments) if i not in ours)]


def _outcome(code: int, skipped: Sequence[Skipped]) -> Compiled:
    missed = tuple(item for item in skipped if not item.wanted)
    return Compiled(code, tuple(str(item) for item in missed), missed)


def _run(
    command: list[str], scratch: Path, *, capture: bool = False
) -> subprocess.CompletedProcess[bytes]:
    if sum(map(len, command)) > _COMMAND_BYTES:
        words = scratch / "arguments"
        quoted = (
            a.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'") for a in command[1:]
        )
        text = "\n".join(f'"{word}"' for word in quoted)
        words.write_bytes(text.encode("utf-8", "surrogateescape"))
        command = [command[0], f"@{words}"]
    try:
        pipe = subprocess.PIPE if capture else None
        return subprocess.run(command, stdout=pipe, stderr=pipe, check=False)
    except OSError as error:
        raise KprofError(f"{command[0]}: cannot run: {(error.strerror or '').lower()}") from error


def _become(command: Sequence[str]) -> None:
    sys.stdout.flush()
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        raise KprofError(f"{command[0]}: cannot run: {(error.strerror or '').lower()}") from error
