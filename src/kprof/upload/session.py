"""One upload from end to end: the port, the conversation, the partial file, the capture file."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kprof
from kprof.errors import FileAccessError
from kprof.upload.failures import (
    HungUpUploadError,
    InterruptedUploadError,
    NoAnswerError,
    PortError,
    TerminatedUploadError,
    TransferError,
    VerifyError,
)
from kprof.upload.frames import FrameNotes
from kprof.upload.host import Fetched, Host, HostOptions
from kprof.upload.image import Image
from kprof.upload.line import Line, TracedLine, converse
from kprof.upload.partial import Partial, partial_files
from kprof.upload.progress import Notify, Progress, silent
from kprof.upload.prompt import Greeting, greet
from kprof.upload.wire import FULL, RUNNING, Info

if TYPE_CHECKING:
    from kprof.names import NameFile


@dataclass(frozen=True)
class UploadOptions:
    """How to upload.

    Attributes
    ----------
    host
        The KPR1 conversation's options.
    greeting
        What to type, and what to wait for, before the agent is called.
    names
        The name file that the code was built with: its digest and entries go into the capture.
    elf
        The program: it holds the digest of the name file that it was built with.
    resume
        Go on with what an earlier upload to the same output has kept.
    force
        Replace an output, or an unfinished upload, that is there.
    trace
        Called with a line of text for everything that passes over the line; None: not.
    dtr, rts
        See `kprof.upload.port.open_port`.
    """

    host: HostOptions = field(default_factory=HostOptions)
    greeting: Greeting = field(default_factory=Greeting)
    names: Path | None = None
    elf: Path | None = None
    resume: bool = False
    force: bool = False
    trace: Callable[[str], None] | None = None
    dtr: bool = True
    rts: bool = True


@dataclass(frozen=True)
class UploadResult:
    """What was written.

    Attributes
    ----------
    out
        The capture file.
    records, valid
        Records in it, and those of the last run.
    board
        The name that the agent gives.
    seconds
        From the first request to the last answer.
    retries
        Requests that were repeated.
    verified
        ``"crc"``, ``"twice"``, ``"samples"`` (see `kprof.upload.host.Fetched`), or ``""``: nothing
        was compared, as where a file is sent once.
    """

    out: Path
    records: int
    valid: int
    board: str
    seconds: float
    retries: int
    verified: str


def fetch(
    port: str,
    out: Path | str,
    options: UploadOptions | None = None,
    progress: Notify = silent,
) -> UploadResult:
    """Upload the event RAM from the agent on `port` into the capture file `out`.

    Ctrl-C is taken over while it runs in the main thread: the first one lets the agent finish what
    it sends, the second one does not wait.

    Raises
    ------
    PortError
        The port cannot be opened.
    NoAnswerError
        Nobody answers on it.
    TransferError, VerifyError, InterruptedUploadError
        It came to no end; what arrived is kept in ``OUT.part``.
    FileAccessError, UsageError
        `out` cannot be written, or already exists.
    """
    from kprof.upload.port import open_port

    options = options or UploadOptions()
    with (
        open_port(port, options.host.base_baud, dtr=options.dtr, rts=options.rts) as line,
        interrupts_counted() as interrupts,
    ):
        return fetch_over(line, out, options, progress, interrupts)


def fetch_over(
    line: Line,
    out: Path | str,
    options: UploadOptions | None = None,
    progress: Notify = silent,
    interrupts: Callable[[], int] = lambda: 0,
) -> UploadResult:
    """The same over a line that is open already, which need not be a port."""
    options, out = options or UploadOptions(), Path(out)
    code = read_code(options.names, options.elf)
    with partial_files(out, resume=options.resume, force=options.force) as partial:
        line = TracedLine(line, options.trace, FrameNotes().note) if options.trace else line
        start = line.clock()
        fetched = _converse(line, options, partial, progress, interrupts)
        seconds = line.clock() - start
        metadata: dict[str, Any] = {
            "board": fetched.info.name,
            "uploaded_by": f"kprof {kprof.__version__}",
            "upload": {
                "baud": fetched.baud,
                "retries": fetched.retries,
                **verified_metadata(fetched.verified, fetched.verified_records),
            },
        }
        if fetched.info.run is not None:
            metadata["upload"]["run"] = fetched.info.run
        partial.save(_board(fetched.info), fetched.image)
        valid = write_upload(out, fetched.info, fetched.image, metadata, code)
        partial.remove()
    return UploadResult(
        out,
        fetched.image.records,
        valid,
        fetched.info.name,
        seconds,
        fetched.retries,
        fetched.verified,
    )


def verified_metadata(how: str, records: int) -> dict[str, Any]:
    """What the capture's metadata says about `UploadResult.verified`, and of how many records."""
    return {"verified": how, "verified_records": records}


