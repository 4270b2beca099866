"""Runs of the same code show nothing; what changed is named, what matters most first."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.analysis import noisy, workload
from tests.analysis.noisy import Noise

from kprof.analysis.compare import changed_names, compare
from kprof.analysis.measured import OUTSIDE, MeasuredRun, measure
from kprof.capture import Capture
from kprof.capture.model import CaptureInfo
from kprof.names import NameFile, parse_names
from kprof.report.diff import diff_json, diff_lines, folded_lines

NAMES = parse_names(workload.NAMES)
LOADS = {
    "independent": Noise(spread=0.3),
    "one load, 0.9": Noise(spread=0.1, load=0.2, rho=0.9),
    "one load, 0.995": Noise(spread=0.1, load=0.2, rho=0.995),
    "loads of each, 0.9": Noise(spread=0.1, load=0.2, rho=0.9, own=True),
    "loads of each, 0.995": Noise(spread=0.1, load=0.2, rho=0.995, own=True),
    "few functions, 0.995": Noise(functions=5, spread=0.1, load=0.2, rho=0.995, own=True),
    "between runs": Noise(spread=0.1, between=0.03),
}


def _run(seed: int, events: int = 3000, **slower: float) -> MeasuredRun:
    run = workload.Run(seed, events, **slower)
    return measure(Capture.from_events(run.times, run.tags), NAMES)


def _full(capture: Capture, names: NameFile) -> MeasuredRun:
    return measure(capture, names)


def _flagged(noise: Noise, pairs: int, runs: int, seed: int) -> int:
    """How many pairs of equal sides have a changed function."""
    rng = np.random.default_rng(seed)
    sides = [[noise.run(rng) for _ in range(2 * runs)] for _ in range(pairs)]
    return sum(bool(changed_names(compare(side[:runs], side[runs:]))) for side in sides)


def test_two_runs_of_the_same_code_show_nothing() -> None:
    runs = [_run(seed) for seed in range(40)]
    pairs = zip(runs[::2], runs[1::2], strict=True)
    assert not any(changed_names(compare([a], [b])) for a, b in pairs)


@pytest.mark.parametrize("load", LOADS)
def test_equal_runs_are_called_equal(load: str) -> None:
    assert _flagged(LOADS[load], 5, 1, 1) == 0


@pytest.mark.long
@pytest.mark.parametrize("runs", [1, 3, 5])
@pytest.mark.parametrize("load", LOADS)
def test_at_most_one_of_a_hundred_equal_pairs_is_flagged(load: str, runs: int) -> None:
    assert _flagged(LOADS[load], 100, runs, 2) <= 1


@pytest.mark.long  # the clock of a busy host is not the same from one minute to the next
def test_equal_runs_of_a_hosts_program_are_called_equal(tmp_path: Path) -> None:
    program = noisy.host_program(tmp_path)
    singles = noisy.host_runs(program, 200)
    found = [compare([a], [b]) for a, b in zip(singles[::2], singles[1::2], strict=True)]
    assert sum(bool(changed_names(one)) for one in found) <= 1
    fives = [noisy.host_runs(program, 10, seed) for seed in range(1000, 1250, 10)]
    found = [compare(ten[:5], ten[5:]) for ten in fives]
    assert sum(bool(changed_names(one)) for one in found) <= 1


def _found(noise: Noise, pairs: int, seed: int) -> tuple[int, int]:
    """Of how many pairs with five runs a side a function that is 5% slower is named; others."""
    rng = np.random.default_rng(seed)
    named = others = 0
    for _ in range(pairs):
        slow = int(rng.integers(noise.functions))
        before = [noise.run(rng) for _ in range(5)]
        names = changed_names(compare(before, [noise.run(rng, {slow: 1.05}) for _ in range(5)]))
        named += names[:1] == [f"f{slow}"]
        others += bool(set(names) - {f"f{slow}"})
    return named, others


@pytest.mark.parametrize("between", [0.0, 0.01])
def test_one_of_forty_functions_that_is_5_percent_slower_is_named(between: float) -> None:
    named, others = _found(Noise(between=between), 4, 1)
    assert (named >= 3, others) == (True, 0)


@pytest.mark.long
@pytest.mark.parametrize("between", [0.0, 0.01])
def test_four_of_five_5_percent_slowdowns_are_found(between: float) -> None:
    named, others = _found(Noise(between=between), 50, 2)
    assert named >= 40
    assert others <= 1


@pytest.mark.parametrize("runs", [1, 3])
def test_a_function_that_is_called_12_times_is_named_and_its_caller_is_not(runs: int) -> None:
    """From an eighth of the run to most of it; the calls cost `read` half a us each too."""
    difference = compare(*([noisy.kernel(10 * n + i, n) for i in range(runs)] for n in (1, 12)))
    assert changed_names(difference) == ["splnet"]
    found = {one.name: one for one in difference.functions}
    (call,) = found["splnet"].calls
    assert (call.caller, call.changed) == ("read", True)
    assert (call.before, call.after) == pytest.approx((1, 12), rel=0.01)
    assert found["splnet"].what == ("calls",)
    assert found["splnet"].growth == pytest.approx(11, rel=0.01)
    assert found["read"].because == "splnet"
    text = "\n".join(diff_lines(difference))
    assert "1 > 12 calls in each call of read" in text
    assert "  read: 20." in text.split("calls that they make more or fewer take:\n")[1]
    (row,) = (r for r in diff_json(difference)["functions"] if r["name"] == "splnet")
    assert row["callers"][0]["caller"] == "read"
    assert row["calls_per_second"][1] > 3 * row["calls_per_second"][0]


def test_a_caller_whose_own_time_moved_by_more_is_named_too() -> None:
    rng = np.random.default_rng(3)
    names = parse_names("read/2\nsplnet/4\n")

    def run(many: int, own: float) -> MeasuredRun:
        times, tags, now = [], [], 0
        for _ in range(600):
            parts = [("r", 2), *[("s", g) for _ in range(many) for g in (4, 5)], ("r", 3)]
            for kind, tag in parts:
                times.append(now)
                tags.append(tag)
                now += int(rng.integers(7, 10) if tag == 4 else own if kind == "r" else 1)
        return measure(Capture.from_events(times, tags), names)

    difference = compare([run(1, 20)], [run(2, 60)])
    assert set(changed_names(difference)) == {"splnet", "read"}


def test_one_preemption_is_no_change_but_is_said() -> None:
    rng = np.random.default_rng(4)
    names = parse_names("a/2\nb/4\n")

    def run(preempted: bool) -> MeasuredRun:
        net = np.stack([rng.integers(9, 12, 1000), rng.integers(40, 60, 1000)], 1).ravel()
        net[1300] += 9400 if preempted else 0
        leave = np.cumsum(net + 2)
        times = np.stack([leave - net, leave], 1).ravel()
        return _full(Capture.from_events(times, [2, 3, 4, 5] * 1000), names)

    difference = compare([run(False)], [run(True)])
    found = {one.name: one for one in difference.functions}["a"]
    assert found.before is not None
    assert found.after is not None
    assert (found.after.own.mean or 0) / (found.before.own.mean or 1) > 1.9
    assert changed_names(difference) == []
    text = "\n".join(diff_lines(difference))
    assert "means that one call moved, which is not a change:\n  a: avg 1" in text
    assert "us; median 10>10 us" in text


def test_a_slow_tail_is_told_from_slower_calls() -> None:
    rng = np.random.default_rng(5)
    names = parse_names("a/2\nb/4\n")

    def run(slow: float, factor: float) -> MeasuredRun:
        net = rng.normal(100, 5, 3000) * np.where(rng.random(3000) < slow, factor, 1)
        leave = np.cumsum(net + 2)
        times = np.stack([leave - net, leave], 1).ravel().astype(int)
        return measure(Capture.from_events(times, [2, 3] * 3000), names)

    tail = compare([run(0.0, 1.0)], [run(0.03, 3.0)]).functions[0]
    assert (tail.changed, tail.what[-1]) == (True, "tail")
    assert "time" not in tail.what
    body = compare([run(0.0, 1.0)], [run(1.0, 1.1)]).functions[0]
    assert (body.changed, body.what) == (True, ("time",))
    assert body.growth == pytest.approx(0.1, abs=0.02)


def test_new_and_vanished_calls_are_judged() -> None:
    names = parse_names("a/2\nb/4\nc/6\n")
    before = Capture.from_events(list(range(400)), [2, 4, 5, 3] * 100)
    after = Capture.from_events(list(range(400)), [2, 6, 7, 3] * 100)
    difference = compare([measure(before, names)], [measure(after, names)])
    assert sorted(changed_names(difference)) == ["b", "c"]
    found = {one.name: one for one in difference.functions}
    assert (found["b"].cost, found["c"].cost) == (-100, 100)
    assert found["c"].growth == float("inf")


def test_another_mix_of_calls_from_outside_is_a_change() -> None:
    names = parse_names("a/2\nb/4\n")
    rng = np.random.default_rng(6)

    def run(share: float) -> MeasuredRun:
        tags = np.where(rng.random(2000) < share, 4, 2)
        both = np.stack([tags, tags + 1], 1).ravel()
        return measure(Capture.from_events(np.arange(4000) * 5, both), names)

    assert changed_names(compare([run(0.2)], [run(0.22)])) == []
    difference = compare([run(0.2)], [run(0.5)])
    assert set(changed_names(difference)) == {"a", "b"}
    assert difference.functions[0].calls[0].caller == OUTSIDE


def test_an_interrupt_that_comes_twice_as_often_is_a_change() -> None:
    runs = [noisy.kernel(seed, 1) for seed in (1, 2)]
    batches = runs[1].batches["clock"]
    twice = replace(batches, calls=2 * batches.calls)
    faster = replace(runs[1], batches={**runs[1].batches, "clock": twice})
    assert changed_names(compare([runs[0]], [runs[1]])) == []
    difference = compare([runs[0]], [faster])
    assert changed_names(difference) == ["clock"]
    (call,) = difference.functions[0].calls
    assert call.caller is None
    assert call.before == pytest.approx(1000, rel=0.02)


def test_what_all_functions_have_in_common_is_said_and_held_against_none() -> None:
    rng = np.random.default_rng(7)
    noise = Noise()
    slower = dict.fromkeys(range(40), 1.3)
    difference = compare([noise.run(rng)], [noise.run(rng, slower)])
    assert changed_names(difference) == []
    assert difference.common == pytest.approx(0.26, abs=0.03)
    assert "in common, which is held against none" in "\n".join(diff_lines(difference))
    several = compare(
        [noise.run(rng) for _ in range(3)], [noise.run(rng, slower) for _ in range(3)]
    )
    assert len(changed_names(several)) == 40


@pytest.mark.parametrize("name", ["in_cksum", "lanisr", "soreceive", "tcp_input", "clock"])
def test_what_is_a_fifth_slower_is_named_first(name: str) -> None:
    for seed in (1, 2):
        before, after = _run(seed, 16384), _run(seed + 500, 16384, **{name: 1.2})
        assert changed_names(compare([before], [after]))[0] == name


def test_a_change_below_the_clocks_step_is_none_with_a_trigger_cost_either() -> None:
    names = parse_names("a/2\n")

    def run(every: int, cost: Fraction) -> MeasuredRun:
        """960 calls of 40 us, every so many of them 1 us longer."""
        late = [100 * k + 40 + (every and k % every == 0) for k in range(960)]
        times = [t for k, end in enumerate(late) for t in (100 * k, end)]
        return measure(Capture.from_events(times, [2, 3] * 960), names, trigger_cost=cost)

    # A tick of every fourth is 0.6%, below 1%; of each it is 2.5%.
    for cost in (Fraction(0), Fraction(3, 10)):
        assert changed_names(compare([run(0, cost)], [run(4, cost)])) == []
        assert changed_names(compare([run(0, cost)], [run(1, cost)])) == ["a"]


def test_paths_that_come_and_go_are_told() -> None:
    names = parse_names("a/2\nb/4\nc/6\n")
    before = Capture.from_events(list(range(40)), [2, 4, 5, 3] * 10)
    after = Capture.from_events(list(range(40)), [2, 6, 7, 3] * 10)
    difference = compare([_full(before, names)], [_full(after, names)])
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
    value = diff_json(compare([_full(before, names)], [_full(after, names)]))
    assert value["before"] == {
        "source": "one", "captures": 1, "events": 5, "elapsed_us": 20, "run_us": 20,
    }  # fmt: skip
    assert value["after"]["events"] == 4
    means = {row["name"]: row["avg_us"] for row in value["functions"]}
    assert means == {"a": [4.5, 8.0], "b": [None, None], "c": [None, 1.0]}


def test_a_changed_function_is_printed_with_its_change() -> None:
    text = "\n".join(diff_lines(compare([_run(1, 9000)], [_run(2, 9000, in_cksum=2.0)])))
    assert "1 changed (net time" in text
    first = text.split("name\n", 1)[1].splitlines()[0]
    assert first.endswith("in_cksum")
