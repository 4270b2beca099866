"""Source mode over files: from sources and a name file to instrumented copies.

All the sources are read before anything is written; with an error in one of them, nothing is. A
file that source mode cannot read is refused by itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path

from kprof.errors import FileAccessError, InstrumentError, UsageError
from kprof.files import explain, is_there, read_bytes, spare_foreign, spare_inputs, writing
from kprof.instrument.edits import Edit, apply_edits, has_edits, remove_edits
from kprof.instrument.header import profile_names
from kprof.instrument.listing import Skipped
from kprof.instrument.preprocess import Preprocessor
from kprof.instrument.reaching import node, reached_from
from kprof.instrument.reading import Memory, NoTree
from kprof.instrument.select import Selection, attribute_reason
from kprof.instrument.shadow import decode, encode
from kprof.instrument.source import UnmatchedError, plant, scan_source
from kprof.instrument.targets import Target
from kprof.instrument.verify import Verified, Verifier, placeholder
from kprof.names import FIRST_TAG, Function, Modifier, NameEntry, allocate, allocate_functions
from kprof.names.calls import FunctionFacts, update_calls
from kprof.names.store import file_of_names

_FILES_AT_ONCE = 200
_MARK = "\xef\xbb\xbf"  # byte order mark of UTF-8
_WORTH_PROCESSES = 200_000
"""Bytes of source text from which on a second process is sooner done than started."""


@dataclass(frozen=True)
class Instrumented:
    """A source with its triggers.

    Attributes
    ----------
    path
        The source.
    before, after
        Its text, one character a byte.
    planted
        The entries of the functions that have triggers, in the order of the text.
    skipped
        The functions that do not, and those that were planted without the parser.
    unseen
        Why no preprocessor could read it, or "": then macros were guessed at.
    """

    path: Path
    before: str
    after: str
    planted: tuple[NameEntry, ...]
    skipped: tuple[Skipped, ...]
    unseen: str = ""


@dataclass(frozen=True)
class Options:
    """How to instrument."""

    target: Target
    names: Path
    selection: Selection = field(default_factory=Selection)
    first_tag: int = FIRST_TAG
    inline: bool = False
    preprocessor: Preprocessor | None = None
    commands: Mapping[Path, Preprocessor] = field(default_factory=dict)
    memory: Memory | None = None
    workers: int = 2
    progress: Callable[[str, int, int], None] = lambda what, done, total: None  # noqa: ARG005

    def verifier(self, path: Path) -> Verifier:
        """How this file is read."""
        absolute = Path(os.path.normpath(path.absolute()))
        preprocessor = self.commands.get(absolute, self.preprocessor)
        return Verifier(preprocessor, self.names, self.memory)


@dataclass(frozen=True)
class Batch:
    """What became of the sources: those with triggers, and why others have none."""

    done: tuple[Instrumented, ...] = ()
    refused: tuple[str, ...] = ()


def instrument_files(paths: Sequence[Path], options: Options) -> Batch:
    """Instrument these sources in memory, allocating what the name file lacks.

    Raises
    ------
    InstrumentError
        With the problems of all of them; the name file is as it was.
    NameFileError, FileAccessError
    """
    examined: list[tuple[Path, Verified]] = []
    problems: list[str] = []
    refused: list[str] = []
    for number, (path, found) in enumerate(zip(paths, _examine(paths, options), strict=True), 1):
        options.progress("read", number, len(paths))
        if isinstance(found, str):
            refused.append(found)
        elif isinstance(found, tuple):
            problems += found
        else:
            problems += [f"{path}:{line}: {what}" for line, what in found.errors]
            examined.append((path, found))
    if problems:
        raise InstrumentError(problems)
    reached = reached_from(options.selection.called_from, [found for _, found in examined])
    wanted = [_wanted(verified, options.selection, reached) for _, verified in examined]
    entries = allocate_functions(
        options.names,
        [function for functions, _ in wanted for function in functions.values()],
        first_tag=options.first_tag,
    )
    if options.inline:
        code = (verified.scan.shadow.code for _, verified in examined)
        inline = [name for text in code for name in profile_names(text)]
        allocate(options.names, inline, first_tag=options.first_tag, modifier=Modifier.INLINE)
    for (path, verified), (functions, _) in zip(examined, wanted, strict=True):
        named = {placeholder(b): entries[function].name for b, function in functions.items()}
        update_calls(options.names, str(path), _named(verified, named, options.names))
    done = [
        _instrument(path, verified, parts, entries, options.target)
        for (path, verified), parts in zip(examined, wanted, strict=True)
    ]
    return Batch(tuple(done), tuple(refused))


def _examine(paths: Sequence[Path], options: Options) -> Iterator[Verified | tuple[str, ...] | str]:
    """Each file read, preprocessed and parsed, in their order; several at once in processes."""
    jobs = [(path, options.verifier(path)) for path in paths]
    size = sum(path.stat().st_size for path in paths if path.exists())
    if len(jobs) == 1 or options.workers == 1 or size < _WORTH_PROCESSES:
        yield from map(_examine_one, jobs)
        return
    with ProcessPoolExecutor(options.workers, get_context("fork")) as pool:
        yield from pool.map(_examine_one, jobs)


def _examine_one(job: tuple[Path, Verifier]) -> Verified | tuple[str, ...] | str:
    """What is known of a file, or all that is wrong with it, or why it is left out."""
    path, verifier = job
    try:
        return verifier.verify(scan_source(decode(read_bytes(path)), str(path)), path)
    except UnmatchedError as error:
        preprocessor = verifier.preprocessor
        if preprocessor.accepts(path) if preprocessor else error.included:
            return error.elsewhere
        return error.problems
    except InstrumentError as error:
        return error.problems


def _named(verified: Verified, named: dict[str, str], names: Path) -> Iterator[FunctionFacts]:
    """The facts of a source with the names that its functions have in the name file."""
    for brace, function in verified.scan.functions.items():
        if placeholder(brace) not in named:
            static = function.head.static or function.outer is not None
            file = f"{file_of_names(verified.scan.path, names)}:" if static else ""
            named[placeholder(brace)] = f"{file}{function.name}"

    def of(words: frozenset[str]) -> frozenset[str]:
        return frozenset(named.get(word, word) for word in words)

    for facts in verified.facts:
        name = named.get(facts.name, facts.name)
        yield replace(facts, name=name, calls=of(facts.calls), addresses=of(facts.addresses))


def write_copies(done: Sequence[Instrumented], folder: Path) -> list[Path]:
    """Write the instrumented sources into a folder, their own folders kept where they have several.

    Raises
    ------
    UsageError
        One would replace its own source.
    FileAccessError
    """
    targets = output_paths([item.path for item in done], folder)
    for start in range(0, len(done), _FILES_AT_ONCE):
        with contextlib.ExitStack() as stack:
            for item, target in list(zip(done, targets, strict=True))[start:][:_FILES_AT_ONCE]:
                stack.enter_context(writing(target)).write(encode(_copy(item.after)))
    return targets


def _copy(text: str) -> str:
    """The text of a copy: one without triggers has an empty edit, so that it is known as a copy."""
    if has_edits(text):
        return text
    return apply_edits(text, [Edit(len(_MARK) if text.startswith(_MARK) else 0, 0, "")])


def check_copies(paths: Sequence[Path], folder: Path, *, force: bool) -> None:
    """Refuse copies that would replace what is no copy; their folders are made.

    Raises
    ------
    UsageError
        A file of another origin has the place of a copy and not `force`, or as `output_paths`.
    FileAccessError
    """
    for target in output_paths(paths, folder):
        spare_inputs(target, paths)
        if is_there(target, "write") and has_edits(decode(read_bytes(target))):
            continue
        spare_foreign(target, lambda _: False, "instrumented copy", force=force)


def output_paths(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Where the copies of these sources go; their folders are made.

    Raises
    ------
    UsageError
        Two have one place, or one is its own source.
    FileAccessError
        A folder cannot be made or written to.
    """
    parents = {path.parent.resolve() for path in paths}
    common = Path(os.path.commonpath([str(parent) for parent in parents])) if parents else Path()
    targets = [folder / path.parent.resolve().relative_to(common) / path.name for path in paths]
    if len(set(targets)) != len(targets):
        twice = next(target for target in targets if targets.count(target) > 1)
        raise UsageError(f"{twice}: is named twice among the sources; name it once")
    for path, target in zip(paths, targets, strict=True):
        if target.resolve() == path.resolve():
            raise UsageError(f"{path}: would be replaced by its own copy; name another folder")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileAccessError(explain(target.parent, "make the folder", error)) from error
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise FileAccessError(f"{target.parent}: cannot write: permission denied")
    return targets


