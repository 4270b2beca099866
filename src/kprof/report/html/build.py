"""From captures and name files to the page: replay, summarise, look up sources."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kprof.analysis.interrupts import interrupt_functions
from kprof.capture.model import Capture
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge
from kprof.report.html.page import Run, SourceText, html_page
from kprof.report.request import Request

_MOST_SOURCE_BYTES = 8 << 20
_MOST_PATHS, _DEEPEST_PATH = 20_000, 250


def html_parts(
    capture: Capture,
    names: NameFile,
    *,
    known: CallKnowledge | None = None,
    before: tuple[Capture, NameFile] | None = None,
    before_known: CallKnowledge | None = None,
    request: Request | None = None,
    source_root: Path | None = None,
    with_sources: bool = False,
) -> Iterable[str]:
    """The page of a capture in parts.

    Parameters
    ----------
    known
        What can call what in the program, where that is known.
    before, before_known
        Another capture with its name file to compare with, and what is known of its program.
    request
        The filters, the cost of a trigger and the interrupts that are named.
    source_root
        The folder that the name file's source paths start from; None: sources are not looked up.
    with_sources
        Put the text of the sources into the page, not only where each function begins.
    """
    request = request or Request()
    run = chosen_calls(capture, names, known, request)
    ran = {row.entry.name for row in run.summary.functions}
    sources = _sources(names, ran, source_root, with_sources) if source_root else []
    return html_page(
        run,
        before=chosen_calls(*before, before_known, request) if before else None,
        sources=sources,
        interrupts=[
            run.timeline.functions[function].name
            for function in interrupt_functions(run.timeline, request.irqs)
        ],
    )


def chosen_calls(
    capture: Capture, names: NameFile, known: CallKnowledge | None, request: Request
) -> Run:
    """The capture, with the calls that the filters of the request keep.

    Raises
    ------
    UsageError
        A filter names what is not there, or the triggers cannot have cost so much.
    """
    from kprof.analysis.calls import timeline
    from kprof.analysis.selection import Selection, kept_paths
    from kprof.analysis.stream import Stream
    from kprof.analysis.summary import summarise
    from kprof.report.choose import filter_of, kept_mask, trigger_cost

    cost = trigger_cost(capture, request)
    lines = timeline(capture, names, trigger_cost=cost, known=known)
    stream = Stream(capture, names, trigger_cost=cost, known=known)
    selection = Selection(stream, filter_of(stream.info, request))
    tree = kept_paths(stream, selection).merged().largest(_MOST_PATHS, _DEEPEST_PATH)
    run = Run(summarise(capture, names, trigger_cost=cost, known=known), lines, tree)
    keep = kept_mask(lines, request)
    if keep is None:
        return run
    from kprof.report.html.chosen import chosen_run

    return chosen_run(run, keep)


def _sources(names: NameFile, ran: set[str], root: Path, with_text: bool) -> list[SourceText]:
    from kprof.report.annotate import definitions

    paths = sorted({e.source for e in names.entries if e.source and e.name in ran})
    found: list[SourceText] = []
    size = 0
    for path in paths:
        known = definitions(root / path, names)
        if known is None or size + len(known.text) > _MOST_SOURCE_BYTES:
            continue
        size += len(known.text)
        lines = {d.entry.name: (d.first, d.last) for d in known.definitions}
        shown = path.removeprefix("../").removeprefix("./")
        found.append(SourceText(shown, known.text if with_text else "", lines))
    return found
