"""What kprof makes of a kernel's events, in the terms of the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    lines = run_kernel(kernel, known).timeline
    own = {"%": "user", "~": "idle"}
    fired = set(kernel.tags)
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
            entry.modifier.switches and entry.exit_tag not in fired,
        )
        rows.append(call)
        (books.orphans if call.orphan else books.calls).append(call)
    ledger = lines.ledger
    books.elapsed, books.idle = ledger.elapsed, ledger.idle
    books.unattributed, books.user = ledger.unattributed, getattr(ledger, "user", 0)
    return books


def summary_differences(kernel: Kernel, *, known: bool = False) -> list[str]:
    """How the figures of the summary differ from the kernel's truth, function by function."""
    truth, summary = kernel.truth, run_kernel(kernel, known).summary
    found = {
        row.entry.name: (row.calls, row.net, row.elapsed, row.max, row.avg, row.min)
        for row in summary.functions
        if row.calls or row.net
    }
    names = {call.name for call in truth.calls} | {c.name for c in truth.orphans if c.net}
    said = []
    for name in sorted(names | found.keys()):
        calls = [call for call in truth.calls if call.name == name]
        if any(call.own != "net" for call in calls) or name in ("user", "idle_loop"):
            continue
        orphans = sum(call.net for call in truth.orphans if call.name == name)
        outer = [call for call in calls if not any(c.name == name for c in _around(call))]
        done = [call.net for call in calls if call.exit is not None]
        expected = (
            len(calls),
            sum(call.net for call in calls) + orphans,
            sum(call.elapsed for call in outer) + orphans,
            max(done, default=None),
            sum(done) // len(done) if done else None,
            min(done, default=None),
        )
        kept = 6 if kernel.program.tags[name] + 1 in kernel.tags else 3
        if found.get(name, ())[:kept] != expected[:kept]:
            said.append(f"summary of {name}: found {found.get(name)}, is {expected}")
    return said


def _around(call: Call) -> Iterator[Call]:
    while call.parent:
        call = call.parent
        yield call


def run_kernel(kernel: Kernel, known: bool = False) -> kprof.api.Run:
    """The kernel's capture as a user has it; `known`: its call knowledge lies beside the names."""
    text = kernel.program.calls_text() if known else ""
    return run_of(kernel.ticks, kernel.tags, kernel.names, text, kernel.options.clock_hz)


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
        assert run.timeline
        assert run.summary  # the files are gone after
        return run
