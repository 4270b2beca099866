"""Statistics: the summary's figures, saved and merged without loss; filters and questions."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from tests.analysis import kernel_sim
from tests.analysis.whole import filtered_statistics, mask, running, shares, slices, tasks

from kprof.analysis import summarise, timeline
from kprof.analysis.budget import BudgetError, check_budget, parse_budget
from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Filter
from kprof.analysis.graph import call_tree
from kprof.analysis.interrupts import interrupts
from kprof.analysis.paths import call_paths
from kprof.analysis.questions import WorstCalls, intervals
from kprof.analysis.replay.codes import ORPHAN
from kprof.analysis.saved import SavedStatisticsError, read_statistics, write_statistics
from kprof.analysis.selection import Selection
from kprof.analysis.statistics import Statistics, merge_statistics, statistics
from kprof.analysis.stream import Stream
from kprof.analysis.summary import Summary
from kprof.analysis.tasks import IDLE
from kprof.capture import Capture
from kprof.capture.model import CaptureInfo
from kprof.errors import UsageError
from kprof.names import parse_names
from kprof.report.fields import field_rows
from kprof.report.interrupts import interrupt_lines
from kprof.report.summary import summary_json, summary_text
from kprof.report.tasks import strip

NAMES = parse_names(kernel_sim.name_text("pair"))


def _capture(seed: int, steps: int = 600) -> Capture:
    kernel = kernel_sim.Kernel(seed, "pair", True, steps)
    return Capture.from_events(kernel.times, kernel.tags)


def _lines(seed: int, steps: int = 600) -> Timeline:
    return timeline(_capture(seed, steps), NAMES)


def test_the_statistics_say_what_the_summary_says() -> None:
    for seed in range(5):
        capture = _capture(seed)
        assert statistics(capture, NAMES).summary() == summarise(capture, NAMES)


@pytest.mark.parametrize("cost", [Fraction(0), Fraction(3, 2)])
def test_saved_statistics_come_back_and_merge_as_one_pass(tmp_path: Path, cost: Fraction) -> None:
    parts = [statistics(_capture(seed), NAMES, trigger_cost=cost) for seed in range(4)]
    for number, part in enumerate(parts):
        write_statistics(tmp_path / f"{number}.json", part)
        assert read_statistics(tmp_path / f"{number}.json") == part
    merged = merge_statistics(parts)
    pairs = merge_statistics([merge_statistics(parts[:2]), merge_statistics(parts[2:])])
    assert (pairs.functions, pairs.ledger, pairs.anomalies, pairs.captures) == (
        merged.functions,
        merged.ledger,
        merged.anomalies,
        merged.captures,
    )
    assert merged.taken == sum(part.taken for part in parts) == pairs.taken
    assert (merged.taken > 0) == (cost > 0)
    backwards = merge_statistics(parts[::-1])
    assert backwards.functions == merged.functions
    ledger = merged.ledger
    assert ledger.elapsed == ledger.net + ledger.idle + ledger.unattributed


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"kprof_statistics": 1}', '{"kprof_statistics": 9}']
)
def test_damaged_statistics_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(SavedStatisticsError, match=r"s\.json: is "):
        read_statistics(path)


def _ancestors(lines: Timeline, row: int) -> list[int]:
    found = []
    while (row := int(lines.calls.parent[row])) >= 0:
        found.append(row)
    return found


def _naive(lines: Timeline, chosen: Filter) -> list[bool]:
    """The filters by their definition, one call at a time."""
    calls = lines.calls
    name = [lines.functions[fn].name for fn in calls.function]
    keep = []
    for row in range(len(calls)):
        above = _ancestors(lines, row)
        mine = [name[row], *(name[a] for a in above)]
        below = (
            [r for r in range(len(calls)) if row in _ancestors(lines, r)] if chosen.callers else []
        )
        ok = not chosen.only or any(n in chosen.only for n in mine)
        ok = ok and not any(n in chosen.without for n in mine)
        ok = ok and (not chosen.callers or any(name[r] in chosen.callers for r in [row, *below]))
        ok = ok and name[row] not in chosen.hide
        if chosen.depth is not None:
            level = len(above)
            if chosen.only and ok:
                level = max(i for i, n in enumerate(mine) if n in chosen.only)
            ok = ok and level < chosen.depth
        ok = ok and (chosen.least is None or calls.elapsed[row] >= chosen.least)
        ok = ok and (chosen.start is None or calls.entry[row] >= chosen.start)
        ok = ok and (chosen.end is None or calls.entry[row] <= chosen.end)
        keep.append(bool(ok and (not chosen.tasks or calls.context[row] in chosen.tasks)))
    return keep


@pytest.mark.parametrize(
    "chosen",
    [
        Filter(only=("main1",), match="glob"),
        Filter(only=("f1", "f2"), depth=2, match="glob"),
        Filter(without=("irq0",), match="glob"),
        Filter(callers=("f3",), match="glob"),
        Filter(hide=("sched", "f0"), match="glob"),
        Filter(depth=2),
        Filter(least=20),
        Filter(start=100, end=4000),
        Filter(tasks=(0, 2)),
        Filter(only=("main0", "main2"), without=("f5",), least=3, match="glob"),
    ],
)
def test_filters_keep_what_they_say_and_the_ledger_balances(chosen: Filter) -> None:
    for seed in range(2):
        lines = _lines(seed, 300)
        keep = mask(chosen, lines)
        assert keep.tolist() == _naive(lines, chosen)
        ledger = filtered_statistics(lines, keep, statistics(_capture(seed, 300), NAMES)).ledger
        assert ledger.elapsed == sum(ledger[1:])


def test_a_pattern_that_matches_nothing_or_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="matches no function"):
        Selection(Stream(_capture(1), NAMES), Filter(only=("nothing",)))
    with pytest.raises(UsageError, match="is not a regular expression"):
        Selection(Stream(_capture(1), NAMES), Filter(hide=("*_input",)))


def test_the_call_tree_has_every_call_and_tick() -> None:
    lines = _lines(3)
    waiting, calls, own = [call_tree(call_paths(Stream(_capture(3), NAMES)))], 0, 0
    while waiting:
        node = waiting.pop()
        calls, own = calls + node.calls, own + node.own
        waiting += node.inside.values()
    assert calls == int(((lines.calls.flags & ORPHAN) == 0).sum())
    assert own == lines.ledger.net


def test_the_worst_calls_are_the_longest() -> None:
    lines = _lines(4)
    elapsed = WorstCalls(Stream(_capture(4), NAMES), None, 2, 3).rows.elapsed.tolist()
    assert elapsed == sorted(elapsed, reverse=True)
    mine = (lines.calls.function == 2) & ((lines.calls.flags & 12) == 0)
    assert elapsed == sorted(lines.calls.elapsed[mine].tolist(), reverse=True)[:3]
    net = WorstCalls(Stream(_capture(4), NAMES), None, 2, 3, by="net").rows.net.tolist()
    assert net == sorted(lines.calls.net[mine].tolist(), reverse=True)[:3]


def test_intervals_pair_each_mark_with_the_next() -> None:
    names = parse_names("A/100=\nB/102=\n")
    tags = [100, 102, 100, 100, 102, 102, 100]
    stream = Stream(Capture.from_events([0, 5, 10, 11, 18, 20, 30], tags), names)

    def found(first: str, second: str) -> tuple[list[int], int]:
        times, lonely, _ = intervals(stream, None, first, second)
        values, counts = times.distinct()
        return np.repeat(values, counts).tolist(), lonely

    assert found("A", "B") == ([5, 7], 2)
    assert found("A", "A") == ([1, 10, 19], 1)
    assert found("B", "A")[0] == [5, 10]
    with pytest.raises(UsageError, match="do you mean"):
        intervals(stream, None, "A", "BB")


def _running_share_the_run_out(lines: Timeline) -> None:
    parts = running(lines)
    lengths = parts.end - parts.start
    assert int(lengths.sum()) == lines.ledger.elapsed
    assert np.array_equal(parts.start[1:], parts.end[:-1])
    assert int(lengths[parts.context == IDLE].sum()) == lines.ledger.idle


@pytest.mark.parametrize("style", ["pair", "early", "swtch"])
def test_what_is_idle_in_the_slices_is_what_the_replay_counts(style: str) -> None:
    names = parse_names(kernel_sim.name_text(style))
    for seed in range(6):
        kernel = kernel_sim.Kernel(seed, style, True, 500)
        for cut in (0, 137):  # in the middle of calls
            capture = Capture.from_events(kernel.times[cut:], kernel.tags[cut:])
            _running_share_the_run_out(timeline(capture, names))


def test_what_is_idle_is_counted_in_any_events() -> None:
    names = parse_names("a/2\nb/4\nso/8$\nsi/10*\nsw/12!\nX/20=\n")
    random = np.random.default_rng(3)
    for events in range(200):
        tags = random.choice([2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 20], events % 40)
        times = np.cumsum(random.integers(0, 5, len(tags)))
        _running_share_the_run_out(timeline(Capture.from_events(times, tags), names))


def test_idle_time_is_no_context_that_runs() -> None:
    names = parse_names("main/2\nintr/4\nsw_sys/8$\nsw_task/10*\n")
    # A task to 99, idle to 160, an interrupt to 180, idle to 300, the switch (its exit is seen on
    # the near side of it) to 301, the task to 400.
    events = [(0, 2), (99, 8), (160, 4), (180, 5), (300, 10), (301, 11), (301, 9), (400, 3)]
    lines = timeline(Capture.from_events(*zip(*events, strict=True)), names)
    parts = running(lines)
    assert list(zip(parts.start, parts.end, parts.context, strict=True)) == [
        (0, 99, 1), (99, 160, IDLE), (160, 180, 0), (180, 300, IDLE), (300, 301, 0), (301, 400, 1),
    ]  # fmt: skip
    system, task = tasks(lines)
    assert (system.run, system.longest, lines.ledger.idle) == (21, 21, 181)
    assert (task.run, task.longest) == (198, 99)
    rows = {context: strip(parts) for context, parts in shares(lines, 20).items()}
    assert rows == {
        1: "####9          9####",
        0: "        #      .    ",
        IDLE: "    .### ######     ",
    }


@pytest.mark.parametrize("seed", range(8))
def test_the_time_of_kept_calls_is_counted_by_slices(seed: int) -> None:
    lines = _lines(seed)
    calls = lines.calls
    keep = mask(Filter(only=("[aeiou]",), least=3), lines)
    found = tasks(lines, keep)
    assert [task.context for task in found] == np.unique(calls.context[keep]).tolist()
    rows = slices(lines)
    parts = running(lines, keep)
    for task in found:
        # By hand: each tick of a slice of the context in which one of its kept calls is open.
        mine = np.flatnonzero(keep & (calls.context == task.context))
        lengths = []
        for start, end in zip(
            rows.start[rows.context == task.context],
            rows.end[rows.context == task.context],
            strict=True,
        ):
            spans = sorted(
                (max(int(calls.entry[row]), int(start)), min(int(calls.exit[row]), int(end)))
                for row in mine
                if calls.entry[row] < end and calls.exit[row] > start
            )
            if keep[calls.context == task.context].all():  # all of it, also what is in no call
                spans = [(int(start), int(end))] if task.context else spans
            length, reached = 0, int(start)
            for first, last in spans:
                length += max(0, last - max(first, reached))
                reached = max(reached, last)
            if length:
                lengths.append(length)
        assert (task.run, task.slices) == (sum(lengths), len(lengths))
        assert task.longest == max(lengths, default=0)
    assert int((parts.end - parts.start).sum()) == lines.ledger.elapsed
    total = sum(
        float(row.sum()) * lines.ledger.elapsed / 50 for row in shares(lines, 50, keep).values()
    )
    assert total == pytest.approx(lines.ledger.elapsed)


def test_interrupts_of_kept_calls_only() -> None:
    names = parse_names("a/2\nb/4\nirq/8\n")
    # irq on a from 3 to 5, on b from 23 to 27, on nothing from 40 to 41.
    tags = [2, 8, 9, 3, 4, 8, 9, 5, 8, 9]
    times = [0, 3, 5, 10, 20, 23, 27, 30, 40, 41]
    stream = Stream(Capture.from_events(times, tags), names)
    every = interrupts(stream, ("irq",)).interrupted
    assert [(row.function, row.total, row.lost) for row in every] == [(1, 10, 4), (0, 10, 2)]
    found = interrupts(stream, ("irq",), Filter(only=("^b$",)))
    assert [(row.function, row.total, row.lost) for row in found.interrupted] == [(1, 10, 4)]
    (one,) = found.each
    # It came 20 after the one before, which is left out.
    assert (one.duration.count, one.duration.total) == (1, 4)
    assert (one.period.count, one.period.total) == (1, 20)


def test_a_steady_interrupt_stays_steady_without_the_triggers_and_with_filters() -> None:
    names = parse_names("tick/2\nf/4\n")
    random = np.random.default_rng(1)
    events: list[tuple[int, int]] = []
    for k in range(200):
        start = 1000 * k
        length = 30 if k % 4 == 0 else 10  # each fourth is long
        events += [(start, 2), (start + length, 3)]
        for n in range(int(random.choice([0, 20, 200]))):
            events += [(start + 40 + 4 * n, 4), (start + 42 + 4 * n, 5)]
    capture = Capture.from_events([t for t, _ in events], [g for _, g in events])
    for cost in (Fraction(0), Fraction(1, 2)):
        stream = Stream(capture, names, trigger_cost=cost)
        scale = 1000 if cost else 1
        for chosen in (None, Filter(only=("tick",), least=20 * scale)):
            (one,) = interrupts(stream, ("tick",), chosen).each
            assert one.beat is not None
            assert (one.period.least, one.period.most) == (1000 * scale, 1000 * scale)
            assert (one.beat.period, one.beat.missed, one.late.most) == (1000 * scale, 0, 0)
            assert one.duration.count == (200 if chosen is None else 50)


def test_interrupts_in_deep_recursion() -> None:
    names = parse_names("a/2\nirq/8\n")
    depth = 3000
    tags = [2] * depth + [8, 8, 9, 9] + [3] * depth
    stream = Stream(Capture.from_events(range(len(tags)), tags), names)
    (one,) = interrupts(stream, ("irq",)).each
    assert (one.nested, one.duration.count) == (1, 2)
    both = interrupts(stream, ("a", "irq")).each
    assert [one.nested for one in both] == [depth - 1, depth + 1]


def test_slices_and_tasks_share_the_run_out() -> None:
    for seed in range(4):
        lines = _lines(seed)
        rows = slices(lines)
        assert int((rows.end - rows.start).sum()) == lines.ledger.elapsed
        assert np.array_equal(rows.start[1:], rows.end[:-1])
        found = tasks(lines)
        assert sum(task.run for task in found) + lines.ledger.idle == lines.ledger.elapsed


def test_interrupts_are_found_and_their_time_taken_out() -> None:
    names = parse_names("a/2\nb/4\nc/6\nirq/8\n")
    # irq comes on nothing, on a, on b inside a, and on c.
    tags = [8, 9, 2, 8, 9, 4, 8, 9, 5, 3, 6, 8, 9, 7]
    times = [0, 4, 10, 12, 15, 20, 21, 26, 30, 40, 50, 52, 53, 60]
    stream = Stream(Capture.from_events(times, tags), names)
    found = interrupts(stream)
    assert found.functions == [3]
    lost = {stream.functions[row.function].name: row.lost for row in found.interrupted}
    assert lost == {"a": 8, "b": 5, "c": 1}


@pytest.mark.parametrize("mark", ["", "!", "$", "*", "~", "%", "^"])
def test_what_the_name_file_marks_is_no_guess(mark: str) -> None:
    # As in the test before; `c` runs once and calls nothing.
    tags = [8, 9, 2, 8, 9, 4, 8, 9, 5, 3, 6, 8, 9, 7]
    capture = Capture.from_events([0, 4, 10, 12, 15, 20, 21, 26, 30, 40, 50, 52, 53, 60], tags)
    stream = Stream(capture, parse_names(f"a/2\nb/4\nc/6\nirq/8{mark}\n"))
    assert interrupts(stream).functions == ([3] if mark in ("", "^") else [])
    assert interrupts(stream, ("irq",)).functions == [3]
    stream = Stream(capture, parse_names("a/2\nb/4\nc/6^\nirq/8\n"))
    found = interrupts(stream)
    assert found.functions == [2, 3]
    said = "interrupts (marked and inferred): c, irq"
    assert next(interrupt_lines(stream, found)) == said


def test_the_time_of_an_interrupt_on_another_counts_once() -> None:
    names = parse_names("a/2\nirq/8\n")
    # irq comes on a, and again on itself.
    stream = Stream(Capture.from_events([0, 10, 14, 17, 30, 40], [2, 8, 8, 9, 9, 3]), names)
    found = interrupts(stream, ("irq",))
    assert [(row.function, row.lost) for row in found.interrupted] == [(0, 20), (1, 3)]
    (one,) = found.each
    assert (one.duration.least, one.duration.most, one.nested) == (3, 17, 1)


def test_the_triggers_cost_is_taken_out_of_every_interval() -> None:
    names = parse_names("a/2\nb/4\n")
    times = np.cumsum(np.random.default_rng(1).integers(1, 20, 40_000)).tolist()
    tags = [2, 4, 5, 3] * 10_000
    plain = summarise(Capture.from_events(times, tags), names)
    less = summarise(Capture.from_events(times, tags), names, trigger_cost=Fraction(3, 10))
    # Times are then in thousandths of a tick.
    assert less.info.clock_hz == 1000 * plain.info.clock_hz
    assert 1000 * plain.ledger.elapsed - less.ledger.elapsed == 39_999 * 300
    triggers = {"a": 20_000, "b": 10_000}  # intervals of each: one trigger in each of them
    for before, after in zip(plain.functions, less.functions, strict=True):
        assert 1000 * before.net - after.net == triggers[before.entry.name] * 300
    # Each interval gives up the cost, those of no tick too: sums are right on average.
    short = Capture.from_events([0, 0, 0, 0, 100, 100, 100, 200], [2, 4, 5, 3] * 2)
    assert summarise(short, names, trigger_cost=Fraction(2)).ledger.elapsed == (200 - 14) * 1000


BUDGET = """
f0.max < 1s
f0.p99 <= 10s          # enough
irq0.total-max < 0us
f1.call == 3
pct.pct_net < 20
idle.pct >= 0
orphan_exits == 0
"""


def test_a_budget_is_measured() -> None:
    limits = parse_budget(BUDGET.replace("pct.", "sched."), "x")
    capture = _capture(5)
    verdicts = check_budget(limits, statistics(capture, NAMES), NAMES)
    row = {f.entry.name: f for f in summarise(capture, NAMES).functions}
    assert next(v.limit.text for v in verdicts if not v.passed).startswith("irq0.total-max")
    assert verdicts[0].value == row["f0"].max
    assert verdicts[3].passed == (row["f1"].calls == 3)
    assert verdicts[6].passed


def test_a_budget_that_is_no_text_does_not_reach_the_terminal() -> None:
    with pytest.raises(BudgetError) as caught:
        parse_budget("\x1b[2J" + "x" * 5000, "b")
    assert "b:1: \\x1b[2Jxxx" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_wrong_budget_is_told_line_by_line() -> None:
    with pytest.raises(BudgetError) as caught:
        parse_budget("f0.max < 1s\nnonsense\nf0.maxx < 1s\nf0.max < soon\norphan_exits == x\n", "b")
    assert [p.split(":")[1] for p in caught.value.problems] == ["2", "3", "4", "5"]
    with pytest.raises(BudgetError, match="is not a function"):
        check_budget(parse_budget("zz.max < 1s", "b"), statistics(_capture(1), NAMES), NAMES)


A = parse_names("a/2\n")


def _said(summary: Summary) -> list[str]:
    """What the report says below the triggers' share."""
    lines = summary_text(summary).replace(".000 us", " us").rstrip("\n").split("\n")
    return lines[next(i for i, line in enumerate(lines) if " triggers" in line) + 1 :]


