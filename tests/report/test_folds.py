"""Reports that are folds of the stream, against those of the whole timeline."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from tests.analysis import whole
from tests.analysis.test_paths import made_up
from tests.analysis.test_selection import some_filter
from tests.report.test_trace_stream import NAMES, TAGS, noise
from tests.report.whole import inside, tasks_json, trace_json, worst_lines

from kprof.analysis import timeline
from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Filter
from kprof.analysis.interrupts import interrupts
from kprof.analysis.measures import Measure
from kprof.analysis.ordered import Ordered
from kprof.analysis.questions import WorstCalls, around, intervals
from kprof.analysis.replay.codes import ORPHAN
from kprof.analysis.stream import Stream
from kprof.analysis.tasks import task_usage
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameFile
from kprof.report import tasks as task_reports
from kprof.report.lazy_json import Items, json_parts
from kprof.report.trace import trace_json as trace_object
from kprof.report.worst import worst_json, worst_text


def any_triggers(seed: int) -> tuple[Capture, NameFile]:
    source = random.Random(seed)
    times = np.cumsum([source.randrange(3) for _ in range(400)])
    tags = [source.choice(TAGS) for _ in range(400)]
    return Capture.from_events(times, tags, CaptureInfo(unwrapped=True)), NAMES


def some_capture(seed: int) -> tuple[Capture, NameFile]:
    if seed % 3 == 2:
        return (noise(seed, 500), NAMES) if seed % 2 else any_triggers(seed)
    return made_up(seed)


class Case:
    """A capture, its timeline, and what a filter keeps of it."""

    def __init__(self, seed: int, number: int) -> None:
        self.capture, self.names = some_capture(seed)
        self.lines: Timeline = timeline(self.capture, self.names)
        self.chosen: Filter | None = None
        self.keep = None
        if number:
            self.chosen = some_filter(random.Random(seed + number), self.lines)
            self.keep = whole.mask(self.chosen, self.lines)

    @property
    def stream(self) -> Stream:
        return Stream(self.capture, self.names, fast=False)

    @property
    def any_orphans(self) -> bool:
        return bool((self.lines.calls.flags & ORPHAN).any())

    @property
    def functions(self) -> list[int]:
        return np.unique(self.lines.calls.function).tolist()


def text(value: Any) -> str:
    return "".join(json_parts(value))


def dumped(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"


def cases(seed: int) -> list[Case]:
    return [Case(seed, number) for number in range(3)]


@pytest.fixture(params=range(18))
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Case:
    seed = request.param
    if seed % 2:
        monkeypatch.setattr("kprof.analysis.stream.BLOCK", 37)
    return Case(seed, seed % 3)


def hold_trace(case: Case) -> None:
    stream = case.stream
    found = text(trace_object(stream, Ordered(stream, case.chosen)))
    assert found == dumped(trace_json(case.lines, case.keep))


def hold_tasks(case: Case) -> None:
    found, parts, _ = task_usage(case.stream, 20, case.chosen)
    ran = sum(float(row.sum()) for row in parts.values()) / 20 * case.lines.ledger.elapsed
    assert ran == pytest.approx(case.lines.ledger.elapsed)
    if case.chosen and case.any_orphans:  # their places in the stack begin later than their times
        return
    assert found == whole.tasks(case.lines, case.keep)
    expected = whole.shares(case.lines, 20, case.keep)
    assert parts.keys() == expected.keys()
    for context, row in parts.items():
        assert np.allclose(row, expected[context])
    value, _ = task_reports.tasks_json(case.stream, case.chosen)
    assert text(value) == dumped(tasks_json(case.lines, case.keep))


def hold_worst(case: Case) -> None:
    for function in case.functions:
        name = case.lines.functions[function].name
        for by in ("total", "net"):
            stream = case.stream
            worst = WorstCalls(stream, case.chosen, function, 3, by)
            expected = list(worst_lines(case.lines, name, 3, by, case.keep))
            assert "".join(worst_text(stream, worst, name)).splitlines() == expected
        rows = whole.worst_calls(case.lines, function, 3, case.keep, "net")
        traces = [trace_json(case.lines, inside(case.lines, row, case.keep)) for row in rows]
        found = json.loads(text(worst_json(stream, worst, name)))
        assert found == {"name": name, "worst": traces}


def hold_interrupts(case: Case) -> None:
    functions = case.functions
    sets = [[function] for function in functions[:4]] + [functions[:3], functions]
    for chosen in sets:
        named = tuple(case.lines.functions[function].name for function in chosen)
        found = interrupts(case.stream, named, case.chosen)
        assert found.each == whole.interrupts(case.lines, chosen, case.keep)
        assert found.interrupted == whole.interrupted(case.lines, chosen, case.keep)


def hold_between(case: Case) -> None:
    names = [entry.name for entry in case.lines.inlines]
    for first in names[:2]:
        for second in names[:2]:
            times, lonely = whole.intervals(case.lines, first, second, case.keep)
            found, alone, _ = intervals(case.stream, case.chosen, first, second)
            assert (found, alone) == (Measure.of(times), lonely)


def hold_around(case: Case) -> None:
    end = case.lines.ledger.elapsed
    for time in (0, end // 3, end // 2, end):
        assert around(case.stream, time, 7) == whole.around(case.lines, time, 7)


def test_the_trace_as_json(case: Case) -> None:
    hold_trace(case)


def test_tasks(case: Case) -> None:
    hold_tasks(case)


def test_the_worst_calls(case: Case) -> None:
    hold_worst(case)


def test_interrupts(case: Case) -> None:
    hold_interrupts(case)


def test_between_and_around(case: Case) -> None:
    hold_between(case)
    hold_around(case)


def test_a_capture_without_events_has_no_tasks_that_ran() -> None:
    found, parts, _ = task_usage(Stream(Capture.from_events([], []), NAMES), 4)
    assert sum(task.run for task in found) == 0
    assert not parts


@pytest.mark.long
def test_many_captures() -> None:
    for seed in range(100, 400):
        for case in cases(seed):
            for hold in (hold_tasks, hold_interrupts, hold_between, hold_around, hold_worst):
                hold(case)


def test_json_in_pieces_is_that_of_the_library() -> None:
    items = [{"a": [1, {"b": "\u00e9\n"}], "c": {}}, {"a": []}]

    def lazy(values: list[Any]) -> Items:
        return Items(json.dumps(value, indent=1) for value in values)

    plain = {"x": items, "empty": [], "in": [{"y": items, "z": 1.5}], "last": {"n": None}}
    made = {
        "x": lazy(items),
        "empty": lazy([]),
        "in": lambda: [{"y": lazy(items), "z": 1.5}],
        "last": lambda: {"n": None},
    }
    assert text(made) == dumped(plain)
