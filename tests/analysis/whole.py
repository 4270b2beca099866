"""Figures of a whole timeline at once: what the folds of the stream are held against."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kprof.analysis.calls import Timeline
from kprof.analysis.filters import Mask, gathered, kept_marks
from kprof.analysis.replay.codes import MARK_INLINE
from kprof.analysis.statistics import Statistics
from kprof.names import NameEntry


def filtered_statistics(timeline: Timeline, keep: Mask, statistics: Statistics) -> Statistics:
    """The statistics of the rows that `keep` keeps.

    Parameters
    ----------
    statistics
        Those of the whole capture.
    """
    functions = gathered(timeline, timeline.calls.select(keep))
    net = sum(f.net for f in functions.values())
    ledger = timeline.ledger._replace(net=net, left_out=timeline.ledger.net - net)
    return replace(
        statistics,
        ledger=ledger,
        functions=functions,
        inlines=_inlines(timeline, kept_marks(timeline, keep)),
    )


def _inlines(timeline: Timeline, kept: Mask) -> dict[str, tuple[NameEntry, int]]:
    marks = timeline.marks
    chosen = marks.name[kept & (marks.kind == MARK_INLINE)]
    counts = np.bincount(chosen, minlength=len(timeline.inlines))
    return {e.name: (e, int(counts[i])) for i, e in enumerate(timeline.inlines) if counts[i]}
