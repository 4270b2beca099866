"""The bench around `kprof sim`: the terminal, the pty and the files of one session at the board."""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kprof.board.board import DEFAULT_PHASE, Board, Traffic
from kprof.board.crash import GuestError, register_lines
from kprof.board.description import built_in, find_board
from kprof.board.elf import load_kernel
from kprof.board.md20 import with_port, with_ram
from kprof.board.minikernel import ready_built
from kprof.board.moments import Moment
from kprof.board.peer import TcpPeer
from kprof.board.profiler import CAPACITY, Profiler
from kprof.board.pty import Pty
from kprof.board.session import UPLOAD_COMMAND, Plan, Session
from kprof.board.tcp_line import TcpLine, open_line
from kprof.board.traffic import data_stream
from kprof.capture.model import Capture
from kprof.cli.meter import Meter
from kprof.cli.output import check_output, inputs_of, say
from kprof.errors import BoardError, FileAccessError, UsageError
from kprof.files import explain
from kprof.names import Modifier, NameFile, find_names, read_names
from kprof.symbols import planted_digest

TRAFFIC: dict[str, Callable[[int, int], Traffic]] = {
    "stream": lambda hz, seed: data_stream(hz, seed=seed),
    "tcp": lambda hz, seed: TcpPeer(hz, seed=seed),
    "tcp-flood": lambda hz, seed: TcpPeer(hz, seed=seed, pause_us=0),
    "none": lambda hz, seed: iter(()),  # noqa: ARG005
}
"""What can come over the Ethernet: from (clocks a second, seed)."""
_LAST_EVENTS = 8


@dataclass(frozen=True)
class Bench:
    """What stands around the board.

    Attributes
    ----------
    dump
        Write the capture here instead of serving an upload; ``-`` is stdout, and what the kernel
        prints goes to stderr then.
    force
        Replace `dump`.
    runs
        Recordings one after the other; each has a dump of its own, ``NAME-2.EXT`` and so on.
    names
        The name file, for the dump; None: the one beside the kernel.
    link
        A link to make to the pty.
    timeout_s
        Give up when nothing has moved on the upload line for so many seconds; 0: never.
    board
        Name of a built-in board, or a TOML file.
    eprom_bits
        Width of the EPROM's port; None: what the board says.
    manual
        Do not type the upload command on the console.
    skip
        Skip the turns of polling loops that are proved to change nothing.
    ram_bytes
        Size of the board's largest RAM; None: what the board says.
    traffic
        What comes over the Ethernet, a key of `TRAFFIC`.
    seed
        Chooses the run of it.
    ppm
        How much the Profiler's oscillator is off.
    """

    dump: str | None = None
    force: bool = False
    runs: int = 1
    names: str | None = None
    link: str | None = None
    timeout_s: float = 600
    board: str = "md20"
    eprom_bits: int | None = None
    ram_bytes: int | None = None
    traffic: str = "stream"
    manual: bool = False
    skip: bool = True
    seed: int = 1
    ppm: float = 0

    def __post_init__(self) -> None:
        if self.dump == "" or self.link == "":
            raise UsageError("an empty name; expected the name of a file")
        if self.dump is None and self.runs > 1:
            raise UsageError("--runs needs --dump: an upload takes one recording")
        if self.dump == "-" and self.runs > 1:
            raise UsageError("--runs needs files of its own; --dump - is one")
        if not 0 <= self.timeout_s < float("inf"):
            raise UsageError(f"a timeout of {self.timeout_s:g} s; expected 0 (none) or more")

    def dump_of(self, run: int) -> str:
        """The name of the dump of this recording, from 1."""
        assert self.dump is not None
        path = Path(self.dump)
        return self.dump if run == 1 else str(path.with_name(f"{path.stem}-{run}{path.suffix}"))


