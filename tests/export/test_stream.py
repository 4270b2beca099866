"""The stream of steps against the timeline, and what ran against the summary, on any events."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.whole import interrupt_functions
from tests.export.samples import Sample, kernel, sample

from kprof.analysis import stream, timeline
from kprof.analysis.replay.codes import OPEN, ORPHAN
from kprof.export.running import CLOSE, CONTEXT, END, REST, running
from kprof.export.running import OPEN as OPENED
from kprof.export.view import View

NAMES = "a/1024\nb/1026\nc/1028\nsw_sys/200$\nsw_task/202*\nswtch/204!\nM/300=\n"
TAGS = [1024, 1025, 1026, 1027, 1028, 1029, 200, 201, 202, 203, 204, 205, 300, 77]

events = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(TAGS)), max_size=80)


def shot(found: list[tuple[int, int]]) -> Sample:
    return sample(np.cumsum([gap for gap, _ in found]), [tag for _, tag in found], NAMES)


def check_steps(one: Sample) -> None:
    """Calls nest in their contexts, and are those of the timeline."""
    lines = timeline(one.capture, one.names)
    steps_of = one.stream()
    stacks: dict[int, list[tuple[int, int]]] = {}
    found = []
    stop = 0
    for steps in steps_of:
        row_of = {int(place): row for row, place in enumerate(steps.leave)}
        rows = steps.rows
        assert steps.stop >= stop
        stop = steps.stop
        for i, kind in enumerate(steps.kind):
            context, depth = int(steps.context[i]), int(steps.depth[i])
            stack = stacks.setdefault(context, [])
            if kind == stream.ENTER:
                assert depth == len(stack)
                stack.append((int(steps.name[i]), int(steps.time[i])))
            elif kind == stream.LEAVE:
                function, began = stack.pop()
                row = row_of[i]
                assert depth == len(stack)
                assert function == steps.name[i] == rows.fn[row]
                if not rows.flags[row] & (OPEN | ORPHAN):
                    assert steps.time[i] - began == rows.elapsed[row] + rows.away[row]
                found.append(
                    (function, int(rows.leave[row]), int(rows.net[row]), int(rows.elapsed[row]),
                     int(rows.flags[row]), context)
                )  # fmt: skip
            else:
                assert depth == len(stack)
    assert not any(stacks.values())
    assert stop == one.capture.events
    calls = lines.calls
    columns = (
        calls.function, calls.exit_event, calls.net, calls.elapsed, calls.flags, calls.context,
    )  # fmt: skip
    assert sorted(found) == sorted(zip(*(c.tolist() for c in columns), strict=True))
    assert steps_of.ledger == lines.ledger
    assert steps_of.contexts == lines.contexts


def check_running(one: Sample) -> None:
    """Time on top of what runs is net time, or what else the summary has."""
    view = View(one.stream())
    names = [entry.name for entry in view.functions] + list(REST)
    net: Counter[str] = Counter()
    pile: list[int] = []
    since = 0
    for actions in running(view):
        for kind, value, time in actions:
            assert time >= since
            if time > since:
                net[names[pile[-1]]] += time - since
            since = time
            if kind == OPENED:
                pile.append(value)
            elif kind == CLOSE:
                assert pile.pop() == value
            elif kind == CONTEXT:
                assert not pile
    assert not pile
    assert since == view.ledger.elapsed
    assert actions[-1] == (CONTEXT, END, since)
    assert {name: time for name, time in net.items() if time} == one.net


@settings(deadline=None)
@given(events)
def test_steps_are_the_calls_of_the_timeline(found: list[tuple[int, int]]) -> None:
    check_steps(shot(found))


@settings(deadline=None)
@given(events, st.integers(18, 40))
def test_steps_of_many_small_blocks(found: list[tuple[int, int]], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "BLOCK", block)
        check_steps(shot(found))
        check_running(shot(found))


@settings(deadline=None)
@given(events)
def test_what_ran_is_what_the_summary_says(found: list[tuple[int, int]]) -> None:
    check_running(shot(found))


@pytest.mark.parametrize("style", ["pair", "early", "swtch"])
@pytest.mark.parametrize("block", [64, 1000, 1 << 16])
def test_a_simulated_kernel(style: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BLOCK", block)
    for seed in range(4):
        one = kernel(style, seed, 400)
        check_steps(one)
        check_running(one)
        found = interrupt_functions(timeline(one.capture, one.names))
        assert View(one.stream()).interrupts == set(found)


def test_an_orphan_of_a_longer_slice_than_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins where it ends; nesting and the rows stay right."""
    monkeypatch.setattr(stream, "BLOCK", 4)
    monkeypatch.setattr("kprof.analysis.replay.orphans.WINDOW", 8)
    one = sample(range(61), [1026, 1027] * 30 + [1025], NAMES)
    check_steps(one)
    orphan = one.stream().functions.index(one.names.get("a"))
    begun = [
        int(time)
        for steps in one.stream()
        for kind, name, time in zip(steps.kind, steps.name, steps.time, strict=True)
        if kind == stream.ENTER and name == orphan
    ]
    assert begun == [60]


def test_an_orphan_begins_when_the_calls_from_before_its_slice_have_ended() -> None:
    # b sleeps over a switch, ends at 12, and a, which called it, at 15.
    tags = [1026, 204, 205, 1027, 1025]
    one = sample([0, 4, 10, 12, 15], tags, NAMES)
    check_steps(one)
    check_running(one)
    orphan = [
        int(time)
        for steps in one.stream()
        for time, kind, name in zip(steps.time, steps.kind, steps.name, strict=True)
        if kind == stream.ENTER and one.stream().functions[name].name == "a"
    ]
    assert orphan == [12]
