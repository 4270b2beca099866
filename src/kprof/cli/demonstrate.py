"""What `kprof demo` does: every part of kprof in a row, through their library calls."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from kprof.analysis.stream import Stream
from kprof.analysis.summary import Summary, summarise
from kprof.board import minikernel
from kprof.board.cpu import find_musashi
from kprof.board.elf import load_kernel
from kprof.board.md20 import HZ, MD20
from kprof.board.session import Plan, Session
from kprof.board.tcp_line import open_line
from kprof.board.traffic import data_stream
from kprof.capture.open import open_capture
from kprof.cli.output import say
from kprof.errors import BoardError, FileAccessError, KprofError, UsageError
from kprof.files import explain, is_there, read_bytes, same_file, write_text
from kprof.instrument.job import Job
from kprof.instrument.job import run as run_instrument
from kprof.names import read_names
from kprof.report.summary import summary_text
from kprof.report.trace import trace_text
from kprof.upload import UploadOptions, fetch
from kprof.upload.host import HostOptions


@dataclass(frozen=True)
class Demo:
    """What to demonstrate.

    Attributes
    ----------
    folder
        Where everything is left.
    cross
        Prefix of the cross compiler; None: use the ready-built kernel.
    loan
        The kernel that loans the Ethernet's buffers to the network code.
    lines
        Lines of the trace to show.
    seed
        Chooses the Ethernet traffic.
    """

    folder: Path
    cross: str | None = minikernel.CROSS
    loan: bool = False
    lines: int = 60
    seed: int = 1

    @property
    def names(self) -> Path:
        """The name file."""
        return self.folder / "kernel.names"

    @property
    def kernel(self) -> Path:
        """The kernel's image."""
        return self.folder / "kernel.elf"

    @property
    def dump(self) -> Path:
        """The uploaded capture."""
        return self.folder / "dump.bin"


def demonstrate(demo: Demo) -> Iterator[str]:
    """Run the chain; what it prints, in parts. What it does is said on stderr.

    Raises
    ------
    KprofError
        A part could not do its work.
    """
    _check_folder(demo)
    find_musashi()
    _build(demo)
    names = read_names(demo.names)
    with MD20(load_kernel(demo.kernel), traffic=data_stream(HZ, seed=demo.seed)) as board:
        session = Session(board)
        _say(f"{demo.kernel}: booting on the MD20, the Profiler in its EPROM socket")
        session.record(Plan())
        _say(
            f"the Profiler is full: {board.profiler.count} events in {session.recorded_s:.3f} s of "
            f"the board's time, emulated at {session.mhz:.0f} MHz"
        )
        _upload(demo, session)
        image = board.profiler.image()
        audit = session.audit
    capture = open_capture(demo.dump)
    if bytes(capture.records.tobytes()) != image:
        raise BoardError(f"{demo.dump}: is not what the Profiler's RAM holds")
    _say("the uploaded image is the Profiler's RAM, byte for byte")
    summary = summarise(capture, names)
    if audit is not None and audit.exact:
        _say(_agreement(summary, audit.calls(names)))
    yield summary_text(summary).rstrip("\n")
    yield ""
    texts = trace_text(Stream(capture, names))
    yield from islice((line for text in texts for line in text.splitlines()), demo.lines)
    yield "..."
    yield ""
    yield _farewell(demo)


def _check_folder(demo: Demo) -> None:
    """Refuse a folder that holds what has the demonstration's names and is not of one."""
    made = [demo.names, demo.kernel, demo.dump, demo.folder / "src"]
    there = [path for path in made if is_there(path, "write")]
    start = minikernel.seed_names().read_bytes().splitlines()[0]
    if there and not (demo.names.is_file() and read_bytes(demo.names).startswith(start)):
        raise UsageError(
            f"{there[0]}: already exists, and is not of an earlier kprof demo; name a new folder "
            "(-o FOLDER)"
        )


