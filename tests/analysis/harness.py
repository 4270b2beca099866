"""What kprof makes of a kernel's events, in the terms of the reference."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.analysis.kernels import Kernel
from tests.analysis.truth import Books, Call

import kprof.api
from kprof.analysis.calls import OPEN, ORPHAN, UNWOUND
from kprof.analysis.summary import Ledger
from kprof.capture.model import Capture, CaptureInfo
from kprof.capture.write import write_capture
from kprof.names import parse_names

# Does the analysis have user time yet, and with it task marks and idle functions?
MARKS = "user" in Ledger._fields


def library(kernel: Kernel, *, known: bool = False) -> Books:
    """The calls and the ledger that kprof finds; `known`: with the kernel's call knowledge."""
    text = kernel.program.calls_text() if known else ""
    run = run_of(kernel.ticks, kernel.tags, kernel.names, text, kernel.options.clock_hz)
    lines = run.timeline
    own = {"%": "user", "~": "idle"}
    books = Books()
    rows: list[Call] = []
    calls = lines.calls
    for row in range(len(calls)):
        entry = lines.functions[calls.function[row]]
        flags = int(calls.flags[row])
        call = Call(
            entry.name,
            int(calls.entry_event[row]),
            int(calls.context[row]),
            rows[calls.parent[row]] if calls.parent[row] >= 0 else None,
            own.get(entry.modifier.value, "net"),
            None if flags & OPEN else int(calls.exit_event[row]),
            int(calls.net[row]),
            int(calls.elapsed[row]),
            bool(flags & UNWOUND),
            bool(flags & ORPHAN),
        )
        rows.append(call)
        (books.orphans if call.orphan else books.calls).append(call)
    ledger = lines.ledger
    books.elapsed, books.idle = ledger.elapsed, ledger.idle
    books.unattributed, books.user = ledger.unattributed, getattr(ledger, "user", 0)
    return books


def run_of(
    ticks: Iterable[int], tags: Iterable[int], names: str, calls: str = "", hz: int = 1_000_000
) -> kprof.api.Run:
    """The events as `kprof.load` has them, with a call-knowledge file where `calls` is given."""
    capture = Capture.from_events(list(ticks), list(tags), CaptureInfo(clock_hz=Fraction(hz)))
    if not calls:
        return kprof.api.Run(capture, parse_names(names))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.names"
        path.write_text(names)
        path.with_name("kernel.names.calls").write_text(calls)
        dump = Path(folder) / "dump.kpr"
        write_capture(dump, capture)
        run = kprof.api.load(dump, path)
        run.timeline  # noqa: B018 (the file is gone after)
        return run