def _doubts(summary: Summary) -> list[str]:
    """The same of the JSON."""
    value = summary_json(summary)
    assert value["near_wrap_us"] in (None, [65_000, 65_536])
    found = [NEAR] if value["near_wrap_us"] else []
    return found + [LOST] * value["missing"]


LOST = "events are missing from this capture: calls and contexts may be wrong"
NEAR = "the longest time between two events was 0 sec 065000 us, near the wrap at 0 sec 065536 us: "
NEAR += "longer ones would be seen too short"
LONG = 16_000_000  # near the wrap of 24 bits


@pytest.mark.parametrize(
    ("info", "gap", "said"),
    [
        (CaptureInfo(), 10, []),
        (CaptureInfo(lost=7), 10, [LOST]),
        (CaptureInfo(lost=0), 10, []),
        (CaptureInfo(some_lost=True), 10, [LOST]),
        (CaptureInfo(holes=True, full=True), 10, [LOST]),
        (CaptureInfo(lost=7, full=True), 10, []),
        (CaptureInfo(time_bits=16), 65_000, [NEAR]),
        (CaptureInfo(time_bits=48, unwrapped=True), LONG, []),
        (CaptureInfo(time_bits=48, unwrapped=True), 20_000_000, []),
        (CaptureInfo(time_bits=32), LONG, []),
    ],
)
def test_what_is_said_of_a_capture_is_said_of_it_saved_and_merged(
    info: CaptureInfo, gap: int, said: list[str], tmp_path: Path
) -> None:
    capture = Capture.from_events([0, gap], [2, 3], info)
    plain = statistics(Capture.from_events([0, 10], [2, 3], CaptureInfo(full=True)), A)
    for cost in (Fraction(0), Fraction(3, 10)):
        assert _said(summarise(capture, A, trigger_cost=cost)) == said
        assert _doubts(summarise(capture, A, trigger_cost=cost)) == said
        write_statistics(tmp_path / "s.json", statistics(capture, A, trigger_cost=cost))
        one = read_statistics(tmp_path / "s.json")
        assert _said(one.summary()) == said
        write_statistics(tmp_path / "m.json", merge_statistics([one, one]))
        assert _said(read_statistics(tmp_path / "m.json").summary()) == said
        assert _doubts(read_statistics(tmp_path / "m.json").summary()) == said
        assert cost or _said(merge_statistics([plain, one]).summary()) == said
        assert cost or _said(merge_statistics([one, plain]).summary()) == said