def restore(path: Path) -> tuple[str, str]:
    """The text of an instrumented file, and the text of its source.

    Raises
    ------
    InstrumentError
        It has no triggers of kprof.
    """
    text = decode(read_bytes(path))
    if not has_edits(text):
        raise InstrumentError([f"{path}: has no triggers of kprof; expected an instrumented copy"])
    return text, remove_edits(text)


def _wanted(
    verified: Verified, selection: Selection, reached: Collection[str] | None
) -> tuple[dict[int, Function], list[Skipped]]:
    scan = verified.scan
    wanted: dict[int, Function] = {}
    skipped: list[Skipped] = []
    for item in verified.skipped:
        reason = selection.reason(item.name, scan.path)
        skipped.append(replace(item, reason=reason, wanted=True) if reason else item)
    for brace, function in scan.functions.items():
        reason = selection.reason(function.name, scan.path)
        reason = reason or selection.structure_reason(verified.readings[brace])
        if not reason and reached is not None and node(scan, function) not in reached:
            reason = f"not called from {' or '.join(selection.called_from)}"
        mine = bool(reason)
        if not reason:
            declared = verified.declared.get(function.head.name, frozenset())
            reason, mine = attribute_reason(function.head, declared)
        reason = reason or verified.unplantable.get(brace, "")
        if reason:
            skipped.append(scan.skip(function, reason, wanted=mine))
        else:
            static = function.head.static or function.outer is not None
            wanted[brace] = Function(function.name, scan.path, static)
    return wanted, skipped