def _build(demo: Demo) -> None:
    """Instrumented sources, name file and kernel in the folder."""
    compiler = minikernel.cross_compiler(demo.cross) if demo.cross is not None else None
    ready, ready_names = minikernel.ready_built("loan" if demo.loan else "kernel")
    planted = demo.folder / "src"
    try:
        planted.mkdir(parents=True, exist_ok=True)
        if compiler:
            shutil.copyfile(minikernel.seed_names(), demo.names)
        else:
            write_text(demo.names, _moved(read_names(ready_names).text, demo.folder))
            shutil.copyfile(ready, demo.kernel)
    except OSError as error:
        raise FileAccessError(explain(demo.folder, "write", error)) from error
    header = str(planted / minikernel.PROFILE_HEADER)
    job = Job(files=(), names=demo.names, header=header)
    run_instrument(job)
    folders = (planted, *minikernel.include_folders())
    done = run_instrument(
        replace(
            job,
            files=minikernel.sources(),
            output=str(planted),
            options=[f"-I{folder}" for folder in folders],
        )
    )
    for notice in done.notices:
        _say(notice)
    if not compiler:
        why = "as asked" if demo.cross is None else f"there is no {demo.cross}gcc here"
        _say(f"using the ready-built kernel, {why}")
        return
    defines = ["COUNT_CALLS", "KPROF", *(["LOAN"] if demo.loan else [])]
    copies = [planted / source.name for source in minikernel.sources()]
    command = minikernel.compile_command(
        compiler, copies, demo.kernel, includes=[planted], defines=defines
    )
    minikernel.run_compiler(command)
    _say(f"compiled with {compiler}")


def _moved(names: str, folder: Path) -> str:
    """The ready-built name file for another folder: it names sources relative to itself."""
    sources = minikernel.include_folders()[0]
    return names.replace(" ../src/", f" {os.path.relpath(sources, folder.resolve())}/")


def _upload(demo: Demo, session: Session) -> None:
    """Upload over a pseudo-terminal, the board in a thread of its own."""
    line = open_line()
    stop = threading.Event()
    failure: list[BaseException] = []
    session.connect(line)
    board = threading.Thread(target=_serve, args=(session, stop.is_set, failure), daemon=True)
    board.start()
    try:
        options = UploadOptions(host=HostOptions(goodbye=True), names=demo.names, force=True)
        result = fetch(line.path, demo.dump, options)
    except KprofError as error:
        if failure:  # the board has stopped: nobody could answer
            raise failure[0] from error
        raise
    finally:
        stop.set()
        board.join()
        line.close()
    _say(
        f"uploaded {result.records} records over {line.path} into {demo.dump} "
        f"in {result.seconds:.1f} s"
    )


def _serve(session: Session, stopped: Callable[[], bool], failure: list[BaseException]) -> None:
    try:
        session.serve(stopped)
    except BaseException as error:
        failure.append(error)


def _agreement(summary: Summary, counted: dict[str, int]) -> str:
    """Compare the analysed calls with the kernel's own counters."""
    analysed: dict[str, Any] = {f.entry.name: f.calls for f in summary.functions}
    wrong = [name for name, calls in counted.items() if analysed.get(name, 0) != calls]
    if wrong:
        raise BoardError(f"the kernel counted other calls of {', '.join(sorted(wrong))}")
    return (
        f"the kernel's own counters agree: {sum(counted.values())} calls of "
        f"{sum(1 for calls in counted.values() if calls)} functions"
    )


def _farewell(demo: Demo) -> str:
    """What was made, and lines that do the same: they work as they are pasted into a shell."""
    folder = shlex.quote(str(demo.folder))
    kprof = _command()
    line = f"{folder}/line"
    return "\n".join(
        (
            f"In {demo.folder}: dump.bin, kernel.names, kernel.elf and the instrumented src/.",
            "By hand, from the kernel to the report:",
            f"  {kprof} sim {folder}/kernel.elf --link {line} &",
            f"  until [ -e {line} ]; do sleep 1; done",
            f"  {kprof} upload {line} -o {folder}/again.bin --names {folder}/kernel.names --force",
            f"  {kprof} trace {folder}/again.bin | head -60",
        )
    )


def _command() -> str:
    """How this kprof is typed in the current folder."""
    here = Path(sys.argv[0])
    if here.name != "kprof":
        return f"{shlex.quote(sys.executable)} -m kprof"
    found = shutil.which("kprof")
    if found is not None and same_file(found, here):
        return "kprof"
    return shlex.quote(os.path.relpath(here))


def _say(text: str) -> None:
    say(text)
