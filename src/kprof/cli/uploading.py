"""The terminal's side of `kprof upload`: options into values, progress and notices on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from kprof.capture.match import planted_mismatch
from kprof.cli.line_log import line_log
from kprof.cli.meter import Meter
from kprof.cli.output import FORMS, say
from kprof.cli.upload_applies import check_options, check_values
from kprof.errors import UsageError
from kprof.files import same_file, spare_foreign, spare_inputs
from kprof.times import parse_time
from kprof.upload.ask import fill
from kprof.upload.causes import explain_ports
from kprof.upload.host import HostOptions
from kprof.upload.memory_session import MemoryOptions, fetch_memory
from kprof.upload.partial import check_output
from kprof.upload.progress import Progress, Rater, progress_text
from kprof.upload.prompt import Greeting, parse_typed
from kprof.upload.session import UploadOptions, UploadResult, fetch, read_code

LONGEST_DELAY_S = 60


class UploadMeter:
    """Shows what the conversation tells: how far it is, its rate, the time left, its notices.

    A terminal that is gone ends no upload.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._now = 0.0
        self._rater = Rater()
        self._meter: Meter | None = None

    def __call__(self, progress: Progress) -> None:
        with contextlib.suppress(OSError):
            self._show(progress)

    def _show(self, progress: Progress) -> None:
        self._now = progress.now
        if not progress.total and progress.phase != "notice":
            return
        if progress.phase == "notice":
            self.say(progress.note)
            return
        if self._meter is None:
            self._meter = Meter(self._stream, lambda: self._now)
        note = progress_text(progress, *self._rater.add(progress))
        self._meter.show(progress.phase, progress.done, progress.total, note)

    def say(self, sentence: str) -> None:
        """Print a sentence that stays."""
        with contextlib.suppress(OSError):
            (self._meter or Meter(self._stream)).say(sentence)

    def end(self) -> None:
        """Clear the line that is drawn."""
        if self._meter is not None:
            with contextlib.suppress(OSError):
                self._meter.end()


def upload(options: Mapping[str, Any], given: Collection[str]) -> None:
    """Run `kprof upload` with its command line's options.

    What can be refused is refused before the port is opened: opening it may reset the board.

    Parameters
    ----------
    given
        The names of the options that are on the command line.

    Raises
    ------
    KprofError
    """
    if not options["port"]:
        raise UsageError(f"no PORT is given; {explain_ports()}")
    if not options["output"]:
        raise UsageError("no file to write is given; expected -o FILE")
    check_options(options["proto"], given)
    check_values(options, given)
    _check_files(options)
    out, meter = Path(options["output"]), UploadMeter(sys.stderr)
    wanted: UploadOptions | MemoryOptions
    wanted = agent_options(options) if options["proto"] == "kpr1" else memory_options(options)
    resumable = not isinstance(wanted, MemoryOptions) or wanted.resumable
    check_output(out, resume=wanted.resume, force=wanted.force, resumable=resumable)
    code = read_code(wanted.names, wanted.elf)
    if code.names and code.planted:
        program = str(wanted.elf)
        other = planted_mismatch(code.names, str(wanted.names), code.planted, program)
        if other:
            say(other)
    try:
        with line_log(options["trace_line"], meter.say) as trace:
            result = _fetch(options["port"], out, replace(wanted, trace=trace), meter)
    finally:
        meter.end()
    say(outcome(result))


def _check_files(options: Mapping[str, Any]) -> None:
    """Refuse outputs that would take the place of a file of the upload, or of a foreign one."""
    log, out = options["trace_line"], options["output"]
    for option, path in (("-o", out), ("--trace-line", log)):
        if path == "-":
            raise UsageError(f"{option} -: stdout takes no upload; expected the name of a file")
    spare_inputs(out, (options["names"], options["elf"]))
    if not log:
        return
    others = [
        out,
        f"{out}.part",
        f"{out}.part.json",
        *filter(None, (options["names"], options["elf"])),
    ]
    for other in others:
        if os.path.realpath(log) == os.path.realpath(other) or same_file(log, other):
            raise UsageError(
                f"--trace-line {log}: is a file of this upload ({other}); name another file"
            )
    spare_foreign(log, FORMS["log of a line"], "log of a line", force=options["force"])


def _fetch(
    port: str, out: Path, wanted: UploadOptions | MemoryOptions, meter: UploadMeter
) -> UploadResult:
    if isinstance(wanted, MemoryOptions):
        return fetch_memory(port, out, wanted, meter)
    return fetch(port, out, wanted, meter)


def agent_options(options: Mapping[str, Any]) -> UploadOptions:
    """The options of an upload from the agent."""
    return UploadOptions(
        host=HostOptions(
            base_baud=options["start_baud"],
            baud=options["baud"],
            delta=not options["raw"],
            verify=options["verify"],
            valid_only=options["valid_only"],
            goodbye=not options["stay"],
        ),
        greeting=_greeting(options),
        names=_path(options["names"]),
        elf=_path(options["elf"]),
        resume=options["resume"],
        force=options["force"],
        dtr=not options["no_dtr"],
        rts=not options["no_rts"],
    )


def memory_options(options: Mapping[str, Any]) -> MemoryOptions:
    """The options of an upload from a board without the agent."""
    banks = (options["banks"] or "").split(",") if options["banks"] else []
    if options["ask"]:
        parse_typed(fill(options["ask"], 0, 1))
    return MemoryOptions(
        proto=options["proto"],
        records=options["records"],
        addr=_number("--addr", options["addr"]),
        banks=tuple(_number("--banks", bank) for bank in banks),
        stride=options["stride"],
        baud=options["baud"] or options["start_baud"],
        clock_hz=options["hz"],
        valid=options["valid"],
        greeting=_greeting(options),
        ask=options["ask"],
        verify=options["verify"],
        little=options["little"],
        stay=options["stay"],
        names=_path(options["names"]),
        elf=_path(options["elf"]),
        resume=options["resume"],
        force=options["force"],
        dtr=not options["no_dtr"],
        rts=not options["no_rts"],
    )


def _greeting(options: Mapping[str, Any]) -> Greeting:
    delay_s = float(parse_time(options["send_delay"], "--send-delay")) / 1e6
    if delay_s > LONGEST_DELAY_S:
        raise UsageError(
            f"--send-delay {options['send_delay']}: expected {LONGEST_DELAY_S} s or less"
        )
    return Greeting(
        sent=tuple(parse_typed(text) for text in options["send"]),
        expected=tuple(parse_typed(text) for text in options["expect"]),
        delay_s=delay_s,
    )


def _path(name: str | None) -> Path | None:
    return Path(name) if name else None


def _number(option: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError as error:
        raise UsageError(f"{option} {text}: expected a number, such as 0x8000") from error


def outcome(result: UploadResult) -> str:
    """One sentence for the user."""
    checked = {
        "crc": ", the board's checksums agree",
        "twice": ", two passes agree",
        "samples": ", samples read again agree",
        "": ", not compared with the board again",
    }[result.verified]
    retries = f", {result.retries} requests repeated" if result.retries else ""
    return (
        f"{result.out}: {result.valid:,} events in {result.records:,} records from "
        f"'{result.board}' in {result.seconds:.1f} s{retries}{checked}"
    )
