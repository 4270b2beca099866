"""The command line of a compiler driver (gcc, clang): what it is asked to do, and with what.

Only what compiler mode must know is read: the inputs and their languages, the stage at which it
stops, the output, and the options that belong to the preprocessor alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LAUNCHERS = frozenset({"ccache", "distcc", "sccache", "icecc", "nice", "time", "env"})
_WITH_ARGUMENT = frozenset(
    [
        *("-o", "-x", "-I", "-D", "-U", "-L", "-l", "-T", "-u", "-e", "-z", "-A", "-B", "-F", "-G"),
        *("-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix", "-isysroot"),
        *("-iwithprefix", "-iwithprefixbefore", "-imultilib", "-MF", "-MT", "-MQ", "-Xlinker"),
        *("-Xassembler", "-Xpreprocessor", "-Xclang", "-mllvm", "-target", "-arch", "-aux-info"),
        *("-dumpbase", "-dumpbase-ext", "-dumpdir", "--param", "-wrapper", "-framework", "-specs"),
        *("--sysroot", "-Xarch", "-install_name", "--output", "--include-directory"),
    ]
)
_PREPROCESSOR_WITH_ARGUMENT = frozenset(
    [
        *("-include", "-imacros", "-MF", "-MT", "-MQ", "-Xpreprocessor", "-isystem", "-iquote"),
        *("-idirafter", "-I", "-D", "-U", "-A", "-iprefix", "-iwithprefix", "-iwithprefixbefore"),
    ]
)
_PREPROCESSOR = frozenset(
    [
        *("-M", "-MM", "-MD", "-MMD", "-MG", "-MP", "-C", "-CC", "-P", "-H", "-traditional-cpp"),
        *("-trigraphs", "-nostdinc", "-undef"),
    ]
)
_PREPROCESSOR_JOINED = ("-Wp,", "-I", "-D", "-U", "-include", "-imacros", "-MF", "-MT", "-MQ")
_LINKER = frozenset(["-s", "-static", "-shared", "-rdynamic", "-nostdlib", "-nostartfiles", "-r"])
_OUTPUT = ("-o", "--output=")
_DEPENDENCIES = ("-MD", "-MMD")
_NOT_OURS = frozenset(["-E", "-M", "-MM", "-fsyntax-only", "-###", "--version", "--help"])
_LANGUAGES = {".c": "c", ".i": "cpp-output"}
_RESPONSE_DEPTH = 8

# What autoconf, CMake, Meson, SCons, waf and qmake name their trials, and the folders of those.
_PROBES = re.compile(
    r"conftest\w*\.[ci]|CMakeCCompiler(Id|ABI)\.c|testCCompiler\.c|sanitycheckc\w*\.c"
)
_PROBE_FOLDERS = frozenset(
    ["CMakeTmp", "CMakeScratch", "CompilerIdC", "meson-private", ".sconf_temp", "config.tests"]
)


@dataclass(frozen=True)
class Input:
    """An input: the index of its argument, and its language ("" where it is none of ours)."""

    index: int
    path: str
    language: str


@dataclass(frozen=True)
class CommandLine:
    """A compiler's command line.

    Attributes
    ----------
    compiler
        The compiler, with what launches it.
    arguments
        Everything behind that, response files replaced by what is in them.
    inputs
        In their order.
    mode
        "object" (-c), "assembly" (-S) or "link".
    output
        The argument of -o, or "".
    ours
        It compiles C sources that are to have triggers.
    links
        It makes a program or a shared library.
    """

    compiler: tuple[str, ...]
    arguments: tuple[str, ...]
    inputs: tuple[Input, ...]
    mode: str
    output: str
    ours: bool
    links: bool = False

    @property
    def program(self) -> str:
        """What linking makes."""
        return self.output or "a.out"

    @property
    def sources(self) -> tuple[Input, ...]:
        """The C inputs."""
        return tuple(item for item in self.inputs if item.language)

    def has(self, *options: str) -> bool:
        """Is one of these options there?"""
        return any(argument in options for argument in self.arguments)

    def warns(self, name: str, *groups: str) -> bool:
        """Is the warning -W`name` asked for, by itself or by one of its groups?"""
        asked = [a[2:].partition("=")[0] for a in self.arguments if a.startswith("-W")]
        if self.has("-w") or f"no-{name}" in asked:
            return False
        return name in asked or any(group in asked for group in groups)

    def preprocess(self, source: Input) -> list[str]:
        """The command that preprocesses one source to stdout, its dependency file included."""
        kept = self._without_inputs()
        kept = [argument for argument in kept if argument not in ("-c", "-S", "-v")]
        kept = _without_linker(kept) if self.mode == "link" else kept
        more: list[str] = ["-E"]
        if self.has(*_DEPENDENCIES):
            if not self._given("-MF"):
                more += ["-MF", self._dependency_file(source)]
            if not self._given("-MT") and not self._given("-MQ"):
                more += ["-MQ", self.output_of(source)]
        return [*self.compiler, *kept, *more, "-x", source.language, source.path]

    def compile(self, text: str, output: str) -> list[str]:
        """The command that compiles the preprocessed file `text`."""
        kept = _without_preprocessor(self._without_inputs())
        if self.mode == "link":
            kept = [*_without_linker(kept), "-c"]
        return [*self.compiler, *kept, "-o", output, "-x", "cpp-output", text]

    def compile_original(self, source: Input, output: str) -> list[str]:
        """The command that compiles one source as it is, for its messages alone."""
        kept = _without_side_files(self._without_inputs())
        if self.mode == "link":
            kept = [*_without_linker(kept), "-c"]
        return [*self.compiler, *kept, "-o", output, "-x", source.language, source.path]

    def link(self, objects: dict[int, str]) -> list[str]:
        """The command with compiled sources in place of their texts (by argument index)."""
        command: list[str] = list(self.compiler)
        skip = False
        for index, argument in enumerate(self.arguments):
            if skip:
                skip = False
            elif argument == "-x":
                skip = True
            elif argument in _PREPROCESSOR and argument.startswith("-M"):
                continue
            elif argument in ("-MF", "-MT", "-MQ"):
                skip = True
            else:
                other = next((i for i in self.inputs if i.index == index), None)
                command.append(objects.get(index, argument) if other else argument)
        return command

    def options_without(self, *unwanted: str) -> list[str]:
        """The options that are left without inputs, output, dependency files, and these."""
        kept = _without_side_files(self._without_inputs())
        return [argument for argument in kept if argument not in unwanted]

    def output_of(self, source: Input) -> str:
        """The file that compiling this source makes, as the compiler would name it."""
        if self.output and self.mode != "link":
            return self.output
        stem = Path(source.path).stem if source.path != "-" else "-"
        return f"{stem}{'.s' if self.mode == 'assembly' else '.o'}"

    def saved(self, source: Input, suffix: str) -> str:
        """The file that -save-temps keeps of this source, or ""."""
        if not any(a.startswith(("-save-temps", "--save-temps")) for a in self.arguments):
            return ""
        if self.mode != "link":
            return os.path.splitext(self.output_of(source))[0] + suffix  # noqa: PTH122
        program = Path(self.output or "a.out")
        prefix = program.name if self.output else program.stem
        return str(program.with_name(f"{prefix}-{Path(source.path).stem}{suffix}"))

    def _dependency_file(self, source: Input) -> str:
        if self.mode == "link":
            program = Path(self.output or "a.out")
            prefix = program.stem if not self.output else program.name
            return str(program.with_name(f"{prefix}-{Path(source.path).stem}.d"))
        return os.path.splitext(self.output_of(source))[0] + ".d"  # noqa: PTH122 - keeps ./

    def _given(self, option: str) -> bool:
        return any(a == option or a.startswith((f"{option}=", option)) for a in self.arguments)

    def _without_inputs(self) -> list[str]:
        """The arguments without the inputs, their -x, and the output."""
        inputs = {item.index for item in self.inputs}
        kept: list[str] = []
        skip = False
        for index, argument in enumerate(self.arguments):
            if skip:
                skip = False
            elif argument in ("-x", "-o", "--output"):
                skip = True
            elif index not in inputs and not argument.startswith(("-x", *_OUTPUT)):
                kept.append(argument)
                if argument in _WITH_ARGUMENT:
                    kept.append(
                        self.arguments[index + 1] if index + 1 < len(self.arguments) else ""
                    )
                    skip = True
        return kept


def read_command(command: Sequence[str]) -> CommandLine:
    """Read a compiler's command line.

    `ours` is false where it has no C source, or does not compile: then it is to be run as it is.
    """
    first = 1
    while first < len(command) and Path(command[first - 1]).name in _LAUNCHERS:
        first += 1
    compiler, arguments = tuple(command[:first]), tuple(_expanded(command[first:], 0))
    inputs: list[Input] = []
    language: str | None = None
    output, mode = "", "link"
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        following = arguments[index + 1] if index + 1 < len(arguments) else ""
        if argument in _WITH_ARGUMENT:
            if argument in ("-o", "--output"):
                output = following
            elif argument == "-x":
                language = None if following == "none" else following
            index += 1
        elif argument == "-" or not argument.startswith("-"):
            inputs.append(Input(index, argument, _language(argument, language)))
        elif argument.startswith(_OUTPUT):
            output = argument.partition("=")[2] if argument[1] == "-" else argument[2:]
        elif argument.startswith("-x"):
            language = None if argument[2:] == "none" else argument[2:]
        elif argument == "-c":
            mode = "object"
        elif argument == "-S":
            mode = "assembly" if mode == "link" else mode
        index += 1
    sources = [item for item in inputs if item.language]
    works = not any(a in _NOT_OURS or a.startswith("-print-") for a in arguments)
    probes = any(_is_probe(item.path) for item in inputs)
    ours = bool(sources) and works and not probes
    if output and mode != "link" and len(inputs) > 1:
        ours = False  # the compiler refuses it, in its own words
    links = mode == "link" and bool(inputs) and works and not probes
    return CommandLine(compiler, arguments, tuple(inputs), mode, output, ours, links)


def _is_probe(path: str) -> bool:
    """Does a build system compile this to see what the compiler can do?

    So do they with what has no name: the standard input, ``/dev/null``.
    """
    if path == "-" or path == os.devnull or _PROBES.fullmatch(Path(path).name):
        return True
    return not _PROBE_FOLDERS.isdisjoint(Path(os.path.abspath(path)).parts)  # noqa: PTH100


def _language(path: str, language: str | None) -> str:
    if language is not None:
        return language if language in ("c", "cpp-output") else ""
    return _LANGUAGES.get(os.path.splitext(path)[1], "")  # noqa: PTH122


def _without_preprocessor(arguments: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in _PREPROCESSOR_WITH_ARGUMENT:
            skip = True
        elif argument in _PREPROCESSOR:
            continue
        elif not argument.startswith(_PREPROCESSOR_JOINED):
            kept.append(argument)
    return kept


def _without_side_files(arguments: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-MF", "-MT", "-MQ", "-aux-info"):
            skip = True
        elif not argument.startswith(("-M", "-Wp,-M", "-fdump-", "-Wa,-a", "-save-temps")):
            kept.append(argument)
    return kept


def _without_linker(arguments: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-l", "-L", "-T", "-Xlinker", "-u", "-z", "-e"):
            skip = True
        elif not argument.startswith(("-l", "-L", "-Wl,", "-T")) and argument not in _LINKER:
            kept.append(argument)
    return kept


def _expanded(arguments: Sequence[str], depth: int) -> list[str]:
    expanded: list[str] = []
    for argument in arguments:
        text = None
        if argument.startswith("@") and depth < _RESPONSE_DEPTH:
            try:
                text = Path(argument[1:]).read_bytes().decode("utf-8", "surrogateescape")
            except OSError:
                text = None  # then it is the name of a file, as for the compiler
        if text is None:
            expanded.append(argument)
        else:
            expanded += _expanded(_response_words(text), depth + 1)
    return expanded


def _response_words(text: str) -> list[str]:
    """The words of a response file: quotes of both kinds, a backslash takes any character."""
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    position = 0
    while position < len(text):
        char = text[position]
        if char == "\\" and position + 1 < len(text):
            position += 1
            word = [*(word or []), text[position]]
        elif quote:
            if char == quote:
                quote = ""
            else:
                assert word is not None
                word.append(char)
        elif char in "\"'":
            quote = char
            word = word or []
        elif char.isspace():
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = word or []
            word.append(char)
        position += 1
    if word is not None:
        words.append("".join(word))
    return words
