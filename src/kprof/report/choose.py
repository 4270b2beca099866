"""Which report: from a capture and the options of `kprof report` to text, in parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kprof.capture.model import Capture
from kprof.names import NameFile

_LINES = 4096


def report_parts(
    capture: Capture, names: NameFile, *, trace: bool = False, form: str = "text"
) -> Iterator[str]:
    """The report as pieces of text to be written one after another.

    Parameters
    ----------
    trace
        The trace instead of the summary.
    form
        ``text`` or ``json``.
    """
    if trace:
        from kprof.analysis.calls import timeline
        from kprof.report.trace import trace_json, trace_lines

        whole = timeline(capture, names)
        if form == "json":
            yield _json(trace_json(whole))
            return
        lines: list[str] = []
        for line in trace_lines(whole):
            lines.append(line)
            if len(lines) == _LINES:
                yield "\n".join(lines) + "\n"
                lines.clear()
        if lines:
            yield "\n".join(lines) + "\n"
        return
    from kprof.analysis.summary import summarise
    from kprof.report.summary import summary_json, summary_text

    summary = summarise(capture, names)
    yield _json(summary_json(summary)) if form == "json" else summary_text(summary)


def _json(value: dict[str, Any]) -> str:
    import json

    return json.dumps(value, indent=1) + "\n"
