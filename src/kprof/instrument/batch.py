"""Source mode over files: from sources and a name file to instrumented copies.

All the sources are read and scanned before anything is written; with a problem in one of them,
nothing is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from kprof.errors import FileAccessError, InstrumentError, UsageError
from kprof.files import explain, is_there, read_bytes, spare_foreign, spare_inputs, writing
from kprof.instrument.edits import Edit, apply_edits, has_edits, remove_edits
from kprof.instrument.header import profile_names
from kprof.instrument.listing import Skipped
from kprof.instrument.preprocess import Preprocessor
from kprof.instrument.select import Selection, attribute_reason
from kprof.instrument.shadow import decode, encode
from kprof.instrument.source import Scan, plant, scan_source
from kprof.instrument.syntax import syntax_problems
from kprof.instrument.targets import Target
from kprof.instrument.verify import Verified, verify
from kprof.names import FIRST_TAG, Function, Modifier, NameEntry, allocate, allocate_functions

_FILES_AT_ONCE = 200
_MARK = "\xef\xbb\xbf"  # byte order mark of UTF-8


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
        The functions that do not.
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
    workers: int = 2
    progress: Callable[[str, int, int], None] = lambda what, done, total: None  # noqa: ARG005

    def preprocessor_of(self, path: Path) -> Preprocessor | None:
        """What the file is preprocessed with, or None."""
        absolute = Path(os.path.normpath(path.absolute()))
        return self.commands.get(absolute, self.preprocessor)


def instrument_files(paths: Sequence[Path], options: Options) -> list[Instrumented]:
    """Instrument these sources in memory, allocating what the name file lacks.

    Raises
    ------
    InstrumentError
        With the problems of all of them; the name file is as it was.
    NameFileError, FileAccessError
    """
    scans: list[tuple[Path, Scan]] = []
    problems: list[str] = []
    for number, path in enumerate(paths, 1):
        options.progress("read", number, len(paths))
        try:
            scan = scan_source(decode(read_bytes(path)), str(path))
            wrong = [f"{path}:{line}: {what}" for line, what in _syntax_problems(scan)]
            preprocessor = options.preprocessor_of(path) if wrong else None
            if preprocessor is None or not preprocessor.accepts(path):
                problems += wrong
            scans.append((path, scan))
        except InstrumentError as error:
            problems.extend(error.problems)
    if problems:
        raise InstrumentError(problems)
    seen = _verified(scans, options)
    wanted = [_wanted(verified, options.selection) for verified in seen]
    entries = allocate_functions(
        options.names,
        [function for functions, _ in wanted for function in functions.values()],
        first_tag=options.first_tag,
    )
    if options.inline:
        inline = [name for _, scan in scans for name in profile_names(scan.shadow.code)]
        allocate(options.names, inline, first_tag=options.first_tag, modifier=Modifier.INLINE)
    return [
        _instrument(path, verified, parts, entries, options.target)
        for (path, _), verified, parts in zip(scans, seen, wanted, strict=True)
    ]


def _syntax_problems(scan: Scan) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    seen: set[int] = set()
    for code, functions in scan.ways:
        new = [function for function in functions if function.brace not in seen]
        seen.update(function.brace for function in new)
        found += syntax_problems(scan.shadow, code, new)
    return sorted(set(found))


def _verified(scans: Sequence[tuple[Path, Scan]], options: Options) -> list[Verified]:
    done = 0

    def one(item: tuple[Path, Scan]) -> Verified:
        nonlocal done
        path, scan = item
        done += 1
        options.progress("preprocessed", done, len(scans))
        preprocessor = options.preprocessor_of(path)
        return verify(scan, path, preprocessor) if preprocessor else Verified(scan)

    if len(scans) == 1:
        return [one(scans[0])]
    with ThreadPoolExecutor(options.workers) as pool:
        return list(pool.map(one, scans))


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


def _wanted(verified: Verified, selection: Selection) -> tuple[dict[int, Function], list[Skipped]]:
    scan = verified.scan
    wanted: dict[int, Function] = {}
    skipped: list[Skipped] = []
    for item in verified.skipped:
        reason = selection.reason(item.name, scan.path)
        skipped.append(replace(item, reason=reason, wanted=True) if reason else item)
    for brace, function in scan.functions.items():
        reason = selection.reason(function.name, scan.path)
        by_user = bool(reason)
        reason = reason or attribute_reason(
            function.head, (verified.declared or {}).get(function.head.name, frozenset())
        )
        if reason:
            mine = by_user or "no_instrument" in reason
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
        hidden = (verified.hidden_returns or {}).get(brace, 0)
        if entry.value == 0 or entry.exit_tag is None:
            reason = "value 0" if entry.value == 0 else "an inline trigger has its name"
            why = f"{reason} in the name file"
            skipped.append(scan.skip(scan.functions[brace], why, wanted=entry.value == 0))
        elif hidden and target.plants and target.strategy == "returns":
            why = f"{hidden} of its returns come out of macros (the cleanup strategy covers them)"
            skipped.append(scan.skip(scan.functions[brace], why))
        else:
            tags[brace] = entry.value
            planted[brace] = entry
    after, failed = plant(scan, tags, target)
    for brace in failed:
        planted.pop(brace, None)
    everything = tuple(sorted([*skipped, *failed.values()], key=lambda item: item.line))
    return Instrumented(
        path, scan.shadow.raw, after, tuple(planted.values()), everything, verified.problem
    )
