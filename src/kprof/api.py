"""kprof in a notebook or a script: the values of the reports, as tables of numpy columns.

::

    import kprof
    run = kprof.load("dump.bin")
    run.functions.head()                    # a table: function, calls, elapsed_us, net_us, ...
    run["lanisr"].calls.sort("net_us")      # every call of one function
    print(run.trace(only="ipintr"))         # the nested trace
    run.diff(kprof.load("after.bin"))       # what changed
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, overload

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.calls import Marks, Timeline, timeline
from kprof.analysis.compare import Difference, compare
from kprof.analysis.measured import measure
from kprof.analysis.replay.codes import INNER, OPEN, ORPHAN, RESUMED, UNWOUND
from kprof.analysis.statistics import FunctionStatistics, Statistics, merge_statistics, statistics
from kprof.analysis.summary import Summary, summarise
from kprof.capture.match import names_mismatch
from kprof.capture.model import Capture
from kprof.capture.open import open_capture
from kprof.errors import UsageError
from kprof.frame import Frame, text_column
from kprof.names import NameFile, find_names, format_names, read_names
from kprof.names.calls import CallKnowledge, read_calls
from kprof.report.choose import report_parts
from kprof.report.diff import diff_lines
from kprof.report.request import Request
from kprof.report.units import percent
from kprof.times import to_ticks

__all__ = ["Comparison", "Frame", "Function", "Run", "Runs", "Text", "load", "load_many"]

_STATES = {
    "resumed": RESUMED, "unwound": UNWOUND, "open": OPEN, "orphan": ORPHAN, "inner": INNER
}  # fmt: skip
Patterns = str | Sequence[str]


class Text(str):
    """A report as text; a notebook shows it as it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False)
class Function:
    """One function of a run.

    Attributes
    ----------
    run
        The run.
    statistics
        Its sums and distributions, times in ticks.
    """

    run: Run
    statistics: FunctionStatistics

    @property
    def name(self) -> str:
        """Its name."""
        return self.statistics.entry.name

    @property
    def figures(self) -> dict[str, Any]:
        """Its row of `Run.functions`."""
        return next(_functions([self.statistics], self.run.statistics).rows())

    @property
    def calls(self) -> Frame:
        """Its calls, in the order of their entries."""
        mine: NDArray[np.bool_] = self.run.calls["function"] == self.name
        return self.run.calls[mine]

    def worst(self, calls: int = 1, *, by: str = "total") -> Text:
        """The trace of its slowest calls, by ``total`` or ``net`` time."""
        return self.run.report("worst", self.name, many=calls, by=by)

    def hist(self) -> Text:
        """The distributions of its total and net time."""
        return self.run.report("hist", self.name)

    def __repr__(self) -> str:
        figures = self.figures
        return (
            f"{self.name}: {figures['calls']} calls, {figures['elapsed_us']:g} us elapsed, "
            f"{figures['net_us']:g} us net ({figures['pct_net']:.2f}% of the run time)"
        )