def _instrument(
    path: Path,
    verified: Verified,
    wanted: tuple[dict[int, Function], list[Skipped]],
    entries: Mapping[Function, NameEntry],
    target: Target,
) -> Instrumented:
    scan = verified.scan
    functions, skipped = wanted
    tags: dict[int, int] = {}
    planted: dict[int, NameEntry] = {}
    for brace, function in functions.items():
        entry = entries[function]
        unreturnable = verified.unreturnable.get(brace, "")
        if entry.value == 0 or entry.exit_tag is None:
            reason = "value 0" if entry.value == 0 else "an inline trigger has its name"
            why = f"{reason} in the name file"
            skipped.append(scan.skip(scan.functions[brace], why, wanted=entry.value == 0))
        elif unreturnable and target.plants and target.strategy == "returns":
            skipped.append(scan.skip(scan.functions[brace], unreturnable))
        else:
            tags[brace] = entry.value
            planted[brace] = entry
    after, failed = plant(scan, tags, target)
    for brace in failed:
        planted.pop(brace, None)
    for brace in planted:
        reading = verified.readings[brace]
        if isinstance(reading, NoTree):
            skipped.append(scan.skip(scan.functions[brace], reading.reason, planted=True))
    everything = tuple(sorted([*skipped, *failed.values()], key=lambda item: item.line))
    return Instrumented(
        path, scan.shadow.raw, after, tuple(planted.values()), everything, verified.problem
    )