def write_upload(
    out: Path,
    info: Info,
    image: Image,
    metadata: dict[str, Any],
    code: Code,
    valid_from: str = "the device's address counter",
) -> int:
    """Write a complete image as a capture file; the number of valid records.

    Raises
    ------
    FileAccessError
        `out` cannot be written; it is as it was.
    """
    from fractions import Fraction

    import numpy as np

    from kprof.capture import Capture, CaptureInfo, write_capture
    from kprof.capture.match import with_names

    records = np.frombuffer(bytes(image.data), dtype=np.uint8).reshape(-1, 5)
    if info.valid is not None:
        valid, reason = min(info.valid, image.records), valid_from
    elif info.flags & FULL:
        valid, reason = image.records, "the full flag"
    else:
        valid, reason = image.records, "all: the board does not say how many are valid"
    known = CaptureInfo(
        source=str(out),
        clock_hz=Fraction(info.clock_hz),
        full=bool(info.flags & FULL),
        count_guessed=info.valid is None and not info.flags & FULL,
        stale_tail=valid < image.records,
        valid_from=reason,
        metadata=metadata,
    )
    known = with_names(known, code.names, code.planted)
    write_capture(out, Capture(known, records[:valid], records[valid:]))
    return valid


@contextlib.contextmanager
def interrupts_counted() -> Iterator[Callable[[], int]]:
    """Count Ctrl-C, SIGTERM and SIGHUP instead of ending for them; in another thread than the main
    one: count nothing.

    A SIGHUP that is ignored (nohup) stays so.

    Raises
    ------
    TerminatedUploadError, HungUpUploadError
        In the place of `InterruptedUploadError`, where SIGTERM or SIGHUP has come.
    """
    came: list[int] = []

    def note(signum: int, frame: object) -> None:  # noqa: ARG001
        came.append(signum)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: 0
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    hung_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hung_up is not None and signal.getsignal(hung_up) is not signal.SIG_IGN:
        numbers.append(hung_up)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield lambda: len(came)
    except InterruptedUploadError as error:
        if signal.SIGTERM in came:
            raise TerminatedUploadError(str(error)) from error
        if hung_up in came:
            raise HungUpUploadError(str(error)) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _converse(
    line: Line,
    options: UploadOptions,
    partial: Partial,
    progress: Notify,
    interrupts: Callable[[], int],
) -> Fetched:
    """Run the conversation; what it holds is saved now and then, and when it fails."""
    host: Host

    def new_image(info: Info, records: int) -> Image:
        image = Image(records, partial.sink)
        if options.resume:
            problem = partial.restore(_board(info), image)
            if problem:
                progress(Progress("notice", 0, records, 0, line.clock(), problem))
        return image

    def tell(moment: Progress) -> None:
        if moment.phase == "fetching":
            partial.save(_board(host.info), host.image, moment.now)
        progress(moment)

    host = Host(options.host, new_image, tell)
    try:
        converse(greet(options.greeting), line, interrupts)
        return converse(host.run(), line, interrupts)
    except FileAccessError:
        image = getattr(host, "image", None)
        if image is not None:
            with contextlib.suppress(FileAccessError):
                partial.save(_board(host.info), image)
        raise
    except (TransferError, VerifyError, InterruptedUploadError, NoAnswerError, PortError) as error:
        image = getattr(host, "image", None)
        if image is None or (not image.held and not isinstance(error, PortError)):
            raise
        if not image.held:
            raise TransferError(f"{error}; nothing is kept: no record has come") from error
        partial.save(_board(host.info), image)
        kind = type(error)
        if kind in (NoAnswerError, PortError):  # it had begun: what arrived is kept
            kind = TransferError
        raise kind(
            f"{error}; {image.held:,} of {image.records:,} records are kept in {partial.path} "
            "(--resume goes on with them)"
        ) from error


def _board(info: Info) -> dict[str, Any]:
    values = dataclasses.asdict(info)
    values["flags"] &= FULL | RUNNING
    for volatile in ("seq", "max_records", *(("run",) if info.run is None else ())):
        del values[volatile]
    return values


@dataclass(frozen=True)
class Code:
    """What the board's code was built with, as far as it is known.

    Attributes
    ----------
    names
        Its name file.
    planted
        The SHA-256 of it that the program holds (`kprof.symbols.planted_digest`).
    """

    names: NameFile | None = None
    planted: bytes | None = None


def read_code(names: Path | None, elf: Path | None) -> Code:
    """Read what there is of the two.

    Raises
    ------
    KprofError
        One of them cannot be read.
    """
    from kprof.names import read_names
    from kprof.symbols import planted_digest

    return Code(read_names(names) if names else None, planted_digest(elf) if elf else None)
