"""The fold of a run into batches: what it counts, however the calls come, and its memory."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis import workload
from tests.analysis.noisy import kernel

from kprof.analysis import timeline
from kprof.analysis.batches import MOST, TOP, Batches, CallColumns, RunBatches
from kprof.analysis.calls import Timeline
from kprof.analysis.measured import OUTSIDE, measure
from kprof.analysis.replay.codes import OPEN, ORPHAN
from kprof.capture import Capture
from kprof.names import parse_names

NAMES = parse_names(workload.NAMES)


def in_order_of_ends(line: Timeline) -> tuple[CallColumns, NDArray[np.int64]]:
    """All calls as a stream hands them on; a call's number is its row."""
    calls = line.calls
    order = np.lexsort((-calls.depth, calls.exit_event))
    number = np.arange(len(calls))
    columns = (calls.function, calls.net, calls.flags, number, calls.parent)
    return CallColumns(*(c[order].astype(np.int64) for c in columns)), calls.exit[order]


def folded(calls: CallColumns, ended: NDArray[np.int64], block: int) -> RunBatches:
    batches = Batches()
    for start in range(0, len(ended), block):
        part = slice(start, start + block)
        batches.add(CallColumns(*(column[part] for column in calls)), ended[part])
    return batches.finish()


@pytest.fixture(scope="module")
def line() -> Timeline:
    run = workload.Run(1, 6000)
    return timeline(Capture.from_events(run.times, run.tags), NAMES)


@pytest.mark.parametrize("block", [1, 7, 64, 1000, 10**6])
def test_all_calls_are_counted_once_whatever_the_blocks(line: Timeline, block: int) -> None:
    found = folded(*in_order_of_ends(line), block)
    calls = line.calls
    began = (calls.flags & ORPHAN) == 0
    done = (calls.flags & (ORPHAN | OPEN)) == 0
    for fn, one in found.functions.items():
        mine = calls.function == fn
        assert one.calls.sum() == (mine & began).sum()
        assert one.complete.sum() == one.histogram.sum() == (mine & done).sum()
        assert one.net.sum() == calls.net[mine & done].sum()
        assert abs(one.values @ one.histogram.sum(1) - one.net.sum()) <= 0.016 * one.net.sum()
    pairs: dict[tuple[int, int], int] = {}
    for row in np.flatnonzero(began).tolist():
        above = int(calls.parent[row])
        caller = int(calls.function[above]) if above >= 0 else TOP
        pair = (caller, int(calls.function[row]))
        pairs[pair] = pairs.get(pair, 0) + 1
    assert {pair: many.sum() for pair, many in found.callers.items()} == pairs
    assert MOST / 2 <= len(found.lasted) <= MOST
    assert found.lasted.sum() == calls.exit.max()
    assert (found.lasted >= 0).all()


@pytest.mark.parametrize("block", [100, 3000])
def test_batches_are_the_same_whatever_the_blocks(line: Timeline, block: int) -> None:
    rows = in_order_of_ends(line)
    whole, parts = folded(*rows, 10**6), folded(*rows, block)
    for fn, one in whole.functions.items():
        assert (one.net == parts.functions[fn].net).all()
        assert (one.histogram == parts.functions[fn].histogram).all()
    assert (whole.lasted == parts.lasted).all()
    for pair, many in whole.callers.items():
        assert (many == parts.callers[pair]).all()


def test_a_measured_run_has_the_same(line: Timeline) -> None:
    run = workload.Run(1, 6000)
    found = measure(Capture.from_events(run.times, run.tags), NAMES)
    same = folded(*in_order_of_ends(line), 10**6)
    names = [entry.name for entry in line.functions]
    assert {names[fn]: one.net.sum() for fn, one in same.functions.items()} == {
        name: one.net.sum() for name, one in found.batches.items()
    }
    assert found.ledger == line.ledger
    assert found.callers[OUTSIDE, "vec1"].sum() == found.functions["vec1"].calls
    assert found.callers["vec1", "lanisr"].sum() == found.functions["lanisr"].calls


def test_interrupts_call_nothing_of_what_they_come_upon() -> None:
    found = kernel(1, 1, 4000)
    assert found.interrupts == {"clock"}
    assert {callee for _, callee in found.callers} == {"read", "splnet", "uiomove"}


def test_memory_does_not_grow_with_the_calls() -> None:
    """A caller that is open all the time, and ten functions below it."""

    def kept(calls: int) -> int:
        batches = Batches()
        rng = np.random.default_rng(1)
        for start in range(0, calls, 50_000):
            number = start + np.arange(50_000)
            rows = CallColumns(number % 10, rng.integers(0, 100, 50_000), number * 0, number + 1,
                         number * 0)  # fmt: skip
            batches.add(rows, number)
        tables = (batches._calls, batches._net, batches._buckets, batches._callers)
        waiting = sum(column.nbytes for column in batches._open)
        assert batches.finish().callers[TOP, 3].sum() == calls / 10
        return waiting + sum(table.table.nbytes for table in tables)

    assert kept(2_000_000) < 1.5 * kept(200_000) + 4_000_000