def test_what_was_lost_adds_up_where_it_is_known() -> None:
    parts = [
        statistics(Capture.from_events([0, 1], [2, 3], CaptureInfo(lost=n)), A)
        for n in (7, 0, None)
    ]
    both = merge_statistics(parts[:2]).info
    assert (both.lost, both.some_lost) == (7, True)
    for order in (parts, parts[::-1], [merge_statistics(parts[1:]), parts[0]]):
        every = merge_statistics(order).info
        assert (every.lost, every.some_lost) == (None, True)
    assert (merge_statistics(parts[1:]).info.lost, merge_statistics(parts[1:]).info.some_lost) == (
        None,
        False,
    )


def test_captures_of_other_name_files_merge_the_same_in_any_order() -> None:
    def part(names: str, *events: int) -> Statistics:
        capture = Capture.from_events(list(range(len(events))), list(events))
        return statistics(capture, parse_names(names))

    parts = [
        part("a/8\nb/4\nX/20=\nnot/30\n", 8, 9, 4, 5, 20, 99, 97),
        part("a/2\nb/6\nX/24=\nY/22=\nnor/28\nnot/32\n", 2, 3, 6, 7, 24, 22, 97, 99),
        part("b/10\nY/40=\na/12\n", 10, 11, 95, 40),
    ]
    pairs = [merge_statistics(parts[:2]), merge_statistics(parts[1:])]
    for order in (*permutations(parts), (pairs[0], parts[2]), (pairs[1], parts[0])):
        value = summary_json(merge_statistics(order).summary())
        rows = [(row["name"], row["tag"], row["net_us"]) for row in value["functions"]]
        assert rows == [("b", 4, 3), ("a", 2, 2)]  # every call has 1 us
        assert value["inline"] == [
            {"name": "X", "tag": 20, "count": 2},
            {"name": "Y", "tag": 22, "count": 2},
        ]
        assert list(value["anomalies"]["unknown_tags"].items()) == [("95", 1), ("97", 2), ("99", 2)]
        never = merge_statistics(order).never
        assert [(entry.name, entry.value) for entry in never] == [("nor", 28), ("not", 30)]


