"""The formats of `kprof export` by name, and writing one of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kprof.errors import FileAccessError, UsageError
from kprof.files import explain, writing, writing_folder

if TYPE_CHECKING:
    from kprof.analysis.filters import Filter
    from kprof.capture.model import Capture, CaptureInfo
    from kprof.export.view import View
    from kprof.names import NameFile
    from kprof.names.calls import CallKnowledge


class Format(NamedTuple):
    """A format: what its files are called, what opens it, and where its writer is.

    `beside` is the suffix of a second file that the reader wants; the module's `write_beside`
    writes it where there is none yet.
    """

    suffix: str
    reader: str
    module: str
    function: str = "write"
    folder: bool = False
    binary: bool = False
    paths: bool = False
    beside: str = ""


FORMATS: dict[str, Format] = {
    "perfetto": Format(".pftrace", "ui.perfetto.dev", "perfetto", binary=True),
    "chrome": Format(".json", "chrome://tracing, Perfetto, Spall", "chrome"),
    "speedscope": Format(".speedscope.json", "speedscope.app", "speedscope"),
    "firefox": Format(".json", "profiler.firefox.com", "firefox"),
    "folded": Format(".folded", "flamegraph.pl, inferno", "folded", paths=True),
    "callgrind": Format(".callgrind", "KCachegrind, callgrind_annotate", "callgrind", paths=True),
    "pprof": Format(".pb.gz", "go tool pprof", "pprof", binary=True, paths=True),
    "ctf": Format(".ctf", "babeltrace2, Trace Compass (a folder)", "ctf", folder=True),
    "dot": Format(".dot", "Graphviz", "dot", paths=True),
    "mermaid": Format(".mmd", "Mermaid, in Markdown", "mermaid", paths=True),
    "csv": Format(".csv", "spreadsheets; a row a call", "csv"),
    "parquet": Format(
        ".parquet", "DuckDB, Polars, Spark; a row a call", "arrow", "write_parquet", binary=True
    ),
    "arrow": Format(".arrow", "pyarrow, Polars; a row a call", "arrow", "write_arrow", binary=True),
    "vcd": Format(".vcd", "GTKWave", "vcd", beside=".gtkw"),
}


def target_for(dump: str, form: str) -> str:
    """Where a format goes that nobody named: text to ``-``, others beside the dump."""
    chosen = FORMATS[form]
    if not (chosen.binary or chosen.folder):
        return "-"
    return str(Path("dump" if dump == "-" else dump).with_suffix(chosen.suffix))


def export(
    capture: Capture,
    names: NameFile,
    form: str,
    target: Path | str,
    *,
    known: CallKnowledge | None = None,
    trigger_cost: Fraction = Fraction(0),
    chosen: Callable[[CaptureInfo], Filter] | None = None,
    interrupts: tuple[str, ...] = (),
    sources: Path | None = None,
    force: bool = False,
) -> tuple[str, ...]:
    """Write `capture` to `target` in the format `form`; ``-`` is the standard output.

    The memory that it takes does not grow with the capture, but for a bit a call with a filter.

    Returns
    -------
    The functions that were recognised as interrupts, where `interrupts` names none.

    Parameters
    ----------
    known
        What can call what in the program, where that is known.
    trigger_cost
        What a trigger costs, in ticks; see `kprof.analysis.stream.Stream`.
    chosen
        The filter, in ticks of the clock that the times are in.
    interrupts
        Functions that are interrupts; else those that the name file marks, and those that look so.
    sources
        The folder that the paths of the name file start from: formats that name sources name them
        so that they can be opened.
    force
        Write a format that is a folder into one that holds other files.

    Raises
    ------
    UsageError
        A filter, or `interrupts`, names what is not there; the format is a folder, and `target`
        the standard output, or a folder of other files.
    MissingExtraError
        The format needs a package that is not installed.
    FileAccessError
        `target` cannot be written.
    """
    from kprof.analysis.stream import Stream
    from kprof.export.places import function_places
    from kprof.export.view import View

    entry = FORMATS[form]
    write = getattr(importlib.import_module(f"kprof.export.{entry.module}"), entry.function)
    stream = Stream(capture, names, trigger_cost=trigger_cost, known=known)
    view = View(
        stream,
        chosen and chosen(stream.info),
        interrupts,
        paths=entry.paths,
        places=function_places(names, known, sources),
    )
    if entry.folder:
        if str(target) == "-":
            raise UsageError(f"the format {form} is a folder of files; name it with -o FOLDER")
        _check_folder(Path(target), form, force)
        with writing_folder(target) as folder:
            write(view, folder)
    else:
        with writing(target) as out:
            write(view, out)
        if entry.beside and Path(target).is_file():
            _write_beside(view, entry, Path(target), force)
    return view.recognised


def _write_beside(view: View, entry: Format, target: Path, force: bool) -> None:
    """Write the file beside `target`; one that is there may hold what its owner has arranged."""
    beside = target.with_suffix(entry.beside)
    if beside.exists() and not force:
        return
    with writing(beside) as out:
        importlib.import_module(f"kprof.export.{entry.module}").write_beside(view, target, out)


def _check_folder(target: Path, form: str, force: bool) -> None:
    """Refuse a folder with anything in it that is no earlier export of this format."""
    try:
        held = sorted(path.name for path in target.iterdir()) if target.is_dir() else []
        about = target / "metadata"
        ours = held == ["events", "metadata"] and b'tracer_name = "kprof"' in about.read_bytes()
    except OSError as error:
        raise FileAccessError(explain(target, "read", error)) from error
    if held and not ours and not force:
        raise UsageError(
            f"{target}: is a folder with other files in it ({held[0]}), and no {form} trace of "
            "kprof (name a new folder, or --force)"
        )
