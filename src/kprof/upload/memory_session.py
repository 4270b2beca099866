"""Uploads from boards without the agent, end to end: a protocol, the memory's layout, the file."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kprof
from kprof.errors import UploadError, UsageError
from kprof.upload.dump import Dumper, DumpOptions
from kprof.upload.dumplines import HexDump, IntelHex, Parser, RawBytes, SRecords
from kprof.upload.failures import (
    InterruptedUploadError,
    KeptDiffersError,
    NoAnswerError,
    PortError,
    TransferError,
)
from kprof.upload.gdb import GdbReader
from kprof.upload.image import RECORD_BYTES, Image
from kprof.upload.layout import Layout, Memory
from kprof.upload.line import CountedLine, Line, TracedLine, converse
from kprof.upload.partial import Partial, check_usable, partial_files
from kprof.upload.progress import Notify, Progress, silent
from kprof.upload.prompt import Greeting, greet
from kprof.upload.protocols import FILES
from kprof.upload.received import memory_of
from kprof.upload.session import (
    UploadResult,
    interrupts_counted,
    read_code,
    verified_metadata,
    write_upload,
)
from kprof.upload.talk import Talk
from kprof.upload.wire import Info
from kprof.upload.xmodem import Receiver

RECORDS = 16384
_AT_BEGIN = (PortError, NoAnswerError)  # kinds of errors; afterwards they are a `TransferError`


@dataclass(frozen=True)
class MemoryOptions:
    """How to fetch memory.

    Attributes
    ----------
    proto
        One of `kprof.upload.protocols.MEMORY`.
    records
        Of the event RAM; None: 16384, or as many as the file that comes holds, which with `banks`
        may be longer.
    addr, banks, stride
        See `kprof.upload.layout.Layout`; for a file or raw bytes its offsets.
    baud
        The line's rate.
    clock_hz
        The Profiler's clock.
    valid
        Records of the last run; None: the board cannot tell.
    greeting, ask
        What to type; see `kprof.upload.dump.DumpOptions`.
    verify
        Fetch everything twice and compare, where the protocol can.
    little
        A hexadecimal dump's words are as a little-endian board reads them.
    stay
        Leave a gdb stub attached.
    dtr, rts
        See `kprof.upload.port.open_port`.
    """

    proto: str
    records: int | None = None
    addr: int = 0
    banks: tuple[int, ...] = ()
    stride: int = 1
    baud: int = 115200
    clock_hz: int = 1_000_000
    valid: int | None = None
    greeting: Greeting = field(default_factory=Greeting)
    ask: str = ""
    verify: bool = False
    little: bool = False
    stay: bool = False
    names: Path | None = None
    elf: Path | None = None
    resume: bool = False
    force: bool = False
    trace: Callable[[str], None] | None = None
    dtr: bool = True
    rts: bool = True

    def layout(self, records: int) -> Layout:
        """The layout of so many records."""
        return Layout(records, self.addr, self.banks, self.stride)

    @property
    def known_records(self) -> int | None:
        """`records`, or its default; None: the file that comes says it."""
        return self.records or (None if self.proto in FILES else RECORDS)

    @property
    def resumable(self) -> bool:
        """Parts of the memory can be asked for."""
        return self.proto not in FILES and (self.proto != "raw" or bool(self.ask))

    @property
    def twice(self) -> bool:
        """Only what has come twice the same counts."""
        return self.verify or self.proto == "hexdump"

    def check(self) -> None:
        """Refuse what cannot be, before anything is done.

        Raises
        ------
        UsageError
        """
        self.layout(self.records or RECORDS)
        if self.resume and not self.resumable:
            raise UsageError(
                f"--resume: a transfer by {self.proto} begins anew each time (--force "
                "replaces what was kept)"
            )
        if self.verify and self.proto in FILES:
            raise UsageError(
                f"--verify: {self.proto} checks each block, and is sent once (leave it out)"
            )
        known = self.known_records
        if known is not None and self.valid is not None and self.valid > known:
            raise UsageError(f"--valid {self.valid}: there are {known} records (--records)")


def fetch_memory(
    port: str, out: Path | str, options: MemoryOptions, progress: Notify = silent
) -> UploadResult:
    """Fetch a board's event RAM by another protocol than the agent's.

    Raises
    ------
    UploadError
        See `kprof.upload.session.fetch`.
    FileAccessError, UsageError
        `out` cannot be written, or already exists; the options cannot be.
    """
    from kprof.upload.port import open_port

    options.check()
    _check_kept(Path(out), options)
    with (
        open_port(port, options.baud, dtr=options.dtr, rts=options.rts) as line,
        interrupts_counted() as interrupts,
    ):
        return fetch_memory_over(line, out, options, progress, interrupts)


def fetch_memory_over(
    line: Line,
    out: Path | str,
    options: MemoryOptions,
    progress: Notify = silent,
    interrupts: Callable[[], int] = lambda: 0,
) -> UploadResult:
    """The same over a line that is open already."""
    options.check()
    out, code = Path(out), read_code(options.names, options.elf)
    with partial_files(
        out, resume=options.resume, force=options.force, resumable=options.resumable
    ) as partial:
        _check_kept(out, options)
        line = TracedLine(line, options.trace) if options.trace else line
        fetcher = _Fetcher(line, options, partial, progress, interrupts)
        start = line.clock()
        image = fetcher.run()
        seconds = line.clock() - start
        wanted = options.valid
        if wanted is not None and wanted > image.records:
            fetcher.say(f"--valid {wanted}: the file holds {image.records} records; all are taken")
            wanted = image.records
        info = Info(0, 1, 5, 24, 16, options.clock_hz, image.records, wanted, 0, 1, "")
        metadata = {
            "uploaded_by": f"kprof {kprof.__version__}",
            "upload": {
                "proto": options.proto,
                "retries": fetcher.retries,
                **verified_metadata(*fetcher.verified),
            },
        }
        valid_from = f"--valid {options.valid}"
        valid = write_upload(out, info, image, metadata, code, valid_from)
        partial.remove()
    return UploadResult(
        out, image.records, valid, options.proto, seconds, fetcher.retries, fetcher.verified[0]
    )


class _Fetcher:
    def __init__(
        self,
        line: Line,
        options: MemoryOptions,
        partial: Partial,
        progress: Notify,
        interrupts: Callable[[], int],
    ) -> None:
        self.retries = 0
        self.verified = "", 0
        self._line, self._options, self._partial = CountedLine(line), options, partial
        self._progress, self._interrupts = progress, interrupts
        self._records = options.records or RECORDS
        self._parser = _parser(options)
        self._restored = 0  # bytes of an earlier upload

    def run(self) -> Image:
        options = self._options
        if options.proto in FILES:
            return self._receive()
        memory = Memory(options.layout(self._records))
        self._restore(memory)
        try:
            if options.proto == "gdb":
                reader = GdbReader(
                    memory, twice=options.verify, detach=not options.stay, tell=self._tell
                )
                self._converse(greet(options.greeting))
                self._converse(reader.run())
                self.retries = reader.retries
                self.verified = reader.verified
            else:
                self._dump(memory)
        except KeptDiffersError:
            raise
        except UploadError as error:
            raise self._kept(error, memory) from error
        return self._image(memory)

    def say(self, note: str) -> None:
        """Tell the user."""
        now = self._line.clock()
        self._progress(Progress("notice", 0, self._records, self.retries, now, note))

    def _receive(self) -> Image:
        options = self._options
        receiver = Receiver(ymodem=options.proto == "ymodem", tell=self._tell)
        try:
            self._converse(greet(options.greeting))
            data = self._converse(receiver.run())
            most = RECORDS if options.banks else None
            place = options.layout(options.records or 1)
            memory, left_out = memory_of(data, receiver.filling, place, options.records, most)
        except UploadError as error:
            plain = not options.banks and options.addr == 0 and options.stride == 1
            raise self._kept_bytes(error, receiver.data, image=plain) from error
        self.retries = receiver.retries
        if left_out:
            self.say(
                f"the last {left_out} records are the filling of the sender's last block (1A) and "
                "left out (--records says how many there are)"
            )
        return self._image(memory)

    def _dump(self, memory: Memory) -> None:
        options = self._options
        parser = self._parser
        twice = options.twice
        how = DumpOptions(options.ask, options.greeting, 2 if twice else 1)
        dumper = Dumper(memory, parser, how, self._tell)
        self._converse(dumper.run())
        self.retries = dumper.retries
        self.verified = dumper.verified

    def _converse(self, talk: Talk[Any]) -> Any:
        return converse(talk, self._line, self._interrupts)

    def _tell(self, done: int) -> None:
        records = min(done // (RECORD_BYTES * self._options.stride), self._records)
        now = self._line.clock()
        self._progress(Progress("fetching", records, self._records, self.retries, now))

    def _restore(self, memory: Memory) -> None:
        if not self._options.resume:
            return
        image = Image(self._records)
        problem = self._partial.restore(_board(self._options), image)
        if problem:
            self.say(problem)
        for first, count in image.present():
            at = slice(first * RECORD_BYTES, (first + count) * RECORD_BYTES)
            memory.restore(first, bytes(image.data[at]))
        self._restored = memory.held

    def _image(self, memory: Memory) -> Image:
        image = Image(memory.layout.records, self._partial.sink)
        data, complete = memory.records()
        at = complete.find(1)
        while at >= 0:
            end = complete.find(0, at)
            end = len(complete) if end < 0 else end
            image.put(at, data[at * RECORD_BYTES : end * RECORD_BYTES])
            at = complete.find(1, end)
        if image.complete:
            self._partial.save(_board(self._options), image)
        return image

    def _kept(self, error: UploadError, memory: Memory) -> UploadError:
        if isinstance(self._parser, RawBytes) and not self._options.resumable:
            came = bytes(self._parser.longest)
            plain = not self._options.banks and self._options.stride == 1
            plain = plain and len(came) <= memory.layout.extent()[1]
            return self._kept_bytes(error, came, image=plain)
        image = self._image(memory)
        if not image.held:
            return self._lost(error)
        self._partial.save(_board(self._options), image)
        return self._kind(error, came=memory.held > self._restored)(
            f"{error}; {image.held:,} of {image.records:,} records are kept in "
            f"{self._partial.path} (--resume goes on with them)"
        )

    def _kept_bytes(self, error: UploadError, data: bytes, *, image: bool) -> UploadError:
        """Keep what cannot be gone on with, as it came; with `image`, as whole records."""
        options, path = self._options, self._partial.path
        records = len(data) // RECORD_BYTES
        if image:
            data = data[: records * RECORD_BYTES]
        if not data:
            return self._lost(error)
        self._partial.keep(data)
        kept = f"{len(data):,} bytes are kept in {path} as they came"
        if image:
            valid = records if options.valid is None else min(options.valid, records)
            kept = (
                f"{records:,} records are kept in {path}, a raw image (kprof convert "
                f"{shlex.quote(str(path))} -o FILE --valid {valid} reads it)"
            )
        kind = self._kind(error, came=True)
        return kind(f"{error}; {kept}; a new transfer by {options.proto} needs --force")

    def _lost(self, error: UploadError) -> UploadError:
        """The error of a transfer of which nothing can be kept."""
        if not self._line.received or not isinstance(error, (PortError, InterruptedUploadError)):
            return error
        options, why = self._options, "no record is complete and sound"
        if options.twice and options.proto != "gdb":
            which = "of hexdump" if options.proto == "hexdump" else "with --verify"
            why = f"{which} only what two dumps agree on"
        return self._kind(error, came=False)(f"{error}; nothing is kept: {why}")

    def _kind(self, error: UploadError, *, came: bool) -> type[UploadError]:
        """What an error is: a port is lost in the midst once anything was received.

        Parameters
        ----------
        came
            Some of the memory has come.
        """
        begun = bool(self._line.received) if isinstance(error, PortError) else came
        return TransferError if begun and isinstance(error, _AT_BEGIN) else type(error)


def _board(options: MemoryOptions) -> dict[str, Any]:
    """What an upload must have in common with an earlier one to go on with what that kept."""
    layout = dataclasses.asdict(options.layout(options.records or RECORDS))
    return {"proto": options.proto, **layout, "banks": list(layout["banks"])}


def _check_kept(out: Path, options: MemoryOptions) -> None:
    if options.resume and not options.force:
        check_usable(out, _board(options))


def _parser(options: MemoryOptions) -> Parser:
    if options.proto == "srec":
        return SRecords()
    if options.proto == "ihex":
        return IntelHex()
    if options.proto == "hexdump":
        return HexDump(little=options.little)
    return RawBytes()