def test_of_several_wraps_the_nearest_is_told() -> None:
    def near(bits: int, gap: int) -> Statistics:
        return statistics(Capture.from_events([0, gap], [2, 3], CaptureInfo(time_bits=bits)), A)

    parts = [near(16, 60_000), near(24, LONG), near(16, 65_000), near(20, 10)]
    for order in (parts, parts[::-1]):
        assert merge_statistics(order).doubts.near_wrap == (65_000, 65_536)


VERSION_1 = """{"kprof_statistics":1,"clock_hz":"HZ","source":"old.bin","valid_from":"all",
"full":false,"captures":[["old.bin",2,LONG,0]],"ledger":[LONG,LONG,0,0,0],"longest":LONG,"trigger_cost":"COST",
"functions":{},"inlines":{},"anomalies":{"orphan_exits":0,"open_calls":0,"unwound_calls":0,
"unknown_tags":{},"context_switches":0,"contexts":1},"never":{"a":{"tag":2,"modifier":""}}}"""


@pytest.mark.parametrize(
    ("hz", "cost", "longest", "taken", "near"),
    [
        ("1000000", "0", 10, 0, None),
        ("1000000", "0", LONG, 0, (LONG, 1 << 24)),
        ("1000000", "0", 20_000_000, 0, None),  # it did not wrap at 24 bits
        ("1000000000", "300", LONG * 1000, 600, (LONG * 1000, 1000 << 24)),
    ],
)
def test_statistics_of_version_1_are_read(
    hz: str, cost: str, longest: int, taken: int, near: object, tmp_path: Path
) -> None:
    text = VERSION_1.replace("HZ", hz).replace("COST", cost).replace("LONG", str(longest))
    (tmp_path / "old.json").write_text(text)
    old = read_statistics(tmp_path / "old.json")
    assert (old.events, old.ledger.elapsed, old.never[0].name) == (2, longest, "a")
    assert (old.taken, old.short, old.doubts.missing, old.doubts.near_wrap) == (
        taken,
        0,
        False,
        near,
    )
    assert old.info.clock_hz / old.info.step == 1_000_000
    new = statistics(Capture.from_events([0, 10], [2, 3]), A, trigger_cost=Fraction(cost) / 1000)
    assert merge_statistics([old, new]).events == 4


