"""Everything that a capture tells before it is analysed: what `kprof info` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np

from kprof.capture.match import ENTRIES, names_mismatch
from kprof.capture.model import Capture
from kprof.capture.tasks import TASK_MARKS, TASK_NAMES, TaskMarks
from kprof.names import NameFile, display_name


@dataclass(frozen=True)
class CaptureFacts:
    """What one pass over the events finds.

    Attributes
    ----------
    span_ticks
        From the first event to the last: the sum of `CaptureInfo.intervals`.
    longest_ticks, longest_at
        The longest interval between neighbours, and the index of the event that ends it.
    shortest_ticks
        The shortest interval; None where there are fewer than two events.
    distinct_tags, lowest_tag, highest_tag
        Of the events.
    unknown_events, unknown_tags
        Events whose tag is not in the name file, and how many different tags those have; None
        without a name file.
    """

    span_ticks: int
    longest_ticks: int
    longest_at: int
    shortest_ticks: int | None
    distinct_tags: int
    lowest_tag: int
    highest_tag: int
    unknown_events: int | None
    unknown_tags: int | None


@dataclass(frozen=True)
class HeldNames:
    """A name file held against the capture.

    Attributes
    ----------
    source
        Where it is from.
    sha256
        Of its text.
    mismatch
        Why it is of another build, or None.
    """

    source: str
    sha256: bytes
    mismatch: str | None


def held_names(capture: Capture, names: NameFile | None, source: str) -> HeldNames | None:
    """The name file held against the capture; None without one."""
    if names is None:
        return None
    return HeldNames(source, names.sha256(), names_mismatch(capture, names, source))


def examine(
    capture: Capture,
    names: NameFile | None = None,
    progress: Callable[[int], None] | None = None,
) -> CaptureFacts:
    """Read all events once; `progress` is called with the number reached."""
    counts = np.zeros(1 << 16, dtype=np.int64)
    span, longest, longest_at, shortest, last, done = 0, 0, 0, None, None, 0
    for ticks, tags in capture.chunks():
        counts += np.bincount(tags, minlength=1 << 16)
        steps = capture.info.intervals(ticks, last)
        real = steps[1:] if last is None else steps
        span += int(steps.sum())
        if len(real):
            top = int(real.max())
            if top > longest:
                longest, longest_at = top, done + int(np.argmax(steps))
            low = int(real.min())
            shortest = low if shortest is None else min(low, shortest)
        last, done = int(ticks[-1]), done + len(ticks)
        if progress:
            progress(done)
    present = np.flatnonzero(counts)
    unknown = None
    if names is not None:
        marks = capture.info.task_marks
        known = [*names.by_tag, *(marks.tags if marks else ())]
        unknown = np.setdiff1d(present, np.array(known, dtype=np.int64))
    return CaptureFacts(
        span_ticks=span,
        longest_ticks=longest,
        longest_at=longest_at,
        shortest_ticks=shortest,
        distinct_tags=len(present),
        lowest_tag=int(present[0]) if len(present) else 0,
        highest_tag=int(present[-1]) if len(present) else 0,
        unknown_events=None if unknown is None else int(counts[unknown].sum()),
        unknown_tags=None if unknown is None else len(unknown),
    )


def capture_as_json(
    capture: Capture, facts: CaptureFacts, names: HeldNames | None = None
) -> dict[str, Any]:
    """The capture and its facts as JSON values; times in us are of the capture's own clock."""
    info = capture.info
    tick_us = 1_000_000 / info.clock_hz
    return {
        "source": info.source,
        "form": info.form,
        "events": capture.events,
        "records": capture.events + (0 if capture.stale is None else len(capture.stale)),
        "valid_from": info.valid_from,
        "count_guessed": info.count_guessed,
        "full": info.full,
        "clock_hz": _number(info.clock_hz),
        "time_bits": info.time_bits,
        "tag_bits": info.tag_bits,
        "unwrapped": info.unwrapped,
        "span_us": _number(facts.span_ticks * tick_us),
        "longest_interval_us": _number(facts.longest_ticks * tick_us),
        "longest_interval_at": facts.longest_at,
        "shortest_interval_us": (
            None if facts.shortest_ticks is None else _number(facts.shortest_ticks * tick_us)
        ),
        "distinct_tags": facts.distinct_tags,
        "lowest_tag": facts.lowest_tag,
        "highest_tag": facts.highest_tag,
        "lost": info.lost,
        "some_lost": info.some_lost,
        "stale_tail": info.stale_tail,
        "holes": info.holes,
        "started_ns": info.started_ns or None,
        "names_sha256": info.names_sha256.hex() if info.names_sha256 else None,
        "names": names.source if names else None,
        "names_file_sha256": names.sha256.hex() if names else None,
        "names_match": names.mismatch is None if names and info.names_sha256 else None,
        "unknown_events": facts.unknown_events,
        "unknown_tags": facts.unknown_tags,
        "metadata": dict(info.metadata),
        "warnings": list(info.warnings),
    }


