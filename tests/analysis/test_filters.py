"""Filtered figures against a count by hand, one call after another, on made-up kernels."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.analysis import kernel_sim
from tests.analysis.whole import filtered_statistics, kept_marks, mask

from kprof.analysis import timeline
from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Filter
from kprof.analysis.graph import call_tree, callers
from kprof.analysis.paths import call_paths
from kprof.analysis.replay.codes import INNER, MARK_INLINE, OPEN, ORPHAN
from kprof.analysis.statistics import statistics
from kprof.analysis.stream import Stream
from kprof.capture import Capture
from kprof.errors import UsageError
from kprof.names import parse_names

NAMES = parse_names("a/2\nb/4\nc/6\n")
KERNEL = parse_names(kernel_sim.name_text("pair"))
# a(0..70) { b(10..60) { a(20..50) } }
MUTUAL = Capture.from_events([0, 10, 20, 50, 60, 70], [2, 4, 2, 3, 5, 3])


def kernel_lines(seed: int) -> tuple[Capture, Timeline]:
    kernel = kernel_sim.Kernel(seed, "pair", True)
    capture = Capture.from_events(kernel.times, kernel.tags)
    return capture, timeline(capture, KERNEL)


def totals_by_hand(lines: Timeline, keep: list[bool]) -> dict[str, int]:
    """Elapsed time by function; of calls inside kept ones of their function nothing."""
    calls = lines.calls
    total: dict[str, int] = {}
    for row in range(len(calls)):
        if not keep[row]:
            continue
        above, nested = int(calls.parent[row]), False
        while above >= 0:
            nested |= keep[above] and calls.function[above] == calls.function[row]
            above = int(calls.parent[above])
        name = lines.functions[calls.function[row]].name
        orphan = calls.flags[row] & ORPHAN
        part = int(calls.net[row]) if orphan else 0 if nested else int(calls.elapsed[row])
        total[name] = total.get(name, 0) + part
    return total


def test_the_inner_call_counts_where_the_outer_one_is_left_out() -> None:
    lines = timeline(MUTUAL, NAMES)
    keep = mask(Filter(only=("b",)), lines)
    found = filtered_statistics(lines, keep, statistics(MUTUAL, NAMES)).functions
    assert (found["a"].elapsed, found["a"].net, found["a"].calls) == (30, 30, 1)
    assert (found["b"].elapsed, found["b"].net) == (50, 20)
    whole = filtered_statistics(lines, np.ones(3, bool), statistics(MUTUAL, NAMES)).functions
    assert (whole["a"].elapsed, whole["a"].net) == (70, 50)


@pytest.mark.parametrize("seed", range(30))
def test_totals_are_those_by_hand(seed: int) -> None:
    capture, lines = kernel_lines(seed)
    assert np.array_equal(
        lines.calls.select(np.ones(len(lines.calls), bool)).flags, lines.calls.flags
    )
    choice = random.Random(seed)
    names = sorted({lines.functions[f].name for f in lines.calls.function})
    whole = statistics(capture, KERNEL)
    for _ in range(6):
        wanted = Filter(
            only=(choice.choice(names),) if choice.random() < 0.6 else (),
            without=(choice.choice(names),) if choice.random() < 0.4 else (),
            hide=(choice.choice(names),) if choice.random() < 0.4 else (),
            depth=choice.choice([None, 1, 2, 4]),
            least=choice.choice([None, 5, 50]),
            match="glob",
        )
        keep = mask(wanted, lines)
        found = filtered_statistics(lines, keep, whole)
        assert {name: one.elapsed for name, one in found.functions.items()} == totals_by_hand(
            lines, keep.tolist()
        )
        assert found.ledger.net + found.ledger.left_out == lines.ledger.net
        assert found.never == whole.never


def test_switches_stay_with_the_contexts_that_do() -> None:
    _, lines = kernel_lines(3)
    marks, calls = lines.marks, lines.calls
    names = sorted({lines.functions[f].name for f in calls.function})
    for wanted in [Filter(tasks=(n,)) for n in range(4)] + [Filter(only=(n,)) for n in names]:
        keep = mask(wanted, lines)
        kept = kept_marks(lines, keep)
        for row in range(len(marks)):
            mine = calls.context == marks.context[row]
            if keep[mine].all():  # of a whole context everything stays
                assert kept[row]
            elif marks.kind[row] == MARK_INLINE:
                parent = marks.parent[row]
                assert kept[row] == (parent >= 0 and keep[parent])
            else:
                event = marks.event[row]
                around = (calls.entry_event <= event) & (calls.exit_event >= event)
                assert kept[row] == (keep & around & mine).any()


def test_a_context_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"--task 9: is not a context; expected 0 .* to 1"):
        mask(Filter(tasks=(9,)), timeline(MUTUAL, NAMES))


def test_called_from_counts_the_outermost_call() -> None:
    # a(0..70) { a(10..60) { a(20..50) } } and b(80..110) { a(90..100) }
    events = [(0, 2), (10, 2), (20, 2), (50, 3), (60, 3), (70, 3), (80, 4), (90, 2), (100, 3)]
    capture = Capture.from_events([t for t, _ in events] + [110], [g for _, g in events] + [5])
    lines = timeline(capture, NAMES)
    assert not (lines.calls.flags & (OPEN | ORPHAN)).any()
    assert (lines.calls.flags & INNER).astype(bool).tolist() == [False, True, True, False, False]
    rows = {
        caller: (node.calls, node.total, node.own)
        for caller, node in callers(call_tree(call_paths(Stream(capture, NAMES))), 0)
    }
    assert rows == {-1: (1, 70, 20), 0: (2, 50, 50), 1: (1, 10, 10)}