def simulate(kernel: str | None, plan: Plan, bench: Bench) -> None:
    """Run one session and say on stderr what happens.

    However a recording ends, what is stored is written, once the switch was at RUN.

    Raises
    ------
    KprofError
    """
    if bench.dump is None and plan.events > CAPACITY:
        raise UsageError(
            f"{plan.events} events: an upload reads the paper's RAM of {CAPACITY}; a larger one "
            "needs --dump FILE"
        )
    description = find_board(bench.board)
    if bench.eprom_bits is not None:
        description = with_port(description, bench.eprom_bits)
    if bench.ram_bytes is not None:
        description = with_ram(description, bench.ram_bytes)
    if kernel is None and description.name != "MD20":
        raise UsageError(f"the ready-built kernel is for the MD20; name one for {description.name}")
    if bench.dump is None and description.upload is None:
        raise UsageError(
            f"{description.name} has no [upload] line in {description.source}; use --dump FILE"
        )
    path = Path(kernel) if kernel else ready_built()[0]
    for run in range(1, bench.runs + 1) if bench.dump is not None else ():
        _writable(bench.dump_of(run), inputs_of([str(path)], [bench.names]), bench.force)
    image = load_kernel(path, description)
    names = _names(path, bench.names)
    hz = description.clock_hz
    profiler = Profiler(hz, ppm=bench.ppm, phase=DEFAULT_PHASE, capacity=max(CAPACITY, plan.events))
    with contextlib.ExitStack() as stack:
        line = None if bench.dump is not None else stack.enter_context(_line(bench.link))
        traffic = TRAFFIC[bench.traffic](hz, bench.seed)
        board = Board(description, image, profiler=profiler, traffic=traffic)
        stack.enter_context(board)
        board.polling.on = bench.skip
        meter = stack.enter_context(Meter())
        session = Session(
            board,
            line=line,
            console=_console_on_stderr if bench.dump == "-" else _console,
            progress=lambda session: _progress(meter, session, plan.events),
        )
        stack.enter_context(_interrupting(session))
        if line is not None:
            _say(f"the upload line is {line.path}")
        for run in range(1, bench.runs + 1):
            try:
                done = session.record(_next(plan, run), audit=False)
                meter.end()
                _say(_outcome(session, done, plan))
                if isinstance(traffic, TcpPeer):
                    _say(traffic.summary())
            finally:
                meter.end()
                if bench.dump is None and isinstance(sys.exc_info()[1], GuestError):
                    _say(f"{profiler.count} events were recorded; --dump FILE would keep them")
                elif bench.dump is not None and session.recorded:
                    planted = planted_digest(path) if image.symbols else None
                    _write(session, bench.dump_of(run), names, planted)
        if line is not None:
            typed = " --send 'u\\r' --expect agent" if bench.manual else ""
            _say(f"waiting for: kprof upload {bench.link or line.path} -o dump.bin{typed}")
            command = b"" if bench.manual else UPLOAD_COMMAND
            if not session.serve(command=command, timeout_s=bench.timeout_s or None):
                raise BoardError(
                    f"nobody has uploaded for {bench.timeout_s:g} s (--timeout 0 waits for ever, "
                    "--dump FILE needs no upload)"
                )
            _say("uploaded")


def board_list() -> str:
    """The built-in boards, a line each."""
    boards = [(name, find_board(name)) for name in built_in()]
    width = max(len(name) for name, _ in boards)
    return "".join(f"{name:{width}}  {board.text}\n" for name, board in boards)


def _next(plan: Plan, run: int) -> Plan:
    """The plan of recording number `run`: what is a time after the reset is only for the first."""
    moment = plan.run_at
    if run == 1 or (moment is not None and moment.kind in ("pc", "write", "idle")):
        return plan
    return replace(plan, run_at=Moment("time"))


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
        f"{session.mhz:.0f} MHz ({session.mhz * 1e6 / session.board.hz:.1f} times a real board)"
    )


def _names(kernel: Path, names: str | None) -> tuple[NameFile, str] | None:
    """The name file, and where it is from."""
    found = Path(names) if names else find_names(kernel)
    return (read_names(found), str(found)) if found else None


