"""Laws that hold for any capture: the ledger balances, and no input raises."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis import kernel_sim

from kprof.analysis import summarise, timeline
from kprof.analysis.replay.codes import INNER, LEAVE, OPEN, ORPHAN, UNWOUND
from kprof.analysis.stream import Stream
from kprof.capture import Capture
from kprof.capture.model import CaptureInfo
from kprof.names import NameFile, parse_names, read_names
from kprof.names.calls import read_calls
from kprof.report.choose import report_parts
from kprof.report.request import Request

NAMES = parse_names("a/2\nb/4\nc/6\nout/8$\nin/10*\nswtch/12!\nmark/14=\nd/16\n")
EVERY = parse_names(
    "".join(f"f{v}/{v}{'$*!='[v % 7 - 3] if v % 7 > 2 else ''}\n" for v in range(2, 65534, 2))
)
TAGS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 99]


def check_books(capture: Capture, names: NameFile) -> None:
    """Everything that must be true of any capture whatever."""
    summary = summarise(capture, names)
    ledger = summary.ledger
    assert ledger.elapsed == ledger.net + ledger.idle + ledger.unattributed
    assert ledger.idle >= 0
    assert ledger.unattributed >= 0
    assert ledger.net == sum(row.net for row in summary.functions)
    for row in summary.functions:
        assert 0 <= row.net <= row.elapsed <= row.wall
        assert row.elapsed <= ledger.elapsed
    lines = timeline(capture, names)
    calls = lines.calls
    assert lines.ledger == ledger
    assert np.array_equal(calls.wall, calls.exit - calls.entry)
    assert (calls.net >= 0).all()
    assert (calls.net <= calls.elapsed).all()
    assert (calls.elapsed <= calls.wall).all()
    assert (np.diff(calls.entry_event) >= 0).all()
    inside = calls.parent >= 0
    assert (calls.parent[inside] < np.flatnonzero(inside)).all()
    assert (calls.depth[inside] == calls.depth[calls.parent[inside]] + 1).all()
    assert (calls.context[inside] == calls.context[calls.parent[inside]]).all()
    assert (calls.depth[~inside] == 0).all()
    odd = summary.anomalies
    assert int(((calls.flags & ORPHAN) != 0).sum()) == odd.orphan_exits
    assert int(((calls.flags & OPEN) != 0).sum()) == odd.open_calls
    assert int(((calls.flags & UNWOUND) != 0).sum()) == odd.unwound_calls
    outer = (calls.flags & (INNER | ORPHAN)) == 0
    numbers = {entry: number for number, entry in enumerate(lines.functions)}
    for row in summary.functions:
        number = numbers[row.entry]
        mine = calls.function == number
        orphans = mine & ((calls.flags & ORPHAN) != 0)
        assert row.calls == int(mine.sum() - orphans.sum())
        assert row.elapsed == int(calls.elapsed[mine & outer].sum() + calls.net[orphans].sum())
    for form in ("text", "json"):
        for what in ("summary", "trace", "graph", "tasks", "interrupts"):
            parts = report_parts(capture, names, Request(what=what, form=form))
            assert "".join(parts) or what == "trace"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from(TAGS)), max_size=120))
def test_any_events_balance(steps: list[tuple[int, int]]) -> None:
    times = np.cumsum([dt for dt, _ in steps]) if steps else []
    check_books(Capture.from_events(list(times), [tag for _, tag in steps]), NAMES)


@settings(max_examples=15, deadline=None)
@given(st.binary(max_size=1500))
def test_random_bytes_balance(data: bytes) -> None:
    data = data[: len(data) // 5 * 5]
    records = np.frombuffer(data, np.uint8).reshape(-1, 5)
    every = parse_names(
        "\n".join(f"f{v}/{v}{'$*!='[v % 7 - 3] if v % 7 > 2 else ''}" for v in range(2, 65534, 2))
    )
    check_books(Capture(CaptureInfo(), records), every)


def test_a_whole_ram_of_noise_balances() -> None:
    source = random.Random(5)
    tags = [source.choice(TAGS) for _ in range(16384)]
    times = [source.randrange(1 << 24) for _ in tags]
    check_books(Capture.from_events(times, tags), NAMES)


def _call_tree(draw: Any, depth: int) -> list[tuple[str, list[Any]]]:
    if depth > 4:
        return []
    many = draw(st.integers(0, 3))
    return [(draw(st.sampled_from("abcd")), _call_tree(draw, depth + 1)) for _ in range(many)]


@st.composite
def call_trees(draw: Any) -> list[tuple[str, list[Any]]]:
    """A forest of calls: (name, calls inside)."""
    return _call_tree(draw, 0)


@settings(max_examples=60, deadline=None)
@given(call_trees(), st.randoms(use_true_random=False))
def test_a_tree_of_calls_comes_back(trees: list[tuple[str, list[Any]]], source: Any) -> None:
    events: list[int] = []
    expected: list[tuple[str, int, int]] = []

    def walk(name: str, inside: list[Any], depth: int, parent: int) -> None:
        tag = NAMES.by_name[name].value
        events.append(tag)
        row = len(expected)
        expected.append((name, depth, parent))
        for inner_name, deeper in inside:
            walk(inner_name, deeper, depth + 1, row)
        events.append(tag + 1)

    for name, inside in trees:
        walk(name, inside, 0, -1)
    times = np.cumsum([source.randrange(50) for _ in events])
    lines = timeline(Capture.from_events(list(times), events), NAMES)
    calls = lines.calls
    found = list(
        zip(
            [lines.functions[fn].name for fn in calls.function],
            calls.depth.tolist(),
            calls.parent.tolist(),
            strict=True,
        )
    )
    assert found == expected


def test_time_wraps() -> None:
    capture = Capture.from_events([(1 << 24) - 5, 10, (1 << 24) - 1], [2, 4, 5])
    summary = summarise(capture, NAMES)
    assert summary.ledger.elapsed == 15 + (1 << 24) - 11


@pytest.mark.parametrize("events", [0, 1])
def test_nearly_nothing(events: int) -> None:
    capture = Capture.from_events([7] * events, [2] * events)
    check_books(capture, NAMES)
    assert summarise(capture, NAMES).events == events


def test_a_capture_without_names_counts_its_tags() -> None:
    summary = summarise(Capture.from_events([1, 2, 4], [2, 3, 3]), NameFile())
    assert summary.anomalies.unknown_tags == {2: 1, 3: 2}
    assert summary.ledger.unattributed == 3


def test_tasks_that_never_come_back_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each task is new, enters a, and is switched out for good; more of them than are kept.
    monkeypatch.setattr("kprof.analysis.replay.contexts.MOST_CONTEXTS", 64)
    tags = [10, 2, 8, 11] * 500 + [9]  # its exit trigger is there, though no task comes back
    capture = Capture.from_events(list(range(len(tags))), tags)
    summary = summarise(capture, NAMES)
    ledger = summary.ledger
    assert ledger.elapsed == ledger.net + ledger.idle + ledger.unattributed
    calls = {row.entry.name: row.calls for row in summary.functions}
    assert calls == {"a": 500, "out": 500, "in": 500}
    assert summary.anomalies.contexts == 500
    assert summary.anomalies.open_calls == 1000


def test_a_slice_longer_than_many_blocks_keeps_its_task() -> None:
    # Two tasks sleep; the second is resumed, and shows which it is only after 200,000 events.
    sleeps = [10, 2, 8, 11, 10, 4, 8, 11]
    work = [6, 7] * 100_000
    tags = [*sleeps, 10, 9, *work, 5, 8, 11, 10, 9, 3]
    lines = timeline(Capture.from_events(list(range(len(tags))), tags), NAMES)
    names = [lines.functions[fn].name for fn in lines.calls.function]
    a, b = names.index("a"), names.index("b")
    assert lines.calls.context[a] == 1
    assert lines.calls.context[b] == 2
    assert lines.calls.exit[a] == len(tags) - 1
    assert lines.calls.exit[b] == len(sleeps) + 2 + len(work)


def test_a_marked_kernel_that_begins_before_the_exit_of_swtch_runs_a_task() -> None:
    names = parse_names("swtch/2!\na/4\nb/6\ntask/4096@4\n")
    lines = timeline(Capture.from_events(list(range(7)), [3, 4, 2, 4098, 3, 2, 6]), names)
    assert [lines.functions[fn].name for fn in lines.calls.function] == [
        "swtch", "a", "swtch", "swtch", "swtch", "b",
    ]  # fmt: skip
    assert lines.calls.context.tolist()[-1] == 0
    assert lines.calls.parent.tolist()[-1] == -1


def test_calls_around_an_orphan_that_a_longjmp_prevents_keep_their_depths(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text("a/2\nb/4\nc/6\nirq/22^\n")
    line = "{}\tk.c:1\t{}\tvoid {}(void)\t{}\t\n"
    facts = [("a", "", "b c"), ("b", "", "c"), ("c", "i", "a"), ("irq", "", "")]
    text = "".join(line.format(name, flags, name, calls) for name, flags, calls in facts)
    path.with_name("k.names.calls").write_text("# kprof calls 1\n" + text)
    capture = Capture.from_events(list(range(7)), [4, 2, 6, 4, 7, 5, 23])
    lines = timeline(capture, read_names(path), known=read_calls(path))
    for depth, parent in zip(lines.calls.depth, lines.calls.parent, strict=True):
        assert depth == (lines.calls.depth[parent] + 1 if parent >= 0 else 0)


def test_a_context_not_seen_before_is_not_taken_for_a_longjmp() -> None:
    # read > wait > sleep > out is suspended; then `sleep` and `pause` are left, by another task.
    names = parse_names("read/2\nwait/4\nsleep/6\nout/8$\nin/10*\npause/12\n")
    tags = [2, 4, 6, 8, 10, 9, 7, 13, 8, 10, 9, 7, 5, 3]
    lines = timeline(Capture.from_events(list(range(len(tags))), tags), names)
    read = [lines.functions[fn].name for fn in lines.calls.function].index("read")
    assert lines.calls.exit_event[read] == len(tags) - 1
    assert lines.calls.context.max() == 2


def test_every_call_ends_once_however_ambiguous_the_switches_are() -> None:
    kernel = kernel_sim.Kernel(3, "pair", True, 5000)
    names = parse_names(kernel_sim.name_text("pair"))
    tags = (kernel.tags * 12)[:60_000]
    capture = Capture.from_events(list(range(len(tags))), tags)
    stream = Stream(capture, names)
    ended = np.concatenate([rows.call[rows.kind == LEAVE] for rows in stream.rows()])
    assert stream.outcome is not None
    assert stream.outcome.ambiguous > 100
    assert len(np.unique(ended)) == len(ended)
    lines = timeline(capture, names)
    assert (lines.calls.net >= 0).all()
    assert (lines.calls.elapsed <= lines.ledger.elapsed).all()
    assert lines.ledger.elapsed == lines.ledger.net + lines.ledger.idle + lines.ledger.unattributed


def test_a_switch_is_not_ambiguous_where_no_task_waits() -> None:
    names = parse_names("a/2\nout/8$\nin/10*\n")
    first = Capture.from_events([0, 1], [10, 11])
    assert summarise(first, names).anomalies.ambiguous_switches == 0
    # A task waits, and the slice ends before it shows anything.
    waiting = Capture.from_events([0, 1, 2, 3, 4, 5], [2, 8, 10, 9, 8, 10])
    assert summarise(waiting, names).anomalies.ambiguous_switches == 1
