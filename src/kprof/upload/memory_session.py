"""Uploads from boards without the agent, end to end: a protocol, the memory's layout, the file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kprof
from kprof.errors import UploadError, UsageError
from kprof.upload.dump import Dumper, DumpOptions
from kprof.upload.dumplines import HexDump, IntelHex, Parser, RawBytes, SRecords
from kprof.upload.failures import PortError, TransferError
from kprof.upload.gdb import GdbReader
from kprof.upload.image import RECORD_BYTES, Image
from kprof.upload.layout import Layout, Memory
from kprof.upload.line import Line, TracedLine, converse
from kprof.upload.partial import Partial, partial_files
from kprof.upload.progress import Notify, Progress, silent
from kprof.upload.prompt import Greeting, greet
from kprof.upload.session import UploadResult, interrupts_counted, names_digest, write_upload
from kprof.upload.talk import Talk
from kprof.upload.wire import Info
from kprof.upload.xmodem import Receiver

PROTOCOLS = ("xmodem", "ymodem", "srec", "ihex", "hexdump", "gdb", "raw")
FILES = ("xmodem", "ymodem")  # the sender says how long it is
RECORDS = 16384


@dataclass(frozen=True)
class MemoryOptions:
    """How to fetch memory.

    Attributes
    ----------
    proto
        One of `PROTOCOLS`.
    records
        Of the event RAM; None: as many as the file that comes holds, else 16384.
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
    resume: bool = False
    force: bool = False
    trace: Callable[[str], None] | None = None

    def layout(self, records: int) -> Layout:
        """The layout of so many records."""
        return Layout(records, self.addr, self.banks, self.stride)


def fetch_memory(
    port: str, out: Path | str, options: MemoryOptions, progress: Notify = silent
) -> UploadResult:
    """Fetch a board's event RAM by another protocol than the agent's.

    Raises
    ------
    UploadError
        See `kprof.upload.session.fetch`.
    FileAccessError, UsageError
        `out` cannot be written, or is there already; the options cannot be.
    """
    from kprof.upload.port import open_port

    options.layout(options.records or RECORDS)
    with open_port(port, options.baud) as line, interrupts_counted() as interrupts:
        return fetch_memory_over(line, out, options, progress, interrupts)


def fetch_memory_over(
    line: Line,
    out: Path | str,
    options: MemoryOptions,
    progress: Notify = silent,
    interrupts: Callable[[], int] = lambda: 0,
) -> UploadResult:
    """The same over a line that is open already."""
    out, digest = Path(out), names_digest(options.names)
    with partial_files(out, resume=options.resume, force=options.force) as partial:
        line = TracedLine(line, options.trace) if options.trace else line
        fetcher = _Fetcher(line, options, partial, progress, interrupts)
        start = line.clock()
        image = fetcher.run()
        seconds = line.clock() - start
        if options.valid is not None and options.valid > image.records:
            raise UsageError(f"--valid {options.valid}: there are {image.records} records")
        info = Info(0, 1, 5, 24, 16, options.clock_hz, image.records, options.valid, 0, 1, "")
        metadata = {
            "uploaded_by": f"kprof {kprof.__version__}",
            "upload": {
                "proto": options.proto,
                "retries": fetcher.retries,
                "verified": fetcher.verified,
            },
        }
        valid_from = f"--valid {options.valid}"
        valid = write_upload(out, info, image, metadata, digest, valid_from)
        partial.remove()
    return UploadResult(
        out, image.records, valid, options.proto, seconds, fetcher.retries, fetcher.verified
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
        self.verified = ""
        self._line, self._options, self._partial = line, options, partial
        self._progress, self._interrupts = progress, interrupts
        self._records = options.records or RECORDS

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
                self.verified = "twice" if options.verify or reader.retries else ""
            else:
                self._dump(memory)
        except UploadError as error:
            raise self._kept(error, memory) from error
        return self._image(memory)

    def _receive(self) -> Image:
        self._converse(greet(self._options.greeting))
        receiver = Receiver(ymodem=self._options.proto == "ymodem", tell=self._tell)
        data = self._converse(receiver.run())
        self.retries, self.verified = receiver.retries, ""
        options = self._options
        used = len(data) - options.addr
        if options.banks:
            used = (len(data) - max(options.banks)) * RECORD_BYTES
        records = options.records or max(0, used) // (RECORD_BYTES * options.stride)
        if not records:
            raise TransferError(f"the file has {len(data)} bytes: not one record")
        memory = Memory(options.layout(records))
        memory.put(0, data)
        if memory.missing():
            raise TransferError(
                f"the file has {len(data):,} bytes; {records:,} records need "
                f"{sum(memory.layout.spans()[-1]):,} (--records, --addr, --banks, --stride)"
            )
        return self._image(memory)

    def _dump(self, memory: Memory) -> None:
        options = self._options
        parser = _parser(options, memory)
        twice = options.verify or options.proto == "hexdump"
        how = DumpOptions(options.ask, options.greeting, 2 if twice else 1)
        dumper = Dumper(memory, parser, how, self._tell)
        self._converse(dumper.run())
        self.retries = dumper.retries
        self.verified = "twice" if twice else ""

    def _converse(self, talk: Talk[Any]) -> Any:
        return converse(talk, self._line, self._interrupts)

    def _tell(self, done: int) -> None:
        records = min(done // (RECORD_BYTES * self._options.stride), self._records)
        now = self._line.clock()
        self._progress(Progress("fetching", records, self._records, self.retries, now))

    def _restore(self, memory: Memory) -> None:
        if not self._options.resume or self._options.proto == "raw":
            return
        image = Image(self._records)
        problem = self._partial.restore(self._board(), image)
        if problem:
            now = self._line.clock()
            self._progress(Progress("notice", 0, self._records, 0, now, problem))
        for first, count in image.present():
            at = slice(first * RECORD_BYTES, (first + count) * RECORD_BYTES)
            memory.restore(first, bytes(image.data[at]))

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
            self._partial.save(self._board(), image)
        return image

    def _kept(self, error: UploadError, memory: Memory) -> UploadError:
        image = self._image(memory)
        if not image.held:
            return error
        self._partial.save(self._board(), image)
        kind = TransferError if isinstance(error, PortError) else type(error)
        return kind(
            f"{error}; {image.held:,} of {image.records:,} records are kept in "
            f"{self._partial.path} (--resume goes on with them)"
        )

    def _board(self) -> dict[str, Any]:
        layout = dataclasses.asdict(self._options.layout(self._records))
        return {"proto": self._options.proto, **layout, "banks": list(layout["banks"])}


def _parser(options: MemoryOptions, memory: Memory) -> Parser:
    if options.proto == "srec":
        return SRecords()
    if options.proto == "ihex":
        return IntelHex()
    if options.proto == "hexdump":
        return HexDump(little=options.little)
    return RawBytes(memory.layout.spans()[0][0])