def _write(
    session: Session, dump: str, names: tuple[NameFile, str] | None, planted: bytes | None
) -> None:
    """Write the dump; where the kernel crashed, with how, and say it."""
    from kprof.capture.match import names_mismatch, with_names
    from kprof.capture.write import write_capture

    capture = session.capture(dump)
    info = with_names(capture.info, names[0] if names else None, planted)
    crash = sys.exc_info()[1]
    if isinstance(crash, GuestError):
        end = {"what": str(crash), "vector": crash.vector, "registers": crash.registers}
        info = replace(info, metadata={**info.metadata, "end": end})
    capture = replace(capture, info=info)
    if names and (said := names_mismatch(capture, *names)):
        _say(said)
    if session.longest_gap_s:
        _say(
            f"{session.longest_gap_s:.1f} s without an event is longer than the Profiler's counter "
            f"(16.8 s): {dump} has unwrapped times, which an upload could not bring"
        )
    write_capture(dump, capture)
    _say(f"{capture.events} events in {'stdout' if dump == '-' else dump}")
    if isinstance(crash, GuestError):
        _say(f"it ended at {session.board.seconds:.6f} s. Registers:")
        for line in register_lines(crash.registers):
            say(f"  {line}", prefix="")
        _say("the last events:")
        for line in _last_events(capture, names[0] if names else None):
            say(f"  {line}", prefix="")


def _last_events(capture: Capture, names: NameFile | None) -> list[str]:
    """The last events of a recording, with the time since its first one."""
    by_tag = names.by_tag if names else {}
    ticks, tags = capture.ticks(), capture.tags()
    gaps = ticks[1:] - ticks[:-1]
    elapsed = [0, *(gaps if capture.info.unwrapped else gaps & 0xFF_FFFF).cumsum().tolist()]
    lines = []
    for at, tag in list(zip(elapsed, tags.tolist(), strict=False))[-_LAST_EVENTS:]:
        entry = by_tag.get(tag)
        sign = "->" if entry and tag == entry.entry_tag else "<-"
        if entry and entry.modifier is Modifier.INLINE:
            sign = "=="
        what = f"{sign} {entry.name}" if entry else f"tag {tag}"
        lines.append(f"{at // 1_000_000}:{at // 1000 % 1000:03} {at % 1000:03} {what}")
    return lines


def _writable(dump: str, inputs: list[Path | str | None], force: bool) -> None:
    """Find out now, not behind the recording, that the dump cannot be written."""
    check_output(dump, "capture", inputs, force=force)
    path = Path(dump)
    if dump == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
        return
    try:
        if path.is_dir():
            raise FileAccessError(f"{dump}: is a folder; expected the name of a file to write")
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise FileAccessError(explain(path, "write", error)) from error


@contextlib.contextmanager
def _interrupting(session: Session) -> Iterator[None]:
    """Ctrl-C ends the session between two steps; once more, and it ends at once."""

    def interrupt(signum: int, frame: object) -> None:  # noqa: ARG001
        session.interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _line(link: str | None) -> Iterator[Pty | TcpLine]:
    place = Path(link or "")
    with contextlib.suppress(OSError):
        if place.is_symlink() and not place.exists():
            place.unlink()  # a sim that was killed left it; its line is gone
    line = open_line()
    try:
        if link is not None:
            if isinstance(line, TcpLine):
                raise UsageError(f"--link {link}: the line is {line.path}, which takes no link")
            try:
                place.symlink_to(line.path)
            except FileExistsError as error:
                raise UsageError(
                    f"{link}: already exists; remove it, or give the link another name"
                ) from error
            except OSError as error:
                raise FileAccessError(explain(place, "make the link", error)) from error
        yield line
    finally:
        if link is not None:
            with contextlib.suppress(OSError):
                if place.readlink() == Path(line.path):
                    place.unlink()
        line.close()


def _console(text: bytes) -> None:
    """What the kernel prints, byte for byte: its character set is its own affair."""
    sys.stdout.buffer.write(text.replace(b"\r", b""))
    sys.stdout.flush()


def _console_on_stderr(text: bytes) -> None:
    sys.stderr.buffer.write(text.replace(b"\r", b""))
    sys.stderr.flush()


def _say(text: str) -> None:
    say(text)
