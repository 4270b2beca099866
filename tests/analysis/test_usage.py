"""The tasks of a stream against those of the whole timeline."""

from __future__ import annotations

import numpy as np
import pytest
from tests.analysis.test_paths import made_up

from kprof.analysis import timeline
from kprof.analysis.stream import Stream
from kprof.analysis.tasks import IDLE, shares, tasks
from kprof.analysis.usage import task_usage
from kprof.capture import Capture


@pytest.mark.parametrize("seed", range(30))
def test_the_tasks_are_those_of_the_timeline(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kprof.analysis.stream.BLOCK", 37)
    capture, names = made_up(seed)
    lines = timeline(capture, names)
    found, parts = task_usage(Stream(capture, names), 20)
    assert found == tasks(lines)
    expected = shares(lines, 20)
    assert parts.keys() == expected.keys()
    for context, row in parts.items():
        assert np.allclose(row, expected[context])
    ran = (
        sum(task.run for task in found)
        + float(parts.get(IDLE, np.zeros(1)).sum()) * lines.ledger.elapsed / 20
    )
    assert ran == pytest.approx(lines.ledger.elapsed)


def test_a_capture_without_events_has_no_time() -> None:
    _, names = made_up(1)
    found, parts = task_usage(Stream(Capture.from_events([], []), names), 4)
    assert sum(task.run for task in found) == 0
    assert not parts
