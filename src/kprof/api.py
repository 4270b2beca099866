"""kprof in a notebook or a script: the values of the reports, as numpy columns and data frames.

::

    import kprof
    run = kprof.load("dump.bin")
    run.calls.net.max()
    run.to_dataframe().groupby("function").net_us.describe()
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from kprof.analysis.calls import Calls, Marks, Timeline, timeline
from kprof.analysis.statistics import Statistics, statistics
from kprof.analysis.summary import Summary, summarise
from kprof.capture.match import names_mismatch
from kprof.capture.model import Capture
from kprof.capture.open import open_capture
from kprof.errors import MissingExtraError, UsageError
from kprof.names import NameFile, find_names, read_names
from kprof.names.calls import CallKnowledge, read_calls
from kprof.times import to_ticks

__all__ = ["Run", "load"]

_FRAMES = ("pandas", "polars")


@dataclass(frozen=True)
class Run:
    """A capture with its names; everything else is worked out when it is first asked for.

    Attributes
    ----------
    capture, names
        As they were read.
    trigger_cost
        What is taken out for each trigger, in ticks.
    known
        What can call what, where the name file has its call knowledge beside it.
    """

    capture: Capture
    names: NameFile
    trigger_cost: Fraction = Fraction(0)
    known: CallKnowledge | None = None

    @cached_property
    def summary(self) -> Summary:
        """The figures of the summary report."""
        return summarise(self.capture, self.names, trigger_cost=self.trigger_cost, known=self.known)

    @cached_property
    def statistics(self) -> Statistics:
        """The functions with their distributions; mergeable."""
        return statistics(
            self.capture, self.names, trigger_cost=self.trigger_cost, known=self.known
        )

    @cached_property
    def timeline(self) -> Timeline:
        """Every call and mark."""
        return timeline(self.capture, self.names, trigger_cost=self.trigger_cost, known=self.known)

    @property
    def calls(self) -> Calls:
        """Every call, one column a figure, times in ticks."""
        return self.timeline.calls

    @property
    def marks(self) -> Marks:
        """Inline triggers and context switches."""
        return self.timeline.marks

    def columns(self) -> dict[str, Any]:
        """The calls as columns by name; times in microseconds, functions by name."""
        import numpy as np

        lines, calls = self.timeline, self.calls
        names = np.array([entry.name for entry in lines.functions] or [""], dtype=object)
        times = ("entry", "exit", "elapsed", "net", "wall")
        return {
            "function": names[calls.function],
            **{f"{name}_us": lines.us(getattr(calls, name)) for name in times},
            **{name: getattr(calls, name) for name in ("depth", "parent", "context", "flags")},
        }

    def to_dataframe(self, library: str | None = None) -> Any:
        """The calls as a data frame of pandas, or of polars where that is what is installed.

        Parameters
        ----------
        library
            ``pandas`` or ``polars``; None: the first that is installed.

        Raises
        ------
        MissingExtraError
            Neither is installed.
        UsageError
            Another library was asked for.
        """
        if library not in (None, *_FRAMES):
            raise UsageError(f"{library}: is no library for data frames; expected pandas or polars")
        for name in _FRAMES if library is None else (library,):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            return module.DataFrame(self.columns())
        raise MissingExtraError(f"to_dataframe() ({library or 'pandas or polars'})", "frames")


def load(
    dump: Path | str,
    names: Path | str | NameFile | None = None,
    *,
    trigger_cost_us: float = 0.0,
    **options: Any,
) -> Run:
    """Read a capture and the name file that belongs to it.

    Parameters
    ----------
    names
        The name file; None: the one beside the capture.
    trigger_cost_us
        What a trigger costs, taken out of every interval.
    options
        As of `kprof.capture.open_capture`.

    Warns
    -----
    UserWarning
        An option was not used, for the file itself knows better; damage was tolerated; a guess was
        made; the name file is of another build: what the commands say on stderr.

    Raises
    ------
    KprofError
        One of them cannot be read, or there is no name file.
    """
    capture = open_capture(dump, **options)
    for said in capture.info.warnings:
        warnings.warn(said, stacklevel=2)
    if names is None:
        found = find_names(Path(dump), capture.info.names_sha256)
        if found is None:
            raise UsageError(f"{dump}: no name file beside it; give one: load(dump, names)")
        names = found
    source = "the name file given" if isinstance(names, NameFile) else str(names)
    known = None
    if not isinstance(names, NameFile):
        known = read_calls(names)
        names = read_names(Path(names))
    other = names_mismatch(capture, names, source)
    if other:
        warnings.warn(other, stacklevel=2)
    cost = to_ticks(Fraction(trigger_cost_us).limit_denominator(10**6), capture.info.clock_hz)
    return Run(capture, names, cost, known)
