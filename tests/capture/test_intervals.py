"""The time between events is the same wherever it is asked for."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kprof.analysis import summarise
from kprof.analysis.replay.clock import Clock
from kprof.capture import Capture, CaptureInfo, open_capture, write_capture
from kprof.capture.describe import examine
from kprof.capture.layouts import records_in_layout
from kprof.cli.main import kprof_command
from kprof.names import parse_names

NAMES = parse_names("a/2\n")


@pytest.mark.parametrize(
    ("ticks", "unwrapped", "span"),
    [
        ([100, 200, 150, 300], True, 250),  # the third is damaged: 0 after the second
        ([100, 200, 150, 300], False, 200 + (1 << 24)),
        ([(1 << 24) - 5, 3, 2], False, (1 << 24) + 7),
        ([1 << 40, (1 << 40) + 9], True, 9),
    ],
)
def test_the_span_is_the_same_for_every_front(
    tmp_path: Path, ticks: list[int], unwrapped: bool, span: int
) -> None:
    tags = [2, 3] * len(ticks)
    made = Capture.from_events(ticks, tags[: len(ticks)], CaptureInfo(unwrapped=unwrapped))
    write_capture(tmp_path / "d.kpd", made)
    (tmp_path / "d.names").write_text("a/2\n")
    opened = open_capture(tmp_path / "d.kpd")
    assert examine(opened).span_ticks == span
    for fast in (False, True):
        assert summarise(opened, NAMES, fast=fast).ledger.elapsed == span
    wide = np.concatenate(list(records_in_layout(opened, 3)))
    if not unwrapped:
        assert (int(wide[-1]) >> 16) - (int(wide[0]) >> 16) == span
        assert int(wide[0]) >> 16 == ticks[0]
    for command, field in (("info --format json", "span_us"), ("report", "elapsed_us")):
        arguments = [*command.split(), str(tmp_path / "d.kpd")]
        if command == "report":
            arguments += ["--format", "json"]
        done = CliRunner().invoke(kprof_command, arguments, standalone_mode=False)
        assert json.loads(done.output)[field] == span


@given(
    st.lists(st.integers(0, (1 << 24) - 1), min_size=1, max_size=40),
    st.booleans(),
    st.integers(1, 39),
)
def test_intervals_are_those_of_one_event_at_a_time(
    ticks: list[int], unwrapped: bool, cut: int
) -> None:
    info = CaptureInfo(unwrapped=unwrapped)
    expected = [0]
    for before, now in itertools.pairwise(ticks):
        step = max(now - before, 0) if unwrapped else (now - before) % (1 << 24)
        expected.append(step)
    parts = [part for part in (ticks[:cut], ticks[cut:]) if part]
    found: list[int] = []
    clock = Clock(info)
    for part in parts:
        before_it = ticks[len(found) - 1] if found else None
        found += info.intervals(np.array(part, np.int64), before_it).tolist()
        times = clock.advance(np.array(part, np.int64))
        assert times.tolist() == np.cumsum(expected)[len(found) - len(part) : len(found)].tolist()
    assert found == expected
