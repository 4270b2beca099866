"""A capture as the page and the terminal browser show it, with what the filters keep of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kprof.analysis.overview import Overview, overview
from kprof.analysis.paths import PathTree
from kprof.analysis.questions import function_number
from kprof.analysis.stream import Stream
from kprof.analysis.summary import Summary
from kprof.capture.model import Capture
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge
from kprof.report.choose import filter_of, trigger_cost
from kprof.report.request import Request
from kprof.report.units import Units, percent

_MOST_PATHS, _DEEPEST_PATH = 20_000, 250


@dataclass(frozen=True)
class Shown:
    """What is shown of one capture.

    Attributes
    ----------
    tree
        The call paths, those of all contexts as one.
    said
        What the filters left out.
    """

    found: Overview
    tree: PathTree
    said: str = ""

    @property
    def summary(self) -> Summary:
        """Its functions are those that stay."""
        return self.found.summary


def shown(
    capture: Capture,
    names: NameFile,
    known: CallKnowledge | None,
    request: Request,
    *,
    span: tuple[int, int] | None = None,
) -> Shown:
    """Read a capture once, with the filters, the triggers' cost and the interrupts of a request.

    Parameters
    ----------
    span
        Only calls that begin from one time to another, in ticks; instead of the request's range.

    Raises
    ------
    UsageError
        A filter or ``--irq`` names what is not there, or the triggers cannot have cost so much.
    """
    cost = trigger_cost(capture, request)
    stream = Stream(capture, names, trigger_cost=cost, known=known)
    irqs = tuple(function_number(stream, name) for name in request.irqs)
    chosen = filter_of(stream.info, request)
    if span is not None:
        chosen = replace(chosen, start=span[0], end=span[1])
    found = overview(stream, chosen, named=irqs, cost=cost)
    tree = found.tree.merged().largest(_MOST_PATHS, _DEEPEST_PATH)
    return Shown(found, tree, _left_out(found))


def _left_out(found: Overview) -> str:
    calls, lost = found.left_out
    if not found.chosen:
        return ""
    share = percent(lost, found.summary.ledger.elapsed)
    net = Units(found.stream.info.clock_hz).text(lost)
    return f"left out by filters: {calls} calls, {net} us net ({share}%)"
