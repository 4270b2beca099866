"""Two runs of the same code show nothing; what was made slower is named first."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.analysis import workload

from kprof.analysis import timeline
from kprof.analysis.calls import Timeline
from kprof.analysis.compare import (
    LEVEL,
    chance_of,
    changed_names,
    compare,
    rank_chance,
    shape_chance,
)
from kprof.analysis.measures import Measure
from kprof.capture import Capture
from kprof.capture.model import CaptureInfo
from kprof.names import parse_names
from kprof.report.diff import diff_json, diff_lines, folded_lines

NAMES = parse_names(workload.NAMES)


def _run(seed: int, events: int = 3000, **slower: float) -> Timeline:
    run = workload.Run(seed, events, **slower)
    return timeline(Capture.from_events(run.times, run.tags), NAMES)


def test_two_runs_of_the_same_code_show_nothing() -> None:
    silent = sum(not changed_names(compare(_run(2 * i), _run(2 * i + 1))) for i in range(100))
    assert silent >= 95


@pytest.mark.parametrize("name", ["in_cksum", "lanisr", "soreceive", "tcp_input", "clock"])
def test_what_is_a_fifth_slower_is_named_first(name: str) -> None:
    whole_ram = 16384
    for seed in range(2):
        after = _run(seed + 500, whole_ram, **{name: 1.2})
        assert changed_names(compare(_run(seed, whole_ram), after))[0] == name


def test_a_change_below_the_clocks_step_is_none_with_a_trigger_cost_either() -> None:
    names = parse_names("a/2\n")

    def run(slower: int, cost: Fraction) -> Timeline:
        """24 calls of 4 us, the last `slower` of them 5 us."""
        times = [t for k in range(24) for t in (100 * k, 100 * k + 4 + (k >= 24 - slower))]
        return timeline(Capture.from_events(times, [2, 3] * 24), names, trigger_cost=cost)

    # A third of a tick on 4 is beyond chance, but three times 0.41 * sqrt(2 / 24) is 0.355 ticks.
    for cost in (Fraction(0), Fraction(3, 10)):
        assert changed_names(compare(run(0, cost), run(8, cost))) == []
        assert changed_names(compare(run(0, cost), run(9, cost))) == ["a"]


def test_paths_that_come_and_go_are_told() -> None:
    names = parse_names("a/2\nb/4\nc/6\n")
    before = Capture.from_events(list(range(40)), [2, 4, 5, 3] * 10)
    after = Capture.from_events(list(range(40)), [2, 6, 7, 3] * 10)
    difference = compare(timeline(before, names), timeline(after, names))
    text = "\n".join(diff_lines(difference))
    assert "call paths that appeared (1):\n       10 calls  a > c" in text
    assert "call paths that vanished (1):\n       10 calls  a > b" in text
    assert "only after: c, 10 calls" in text
    assert list(folded_lines(difference)) == ["a 20 20", "a;b 10 0", "a;c 0 10"]
    assert diff_json(difference)["paths"][1] == {
        "path": ["a", "b"],
        "calls": [10, 0],
        "self_us": [10, 0],
    }


def test_the_json_has_the_runs_and_the_means_before_and_after() -> None:
    names = parse_names("a/2\nb/4\nc/6\n")
    before = Capture.from_events([0, 4, 10, 15, 20], [2, 3, 2, 3, 4], CaptureInfo(source="one"))
    after = Capture.from_events([0, 8, 9, 10], [2, 3, 6, 7], CaptureInfo(source="two"))
    value = diff_json(compare(timeline(before, names), timeline(after, names)))
    assert value["before"] == {"source": "one", "events": 5, "elapsed_us": 20, "run_us": 20}
    assert value["after"] == {"source": "two", "events": 4, "elapsed_us": 10, "run_us": 10}
    means = {row["name"]: row["avg_us"] for row in value["functions"]}
    assert means == {"a": [4.5, 8.0], "b": [None, None], "c": [None, 1.0]}


def test_a_changed_function_is_printed_with_its_change() -> None:
    text = "\n".join(diff_lines(compare(_run(1), _run(2, in_cksum=2.0))))
    assert "1 changed (net time" in text
    first = text.split("name\n", 1)[1].splitlines()[0]
    assert first.endswith("in_cksum")


def test_the_rank_test_knows_equal_and_shifted() -> None:
    import numpy as np

    values = np.arange(200)
    assert rank_chance(Measure.of(values), Measure.of(values)) > 0.9
    assert rank_chance(Measure.of(values), Measure.of(values + 150)) < 1e-6
    assert rank_chance(Measure.of(values[:1]), Measure.of(values)) == 1.0
    assert rank_chance(Measure.of(values * 0), Measure.of(values * 0)) == 1.0


def test_a_third_of_the_calls_made_much_slower_is_a_change() -> None:
    rng = np.random.default_rng(1)
    small, large = rng.integers(20, 40, 200), rng.integers(400, 430, 100)
    before = Measure.of(np.concatenate([small, large]))
    after = Measure.of(np.concatenate([small, large + 300]))
    assert rank_chance(before, after) > LEVEL
    assert chance_of(before, after) < 1e-6


def test_samples_of_one_distribution_are_seldom_called_different() -> None:
    rng = np.random.default_rng(2)
    pairs = [
        (Measure.of(rng.integers(0, 30, 80)), Measure.of(rng.integers(0, 30, 60)))
        for _ in range(500)
    ]
    for test in (shape_chance, chance_of):
        assert sum(test(a, b) < 0.05 for a, b in pairs) < 0.08 * len(pairs)
        assert any(test(a, b) < 0.5 for a, b in pairs)
