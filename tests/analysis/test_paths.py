"""The tree of call paths against the calls themselves, followed one by one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.analysis import kernel_sim
from tests.analysis.kernels import Kernel
from tests.analysis.programs import random_options

from kprof.analysis import timeline
from kprof.analysis.calls import Timeline
from kprof.analysis.paths import CONTEXT, PathTree, call_paths
from kprof.analysis.replay.codes import ORPHAN
from kprof.analysis.stream import Stream
from kprof.analysis.summary import summarise
from kprof.capture import Capture
from kprof.names import NameFile, parse_names

Figures = dict[tuple[int, ...], list[int]]


def made_up(seed: int) -> tuple[Capture, NameFile]:
    """A capture of one of the simulated kernels."""
    if seed % 2:
        style = ("pair", "early", "swtch")[seed % 3]
        small = kernel_sim.Kernel(seed, style, True, 300)
        cut = 41 if seed % 4 == 1 else 0
        return (
            Capture.from_events(small.times[cut:], small.tags[cut:]),
            parse_names(kernel_sim.name_text(style)),
        )
    kernel = Kernel(seed, random_options(seed, marks=seed % 4 == 0, cut=True))
    return Capture.from_events(kernel.ticks, kernel.tags), parse_names(kernel.names)


def by_hand(lines: Timeline) -> Figures:
    """(calls, elapsed, net) of every path, from its context on."""
    calls, found = lines.calls, {}
    paths: list[tuple[int, ...]] = []
    for row in range(len(calls)):
        parent = int(calls.parent[row])
        below = paths[parent] if parent >= 0 else (CONTEXT + int(calls.context[row]),)
        paths.append((*below, int(calls.function[row])))
        orphan = bool(calls.flags[row] & ORPHAN)
        net = int(calls.net[row])
        into = found.setdefault(paths[-1], [0, 0, 0])
        into[0] += not orphan
        into[1] += net if orphan else int(calls.elapsed[row])
        into[2] += net
    return found


def figures(tree: PathTree) -> Figures:
    return {
        tuple(tree.path(node)): [int(c[node]) for c in (tree.calls, tree.elapsed, tree.net)]
        for node in range(len(tree))
        if tree.function[node] < CONTEXT
    }


@pytest.mark.parametrize("seed", range(24))
def test_every_path_has_its_calls_and_times(seed: int) -> None:
    capture, names = made_up(seed)
    stream = Stream(capture, names)
    tree = call_paths(stream)
    expected = by_hand(timeline(capture, names))
    assert figures(tree) == expected
    assert (tree.parent < range(len(tree))).all()
    without: Figures = {}
    for path, row in expected.items():
        into = without.setdefault(path[1:], [0, 0, 0])
        for place, value in enumerate(row):
            into[place] += value
    assert figures(tree.merged()) == without
    assert int(tree.stacked[tree.parent < 0].sum()) == stream.ledger.net


@pytest.mark.parametrize("seed", range(24))
def test_the_nodes_of_a_function_add_up_to_the_summarys(seed: int) -> None:
    capture, names = made_up(seed)
    stream = Stream(capture, names)
    tree = call_paths(stream).merged()
    for number, entry in enumerate(stream.functions):
        mine = tree.function == number
        found = [int(column[mine].sum()) for column in (tree.calls, tree.outer, tree.net)]
        row = {row.entry: row for row in summarise(capture, names).functions}.get(entry)
        assert found == ([row.calls, row.elapsed, row.net] if row else [0, 0, 0])


def test_small_and_deep_nodes_are_left_out() -> None:
    capture, names = made_up(4)
    tree = call_paths(Stream(capture, names)).merged()
    few = tree.largest(10, 250)
    assert (len(few), few.left_out) == (10, len(tree) - 10)
    assert set(few.stacked.tolist()) <= set(tree.stacked.tolist())
    assert few.stacked.min() >= np.sort(tree.stacked)[-10]
    assert figures(few).items() <= figures(tree).items()
    flat = tree.largest(len(tree), 2)
    whole = figures(tree)
    for path, (calls, elapsed, net) in figures(flat).items():
        above = [row for p, row in whole.items() if p[:2] == path] if len(path) == 2 else []
        assert elapsed == whole[path][1]
        if above:
            assert (calls, net) == (sum(r[0] for r in above), sum(r[2] for r in above))
    assert int(flat.net.sum()) == int(tree.net.sum())