@dataclass(frozen=True, eq=False)
class Run:
    """A capture with its names; everything else is computed when it is first asked for.

    Two runs are equal when their events, their names and the cost of a trigger are.

    Attributes
    ----------
    capture, names
        As they were read.
    trigger_cost
        Ticks subtracted for each trigger.
    known
        What can call what, if the name file has its call knowledge beside it.
    """

    capture: Capture
    names: NameFile
    trigger_cost: Fraction = Fraction(0)
    known: CallKnowledge | None = None

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def summary(self) -> Summary:
        """The figures of the summary report, times in ticks."""
        return summarise(self.capture, self.names, trigger_cost=self.trigger_cost, known=self.known)

    @cached_property
    def statistics(self) -> Statistics:
        """The functions with their distributions, times in ticks; mergeable."""
        return statistics(
            self.capture, self.names, trigger_cost=self.trigger_cost, known=self.known
        )

    @cached_property
    def timeline(self) -> Timeline:
        """Every call and mark as columns of ticks."""
        return timeline(self.capture, self.names, trigger_cost=self.trigger_cost, known=self.known)

    @property
    def marks(self) -> Marks:
        """Inline triggers and context switches."""
        return self.timeline.marks

    @cached_property
    def functions(self) -> Frame:
        """A row for each function that ran, the largest net time first; times in microseconds."""
        return _functions(self.statistics.functions.values(), self.statistics)

    @cached_property
    def calls(self) -> Frame:
        """A row for each call, in the order of entries; times in microseconds.

        ``resumed``, ``unwound``, ``open``, ``orphan`` and ``inner`` are true or false; `parent` is
        the row of the caller, or -1.
        """
        lines, calls = self.timeline, self.timeline.calls
        names = text_column(entry.name for entry in lines.functions)
        none = text_column([""])
        times = ("entry", "exit", "elapsed", "net", "wall")
        return Frame(
            {
                "function": (names if len(names) else none)[calls.function],
                **{f"{name}_us": lines.us(getattr(calls, name)) for name in times},
                **{name: getattr(calls, name) for name in ("depth", "parent", "context")},
                **{name: (calls.flags & flag) != 0 for name, flag in _STATES.items()},
            }
        )

    def to_dataframe(self, library: str | None = None) -> Any:
        """The calls as a data frame; see `Frame.to_dataframe`."""
        return self.calls.to_dataframe(library)

    def __getitem__(self, name: str) -> Function:
        """A function that ran, by its name."""
        found = self.statistics.functions.get(name)
        if found is None:
            raise KeyError(f"{name}: did not run, or is not in the name file")
        return Function(self, found)

    def __contains__(self, name: object) -> bool:
        return name in self.statistics.functions

    def report(self, name: str, *subject: str, **options: Any) -> Text:
        """A report as `kprof NAME` prints it.

        Parameters
        ----------
        name
            ``summary``, ``trace``, ``graph``, ``hist``, ``worst``, ``between``, ``tasks`` or
            ``interrupts``.
        subject
            The function, or the two inline triggers.
        options
            Fields of `kprof.report.request.Request`, such as ``many=3``.

        Raises
        ------
        UsageError
            The report does not exist, or what it is about does not.
        """
        from kprof.report.registry import REPORTS

        known = Request.__dataclass_fields__
        wrong = [option for option in options if option not in known]
        if name not in REPORTS or not REPORTS[name].text or wrong:
            what = f"option {wrong[0]}" if wrong else f"report {name}"
            there = sorted(known) if wrong else [r.name for r in REPORTS.values() if r.text]
            raise UsageError(f"{what}: does not exist; expected one of {', '.join(there)}")
        for key in ("only", "without", "callers", "hide"):
            if isinstance(options.get(key), str):
                options[key] = (options[key],)
        request = Request(what=name, subject=subject, trigger_cost=self._cost(), **options)
        return Text("".join(report_parts(self.capture, self.names, request, known=self.known)))

    def trace(
        self,
        *,
        only: Patterns = (),
        without: Patterns = (),
        callers: Patterns = (),
        hide: Patterns = (),
        depth: int | None = None,
        least: str | None = None,
        span: str | None = None,
        around: str | None = None,
        many: int = 5,
    ) -> Text:
        """The nested trace.

        Parameters
        ----------
        only, without, callers, hide
            Patterns of functions: the filters ``-F -N -C -H``.
        depth
            Only so many outermost levels.
        least
            Only calls of at least this time, such as ``"500us"``.
        span
            Only calls that begin in this range, such as ``"10ms~20ms"``.
        around, many
            Only `many` events on each side of this time.
        """
        return self.report(
            "trace",
            only=only,
            without=without,
            callers=callers,
            hide=hide,
            depth=depth,
            least=least,
            span=span,
            around=around,
            many=many,
        )

    def diff(self, other: Run | Runs) -> Comparison:
        """What changed from this run to `other`, as `kprof diff` judges it."""
        return Runs((self,)).diff(other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Run):
            return NotImplemented
        mine, its = self.capture, other.capture
        return (
            (mine.info.clock_hz, self.trigger_cost) == (its.info.clock_hz, other.trigger_cost)
            and format_names(self.names) == format_names(other.names)
            and bool(np.array_equal(mine.ticks(), its.ticks()))
            and bool(np.array_equal(mine.tags(), its.tags()))
        )

    def __repr__(self) -> str:
        ledger, hz = self.summary.ledger, self.capture.info.clock_hz
        parts = {"elapsed": ledger.elapsed, "run": ledger.run, "idle": ledger.idle}
        times = ", ".join(f"{name} {float(value / hz):.6f} s" for name, value in parts.items())
        top = ", ".join(self.functions["function"][:3])
        return (
            f"kprof.Run of {self.capture.info.source or 'memory'}: {self.capture.events} events\n"
            f"  {times}\n"
            f"  {len(self.functions)} functions ran, most net time: {top or '-'}"
        )

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(repr(self))}</pre>{self.functions._repr_html_()}"

    def _cost(self) -> str | None:
        if not self.trigger_cost:
            return None
        return f"{float(self.trigger_cost * 1_000_000 / self.capture.info.clock_hz):.9f}us"


@dataclass(frozen=True)
class Runs(Sequence[Run]):
    """Several runs of one program.

    Attributes
    ----------
    runs
        In the order in which they were given.
    """

    runs: tuple[Run, ...]

    def __len__(self) -> int:
        return len(self.runs)

    @overload
    def __getitem__(self, at: int) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> Runs: ...
    def __getitem__(self, at: int | slice) -> Run | Runs:
        """One of the runs, or `Runs` for a slice."""
        return Runs(self.runs[at]) if isinstance(at, slice) else self.runs[at]

    @cached_property
    def statistics(self) -> Statistics:
        """The statistics of all runs together."""
        return merge_statistics([run.statistics for run in self.runs])

    @cached_property
    def functions(self) -> Frame:
        """As `Run.functions`, of all runs together."""
        return _functions(self.statistics.functions.values(), self.statistics)

    def diff(self, other: Run | Runs) -> Comparison:
        """What changed from these runs to others.

        Raises
        ------
        UsageError
            Their clocks differ.
        """
        sides = [self.runs, other.runs if isinstance(other, Runs) else (other,)]
        clocks = {run.capture.info.clock_hz for side in sides for run in side}
        if len(clocks) > 1:
            raise UsageError(f"clocks of {' and '.join(map(str, sorted(clocks)))} Hz; expected one")
        before, after = (
            [
                measure(run.capture, run.names, run.known, trigger_cost=run.trigger_cost)
                for run in side
            ]
            for side in sides
        )
        return Comparison(compare(before, after))

    def __repr__(self) -> str:
        return f"kprof.Runs: {len(self)} runs\n" + "\n".join(map(repr, self.runs))


