"""The bench around `kprof sim`: the terminal, the pty and the files of one session at the board."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from kprof.board.md20 import DEFAULT_PHASE, HZ, MD20
from kprof.board.minikernel import ready_built
from kprof.board.profiler import Profiler
from kprof.board.pty import Pty
from kprof.board.session import UPLOAD_COMMAND, Plan, Session
from kprof.board.traffic import data_stream
from kprof.errors import FileAccessError
from kprof.files import explain

_EVERY_S = 0.1


@dataclass(frozen=True)
class Bench:
    """What stands around the board.

    Attributes
    ----------
    dump
        Write the capture here instead of serving an upload.
    names
        The name file, for the digest in the dump; None: the one beside the kernel.
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
    image = load_kernel(path)
    digest = _digest(path, bench.names)
    profiler = Profiler(HZ, ppm=bench.ppm, phase=DEFAULT_PHASE)
    with contextlib.ExitStack() as stack:
        line = None if bench.dump else stack.enter_context(_line(bench.link))
        traffic = data_stream(HZ, seed=bench.seed)
        board = MD20(image, profiler=profiler, traffic=traffic, eprom_bits=bench.eprom_bits)
        stack.enter_context(board)
        meter = Meter(plan.events)
        session = Session(board, line=line, console=_console, progress=meter)
        if line is not None:
            _say(f"the upload line is {line.path}")
        done = session.record(plan)
        meter.end()
        _say(_outcome(session, done, plan))
        if bench.dump:
            from kprof.capture.write import write_capture

            write_capture(bench.dump, session.capture(digest, bench.dump))
            _say(f"{profiler.count} events in {bench.dump}")
        elif line is not None:
            typed = " --send 'u\\r' --expect agent" if bench.manual else ""
            _say(f"waiting for: kprof upload {bench.link or line.path} -o dump.bin{typed}")
            session.serve(command=b"" if bench.manual else UPLOAD_COMMAND)
            _say("uploaded")


class Meter:
    """Progress on stderr: at most ten times a second on a terminal, each tenth elsewhere."""

    def __init__(self, events: int) -> None:
        self._events = events
        self._tty = sys.stderr.isatty()
        self._shown_at = 0.0
        self._shown = -1
        self._drawn = False

    def __call__(self, session: Session) -> None:
        count = session.board.profiler.count
        if not session.board.profiler.active:
            return
        part = count * 10 // self._events
        now = time.monotonic()
        if now - self._shown_at < _EVERY_S if self._tty else part == self._shown:
            return
        self._shown_at, self._shown = now, part
        text = (
            f"{count} of {self._events} events, {session.board.seconds:.2f} s on the board, "
            f"{session.mhz:.0f} MHz"
        )
        if self._tty:
            self._drawn = True
            click.echo(f"\r\x1b[K{text}", err=True, nl=False)
        else:
            click.echo(text, err=True)

    def end(self) -> None:
        """Clear the line."""
        if self._drawn:
            click.echo("\r\x1b[K", err=True, nl=False)


def _outcome(session: Session, done: bool, plan: Plan) -> str:
    count = session.board.profiler.count
    state = "the Profiler is full" if session.board.profiler.full else "the Profiler is off"
    if not done:
        state += f", it holds fewer than {plan.events} events"
    return (
        f"{state}: {count} events in {session.recorded_s:.3f} s of the board's time, emulated at "
        f"{session.mhz:.0f} MHz ({session.mhz * 1e6 / HZ:.1f} times a real board)"
    )


def _digest(kernel: Path, names: str | None) -> bytes | None:
    from kprof.names import find_names, read_names

    found = Path(names) if names else find_names(kernel)
    return read_names(found).sha256() if found else None


@contextlib.contextmanager
def _line(link: str | None) -> Iterator[Pty]:
    line = Pty()
    try:
        if link:
            place = Path(link)
            try:
                if place.is_symlink():
                    place.unlink()
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
