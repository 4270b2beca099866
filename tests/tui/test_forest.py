"""Lines that fold and unfold, against a tree that is walked."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kprof.analysis.paths import PathTree
from kprof.tui.focus import focus
from kprof.tui.forest import Forest, Unfolded

trees = st.lists(st.integers(0, 1 << 30), min_size=1, max_size=30).map(
    lambda picks: [-1 if at == 0 or pick % 5 == 0 else pick % at for at, pick in enumerate(picks)]
)


def forest_of(parents: list[int]) -> Forest:
    parent = np.array(parents, np.int64)
    weight = np.arange(len(parents), dtype=np.int64)[::-1] % 7
    return Forest(parent, weight, np.arange(len(parents)), parent % 3)


def walked(parents: list[int], up: int = -1, depth: int = 0) -> list[tuple[int, int]]:
    out = []
    for node, parent in enumerate(parents):
        if parent == up:
            out.append((node, depth))
            out += walked(parents, node, depth + 1)
    return out


@given(trees)
def test_all_unfolded_is_the_tree_walked(parents: list[int]) -> None:
    lines = Unfolded(forest_of(parents))
    assert [node for node, _ in lines.lines] == [n for n, p in enumerate(parents) if p < 0]
    for line in range(len(lines) - 1, -1, -1):
        lines.unfold_all(line)
    assert lines.lines == walked(parents)
    for line in range(len(lines) - 1, -1, -1):
        if lines.lines[line][1] == 0:
            lines.fold(line)
    assert lines.lines == [(n, 0) for n, p in enumerate(parents) if p < 0]


@given(trees, st.data())
def test_moves_go_to_relatives(parents: list[int], data: Any) -> None:
    forest = forest_of(parents)
    lines = Unfolded(forest)
    node = data.draw(st.integers(0, len(parents) - 1))
    line = lines.reveal(node)
    assert lines.lines[line][0] == node
    assert lines.lines[line][1] == len(forest.path(node)) - 1
    up = lines.parent(line)
    assert lines.lines[up][0] == (node if parents[node] < 0 else parents[node])
    siblings = [n for n, p in enumerate(parents) if p == parents[node]]
    after = siblings[siblings.index(node) + 1 :] or [node]
    assert lines.lines[lines.sibling(line, 1)][0] == after[0]
    before = siblings[: siblings.index(node)] or [node]
    assert lines.lines[lines.sibling(line, -1)][0] == before[-1]
    children = [n for n, p in enumerate(parents) if p == node]
    longest = lines.lines[lines.longest(line)][0]
    assert longest == max(children, key=lambda n: forest.weight[n], default=node)
    assert forest.has_children(node) == bool(children)


@given(trees, st.data())
def test_a_search_finds_folded_nodes_both_ways(parents: list[int], data: Any) -> None:
    forest = forest_of(parents)
    lines = Unfolded(forest)
    wanted = data.draw(st.integers(0, 2))
    matches = [n for n, name in enumerate(forest.name.tolist()) if name == wanted]
    here = lines.lines[0][0]
    found = lines.search(0, 1, {wanted})
    if not matches:
        assert found is None
        return
    assert found is not None
    assert lines.lines[found][0] == next((n for n in matches if n > here), matches[0])
    found = lines.search(lines.reveal(here), -1, {wanted})
    assert found is not None
    before = [n for n in matches if n < here]
    assert lines.lines[found][0] == (before or matches)[-1]


@given(trees, st.data())
def test_the_graph_of_a_function_has_its_callees_and_callers(parents: list[int], data: Any) -> None:
    function = np.array(parents, np.int64) % 4
    net = np.array(data.draw(st.lists(st.integers(0, 9), min_size=30)), np.int64)[: len(parents)]
    elapsed = net.copy()
    for node in range(len(parents) - 1, -1, -1):
        if parents[node] >= 0:
            elapsed[parents[node]] += elapsed[node]
    calls = np.ones(len(parents), np.int64)
    wanted = int(function[0])
    paths = [[int(function[n]) for n in forest_of(parents).path(at)] for at in range(len(parents))]
    outer = [at for at, path in enumerate(paths) if path[-1] == wanted and path.count(wanted) == 1]
    mine = [at for at, path in enumerate(paths) if path[-1] == wanted]
    outermost = np.array([path.count(path[-1]) == 1 for path in paths])
    tree = PathTree(
        function, np.array(parents, np.int64), calls, elapsed, net, elapsed * outermost, elapsed
    )
    found, second = focus(tree, wanted)
    assert found.elapsed[0] == found.elapsed[second] == sum(elapsed[at] for at in outer)
    assert found.net[second] == sum(net[at] for at in mine)
    assert found.calls[second] == len(mine)
    below = [at for at, path in enumerate(paths) if wanted in path]
    assert found.net[:second].sum() == sum(net[at] for at in below)
    merged = forest_of(found.parent.tolist())
    callees = {tuple(int(found.function[n]) for n in merged.path(at)) for at in range(second)}
    assert callees == {tuple(paths[at][paths[at].index(wanted) :]) for at in below}
    callers = {
        tuple(int(found.function[n]) for n in merged.path(at)) for at in range(second, len(found))
    }
    assert callers == {
        tuple(paths[at][::-1][:end]) for at in mine for end in range(1, len(paths[at]) + 1)
    }
