"""The terminal's side of `kprof upload`: options into values, progress and notices on stderr."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import click

from kprof.cli.meter import Meter
from kprof.errors import FileAccessError, UsageError
from kprof.files import explain
from kprof.upload.host import HostOptions
from kprof.upload.memory_session import MemoryOptions, fetch_memory
from kprof.upload.progress import Progress, Rater, progress_text
from kprof.upload.prompt import Greeting, parse_typed
from kprof.upload.session import UploadOptions, UploadResult, fetch

Trace = Callable[[str], None]


class UploadMeter:
    """Shows what the conversation tells: how far it is, its rate, the time left, its notices."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._now = 0.0
        self._rater = Rater()
        self._meter: Meter | None = None

    def __call__(self, progress: Progress) -> None:
        self._now = progress.now
        if not progress.total and progress.phase != "notice":
            return
        if self._meter is None:
            self._meter = Meter(self._stream, lambda: self._now)
        if progress.phase == "notice":
            self._meter.say(progress.note)
        else:
            note = progress_text(progress, *self._rater.add(progress))
            self._meter.show(progress.phase, progress.done, progress.total, note)

    def end(self) -> None:
        """Clear the line that is drawn."""
        if self._meter is not None:
            self._meter.end()


def upload(options: Mapping[str, Any]) -> None:
    """Run `kprof upload` with its command line's options.

    Raises
    ------
    KprofError
    """
    meter = UploadMeter(sys.stderr)
    with _traced(options["trace_line"]) as trace:
        try:
            if options["proto"] == "kpr1":
                agent = agent_options(options, trace)
                result = fetch(options["port"], options["output"], agent, meter)
            else:
                memory = memory_options(options, trace)
                result = fetch_memory(options["port"], options["output"], memory, meter)
        finally:
            meter.end()
    click.echo(f"kprof: {outcome(result)}", err=True)


def agent_options(options: Mapping[str, Any], trace: Trace | None) -> UploadOptions:
    """The options of an upload from the agent."""
    return UploadOptions(
        host=HostOptions(
            base_baud=options["base"],
            baud=options["baud"],
            delta=not options["raw"],
            verify=options["verify"],
            valid_only=options["valid_only"],
            goodbye=not options["stay"],
        ),
        greeting=_greeting(options),
        names=Path(options["names"]) if options["names"] else None,
        resume=options["resume"],
        force=options["force"],
        trace=trace,
    )


def memory_options(options: Mapping[str, Any], trace: Trace | None) -> MemoryOptions:
    """The options of an upload from a board without the agent."""
    banks = (options["banks"] or "").split(",") if options["banks"] else []
    return MemoryOptions(
        proto=options["proto"],
        records=options["records"],
        addr=_number("--addr", options["addr"]),
        banks=tuple(_number("--banks", bank) for bank in banks),
        stride=options["stride"],
        baud=options["baud"] or options["base"],
        clock_hz=options["hz"],
        valid=options["valid"],
        greeting=_greeting(options),
        ask=options["ask"],
        verify=options["verify"],
        little=options["little"],
        stay=options["stay"],
        names=Path(options["names"]) if options["names"] else None,
        resume=options["resume"],
        force=options["force"],
        trace=trace,
    )


def _greeting(options: Mapping[str, Any]) -> Greeting:
    return Greeting(
        sent=tuple(parse_typed(text) for text in options["send"]),
        expected=tuple(parse_typed(text) for text in options["expect"]),
        delay_s=options["send_delay"] / 1000,
    )


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
    }.get(result.verified, "")
    retries = f", {result.retries} requests repeated" if result.retries else ""
    return (
        f"{result.out}: {result.valid:,} events in {result.records:,} records from "
        f"'{result.board}' in {result.seconds:.1f} s{retries}{checked}"
    )


@contextlib.contextmanager
def _traced(path: str | None) -> Iterator[Any]:
    """A function that writes lines into a log; None without a path."""
    if not path:
        yield None
        return
    try:
        stream = Path(path).open("w", encoding="ascii", buffering=1)  # noqa: SIM115
    except OSError as error:
        raise FileAccessError(explain(path, "write", error)) from error
    with stream:
        yield lambda text: stream.write(f"{text}\n")
