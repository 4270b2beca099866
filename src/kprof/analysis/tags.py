"""From tags to ops: what each of the 65,536 tags means to the replay.

The tables are numpy columns, so that a block of tags is translated in one indexing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.states import (
    INLINE,
    SPECIAL,
    SWITCH_IN,
    SWITCH_OUT,
    SWTCH_ENTRY,
    SWTCH_EXIT,
    UNKNOWN,
)
from kprof.names import Modifier, NameEntry, NameFile

TAGS = 1 << 16


class TagTable(NamedTuple):
    """What every tag means.

    Attributes
    ----------
    ops
        Shape (65536,) int32: the op of each tag, see `kprof.analysis.replay`.
    functions
        The functions by their number in the ops; in the name file's order.
    inlines
        The inline triggers by their number in the ops.
    switcher
        Shape (max(1, functions),) int64: 1 for the functions that switch contexts.
    """

    ops: NDArray[np.int32]
    functions: tuple[NameEntry, ...]
    inlines: tuple[NameEntry, ...]
    switcher: NDArray[np.int64]

    @classmethod
    def of(cls, names: NameFile) -> TagTable:
        """The table of a name file; entries of value 0 fire nothing and have no number."""
        ops = [SPECIAL + UNKNOWN] * TAGS
        functions: list[NameEntry] = []
        inlines: list[NameEntry] = []
        switchers: list[int] = []
        inline, out, into, swtch = (
            Modifier.INLINE,
            Modifier.SWITCH_OUT,
            Modifier.SWITCH_IN,
            Modifier.SWTCH,
        )
        for entry in names.entries:
            value = entry.value
            if not value:
                continue
            modifier = entry.modifier
            if modifier is inline:
                ops[value] = SPECIAL + 8 * len(inlines) + INLINE
                inlines.append(entry)
                continue
            number = len(functions)
            functions.append(entry)
            ops[value] = number
            ops[value + 1] = -1 - number
            switchers.append(0)
            if modifier is out:
                ops[value] = SPECIAL + 8 * number + SWITCH_OUT
                switchers[-1] = 1
            elif modifier is into:
                ops[value] = SPECIAL + 8 * number + SWITCH_IN
                switchers[-1] = 1
            elif modifier is swtch:
                ops[value] = SPECIAL + 8 * number + SWTCH_ENTRY
                ops[value + 1] = SPECIAL + 8 * number + SWTCH_EXIT
                switchers[-1] = 1
        return cls(
            np.array(ops, np.int32),
            tuple(functions),
            tuple(inlines),
            np.array(switchers or [0], np.int64),
        )
