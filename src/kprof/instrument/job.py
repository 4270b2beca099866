"""What `kprof instrument` does: one job from options to files, output and notices."""

from __future__ import annotations

import difflib
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kprof.errors import FileAccessError, UsageError
from kprof.files import is_there, write_bytes, write_text
from kprof.instrument.batch import (
    Batch,
    Instrumented,
    Options,
    check_copies,
    instrument_files,
    output_paths,
    restore,
    write_copies,
)
from kprof.instrument.header import profile_header
from kprof.instrument.listing import Skipped
from kprof.instrument.preprocess import Preprocessor, find_compiler, read_compile_commands
from kprof.instrument.reading import user_memory
from kprof.instrument.select import Selection
from kprof.instrument.shadow import encode
from kprof.instrument.targets import Target, find_target
from kprof.names import FIRST_TAG, NameFile, read_names

_MOST_LISTED = 20


@dataclass(frozen=True)
class Job:
    """The options of `kprof instrument`, as they were given."""

    files: Sequence[Path]
    output: str | None = None
    names: Path = Path("kprof.names")
    target: str = "m68k"
    targets: str | None = None
    base: str | None = None
    shift: int | None = None
    strategy: str | None = None
    selection: Selection = field(default_factory=Selection)
    first_tag: int = FIRST_TAG
    header: str | None = None
    compiler: str | None = None
    options: Sequence[str] = ()
    compile_commands: str | None = None
    force: bool = False
    diff: bool = False
    un_instrument: bool = False
    progress: Callable[[str, int, int], None] = lambda what, done, total: None  # noqa: ARG005


@dataclass(frozen=True)
class Outcome:
    """What a job has to say.

    Attributes
    ----------
    output
        For stdout, as the bytes of a file.
    notices
        Lines for the user.
    missed
        Functions that have no triggers although nobody asked for that, or that were planted without
        the parser.
    refused
        Why whole files were left out.
    """

    output: bytes = b""
    notices: tuple[str, ...] = ()
    missed: tuple[Skipped, ...] = ()
    refused: tuple[str, ...] = ()


def run(job: Job) -> Outcome:
    """Do the job.

    Raises
    ------
    KprofError
        It could not be done; no file was changed.
    """
    if not job.files and not job.header:
        raise UsageError("no source files; expected at least one (or --header FILE)")
    if job.un_instrument:
        return _restore(job)
    target = find_target(
        job.target, base=job.base, shift=job.shift, strategy=job.strategy, file=job.targets
    )
    if job.files and not job.diff and not job.output:
        raise UsageError("no folder for the copies; expected -o FOLDER (or --diff)")
    if job.diff:
        return _diff(job, target)
    batch = Batch()
    if job.files:
        assert job.output is not None
        if job.output != "-":
            check_copies(
                job.files, Path(job.output), force=job.force
            )  # before the name file is touched
        elif len(job.files) != 1:
            raise UsageError("-o - takes one source file; expected a folder for several")
        with tempfile.TemporaryDirectory() as folder:
            batch = instrument_files(job.files, _options(job, target, job.names, Path(folder)))
    output = b""
    if job.output == "-":
        output = encode("".join(item.after for item in batch.done))
    elif batch.done:
        write_copies(batch.done, Path(str(job.output)))
    if job.header:
        names = read_names(job.names) if is_there(job.names) else NameFile()
        write_text(job.header, profile_header(names.entries, target, names.sha256()))
    return _outcome(output, batch, job, target)


def _options(job: Job, target: Target, names: Path, folder: Path) -> Options:
    preprocessor_options = list(job.options)
    if job.header:
        # Sources may include the header before it has been made for the first time.
        (folder / "include").mkdir()
        write_text(folder / "include" / Path(job.header).name, profile_header((), target))
        preprocessor_options += ["-idirafter", str(folder / "include")]
    compiler = find_compiler(target.cpu, job.compiler)
    return Options(
        target,
        names,
        job.selection,
        job.first_tag,
        job.header is not None,
        Preprocessor((*compiler, *preprocessor_options)) if compiler else None,
        read_compile_commands(Path(job.compile_commands)) if job.compile_commands else {},
        memory=user_memory(),
        progress=job.progress,
    )


def _diff(job: Job, target: Target) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        # A dry run promises no tags: it allocates them in a copy of the name file.
        names = Path(folder) / job.names.name
        if is_there(job.names):
            write_text(names, read_names(job.names).text)
        batch = instrument_files(job.files, _options(job, target, names, Path(folder)))
    text = "".join(_unified(item) for item in batch.done)
    return _outcome(encode(text), batch, job, target)


def _lines(text: str) -> list[str]:
    """The lines with their line feeds; nothing else ends a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _unified(item: Instrumented) -> str:
    lines = difflib.unified_diff(
        _lines(item.before),
        _lines(item.after),
        f"a/{item.path}".replace("a//", "/"),
        f"b/{item.path}".replace("b//", "/"),
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _restore(job: Job) -> Outcome:
    texts = [restore(path) for path in job.files]
    if job.diff:
        raise UsageError("--un-instrument has no --diff; compare with the source instead")
    if job.output == "-":
        if len(texts) != 1:
            raise UsageError("-o - takes one file; expected a folder for several")
        return Outcome(encode(texts[0][1]))
    if not job.output:
        raise UsageError("no folder for the sources; expected -o FOLDER")
    targets = output_paths(job.files, Path(job.output))
    for target in targets:
        if is_there(target, "write"):
            raise FileAccessError(f"{target}: exists; remove it, or name another folder")
    for target, (_, text) in zip(targets, texts, strict=True):
        write_bytes(target, encode(text))
    return Outcome(notices=(f"{len(texts)} sources restored in {job.output}",))


def _outcome(output: bytes, batch: Batch, job: Job, target: Target) -> Outcome:
    missed = tuple(item for one in batch.done for item in one.skipped if not item.wanted)
    notices = [*batch.refused, *(_notices(batch.done, missed, job, target) if batch.done else ())]
    return Outcome(output, tuple(notices), missed, batch.refused)


def _notices(
    done: Sequence[Instrumented], missed: Sequence[Skipped], job: Job, target: Target
) -> list[str]:
    without = [item for item in missed if not item.planted]
    lines = [str(item) for item in without]
    planted = [entry for one in done for entry in one.planted]
    left = sum(item.wanted for one in done for item in one.skipped)
    counts = [f"{len(planted)} functions of {len(done)} files have triggers"]
    if left:
        counts.append(f"{left} left out as asked")
    if without:
        counts.append(f"{len(without)} without, see above")
    lines.append(", ".join(counts))
    unparsed = [item for item in missed if item.planted]
    if unparsed:
        some = ", ".join(
            f"{item.file}:{item.line}: {item.name}" for item in unparsed[:_MOST_LISTED]
        )
        more = f" and {len(unparsed) - _MOST_LISTED} more" * (len(unparsed) > _MOST_LISTED)
        lines.append(f"{len(unparsed)} functions read without the parser: {some}{more}")
    unseen = [one for one in done if one.unseen]
    if unseen:
        lines.append(
            f"{len(unseen)} files could not be preprocessed, so functions made by macros are not "
            f"known (give -I, -D, --compile-commands, or --cc none): {unseen[0].unseen}"
        )
    highest = max((entry.value + 1 for entry in planted), default=0)
    warning = target.warning(highest)
    return [*lines, f"{job.names}: {warning}"] if warning else lines
