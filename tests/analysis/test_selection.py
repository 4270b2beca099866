"""Filters on the stream against filters on all calls at once."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.analysis.test_paths import by_hand, figures, made_up
from tests.analysis.whole import calls_of, left_out, mask
from tests.analysis.whole import filtered_statistics as whole_statistics

from kprof.analysis import timeline
from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Filter
from kprof.analysis.measures import Measure
from kprof.analysis.paths import CONTEXT, call_paths
from kprof.analysis.selection import Selection, distributions, filtered_statistics, kept_paths
from kprof.analysis.statistics import statistics
from kprof.analysis.stream import Stream
from kprof.errors import UsageError


def some_filter(choice: random.Random, lines: Timeline) -> Filter:
    """Any combination of conditions that the capture has something for."""
    names = sorted({lines.functions[f].name for f in lines.calls.function})
    end = lines.ledger.elapsed

    def some(chance: float) -> tuple[str, ...]:
        return tuple(choice.sample(names, 2)) if choice.random() < chance else ()

    return Filter(
        only=some(0.4),
        without=some(0.2),
        callers=some(0.3),
        hide=some(0.3),
        depth=choice.choice([None, None, 1, 2, 4]),
        least=choice.choice([None, None, 5, 50, 500]),
        start=choice.choice([None, end // 4, end // 2]),
        end=choice.choice([None, None, end // 2, end * 3 // 4]),
        tasks=choice.choice([(), (), (1,), (0,)]),
        match="glob",
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_same_calls_stay(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kprof.analysis.stream.BLOCK", 37)
    capture, names = made_up(seed)
    lines, whole = timeline(capture, names), statistics(capture, names)
    choice = random.Random(seed)
    for _ in range(8):
        chosen = some_filter(choice, lines)
        keep = mask(chosen, lines)
        expected = whole_statistics(lines, keep, whole)
        found = filtered_statistics(capture, names, lambda _, chosen=chosen: chosen)
        assert found == expected, chosen
        stream = Stream(capture, names)
        selection = Selection(stream, chosen)
        tree = kept_paths(stream, selection)
        assert (selection.calls, selection.net) == left_out(lines, keep)
        kept = by_hand_of(lines, chosen)
        assert figures(tree) == kept, chosen


def by_hand_of(lines: Timeline, chosen: Filter) -> dict[tuple[int, ...], list[int]]:
    """The paths of the calls that stay, from those around each of them."""
    from dataclasses import replace

    return by_hand(replace(lines, calls=lines.calls.select(mask(chosen, lines))))


@pytest.mark.parametrize("seed", range(6))
def test_a_functions_distributions_are_those_of_its_calls(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kprof.analysis.measures._HELD", 7)
    capture, names = made_up(seed)
    lines = timeline(capture, names)
    for chosen in (Filter(), some_filter(random.Random(seed), lines)):
        keep = mask(chosen, lines)
        for function in np.unique(lines.calls.function).tolist():
            stream = Stream(capture, names)
            rows = calls_of(lines, function, keep)
            found = distributions(stream, Selection(stream, chosen), function)
            for one, column in zip(found, (lines.calls.elapsed, lines.calls.net), strict=True):
                expected = Measure.of(column[rows])
                assert one == expected
                assert [one.percentile(p) for p in (1, 50, 90, 99)] == [
                    expected.percentile(p) for p in (1, 50, 90, 99)
                ]
                assert [c.tolist() for c in one.distinct()] == [
                    c.tolist() for c in expected.distinct()
                ]


def test_without_a_filter_everything_stays() -> None:
    capture, names = made_up(3)
    stream = Stream(capture, names)
    selection = Selection(stream)
    assert figures(kept_paths(stream, selection)) == figures(call_paths(Stream(capture, names)))
    assert (selection.calls, selection.net) == (0, 0)


def test_what_is_not_there_is_refused() -> None:
    capture, names = made_up(3)
    with pytest.raises(UsageError, match="-C nothing: matches no function"):
        Selection(Stream(capture, names), Filter(callers=("nothing",)))
    with pytest.raises(UsageError, match=r"--task 99: is not a context; expected 0 .* to "):
        filtered_statistics(capture, names, lambda _: Filter(tasks=(99,)))


def test_contexts_stand_below_what_is_kept() -> None:
    capture, names = made_up(4)
    stream = Stream(capture, names)
    tree = kept_paths(stream, Selection(stream, Filter(tasks=(1,))))
    bottoms = {tree.path(node)[0] for node in range(len(tree)) if tree.net[node]}
    assert bottoms == {CONTEXT + 1}
