"""How text reports are drawn: by the terminal, its pager, and what the user wants."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kprof.report.style import Style

if TYPE_CHECKING:
    from kprof.cli.source import Opened

_MOST_EVENTS = 500_000
_STRIP = 64
_LINKS_IN_LESS = 566  # its first version that passes OSC 8
_VERSION = re.compile(r"less (\d+)")


def wants_colour(choice: str, target: str = "-") -> bool:
    """Colour: by the choice; for ``auto`` on a terminal, unless NO_COLOR is set."""
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return target == "-" and sys.stdout.isatty() and not plain


def style_for(choice: str, target: str = "-", *, marks: bool = False, paged: bool = False) -> Style:
    """The style of a text report.

    Parameters
    ----------
    choice
        The option ``--color``.
    target
        Where the report goes; ``-`` is stdout.
    paged
        A terminal gets it through the user's pager, which may not pass colours or links.
    """
    terminal = target == "-" and sys.stdout.isatty()
    colour = wants_colour(choice, target) and not (paged and terminal and not _pager_passes("r"))
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return Style(
        colour=colour,
        boxes=colour and utf8,
        marks=marks,
        width=shutil.get_terminal_size().columns if terminal and not paged else None,
    )


def full_style(style: Style, run: Opened, names: str | None, *, paged: bool, strip: bool) -> Style:
    """The style with links to the sources, and the strip of the run's depth.

    Parameters
    ----------
    names
        The name file's path where it was named; sources are looked for from its folder.
    """
    if not style.colour:
        return style
    from kprof.cli.page import source_root
    from kprof.report.annotate import source_links

    capture, name_file, known = run
    line = ""
    if strip and capture.events <= _MOST_EVENTS:
        from kprof.analysis.calls import timeline
        from kprof.report.sparkline import depth_strip

        lines = timeline(capture, name_file, known=known)
        room = min(_STRIP, (style.width or 2 * _STRIP) - 16)
        line = depth_strip(lines, room, ascii_only=not style.boxes) if room > 8 else ""
    links = {}
    if not (paged and sys.stdout.isatty()) or _pager_passes("links"):
        root = source_root(capture.info.source, names, capture)
        links = source_links(name_file, root) if root else {}
    return replace(style, links=links, strip=line)


def _pager_passes(what: str) -> bool:
    """Does the user's pager pass colours (``r``), or also ``links``?

    click takes the colours out for any other pager than less.
    """
    pager = (os.environ.get("PAGER") or "less").split()
    if Path(pager[0]).name != "less":
        return False
    options = f"{os.environ.get('LESS', '')} {' '.join(pager[1:])}"
    if options.strip() and not re.search(r"(^|\s)-\w*[rR]|RAW|raw", options):
        return False
    if what == "r":
        return True
    try:
        said = subprocess.run([pager[0], "--version"], capture_output=True, text=True).stdout
    except OSError:
        return False
    found = _VERSION.match(said)
    return found is not None and int(found[1]) >= _LINKS_IN_LESS
