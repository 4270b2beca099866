"""Compiler mode: run a compiler so that what it compiles has triggers.

Each C source is preprocessed by the compiler itself, given its triggers, and compiled from that
text with the options that it came with; line markers keep messages and debug information on the
original lines. Everything else (other languages, objects, linking, -E, -M) is the compiler's own
business, and it is run as it was called.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kprof.errors import InstrumentError
from kprof.files import cache_folder, write_bytes
from kprof.instrument.compiler_settings import Compiling
from kprof.instrument.driver import CommandLine, Input, read_command
from kprof.instrument.edits import has_edits
from kprof.instrument.listing import Skipped
from kprof.instrument.running import Compiler, Here, Running, become
from kprof.instrument.shadow import decode, encode, foreign
from kprof.names import NameFile, project_names, read_names


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


def compile_with_triggers(
    command: Sequence[str], options: Compiling, running: Running | None = None
) -> Compiled:
    """Run a compiler's command line with triggers in its C sources.

    Does not return where the command is none of ours: it is run in place of this process.

    Parameters
    ----------
    running
        How the compiler is run; None: `Here`.

    Raises
    ------
    KprofError
    """
    running = running or Here()
    line = read_command(command)
    if (line.ours or options.header) and not options.given:
        options = replace(options, names=project_names([item.path for item in line.sources]))
    if options.header:
        _make_header(options)
        if not command:
            return Compiled(0)
    if not options.target.plants or not (line.ours or line.links):
        become(running, command)
    if options.target.strategy == "cleanup" and line.has("-fexceptions"):
        # Cleanups would add landing pads.
        options = replace(options, target=replace(options.target, strategy="returns"))
    notices: list[Skipped | str] = []
    with tempfile.TemporaryDirectory(prefix="kprof-") as folder:
        objects: dict[int, str] = {}
        for number, source in enumerate(line.sources):
            scratch = Path(folder, str(number))
            scratch.mkdir()
            output = line.output_of(source)
            if line.mode == "link":
                name = line.saved(source, ".o") or str(scratch / f"{Path(source.path).stem}.o")
                output = objects[source.index] = name
            compiler = Compiler(running, scratch)
            code = _compile(line, source, scratch, output, options, notices, compiler)
            if code:
                return _outcome(code, notices)
        compiler = Compiler(running, Path(folder))
        if line.mode == "link":
            return _link(line, objects, options, Path(folder), notices, compiler)
        others = [item for item in line.inputs if not item.language]
        if others:
            code = compiler.run(_only(line, others))
            return _outcome(code, notices)
    return _outcome(0, notices)


def _make_header(options: Compiling) -> None:
    from kprof.instrument.header import profile_header

    names = read_names(options.names) if options.names.is_file() else NameFile()
    text = profile_header(names.entries, options.target).encode()
    header = Path(options.header)
    if not header.is_file() or header.read_bytes() != text:  # make looks at its time
        write_bytes(header, text)


def _link(
    line: CommandLine,
    objects: dict[int, str],
    options: Compiling,
    folder: Path,
    notices: list[Skipped | str],
    compiler: Compiler,
) -> Compiled:
    from kprof.instrument.linking import additions, one_name_file

    compiled = [Path(name) for name in objects.values()]
    given = options.names if options.given or compiled else None
    names = one_name_file(line, compiled, given)
    if names is None and options.given and any(a.startswith("-flto") for a in line.arguments):
        names = options.names  # what objects say of themselves is packed in there
    added = additions(line, options.target, names, folder, cache_folder())
    notices += added.notices
    return _outcome(compiler.run([*line.link(objects), *added.arguments]), notices)


def _compile(
    line: CommandLine,
    source: Input,
    scratch: Path,
    output: str,
    options: Compiling,
    notices: list[Skipped | str],
    compiler: Compiler,
) -> int:
    _refuse_copies(source)
    said = b""
    expanded = scratch / "expanded"
    preprocessed = source.language == "c"
    if preprocessed:
        more = ["-DKPROF", *(["-C"] if _needs_comments(line, source) else [])]
        command = line.preprocess(source)
        command[len(line.compiler) : len(line.compiler)] = more
        compiler.start(command, expanded)
    # Python reads its modules while the preprocessor works.
    from kprof.instrument.linking import identification
    from kprof.instrument.messages import are_the_sources, source_columns
    from kprof.instrument.planting import instrument_unit

    if preprocessed:
        code, said = compiler.finish()
        if code:
            _say(said)
            return code
    misleading = False
    if line.warns("misleading-indentation", "all"):
        from kprof.instrument.indentation import may_mislead

        misleading = may_mislead(_text_of(source))
    unit = decode((expanded if preprocessed else Path(source.path)).read_bytes())
    unit = unit if line.has("-w") else source_columns(unit)
    if options.header:
        from kprof.instrument.header import fill_profiles

        unit = fill_profiles(unit, options)
    planted = instrument_unit(unit, source.path, options, notices)
    if planted is not unit:
        file = foreign(source.path).replace("\\", "\\\\").replace('"', '\\"')
        unit = f'{planted}\n# 1 "{file}" 3\n{identification(options.names)}\n'
    text = Path(line.saved(source, ".i") or scratch / f"{Path(source.path).stem}.i")
    text.write_bytes(encode(unit))
    clang = "clang" in Path(line.compiler[-1]).name
    again = line.compile(str(text), output)
    again.insert(len(line.compiler), "-Qunused-arguments" if clang else "-fno-tree-ter")
    code, messages = compiler.hear([*again, *_colour()])
    if (
        not code
        and not misleading
        and (
            not messages or (not said and are_the_sources(decode(messages), unit, shows_text=clang))
        )
    ):
        _say(said or messages)
        return 0
    # Messages are the compiler's on the original: macros are still macros there.
    original = line.compile_original(source, str(scratch / "original.o"))
    first, messages = compiler.hear([*original, *_colour()])
    _say(messages)
    if first or not code:
        return first
    code, messages = compiler.hear([*again, "-w"])
    if code:
        _say(messages)
    return code


def _say(text: bytes) -> None:
    sys.stderr.flush()
    sys.stderr.buffer.write(text)
    sys.stderr.buffer.flush()


def _colour() -> list[str]:
    return ["-fdiagnostics-color=always"] if sys.stderr.isatty() else []


def _text_of(source: Input) -> str:
    try:
        return decode(Path(source.path).read_bytes())
    except OSError:
        return ""  # the compiler says so


def _refuse_copies(source: Input) -> None:
    if has_edits(_text_of(source)):
        raise InstrumentError(
            [f"{source.path}: has been instrumented already; compile the original"]
        )


def _needs_comments(line: CommandLine, source: Input) -> bool:
    """Do comments such as /* fall through */ steer a warning?"""
    if not line.warns("implicit-fallthrough", "", "extra") or line.has("-C", "-CC"):
        return False
    return "fall" in _text_of(source).lower()


def _only(line: CommandLine, others: Sequence[Input]) -> list[str]:
    """The command with the inputs that are not ours alone."""
    ours = {item.index for item in line.inputs} - {item.index for item in others}
    return [*line.compiler, *(a for i, a in enumerate(line.arguments) if i not in ours)]


def _outcome(code: int, said: Sequence[Skipped | str]) -> Compiled:
    missed = tuple(item for item in said if isinstance(item, Skipped) and not item.wanted)
    if code:
        return Compiled(code)  # the compiler has said why
    lines = (item for item in said if isinstance(item, str) or not item.wanted)
    return Compiled(code, tuple(map(str, lines)), missed)
