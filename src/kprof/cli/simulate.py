"""The bench around `kprof sim`: the terminal, the pty and the files of one session at the board."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from kprof.board.md20 import DEFAULT_PHASE, HZ, MD20
from kprof.board.minikernel import ready_built
from kprof.board.profiler import Profiler
from kprof.board.pty import Pty
from kprof.board.session import UPLOAD_COMMAND, Plan, Session
from kprof.board.traffic import data_stream
from kprof.capture.model import Capture
from kprof.cli.meter import Meter
from kprof.cli.output import check_output, inputs_of
from kprof.errors import FileAccessError
from kprof.files import explain
from kprof.names import NameFile, find_names, read_names
from kprof.symbols import planted_digest


@dataclass(frozen=True)
class Bench:
    """What stands around the board.

    Attributes
    ----------
    dump
        Write the capture here instead of serving an upload.
    force
        Replace `dump`.
    names
        The name file, for the dump; None: the one beside the kernel.
    link
        A link to make to the pty.
    eprom_bits
        Width of the EPROM's port.
    manual
        Do not type the upload command on the console.
    seed
        Chooses the Ethernet traffic.
    ppm
        How much the Profiler's oscillator is off.
    """

    dump: str | None = None
    force: bool = False
    names: str | None = None
    link: str | None = None
    eprom_bits: int = 8
    manual: bool = False
    seed: int = 1
    ppm: float = 0


def simulate(kernel: str | None, plan: Plan, bench: Bench) -> None:
    """Run one session and say on stderr what happens.

    Raises
    ------
    KprofError
    """
    from kprof.board.elf import load_kernel

    path = Path(kernel) if kernel else ready_built()[0]
    if bench.dump:
        check_output(
            bench.dump, "capture", inputs_of([str(path)], [bench.names]), force=bench.force
        )
    image = load_kernel(path)
    names = _names(path, bench.names)
    profiler = Profiler(HZ, ppm=bench.ppm, phase=DEFAULT_PHASE)
    with contextlib.ExitStack() as stack:
        line = None if bench.dump else stack.enter_context(_line(bench.link))
        traffic = data_stream(HZ, seed=bench.seed)
        board = MD20(image, profiler=profiler, traffic=traffic, eprom_bits=bench.eprom_bits)
        stack.enter_context(board)
        meter = stack.enter_context(Meter())
        session = Session(
            board,
            line=line,
            console=_console,
            progress=lambda session: _progress(meter, session, plan.events),
        )
        if line is not None:
            _say(f"the upload line is {line.path}")
        done = session.record(plan)
        meter.end()
        _say(_outcome(session, done, plan))
        if bench.dump:
            planted = planted_digest(path) if image.symbols else None
            _write(bench.dump, session.capture(bench.dump), names, planted)
            _say(f"{profiler.count} events in {bench.dump}")
        elif line is not None:
            typed = " --send 'u\\r' --expect agent" if bench.manual else ""
            _say(f"waiting for: kprof upload {bench.link or line.path} -o dump.bin{typed}")
            session.serve(command=b"" if bench.manual else UPLOAD_COMMAND)
            _say("uploaded")


def _progress(meter: Meter, session: Session, events: int) -> None:
    profiler = session.board.profiler
    if profiler.active:
        meter.show(
            "recording",
            profiler.count,
            events,
            f"{profiler.count} of {events} events, {session.board.seconds:.2f} s on the board, "
            f"{session.mhz:.0f} MHz",
        )


def _outcome(session: Session, done: bool, plan: Plan) -> str:
    count = session.board.profiler.count
    state = "the Profiler is full" if session.board.profiler.full else "the Profiler is off"
    if not done:
        state += f", it holds fewer than {plan.events} events"
    return (
        f"{state}: {count} events in {session.recorded_s:.3f} s of the board's time, emulated at "
        f"{session.mhz:.0f} MHz ({session.mhz * 1e6 / HZ:.1f} times a real board)"
    )


def _names(kernel: Path, names: str | None) -> tuple[NameFile, str] | None:
    """The name file, and where it is from."""
    found = Path(names) if names else find_names(kernel)
    return (read_names(found), str(found)) if found else None


def _write(
    dump: str, capture: Capture, names: tuple[NameFile, str] | None, planted: bytes | None
) -> None:
    from kprof.capture.match import names_mismatch, with_names
    from kprof.capture.write import write_capture

    capture = replace(capture, info=with_names(capture.info, names[0] if names else None, planted))
    if names and (said := names_mismatch(capture, *names)):
        _say(said)
    write_capture(dump, capture)


@contextlib.contextmanager
def _line(link: str | None) -> Iterator[Pty]:
    line = Pty()
    try:
        if link:
            place = Path(link)
            try:
                if place.is_symlink() and str(place.readlink()).startswith("/dev/pts/"):
                    place.unlink()  # of an earlier session that was killed
                place.symlink_to(line.path)
            except OSError as error:
                raise FileAccessError(explain(place, "make the link", error)) from error
        yield line
    finally:
        if link:
            with contextlib.suppress(OSError):
                if Path(link).readlink() == Path(line.path):
                    Path(link).unlink()
        line.close()


def _console(text: bytes) -> None:
    sys.stdout.write(text.decode("latin-1").replace("\r", ""))
    sys.stdout.flush()


def _say(text: str) -> None:
    click.echo(f"kprof: {text}", err=True)
