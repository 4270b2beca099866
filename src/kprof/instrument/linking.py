"""What compiler mode does where a program is linked.

Each object that `kprof cc` compiles names its name file in its ``.comment`` (the ``.ident``
directive; it takes no room in memory). The linking command reads that: one program's objects come
from one name file, or its tags would collide. The program gets the SHA-256 of the name file as it
stands then (`kprof.symbols.DIGEST`), and for a target with a library, such as the event RAM in
software, that library; a linker takes a library's member only where the program lacks it.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import kprof
from kprof.errors import KprofError
from kprof.files import write_bytes
from kprof.instrument.driver import CommandLine
from kprof.instrument.shadow import decode, encode, foreign, native
from kprof.instrument.targets import TARGETS, Target, target_of
from kprof.names import read_names
from kprof.symbols import DIGEST

_IDENT = "kprof: names "
_UNSAFE = re.compile(r"[^ -~]|[%;\"\\]")  # compilers' own assemblers differ in escapes
_ESCAPED = re.compile("%([0-9A-F]{2})")
_LONGEST = 20_000
_MACHINE = (
    *("-m", "--sysroot", "-isysroot", "-B", "-target", "--target", "-arch", "-pthread"),
    *("-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-PIC", "-fno-pic", "-fno-PIE", "-fno-pie"),
)
_SEPARATE = ("-isysroot", "-B", "-target", "-arch")
_PARTS = ("-r", "-shared", "-Wl,-r", "--shared", "-dynamiclib")
_FREESTANDING = ("-nostdlib", "-nostartfiles", "-ffreestanding", "-nodefaultlibs")


def identification(names: Path) -> str:
    """The C text with which an object names its name file."""
    path = _UNSAFE.sub(_escape, foreign(os.path.realpath(names)))
    return f'__asm__(".ident \\"{_IDENT}{path};\\"");'


def _escape(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def named_in(paths: Iterable[Path]) -> dict[str, Path]:
    """The name files that these objects and libraries name, each with one that does."""
    found: dict[str, Path] = {}
    mark = encode(_IDENT)
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError:
            continue  # the linker says so
        at = data.find(mark)
        while at >= 0:
            start = at + len(mark)
            end = data.find(b";", start, start + _LONGEST)
            text = decode(data[start:end]) if end > 0 else ""
            name = native(_ESCAPED.sub(lambda match: chr(int(match[1], 16)), text))
            if name:
                found.setdefault(name, path)
            at = data.find(mark, start)
    return found


def one_name_file(line: CommandLine, compiled: Sequence[Path], given: Path | None) -> Path | None:
    """The name file of the program that this command links; None where nothing of it has one.

    Parameters
    ----------
    compiled
        The objects of the command's own sources.
    given
        The name file that the user named.

    Raises
    ------
    KprofError
        There are several.
    """
    inputs = [Path(item.path) for item in line.inputs if not item.language]
    found = named_in([*inputs, *compiled])
    if not found:
        return None
    first, *others = found
    advice = "expected one for the program (name it with --names or KPROF_NAMES, compile all again)"
    if others:
        raise KprofError(
            f"{line.program}: tags of two name files would collide: {found[first]} has those of "
            f"{first}, {found[others[0]]} those of {others[0]}; {advice}"
        )
    if given is not None and os.path.realpath(given) != first:
        raise KprofError(
            f"{line.program}: {found[first]} has the tags of {first}, and the name file is "
            f"{given}; {advice}"
        )
    return Path(first)


@dataclass(frozen=True)
class Added:
    """What a program is linked with, and what there is to say."""

    arguments: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def additions(
    line: CommandLine, target: Target, names: Path | None, scratch: Path, caches: Path | None
) -> Added:
    """The arguments to link with, behind all others.

    Parameters
    ----------
    names
        The program's name file, or None.
    caches
        A folder to keep libraries in, or None.
    """
    if line.has(*_PARTS):
        return Added()
    arguments: list[str] = []
    notices: list[str] = []
    if names is not None:
        problem = _digest(line, names, scratch / "kprof_names.o")
        if problem:
            notices.append(f"{line.program}: has no digest of {names}: {problem}")
        else:
            arguments += ["-u", DIGEST, str(scratch / "kprof_names.o")]
        if target.reads_memory and isinstance(target.base, int) and _runs_here(line):
            notices.append(
                f"{line.program}: cannot run on this machine: its triggers read "
                f"{target.base:#x} and up, where a program of a host has nothing (for an event RAM "
                "in software: --target soft)"
            )
    if target.library and not line.has(*_FREESTANDING):
        library = _library(line, target.library, scratch, caches)
        arguments += [str(library), "-pthread"] if library else []
    return Added(tuple(arguments), tuple(notices))


def _runs_here(line: CommandLine) -> bool:
    own = TARGETS.get(target_of("", ()))
    made_for = TARGETS.get(target_of(Path(line.compiler[-1]).name, line.arguments))
    if own is None or made_for is None or line.has(*_FREESTANDING):
        return False
    return made_for is own or made_for.name in dict(own.cpu.variants).values()


def _digest(line: CommandLine, names: Path, output: Path) -> str:
    """Compile the object with the digest; why it could not be, or ""."""
    try:
        numbers = ",".join(map(str, read_names(names).sha256()))
    except KprofError as error:
        return str(error)
    text = output.with_suffix(".c")
    text.write_text(
        f"extern const unsigned char {DIGEST}[32] __attribute__((weak));\n"
        f"const unsigned char {DIGEST}[32] = {{{numbers}}};\n"
    )
    return _compile([*line.compiler, *_machine_options(line)], text, output)


def _library(line: CommandLine, source: str, scratch: Path, caches: Path | None) -> Path | None:
    """The library made of one of the examples' sources for what this command links."""
    folder = _agent_folder()
    if folder is None:
        return None
    command = [*line.compiler, *_machine_options(line), "-O2"]
    state = hashlib.sha256("\0".join(command).encode("utf-8", "surrogateescape"))
    for path in sorted(folder.glob("kprof_*.[ch]")):
        state.update(path.read_bytes())
    made = (caches or scratch) / f"{Path(source).stem}-{state.hexdigest()[:24]}.a"
    if made.is_file():
        return made
    member = scratch / f"{Path(source).stem}.o"
    if _compile(command, folder / source, member):
        return None  # on a board: the user's own has its clock
    tool = subprocess.run(
        [*line.compiler, "-print-prog-name=ar"], capture_output=True, text=True, check=False
    ).stdout.strip()
    archive = scratch / made.name
    try:
        subprocess.run([tool or "ar", "rcs", archive, member], check=True, capture_output=True)
        if made != archive:
            made.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(made, archive.read_bytes())
    except (OSError, subprocess.CalledProcessError, KprofError):
        return archive if archive.is_file() else member
    return made


def _agent_folder() -> Path | None:
    package = Path(kprof.__file__).resolve().parent
    for folder in (package / "examples" / "agent", package.parent.parent / "examples" / "agent"):
        if folder.is_dir():
            return folder
    return None


def _machine_options(line: CommandLine) -> list[str]:
    """The options that decide which machine's code comes out, and where it may be loaded."""
    kept: list[str] = []
    for argument, following in zip(line.arguments, [*line.arguments[1:], ""], strict=True):
        if argument.startswith(_MACHINE) and not argument.startswith(("-mllvm", "-masm=")):
            kept += [argument, following] if argument in _SEPARATE else [argument]
    return kept


def _compile(command: Sequence[str], source: Path, output: Path) -> str:
    done = subprocess.run(
        [*command, "-w", "-x", "c", "-c", str(source), "-o", str(output)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    lines = done.stderr.strip().splitlines() or ["the compiler failed"]
    return next((one for one in lines if "error" in one), lines[0]) if done.returncode else ""
