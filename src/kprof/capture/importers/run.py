"""Importing: a logic analyser's file in, a capture file out, in one pass and bounded memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from kprof.capture.importers.channels import TAG_BITS, find_wiring
from kprof.capture.importers.extract import Counts, Rules, find_events
from kprof.capture.importers.reader import Reader
from kprof.capture.match import with_names
from kprof.capture.model import CaptureInfo
from kprof.capture.write import capture_writer
from kprof.errors import CaptureError, FileAccessError, UsageError
from kprof.files import explain
from kprof.names import NameFile
from kprof.times import parse_time

FORMATS = ("sigrok", "vcd", "csv", "saleae")
_SETTLE_NS = 20


@dataclass(frozen=True)
class ImportOptions:
    """What the user says about an import; see `kprof import --help`.

    `names` and `planted` are of the code, as `kprof.capture.match.with_names` takes them.
    """

    mapping: str | None = None
    settle: str | None = None
    tag_bits: int = TAG_BITS
    tag_shift: int = 0
    ignore: str | None = None
    samplerate: str | None = None
    kind: str | None = None
    names: NameFile | None = None
    planted: bytes | None = None


@dataclass(frozen=True)
class ImportResult:
    """What an import did."""

    recording: str
    counts: Counts
    clock_hz: Fraction
    warnings: tuple[str, ...]

    def sentence(self, output: Path | str) -> str:
        """One line for people."""
        counts = self.counts
        said = f"{output}: {counts.events} events from {counts.reads} reads in a {self.recording}"
        parts = [
            f"{counts.unstable} unstable",
            f"{counts.short} too short",
            f"{counts.ignored} ignored",
        ]
        return f"{said} ({', '.join(parts)})"


def import_recording(
    paths: Sequence[Path | str],
    output: Path | str,
    options: ImportOptions,
    progress: Callable[[int], None] | None = None,
) -> ImportResult:
    """Read a recording and write the capture file `output` (layout 3, the analyser's own clock).

    Parameters
    ----------
    paths
        One file, or the files of a Saleae binary export.
    progress
        Called with the number of events found so far, at every part of the recording.

    Raises
    ------
    FileAccessError
        A file cannot be read, or the output not written.
    CaptureError
        The recording is damaged, of another kind, or holds no reads.
    UsageError
        The options do not fit it.
    """
    if any(Path(path).resolve() == Path(output).resolve() for path in paths):
        raise UsageError(f"{output}: is the recording itself; expected another name to write to")
    reader = open_recording([Path(path) for path in paths], options)
    recording = reader.recording
    source = str(paths[0])
    taken = range(options.tag_shift, options.tag_shift + options.tag_bits)
    wiring = find_wiring(recording.channels, options.mapping, source, taken)
    settle, confirm = _settle_ticks(options.settle, recording.clock_hz, recording.sample_ticks)
    rules = Rules(
        lines=tuple(line for line, _ in wiring.address),
        settle=settle,
        confirm=confirm,
        select_high=wiring.select_high,
        tag_bits=options.tag_bits,
        tag_shift=options.tag_shift,
        ignored=parse_ranges(options.ignore or ""),
    )
    counts = Counts()
    info = CaptureInfo(
        source=source,
        clock_hz=recording.clock_hz,
        time_bits=48,
        tag_bits=options.tag_bits,
        unwrapped=True,
        valid_from=f"all reads found in a {recording.kind}",
        metadata={"imported_from": recording.kind, "settle_ticks": settle},
    )
    info = with_names(info, options.names, options.planted)
    try:
        with capture_writer(output, info, layout=3) as writer:
            start: int | None = None
            for times, tags in find_events(reader.blocks(wiring.wanted), rules, counts, source):
                if len(times):
                    start = int(times[0]) if start is None else start
                    ticks = times - start
                    if int(ticks[-1]) >= 1 << 48:
                        raise CaptureError(
                            f"{source}: lasts {int(ticks[-1])} ticks; expected less than 2^48"
                        )
                    writer.append((ticks.astype(np.uint64) << np.uint64(16)) | tags)
                if progress:
                    progress(counts.events)
            if counts.reads == 0:
                raise CaptureError(
                    f"{source}: the EPROM is never selected in it (is /CE on the right channel? "
                    "see --map)"
                )
            writer.finish(_final(info, counts))
    except OSError as error:
        raise FileAccessError(explain(source, "read", error)) from error
    warnings = recording.warnings + wiring.doubts(taken, source) + _warnings(source, counts)
    return ImportResult(recording.kind, counts, recording.clock_hz, warnings)


def open_recording(paths: Sequence[Path], options: ImportOptions) -> Reader:
    """The reader for these files, chosen by their first bytes unless `options.kind` says.

    Raises
    ------
    FileAccessError, CaptureError
    """
    try:
        with paths[0].open("rb") as stream:
            head = stream.read(4096)
        if not head:
            raise CaptureError(f"{paths[0]}: is empty; expected a logic analyser's recording")
        kind = options.kind or _sniff(head, str(paths[0]))
        if kind == "saleae":
            from kprof.capture.importers.saleae import SaleaeReader

            return SaleaeReader(paths, options.samplerate)
        if len(paths) > 1:
            raise UsageError(
                f"{len(paths)} files given; only a Saleae binary export is several files"
            )
        if kind == "sigrok":
            from kprof.capture.importers.sigrok import SigrokReader

            return SigrokReader(paths[0], options.samplerate)
        if kind == "vcd":
            from kprof.capture.importers.vcd import VcdReader

            return VcdReader(paths[0], options.samplerate)
        from kprof.capture.importers.table import TableReader

        return TableReader(paths[0], options.samplerate)
    except OSError as error:
        raise FileAccessError(explain(paths[0], "read", error)) from error


def parse_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """``0-3ff,8000``: ranges of tags in hexadecimal, ends included.

    Raises
    ------
    UsageError
    """
    ranges = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(?:0x)?([0-9a-f]{1,4})(?:-(?:0x)?([0-9a-f]{1,4}))?", part.lower())
        low, high = (int(match[1], 16), int(match[2] or match[1], 16)) if match else (1, 0)
        if low > high:
            raise UsageError(f"--ignore {part!r}; expected hexadecimal tags such as 0-3ff or 8000")
        ranges.append((low, high))
    return tuple(ranges)


def _sniff(head: bytes, source: str) -> str:
    if head.startswith(b"PK"):
        return "sigrok"
    if head.startswith(b"<SALEAE>"):
        return "saleae"
    if re.match(rb"\s*\$[a-z]+\s", head):
        return "vcd"
    if b"\0" in head:
        raise CaptureError(
            f"{source}: is not a recording of a kind that kprof knows; expected a sigrok session, "
            "a VCD, a CSV table, or a Saleae binary export"
        )
    return "csv"


def _settle_ticks(text: str | None, clock: Fraction, sample: int | None) -> tuple[int, int]:
    """(ticks to the first look, ticks from there to the second)."""
    confirm = sample or max(1, round(clock * _SETTLE_NS / 10**9))
    if text is None:
        return confirm, confirm
    seconds = parse_time(text, "--settle") / 10**6
    if seconds > 1:
        raise UsageError(f"--settle {text!r}; expected a time below a second")
    return round(seconds * clock), confirm


def _final(info: CaptureInfo, counts: Counts) -> CaptureInfo:
    from dataclasses import replace

    return replace(info, lost=counts.lost, some_lost=counts.lost > 0)


def _warnings(source: str, counts: Counts) -> tuple[str, ...]:
    said = []
    if counts.lost * 100 > counts.reads:
        cause = (
            "/CE rose too soon" if counts.unstable < counts.short else "the address was not steady"
        )
        said.append(
            f"{source}: {counts.lost} of {counts.reads} reads gave no tag: {cause} (try another "
            "--settle, or a higher sample rate)"
        )
    if not counts.events and counts.ignored:
        said.append(
            f"{source}: no event is left: {counts.ignored} of {counts.reads} reads have tags that "
            "--ignore names"
        )
    return tuple(said)