def test_different_trigger_costs_are_not_merged() -> None:
    def run(source: str, cost: Fraction) -> Statistics:
        capture = Capture.from_events([0, 10], [2, 3], CaptureInfo(source=source))
        return statistics(capture, A, trigger_cost=cost)

    parts = [run("x", Fraction(3, 10)), run("y", Fraction(1, 2)), run("z", Fraction(0))]
    same = merge_statistics([parts[0], run("w", Fraction(3, 10))])
    assert same.summary().trigger_cost == 300
    for pair, said in (
        (parts[:2], "x: 0.3 us, y: 0.5 us"),
        (parts[1::-1], "y: 0.5 us, x: 0.3 us"),
        ([parts[0], parts[2]], "x: 0.3 us, z: none"),
    ):
        with pytest.raises(UsageError) as caught:
            merge_statistics(pair)
        assert str(caught.value) == (
            f"captures with different trigger costs cannot be merged: {said}; expected the same "
            "--trigger-cost for all"
        )
    clocks = [
        statistics(Capture.from_events([0], [2], CaptureInfo(source=s, clock_hz=Fraction(hz))), A)
        for s, hz in (("x", 1_000_000), ("y", 2_000_000))
    ]
    with pytest.raises(UsageError, match=r"different clocks .* x: 1000000 Hz, y: 2000000 Hz"):
        merge_statistics(clocks)


