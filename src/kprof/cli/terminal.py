"""Is it a terminal that is written to, and how does the user want it: the look of text reports."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kprof.cli.source import Opened
    from kprof.report.colour import Look

_MOST_EVENTS = 500_000
_STRIP = 64


def wants_colour(choice: str, target: str = "-") -> bool:
    """Colour: by the choice; for ``auto`` on a terminal, unless NO_COLOR is set."""
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return target == "-" and sys.stdout.isatty() and not plain


def dressed(
    parts: Iterable[str],
    run: Opened,
    names: str | None,
    *,
    colour: bool,
    marks: bool,
    summary: bool,
) -> Iterable[str]:
    """The report dressed; as it is where there is nothing to dress it with.

    Parameters
    ----------
    names
        The name file's path where it was named; sources are looked for from its folder.
    summary
        It is the summary: with a strip of the run's depth.
    """
    if not colour and not marks:
        return parts
    from kprof.report.colour import Look, dress

    look = _full_look(run, names, marks=marks, summary=summary) if colour else Look(marks=marks)
    return dress(parts, look)


def _full_look(run: Opened, names: str | None, *, marks: bool, summary: bool) -> Look:
    from kprof.cli.page import source_root
    from kprof.report.annotate import source_links
    from kprof.report.colour import Look

    capture, name_file, known = run
    strip = ""
    if summary and capture.events <= _MOST_EVENTS:
        from kprof.analysis.calls import timeline
        from kprof.report.sparkline import depth_strip

        utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        lines = timeline(capture, name_file, known=known)
        strip = depth_strip(lines, _STRIP, ascii_only=not utf8)
    root = source_root(capture.info.source, names, capture)
    links = source_links(name_file, root) if root else {}
    return Look(colour=True, marks=marks, links=links, strip=strip)
