"""From captures and name files to the page: replay, summarise, look up sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kprof.capture.model import Capture
from kprof.instrument.definitions import definitions
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge
from kprof.report.html.page import SourceText, html_page
from kprof.report.request import Request
from kprof.report.shown import shown

_MOST_SOURCE_BYTES = 8 << 20


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
    run = shown(capture, names, known, request)
    ran = {row.entry.name for row in run.summary.functions}
    sources = _sources(names, ran, source_root, with_sources) if source_root else []
    return html_page(
        run,
        before=shown(*before, before_known, replace(request, irqs=())) if before else None,
        sources=sources,
    )


def _sources(names: NameFile, ran: set[str], root: Path, with_text: bool) -> list[SourceText]:
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