def test_the_error_of_a_mean_is_that_of_the_captures_clock() -> None:
    capture = Capture.from_events([0, 10, 20, 31, 40, 50, 60, 70], [2, 3] * 4)
    for cost in (Fraction(0), Fraction(3, 10)):
        found = statistics(capture, A, trigger_cost=cost)
        verdict = check_budget(parse_budget("a.self-err < 1us", "b"), found, A)[0]
        assert verdict.value is not None
        assert float(verdict.value) == pytest.approx(0.41 / 2)
        assert field_rows(found, ["self-err"], [])[0]["self-err"] == pytest.approx(0.205)


@pytest.mark.parametrize("leaf", [0.4, 0.99, 2.0, 7.3])
def test_times_that_never_vary_may_all_be_wrong_by_a_step_of_the_clock(leaf: float) -> None:
    """A clock of the processor's own oscillator: all calls begin at one place between its steps."""
    begin = np.arange(1000) * 50 + 0.3
    times = np.floor(np.stack([begin, begin + leaf], axis=1).ravel()).astype(int)
    for cost in (Fraction(0), Fraction(3, 10)):
        found = statistics(Capture.from_events(times, [2, 3] * 1000), A, trigger_cost=cost)
        row = field_rows(found, ["self-err", "self-avg"], [])[0]
        assert row["self-err"] == 1.0
        assert abs(float(row["self-avg"] or 0) + float(cost) - leaf) <= 1.0
    free = np.floor(np.cumsum(np.tile([leaf, 50.1234 - leaf], 1000))).astype(int)
    found = statistics(Capture.from_events(free, [3, 2] * 1000), A)
    if leaf != 2.0:  # which is 2 steps whenever it begins
        assert field_rows(found, ["self-err"], [])[0]["self-err"] == pytest.approx(0.013)
