"""Which functions interrupts enter: the events do not say, so it is inferred.

An interrupt comes on whatever runs, the idle loop too: its function is seen at the bottom of the
system context and inside calls of at least two other functions. A function that the idle loop calls
is seen so as well, but its callers call it every time, and what is interrupted is so now and then:
of the functions that it was seen in, and that ran often enough to tell, most must have it in less
than half of their calls.
"""

from __future__ import annotations

import numpy as np

from kprof.analysis.calls import Timeline
from kprof.analysis.questions import function_number
from kprof.analysis.states import ORPHAN

_OFTEN = 8
_LEAST_BELOW = 2


def interrupt_names(timeline: Timeline, named: tuple[str, ...] = ()) -> list[str]:
    """Names of the functions that interrupts enter: those `named`, else what looks so, see above.

    Raises
    ------
    UsageError
        One of `named` is not in the name file.
    """
    if named:
        return [timeline.functions[function_number(timeline, name)].name for name in named]
    calls = timeline.calls
    seen = (calls.flags & ORPHAN) == 0
    count = np.bincount(calls.function, minlength=len(timeline.functions))
    bottom = seen & (calls.parent < 0) & (calls.context == 0)
    found = []
    for function in np.unique(calls.function[bottom]).tolist():
        inside = np.unique(calls.parent[seen & (calls.function == function) & (calls.parent >= 0)])
        below, with_it = np.unique(calls.function[inside], return_counts=True)
        if len(below) < _LEAST_BELOW:
            continue
        telling = count[below] >= _OFTEN
        rare = with_it[telling] * 2 < count[below[telling]]
        if rare.sum() * 5 >= len(rare) * 4:
            found.append(timeline.functions[function].name)
    return found
