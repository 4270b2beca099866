"""What the browser shows, each part read when it is first asked for."""

from __future__ import annotations

from functools import cached_property

from kprof.analysis.overview import CallTable, call_table
from kprof.analysis.replay.tags import TagTable
from kprof.analysis.selection import Selection, distributions
from kprof.analysis.summary import Summary, summarise
from kprof.capture.model import Capture
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge
from kprof.report.choose import has_filter, trigger_cost
from kprof.report.distribution import distribution_lines
from kprof.report.request import Request
from kprof.report.shown import Shown, shown
from kprof.report.summary import capture_line
from kprof.report.units import Units, percent, safe_name


class Reading:
    """A capture and what a request keeps of it.

    Parameters
    ----------
    span
        See `kprof.report.shown.shown`.
    """

    def __init__(
        self,
        capture: Capture,
        names: NameFile,
        known: CallKnowledge | None = None,
        request: Request | None = None,
        *,
        span: tuple[int, int] | None = None,
    ) -> None:
        self._asked = (capture, names, known, request or Request())
        self.span = span

    def within(self, span: tuple[int, int] | None) -> Reading:
        """The same with only the calls that begin from one time to another; None: with all."""
        return Reading(*self._asked, span=span)

    @cached_property
    def summary(self) -> Summary:
        """The figures of the functions; at 1e7 events the first that is there."""
        capture, names, known, request = self._asked
        if self.span is not None or has_filter(request):
            return self.shown.summary
        return summarise(capture, names, trigger_cost=trigger_cost(capture, request), known=known)

    @cached_property
    def shown(self) -> Shown:
        """The call paths and the interrupts."""
        return shown(*self._asked, span=self.span)

    @cached_property
    def calls(self) -> CallTable:
        """Every call."""
        return call_table(self.shown.found)

    def distribution(self, function: int) -> list[str]:
        """The lines of ``kprof report --hist``."""
        stream, chosen = self.shown.found.stream, self.shown.found.chosen
        total, own = distributions(stream, Selection(stream, chosen), function)
        units = Units(stream.info.clock_hz)
        name = safe_name(self.tags.functions[function].name)
        lines = distribution_lines(f"{name}, total (elapsed)", total, units)
        return [*lines, "", *distribution_lines(f"{name}, self (net)", own, units)]

    @cached_property
    def tags(self) -> TagTable:
        """The functions and inline triggers by their numbers."""
        return TagTable.of(self._asked[1], self._asked[0].info)

    @property
    def tasks(self) -> dict[int, str]:
        """The names of tasks, by their contexts."""
        return self.shown.found.tasks

    @property
    def said(self) -> str:
        """What the filters left out."""
        request = self._asked[3]
        return self.shown.said if self.span is not None or has_filter(request) else ""

    def totals(self) -> str:
        """One line: the times of the run, or the range."""
        ledger, info = self.summary.ledger, self.summary.info
        units = Units(info.clock_hz)
        if self.span is not None:
            first, last = (units.text(ticks) for ticks in self.span)
            return f"Calls that began from {first} to {last} us  (\\ the whole run)"
        parts = [f"Elapsed {units.seconds(ledger.elapsed)}"]
        for label, ticks in (("run", ledger.run), ("idle", ledger.idle)):
            parts.append(f"{label} {percent(ticks, ledger.elapsed):.2f}%")
        parts.append(f"{self.summary.events} events")
        return "  ".join([*parts, self.said] if self.said else parts)

    def about(self) -> str:
        """What the capture is, and what was odd in it."""
        odd = self.summary.anomalies
        return (
            f"{capture_line(self.summary)}\n{self.totals()}\n"
            f"{odd.context_switches} context switches, {odd.contexts} tasks, "
            f"{odd.orphan_exits} orphan exits, {odd.open_calls} open calls, "
            f"{odd.unwound_calls} unwound calls"
        )
