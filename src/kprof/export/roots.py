"""The call paths of an export: contexts below, and interrupts on a root of their own.

An interrupt comes on whatever runs. On a root of its own it is no callee of all that it came on:
the times of calls inside one another are then without the interrupts on top of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.paths import CONTEXT, PathTree
from kprof.analysis.stream import Ledger
from kprof.export.labels import IDLE, LEFT_OUT, UNATTRIBUTED, USER, context_name
from kprof.export.view import View

INTERRUPTS = CONTEXT - 1
"""`PathTree.function` of the root of interrupts."""


def rooted_paths(view: View) -> PathTree:
    """The paths of the calls that stay, of a view that was made with `paths`."""
    assert view.tree is not None
    return apart(view.tree, view.interrupts)


def rest_of(ledger: Ledger) -> list[tuple[str, int]]:
    """The time of no function that is shown, in ticks: what it is, and how much."""
    rest = [
        (IDLE, ledger.idle),
        (UNATTRIBUTED, ledger.unattributed),
        (USER, ledger.user),
        (LEFT_OUT, ledger.left_out),
    ]
    return [(label, ticks) for label, ticks in rest if ticks]


def apart(tree: PathTree, interrupts: frozenset[int]) -> PathTree:
    """`tree` with the outermost calls of `interrupts` on a root of their own."""
    functions, parents = tree.function.tolist(), tree.parent.tolist()
    if interrupts.isdisjoint(functions):
        return tree
    made: dict[tuple[int, int], int] = {}
    into: list[int] = []
    inside: list[bool] = []  # an interrupt, or in one
    for function, parent in zip(functions, parents, strict=True):
        within = parent >= 0 and inside[parent]
        inside.append(within or function in interrupts)
        if function in interrupts and not within:
            below = made.setdefault((-1, INTERRUPTS), len(made))
        else:
            below = into[parent] if parent >= 0 else -1
        into.append(made.setdefault((below, function), len(made)))
    taken = [0] * len(functions)
    elapsed = tree.elapsed.tolist()
    for node in range(len(functions) - 1, -1, -1):
        parent = parents[node]
        if parent >= 0 and not inside[parent]:
            taken[parent] += elapsed[node] if inside[node] else taken[node]
    away = np.array(taken, np.int64)
    outermost = np.array([_is_outermost(functions, parents, n) for n in range(len(into))], np.bool_)
    outer = tree.outer - np.where(outermost & (tree.function < CONTEXT), away, 0)
    own = tree.function < CONTEXT
    plain = replace(tree, elapsed=tree.elapsed - np.where(own, away, 0), outer=outer)
    return _summed(plain, np.array(into, np.int64), list(made))


def _is_outermost(functions: list[int], parents: list[int], node: int) -> bool:
    above = parents[node]
    while above >= 0:
        if functions[above] == functions[node]:
            return False
        above = parents[above]
    return True


def _summed(tree: PathTree, into: NDArray[np.int64], made: list[tuple[int, int]]) -> PathTree:
    """The nodes `made` of (parent, function), with the sums of those that go `into` them."""
    table = np.array(made, np.int64).reshape(-1, 2)
    sums: NDArray[np.int64] = np.zeros((5, len(made)), np.int64)
    for row, column in zip(sums, (tree.calls, tree.elapsed, tree.net, tree.outer), strict=False):
        np.add.at(row, into, column)
    calls, elapsed, net, outer, stacked = sums
    stacked += net
    for node in range(len(made) - 1, -1, -1):
        if made[node][0] >= 0:
            stacked[made[node][0]] += stacked[node]
    code, parent = table[:, 1].copy(), table[:, 0].copy()
    return PathTree(code, parent, calls, elapsed, net, outer, stacked, tree.left_out)


def root_label(view: View, function: int) -> str:
    """What a root is called: the name of its task, where that is known, or its number."""
    return context_name(view, function - CONTEXT)
