"""How a figure went over the runs of a history: a plot, its change points, what each changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from kprof.analysis.figures import SHARES, canonical, figure_names, reader
from kprof.analysis.measures import Measure
from kprof.analysis.questions import near
from kprof.errors import UsageError
from kprof.fleet.changes import Change, change_points
from kprof.fleet.history import RunRow
from kprof.report.sparkline import BLOCKS
from kprof.report.units import safe_name

WIDTH = 64
_QUANTILES = (50, 90, 99)


@dataclass(frozen=True)
class Trend:
    """A figure of one function over the runs.

    Attributes
    ----------
    name, figure
        The function, and which figure of it.
    runs
        Those in which the function has the figure, in the order of their times.
    values
        The figure in each: microseconds, or a count.
    changes
        Where its level changes.
    """

    name: str
    figure: str
    runs: tuple[RunRow, ...]
    values: tuple[float, ...]
    changes: tuple[Change, ...]

    def newest(self, within: int) -> Change | None:
        """The last change point, if no more than so many runs are past it."""
        if self.changes and len(self.values) - self.changes[-1].at <= within:
            return self.changes[-1]
        return None

    def parts(self, change: Change) -> tuple[Sequence[RunRow], Sequence[RunRow]]:
        """The runs before and after a change point, up to the next ones."""
        edges = [0, *(one.at for one in self.changes), len(self.runs)]
        place = edges.index(change.at)
        return self.runs[edges[place - 1] : change.at], self.runs[change.at : edges[place + 1]]


def checked_figure(name: str) -> str:
    """The figure that is meant.

    Raises
    ------
    UsageError
        There is none of that name, or it is a share of one run.
    """
    figure = canonical(name)
    if figure is None:
        raise UsageError(f"{name}: is no figure{near(name, figure_names())}")
    if figure in SHARES:
        raise UsageError(f"{name}: is a share of one run; expected a figure such as self-avg")
    return figure


def trends(rows: Iterable[RunRow], figure: str, tags: Mapping[str, str]) -> list[Trend]:
    """The trend of every function, by name.

    Parameters
    ----------
    figure
        As of `checked_figure`.
    tags
        Only runs that have all of these.
    """
    wanted = [row for row in rows if tags.items() <= row.tags.items()]
    read = reader(figure, 1)
    found = []
    by_name = sorted(wanted, key=lambda row: row.function.entry.name)
    for name, group in groupby(by_name, key=lambda row: row.function.entry.name):
        measured = [(row, read(row.function)) for row in sorted(group, key=_when)]
        known = [(row, value) for row, value in measured if value is not None]
        us = [1.0 if figure == "call" else float(1_000_000 / row.hz) for row, _ in known]
        values = [float(value) * scale for (_, value), scale in zip(known, us, strict=True)]
        changes = tuple(change_points(values))
        runs = tuple(row for row, _ in known)
        found.append(Trend(name, figure, runs, tuple(values), changes))
    return found


def _when(row: RunRow) -> Any:
    return row.time, row.run


def trend_lines(trend: Trend) -> list[str]:
    """One function: a plot, and each change with what it changed."""
    values = trend.values
    if not values:
        return [f"{safe_name(trend.name)}: no run has {trend.figure}"]
    first, last = trend.runs[0].time, trend.runs[-1].time
    lines = [
        f"{safe_name(trend.name)}: {trend.figure} of {len(values):,} runs, {first:%Y-%m-%d} to "
        f"{last:%Y-%m-%d}",
        f"{min(values):.2f} |{_plot(values)}| {max(values):.2f}{_unit(trend)}",
    ]
    if not trend.changes:
        lines.append("no change point")
    for change in trend.changes:
        run = trend.runs[change.at]
        lines += [
            "",
            f"run {change.at + 1}, {run.time:%Y-%m-%d %H:%M}: {change.before:.2f} -> "
            f"{change.after:.2f}{_unit(trend)} ({_share(change)})  {_tags(run)}",
        ]
        for word, part in zip(("before", "after"), trend.parts(change), strict=True):
            lines.append(f"  {word:<6} {len(part):>5} runs: {_distribution(part)}")
    return lines


def table_lines(every: Sequence[Trend]) -> list[str]:
    """All functions: the newest figure, and the last change; those that changed first."""
    lines = [f"{'newest':>12}  {'runs':>6}  {'changes':>7}  {'last change':>11}  since / name"]
    for trend in sorted(every, key=lambda one: (-_size(one), one.name)):
        if not trend.values:
            continue
        last = trend.changes[-1] if trend.changes else None
        since = f"{_tags(trend.runs[last.at])}  " if last else ""
        lines.append(
            f"{trend.values[-1]:>12.2f}  {len(trend.values):>6}  {len(trend.changes):>7}  "
            f"{_share(last) if last else '-':>11}  {since}{safe_name(trend.name)}"
        )
    return lines


def trend_object(trend: Trend) -> dict[str, Any]:
    """The same as a JSON object."""
    return {
        "function": trend.name,
        "figure": trend.figure,
        "runs": [
            {"run": run.run, "time": run.time.isoformat(), "tags": run.tags, "value": value}
            for run, value in zip(trend.runs, trend.values, strict=True)
        ],
        "changes": [
            {
                "at": change.at,
                "run": trend.runs[change.at].run,
                "tags": trend.runs[change.at].tags,
                "before": change.before,
                "after": change.after,
                "share": None if math.isinf(change.share) else change.share,
            }
            for change in trend.changes
        ],
    }


def _size(trend: Trend) -> float:
    return abs(trend.changes[-1].share) if trend.changes else 0.0


def _share(change: Change) -> str:
    return "from 0" if math.isinf(change.share) else f"{100 * change.share:+.1f}%"


def _unit(trend: Trend) -> str:
    return "" if trend.figure == "call" else " us"


def _tags(run: RunRow) -> str:
    tags = " ".join(f"{key}={value}" for key, value in sorted(run.tags.items()))
    return safe_name(tags) if tags else run.run


def _distribution(runs: Sequence[RunRow]) -> str:
    """The calls of some runs together, net times."""
    whole = Measure()
    for run in runs:
        whole.merge(run.function.own)
    us = float(1_000_000 / runs[0].hz)
    shown = [(f"p{share}", whole.percentile(share)) for share in _QUANTILES]
    figures = [f"{name} {value * us:.2f}" for name, value in shown if value is not None]
    most = f", max {whole.most * us:.2f} us" if whole.most is not None else ""
    return f"{whole.count:,} calls, net {', '.join(figures)}{most}"


def _plot(values: Sequence[float]) -> str:
    """The medians of up to 64 parts of the runs as blocks."""
    width = min(WIDTH, len(values))
    edges = [len(values) * n // width for n in range(width + 1)]
    parts = [sorted(values[a:b]) for a, b in pairwise(edges)]
    middle = [part[len(part) // 2] for part in parts]
    low, high = min(values), max(values)
    scale = (len(BLOCKS) - 2) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[1 + round((value - low) * scale)] for value in middle)