def describe_capture(capture: Capture, facts: CaptureFacts, names: HeldNames | None = None) -> str:
    """The capture and its facts as lines of text."""
    info = capture.info
    records = capture.events + (0 if capture.stale is None else len(capture.stale))
    tick_us = 1_000_000 / info.clock_hz
    rows = [
        ("capture", display_name(info.source)),
        ("form", info.form),
        ("events", f"{capture.events} of {records} records ({display_name(info.valid_from)})"),
        ("event RAM", _full_row(capture)),
        ("clock", f"{_number(info.clock_hz)} Hz, {_number(tick_us)} us a tick"),
        ("time", _time_row(capture)),
        ("span", _seconds(facts.span_ticks * tick_us)),
    ]
    if facts.shortest_ticks is not None:
        longest = f"{_number(facts.longest_ticks * tick_us)} us, before event {facts.longest_at}"
        shortest = f"{_number(facts.shortest_ticks * tick_us)} us"
        rows.append(("intervals", f"longest {longest}; shortest {shortest}"))
    if facts.distinct_tags:
        tags = f"{facts.distinct_tags} different, {facts.lowest_tag} to {facts.highest_tag}"
        rows.append(("tags", f"{tags} ({info.tag_bits} bits)"))
    lost = "not known" if info.lost is None else str(info.lost)
    rows.append(
        ("lost events", f"some, {lost} how many" if info.some_lost and not info.lost else lost)
    )
    if info.holes:
        rows.append(("holes", "some records never arrived"))
    if info.stale_tail:
        rows.append(("stale tail", "the records past the valid ones hold an earlier run"))
    if info.started_ns:
        rows.append(("started", _date(info.started_ns)))
    if info.task_marks is not None:
        rows.append(("tasks", _tasks_row(info.task_marks, info.task_names)))
    rows.append(("name file", _names_row(facts, names)))
    digest = info.names_sha256
    wanted = f"the capture's SHA-256 {digest.hex()}" if digest else "not known to the capture"
    rows.append(("", wanted))
    rows += [
        (f"  {display_name(str(key))}", display_name(str(value)))
        for key, value in info.metadata.items()
        if key not in ("valid_from", ENTRIES, TASK_MARKS, TASK_NAMES)
    ]
    return "".join(f"{label:<13} {value}\n" for label, value in rows)


def _full_row(capture: Capture) -> str:
    if capture.info.full:
        return "full: the run goes on past the last event"
    return "not known to be full" if capture.info.count_guessed else "not full"


def _time_row(capture: Capture) -> str:
    info = capture.info
    if info.unwrapped:
        return f"absolute, {info.time_bits} bits"
    wrap = _seconds((1 << info.time_bits) * 1_000_000 / info.clock_hz)
    return f"counter of {info.time_bits} bits, wraps after {wrap}"


def _tasks_row(marks: TaskMarks, names: Mapping[int, str]) -> str:
    row = f"marked by tags {marks.first} to {marks.tags[-1]} ({display_name(marks.name)})"
    named = [f"{number} {display_name(name)}" for number, name in sorted(names.items())]
    return f"{row}: {', '.join(named)}" if named else row


def _names_row(facts: CaptureFacts, names: HeldNames | None) -> str:
    if names is None:
        return "none found"
    known = "knows every tag"
    if facts.unknown_events:
        known = f"lacks {facts.unknown_tags} tags of {facts.unknown_events} events"
    other = "; not the capture's" if names.mismatch else ""
    return f"{display_name(names.source)} (SHA-256 {names.sha256.hex()}; {known}{other})"


def _number(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)


def _seconds(microseconds: Any) -> str:
    whole = round(microseconds)
    return f"{whole // 1_000_000} sec {whole % 1_000_000:06d} us"


def _date(nanoseconds: int) -> str:
    try:
        start = datetime.fromtimestamp(nanoseconds / 1e9, tz=timezone.utc)
    except (OverflowError, ValueError, OSError):
        return f"{nanoseconds} ns of Unix time"
    return start.strftime("%Y-%m-%d %H:%M:%S UTC")