@dataclass(frozen=True)
class Comparison:
    """Two sides compared.

    Attributes
    ----------
    difference
        The judgement of each function and call path, times in ticks.
    """

    difference: Difference

    @property
    def text(self) -> Text:
        """As `kprof diff` prints it."""
        return Text("".join(line + "\n" for line in diff_lines(self.difference)))

    @property
    def functions(self) -> Frame:
        """A row for each function: net time before and after, and whether it changed."""
        rows = self.difference.functions
        hz = float(self.difference.before[0].info.clock_hz)
        sides = [[one.before for one in rows], [one.after for one in rows]]
        nets = [np.array([s.net if s else 0 for s in side]) * 1e6 / hz for side in sides]
        calls = [np.array([s.calls if s else 0 for s in side], np.int64) for side in sides]
        return Frame(
            {
                "function": text_column(one.name for one in rows),
                "changed": np.array([one.changed for one in rows], np.bool_),
                "p_value": np.array([one.p_value for one in rows], np.float64),
                "calls_before": calls[0],
                "calls_after": calls[1],
                "net_us_before": nets[0],
                "net_us_after": nets[1],
            }
        )

    def __repr__(self) -> str:
        changed = [one.name for one in self.difference.functions if one.changed]
        return (
            f"kprof.Comparison: {len(changed)} functions changed: {', '.join(changed[:5]) or '-'}"
        )

    def _repr_html_(self) -> str:
        return self.functions._repr_html_()


def load(
    dump: Path | str | BinaryIO,
    names: Path | str | NameFile | None = None,
    *,
    trigger_cost_us: float = 0.0,
    valid: int | str | None = None,
    previous: Path | str | None = None,
    record_order: str | None = None,
    verify: bool | None = None,
    damaged_ok: bool = False,
) -> Run:
    """Read a capture and the name file that belongs to it.

    Parameters
    ----------
    dump
        A path, or a file that is open for reading bytes.
    names
        The name file; None: the one beside the capture.
    trigger_cost_us
        Microseconds subtracted for each trigger.
    valid, previous, record_order, verify, damaged_ok
        See `kprof.capture.open.open_capture`.

    Warns
    -----
    UserWarning
        What the commands print on stderr: an option that the file does not need, damage that was
        tolerated, a guess, a name file of another build.

    Raises
    ------
    KprofError
        A file cannot be read, or the name file is missing.
    """
    capture = open_capture(
        dump,
        valid=valid,
        previous=previous,
        record_order=record_order,
        verify=verify,
        damaged_ok=damaged_ok,
    )
    for said in capture.info.warnings:
        warnings.warn(said, stacklevel=2)
    if names is None:
        path = Path(capture.info.source) if hasattr(dump, "read") else Path(dump)
        found = find_names(path, capture.info.names_sha256)
        if found is None:
            raise UsageError(f"{path}: no name file beside it; give one: load(dump, names)")
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


def load_many(
    dumps: Iterable[Path | str | BinaryIO],
    names: Path | str | NameFile | None = None,
    *,
    trigger_cost_us: float = 0.0,
) -> Runs:
    """Read several captures of one program, as `load` reads one."""
    return Runs(tuple(load(dump, names, trigger_cost_us=trigger_cost_us) for dump in dumps))


def _functions(rows: Iterable[FunctionStatistics], all_of: Statistics) -> Frame:
    """The table of functions, the largest net time first."""
    found = sorted(rows, key=lambda f: (-f.net, f.entry.name))
    to_us = 1e6 / float(all_of.info.clock_hz)
    ledger = all_of.ledger

    def times(values: Iterable[float | None]) -> Any:
        return np.array([np.nan if v is None else v * to_us for v in values], np.float64)

    return Frame(
        {
            "function": text_column(f.entry.name for f in found),
            "calls": np.array([f.calls for f in found], np.int64),
            "elapsed_us": times(f.elapsed for f in found),
            "net_us": times(f.net for f in found),
            "max_us": times(f.own.most for f in found),
            "avg_us": times(f.own.mean for f in found),
            "min_us": times(f.own.least for f in found),
            "p50_us": times(f.own.percentile(50) for f in found),
            "p99_us": times(f.own.percentile(99) for f in found),
            "pct_real": np.array([percent(f.net, ledger.elapsed) for f in found], np.float64),
            "pct_net": np.array([percent(f.net, ledger.run) for f in found], np.float64),
        }
    )
