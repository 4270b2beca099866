"""The columns of a replay: plain lists in CPython, int64 arrays for the compiled replay."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay import codes

Column = NDArray[np.int64]


class Ints(Protocol):
    """A list of int, or an array of shape (n,) of an integer type."""

    def __getitem__(self, index: int, /) -> int: ...

    def __setitem__(self, index: int, value: int, /) -> None: ...


class Replay(NamedTuple):
    """Everything that a replay knows; the fields of its columns are named in `codes`.

    Attributes
    ----------
    state
        One value of each kind.
    nest
        By function: its calls that are open in the running context.
    role
        By function: its ROLE bits.
    frames
        The stacks of all contexts, each in a part of its own.
    contexts
        The contexts by slot: the system context is the first.
    tasks
        By tag: the slot of the task that this mark stands for, or -1.
    rows
        The rows that are written.
    path_code, path_parent
        By call path: the function that ends it, and the path that it continues.
    path_keys, path_ids
        A hash table from (path, function) to the path that continues it.
    seen, times_seen
        A hash table: which function was seen to call which, and how often.
    items
        What a look ahead found at the base: a call's function, or -1 - function of an exit.
    inside
        What a look ahead has open, above the base.
    pairs
        Calls that a look ahead saw: ``caller << 20 | callee``.
    delta
        By function: how a look ahead changes `nest`; zero outside of it.
    can
        Bits, a row of `stride` bytes for each function: which others can run directly above it.
    stride
        See `can`.
    """

    state: Ints
    nest: Ints
    role: Ints
    frames: Ints
    contexts: Ints
    tasks: Ints
    rows: Ints
    path_code: Ints
    path_parent: Ints
    path_keys: Ints
    path_ids: Ints
    seen: Ints
    times_seen: Ints
    items: Ints
    inside: Ints
    pairs: Ints
    delta: Ints
    can: Ints
    stride: int


class Rows:
    """What a block of events made: one row each, in the order of events.

    Attributes
    ----------
    table
        Shape (rows, fields) int64; the columns below are views of it. `fn, elapsed, net, away,
        flags` are always there; the others only with detail.
    """

    __slots__ = ("table",)

    def __init__(self, table: Column) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def select(self, keep: NDArray[Any]) -> Rows:
        """Some of the rows, by a mask or by their places."""
        masked = keep.dtype == np.bool_  # numpy's indexing by a mask takes twice as long
        return Rows(self.table.compress(keep, 0) if masked else self.table.take(keep, 0))

    @property
    def fn(self) -> Column:
        return self.table[:, codes.R_FN]

    @property
    def elapsed(self) -> Column:
        return self.table[:, codes.R_ELAPSED]

    @property
    def net(self) -> Column:
        return self.table[:, codes.R_NET]

    @property
    def away(self) -> Column:
        return self.table[:, codes.R_AWAY]

    @property
    def flags(self) -> Column:
        return self.table[:, codes.R_FLAGS]

    @property
    def kind(self) -> Column:
        return self.table[:, codes.R_KIND]

    @property
    def entry(self) -> Column:
        return self.table[:, codes.R_ENTRY]

    @property
    def leave(self) -> Column:
        return self.table[:, codes.R_LEAVE]

    @property
    def path(self) -> Column:
        return self.table[:, codes.R_PATH]

    @property
    def parent(self) -> Column:
        return self.table[:, codes.R_PARENT]

    @property
    def depth(self) -> Column:
        return self.table[:, codes.R_DEPTH]

    @property
    def context(self) -> Column:
        return self.table[:, codes.R_CONTEXT]

    @property
    def part(self) -> Column:
        return self.table[:, codes.R_PART]

    @property
    def call(self) -> Column:
        return self.table[:, codes.R_CALL]

    @property
    def time(self) -> Column:
        return self.table[:, codes.R_TIME]
