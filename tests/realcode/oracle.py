"""What gcc itself says of a unit: which functions it defines, and what each begins with.

Two of gcc's own outputs, neither with a line of kprof in it. ``-aux-info`` lists each definition
with its place (headers, K&R heads and nested functions included). ``-fdump-tree-original`` prints
each function as the C parser understood it.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.realcode.projects import Unit

_DEFINITION = re.compile(r"/\* (.*):(\d+):[NO]F \*/ (.*); /\*")
_DECLARATOR = re.compile(r"([A-Za-z_$][\w$]*) \((?!\*)")
_DUMPED = re.compile(r"^;; Function (\S+) \(", re.MULTILINE)
# What a dump begins with before the body: the sizes of array parameters may be computed there, and
# a return 0 of gcc's own stands behind that of main; labels are declared first. A macro that opens
# the body may have declared a va_list; va_end follows then.
_ENTRY = re.compile(
    r"[^{]*\{\s*(?:void \w+ = <<< error >>>;\s*|[\w *]+(?:\[\d+\])?;\s*|\{\s*)*"
    r"(?:((?:const )?char kprof_\d+) = TARGET_EXPR <[^,]*, \{\s*)?kprof_event \((\d+)\);"
)
_EXIT = re.compile(
    r"finally\s+\{\s+kprof_x(\d+) \(&kprof_(\d+)\);\s+\}\s+\}\s+"
    r"(?:(?:__builtin_va_end \([^;]*\);\s+|return;\s+)?\}\s+)?(?:return 0;\s+)?\Z"
)
_GIMPLE = re.compile(r"^((?:__attribute__\(\([^\n]*\n)+)([^\n]*)\n\{", re.MULTILINE)
_WARNING = re.compile(r"^(.*?):(\d+):(?:\d+:)? (warning|error): (.*)$", re.MULTILINE)
# Ellipses are functions that the unit does not define.
_NODE = re.compile(
    r'^node: \{ title: "[^"]*" label: "([^"\\]*)\\n[^"]*:(\d+):\d+" \}', re.MULTILINE
)
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"', re.MULTILINE)
_LIMIT_S = 600


@dataclass(frozen=True)
class Definition:
    """A function definition as gcc saw it."""

    name: str
    file: str
    line: int
    static: bool = False


@dataclass(frozen=True)
class Graph:
    """The direct calls that gcc makes of a unit, inlining and dead code aside.

    Attributes
    ----------
    places
        The line of each function that it compiled, by its name.
    calls
        The functions that each calls by name.
    indirect
        The functions that call through pointers.
    """

    places: dict[str, int]
    calls: dict[str, set[str]]
    indirect: set[str]


@dataclass(frozen=True)
class Compiled:
    """How a compilation ended: its exit code, its stderr."""

    code: int
    said: str

    @property
    def warnings(self) -> Counter[tuple[str, int, str]]:
        """File, line and text of each warning."""
        return Counter(
            (match[1], int(match[2]), match[4])
            for match in _WARNING.finditer(self.said)
            if match[3] == "warning"
        )


def run(command: list[str], cwd: str, environment: dict[str, str]) -> Compiled:
    """Run a compiler, bounded in time."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return Compiled(-1, f"took over {_LIMIT_S} s")
    return Compiled(done.returncode, done.stdout.decode("latin-1"))


def definitions(
    unit: Unit, options: tuple[str, ...], scratch: Path, environment: dict[str, str]
) -> tuple[Compiled, list[Definition], list[str]]:
    """Have gcc read a unit.

    Returns
    -------
    How that ended; the definitions with their places, those of headers that gcc calls system
    headers left out; the names of all functions in the order of the parser's dump.
    """
    listing, dump = scratch / "definitions", scratch / "original"
    command = [unit.compiler, *unit.options, *options, "-fsyntax-only"]
    command += ["-aux-info", str(listing), f"-fdump-tree-original={dump}", unit.source]
    done = run(command, unit.cwd, environment)
    if done.code:
        return done, [], []
    found = []
    for line in _text(listing).splitlines():
        match = _DEFINITION.match(line)
        name = _DECLARATOR.search(match[3]) if match else None
        if match and name:
            static = match[3].startswith("static ")
            found.append(Definition(name[1], match[1], int(match[2]), static))
    return done, found, _DUMPED.findall(_text(dump))


def call_graph(unit: Unit, scratch: Path, environment: dict[str, str]) -> Graph:
    """Have gcc write the call graph of a unit, as it is without optimisation."""
    # As built-in functions, fprintf would be fwrite.
    command = [unit.compiler, *unit.options, "-O0", "-w", "-fno-builtin", "-fcallgraph-info", "-c"]
    command.append(unit.source)
    run([*command, "-o", str(scratch / "graph.o")], unit.cwd, environment)
    text = _text(scratch / "graph.ci")
    graph = Graph({}, {}, set())
    for name, line in _NODE.findall(text):
        graph.places[name] = int(line)
    for source, target in _EDGE.findall(text):
        caller, called = (part.rpartition(":")[2] for part in (source, target))
        if called == "__indirect_call":
            graph.indirect.add(caller)
        else:
            graph.calls.setdefault(caller, set()).add(called)
    return graph


def left_alone(
    unit: Unit, options: tuple[str, ...], scratch: Path, environment: dict[str, str]
) -> set[str]:
    """Return the functions that have ``__attribute__((no_instrument_function))`` or ``naked``.

    Inline functions that nobody calls are kept, to be seen.
    """
    dump = scratch / "gimple"
    command = [unit.compiler, *unit.options, *options, "-S", "-w", f"-fdump-tree-gimple={dump}"]
    command += ["-fkeep-inline-functions", "-fkeep-static-functions"]
    run([*command, "-o", str(scratch / "kept.s"), unit.source], unit.cwd, environment)
    found: set[str] = set()
    for attributes, declaration in _GIMPLE.findall(_text(dump)):
        name = _DECLARATOR.search(declaration)
        if name and re.search(r"\b(no_instrument_function|naked)\b", attributes):
            found.add(name[1])
    return found


def system_files(unit: Unit, scratch: Path, environment: dict[str, str]) -> set[str]:
    """Return the files that gcc calls system headers in a unit, as its line markers say."""
    text = scratch / "preprocessed"
    command = [unit.compiler, *unit.options, "-E", "-w", "-o", str(text), unit.source]
    run(command, unit.cwd, environment)
    return set(re.findall(r'^# \d+ "([^"\n]*)" 1 3', _text(text), re.MULTILINE))


def triggered(dump: Path) -> list[tuple[str, int | None]]:
    """Read the parser's dump of an instrumented unit (target ``soft``).

    Returns
    -------
    For each function that is not kprof's own, in order: its name, and the tag that its first
    statement fires, or None. With the cleanup strategy the exit must be there too, around all of
    the body.
    """
    found: list[tuple[str, int | None]] = []
    pieces = _DUMPED.split(re.sub(r"^ *# DEBUG .*\n", "", _text(dump), flags=re.MULTILINE))
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if name.startswith("kprof_"):
            continue
        entry = _ENTRY.match(body)
        tag = int(entry[2]) if entry else None
        if entry and entry[1]:
            # The exit of what is around all of the body is the last.
            out = _EXIT.match(body, max(0, body.rfind("finally")))
            if not out or (int(out[1]), int(out[2])) != (int(entry[2]) + 1, int(entry[2])):
                tag = None
        found.append((name, tag))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text("latin-1")
    except FileNotFoundError:
        return ""
