"""The analysis against the books of a simulated kernel: every call, every microsecond."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.analysis import kernel_sim

from kprof.analysis import summarise, timeline
from kprof.analysis.replay.codes import OPEN, ORPHAN, UNWOUND
from kprof.capture import Capture
from kprof.names import parse_names

KINDS = [(style, fair) for style in ("pair", "early", "swtch") for fair in (True, False)]


def compare(kernel: Any) -> None:
    names = parse_names(kernel_sim.name_text(kernel.style))
    capture = Capture.from_events(kernel.times, kernel.tags)
    lines = timeline(capture, names)
    calls = lines.calls
    end = kernel.now
    expected = Counter(
        (
            call.name,
            call.entry,
            end if call.exit is None else call.exit,
            call.net,
            call.elapsed,
            call.exit is None,
            call.unwound,
        )
        for call in kernel.calls
    )
    orphan = (calls.flags & ORPHAN) != 0
    found = Counter(
        zip(
            [lines.functions[fn].name for fn in calls.function[~orphan]],
            calls.entry[~orphan].tolist(),
            calls.exit[~orphan].tolist(),
            calls.net[~orphan].tolist(),
            calls.elapsed[~orphan].tolist(),
            ((calls.flags[~orphan] & OPEN) != 0).tolist(),
            ((calls.flags[~orphan] & UNWOUND) != 0).tolist(),
            strict=True,
        )
    )
    assert found == expected
    assert np.array_equal(calls.wall, calls.exit - calls.entry)
    found_orphans = [
        (lines.functions[fn].name, net)
        for fn, net in zip(calls.function[orphan], calls.net[orphan].tolist(), strict=True)
    ]
    assert Counter(found_orphans) == Counter(kernel.orphans)
    assert lines.ledger.idle == kernel.idle
    assert lines.ledger.unattributed == kernel.unattributed
    assert lines.ledger.elapsed == end
    # Each of its contexts is one of ours.
    pairs = {
        (call.context, context)
        for call, context in zip(kernel.calls, calls.context[~orphan].tolist(), strict=True)
    }
    assert len({ours for ours, _ in pairs}) == len({theirs for _, theirs in pairs}) == len(pairs)
    compare_summary(kernel, summarise(capture, names))


def compare_summary(kernel: Any, summary: Any) -> None:
    assert summary.anomalies.context_switches == kernel.switches
    assert sum(count for _, count in summary.inlines) == kernel.marks
    counts = Counter(call.name for call in kernel.calls)
    net = Counter()
    for call in kernel.calls:
        net[call.name] += call.net
    for name, extra in kernel.orphans:
        net[name] += extra
    for row in summary.functions:
        name = row.entry.name
        assert row.calls == counts[name]
        assert row.net == net[name]
        assert row.net <= row.elapsed <= row.wall
        done = [c.net for c in kernel.calls if c.name == name and c.exit is not None]
        if done:
            assert (row.max, row.avg, row.min) == (max(done), sum(done) // len(done), min(done))
    assert sum(counts.values()) == sum(row.calls for row in summary.functions)


@pytest.mark.parametrize(("style", "fair"), KINDS)
def test_the_report_finds_the_books_of_the_kernel(style: str, fair: bool) -> None:
    certain = 0
    for seed in range(170):
        kernel = kernel_sim.Kernel(seed, style, fair)
        names = parse_names(kernel_sim.name_text(style))
        found = summarise(Capture.from_events(kernel.times, kernel.tags), names)
        assert (found.ledger.idle, found.ledger.elapsed) == (kernel.idle, kernel.now)
        if not found.anomalies.ambiguous_switches:
            certain += 1
            compare(kernel)
    assert fair or certain > 100


@pytest.mark.parametrize(("style", "fair"), KINDS)
def test_blocks_of_any_size_give_the_same(
    style: str, fair: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, block in ((1, 1), (2, 3), (3, 17)):
        kernel = kernel_sim.Kernel(seed, style, fair)
        names = parse_names(kernel_sim.name_text(style))
        capture = Capture.from_events(kernel.times, kernel.tags)
        whole, summary = timeline(capture, names), summarise(capture, names)
        monkeypatch.setattr("kprof.analysis.stream.BLOCK", block)
        parts = timeline(capture, names)
        for kind in (whole.calls, whole.marks):
            other = parts.calls if kind is whole.calls else parts.marks
            for name in kind.__dataclass_fields__:
                assert np.array_equal(getattr(kind, name), getattr(other, name)), name
        assert summarise(capture, names) == summary
        monkeypatch.undo()
