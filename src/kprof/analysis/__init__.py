"""From events to calls: the replay, the summary, the timeline. See ``docs/analysis.md``.

What is named here is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kprof.analysis.calls import Calls, Marks, Timeline, timeline
    from kprof.analysis.summary import Summary, summarise

_HOMES = {
    "Calls": "calls",
    "Marks": "calls",
    "Summary": "summary",
    "Timeline": "calls",
    "summarise": "summary",
    "timeline": "calls",
}

__all__ = ["Calls", "Marks", "Summary", "Timeline", "summarise", "timeline"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
