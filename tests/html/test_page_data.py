"""What the page is made of: columns, the merged tree, levels, interrupts, and the frame."""

from __future__ import annotations

import base64
import html.parser
import json
import zlib
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis import kernel_sim

from kprof.analysis import summarise, timeline
from kprof.analysis.calls import Timeline
from kprof.analysis.interrupts import interrupt_functions
from kprof.analysis.replay.codes import MARK_INLINE, ORPHAN
from kprof.capture import Capture
from kprof.names import parse_names
from kprof.report.html import page
from kprof.report.html.build import html_parts
from kprof.report.html.columns import ColumnWriter
from kprof.report.html.lanes import MAX_LEVEL, levels, slices
from kprof.report.request import Request

STYLES = ("pair", "early", "swtch")


def simulated(seed: int, style: str = "pair", steps: int = 1500) -> Any:
    kernel = kernel_sim.Kernel(seed, style, True, steps)
    names = parse_names(kernel_sim.name_text(style))
    return timeline(Capture.from_events(kernel.times, kernel.tags), names)


def read_back(writer: ColumnWriter) -> dict[str, list[int]]:
    """What the page's script does, in slow Python."""
    data = zlib.decompress(base64.b64decode(writer.text()))
    at, out = 0, {}
    for name, entry in writer.directory.items():
        count, planes = entry["count"], entry["planes"]
        values = [0] * count
        for plane in range(planes):
            for i in range(count):
                values[i] += data[at + plane * count + i] << (8 * plane)
        if entry.get("signed"):
            values = [-(v + 1) // 2 if v % 2 else v // 2 for v in values]
        if entry.get("delta"):
            values = np.cumsum(values).tolist() if values else []
        out[name] = values
        at += planes * count
    assert at == len(data)
    return out


LIMITS = {"u8": (0, 255), "u16": (0, 65535), "u32": (0, 2**32 - 1), "i32": (-(2**31), 2**31 - 1)}
numbers = st.lists(
    st.one_of(st.integers(0, 300), st.integers(-(2**50), 2**50), st.integers(-3, 70000))
)


@given(st.lists(st.tuples(numbers, st.booleans()), max_size=4))
def test_columns_come_back(columns: list[tuple[list[int], bool]]) -> None:
    writer = ColumnWriter()
    for at, (values, delta) in enumerate(columns):
        writer.add(f"c{at}", np.array(values, np.int64), delta=delta)
    directory = writer.directory
    found = read_back(writer)
    assert found == {f"c{at}": values for at, (values, _) in enumerate(columns)}
    for at, (values, _) in enumerate(columns):
        low, high = LIMITS.get(directory[f"c{at}"]["array"], (-(2**53), 2**53))
        assert all(low <= value <= high for value in values)


@pytest.mark.parametrize("style", STYLES)
def test_calls_of_one_level_do_not_overlap(style: str) -> None:
    for seed in range(6):
        line = simulated(seed, style)
        calls, (level, mark_level) = line.calls, levels(line)
        places: dict[tuple[int, int], list[int]] = {}
        for row in np.argsort(calls.entry_event, kind="stable").tolist():
            if level[row] < MAX_LEVEL:
                places.setdefault((int(calls.context[row]), int(level[row])), []).append(row)
        for rows in places.values():
            assert all(calls.entry_event[b] >= calls.exit_event[a] for a, b in pairwise(rows))
        up = calls.parent
        inside = (up >= 0) & (level < MAX_LEVEL)
        assert (level[inside] == level[up[inside]] + 1).all()
        marks = line.marks
        held = (marks.parent >= 0) & (mark_level < MAX_LEVEL) & (marks.kind == 32)
        assert (mark_level[held] == level[marks.parent[held]] + 1).all()


@pytest.mark.parametrize("style", STYLES)
def test_in_each_slice_its_own_context_runs(style: str) -> None:
    line = simulated(2, style)
    start, context = slices(line)
    calls = line.calls
    seen = (calls.flags & ORPHAN) == 0
    switch = line.marks.kind != MARK_INLINE
    for row in np.flatnonzero(seen).tolist():
        at = int(np.searchsorted(line.marks.event[switch], calls.entry_event[row], "right"))
        running = {int(context[at]), int(context[max(0, at - 1)])}  # a switch's own call: either
        assert int(calls.context[row]) in running
    assert (np.diff(start) >= 0).all()


def data_of(parts: Any) -> dict[str, Any]:
    """The JSON block of a page."""
    frame = Frame()
    frame.feed("".join(parts))
    return dict(json.loads(frame.scripts[0][1]))


def interrupt_names(line: Timeline, named: tuple[str, ...] = ()) -> list[str]:
    return [line.functions[function].name for function in interrupt_functions(line, named)]


def test_interrupts_are_told_from_what_the_idle_loop_calls() -> None:
    for seed in range(5):
        found = interrupt_names(simulated(seed, steps=4000))
        assert sorted(found) == ["irq0", "irq1"], seed
    # An idle loop that calls splx, as two other functions do every time.
    events, tags = [], {"splx": 1024, "a": 1026, "b": 1028, "irq": 1030}
    for turn in range(60):
        events += [1024, 1025]
        for name in ("a", "b"):
            events += [tags[name], 1024, 1025]
            events += [1030, 1031] if turn % 6 == 0 else []
            events += [tags[name] + 1]
        events += [1030, 1031] if turn % 7 == 0 else []
    # A task at the end makes what ran before it the system context.
    events += [1100, 1101]
    names = parse_names("".join(f"{name}/{tag}\n" for name, tag in tags.items()) + "sw/1100*\n")
    line = timeline(Capture.from_events(list(range(len(events))), events), names)
    assert (line.calls.context[:-1] == 0).all()
    assert interrupt_names(line) == ["irq"]
    assert interrupt_names(line, ("a",)) == ["a"]


def test_a_filter_leaves_its_calls_and_says_what_it_left_out() -> None:
    kernel = kernel_sim.Kernel(2, "pair", True, 2000)
    capture = Capture.from_events(kernel.times, kernel.tags)
    names = parse_names(kernel_sim.name_text("pair"))
    whole, line = data_of(html_parts(capture, names)), timeline(capture, names)
    found = data_of(html_parts(capture, names, request=Request(hide=("irq.*",))))
    hidden = {i for i, f in enumerate(whole["functions"]) if f["name"].startswith("irq")}
    kept = [row for row in whole["figures"] if row[0] not in hidden]
    assert sorted(found["figures"]) == sorted(kept)
    assert found["ledger"] == whole["ledger"]
    lost = np.isin(line.calls.function, list(hidden))
    assert (
        f"left out by filters: {lost.sum()} calls, {line.calls.net[lost].sum()} us net"
        in (found["said"])
    )
    count = found["columns"]["function"]["count"]
    assert count == len(line.calls) - lost.sum()


class Frame(html.parser.HTMLParser):
    """The page as a browser reads it: the text of each script, every other tag."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, Any], str]] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self._script: dict[str, Any] | None = None

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        self._script = dict(attrs) if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts.append((self._script, data))

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._script = None


@given(st.lists(st.text(st.characters(exclude_characters="\n\r/"), min_size=1), max_size=4))
def test_names_are_inert_data(texts: list[str]) -> None:
    evil = ["</script><img onerror=alert(1) src=x>", "<!--<script>", *texts]
    usable = {text.strip(): 0 for text in evil if text.strip() and not text.startswith("#")}
    lines, tag = "", 1024
    for name in usable:
        lines += f"{name}/{tag}\n"
        tag += 2
    try:
        names = parse_names(lines)
    except Exception:
        return
    events = [value for entry in names.entries for value in (entry.value, entry.value + 1)]
    text = "".join(html_parts(Capture.from_events(list(range(len(events))), events), names))
    assert text.isascii()
    frame = Frame()
    frame.feed(text)
    kinds = [attrs.get("type") for tag_, attrs in frame.tags if tag_ == "script"]
    assert kinds == ["application/json", "text/plain", "text/plain", None, None]
    assert "img" not in [tag_ for tag_, _ in frame.tags]
    data = json.loads(frame.scripts[0][1])
    shown = [function["name"] for function in data["functions"]]
    assert shown == [page.shown_name(entry.name) for entry in names.entries]


def test_nothing_in_the_page_points_outside() -> None:
    line = parse_names("f/1024\n")
    frame = Frame()
    text = "".join(html_parts(Capture.from_events([1, 2], [1024, 1025]), line))
    frame.feed(text)
    for _, attrs in frame.tags:
        for name in ("src", "href", "action", "data"):
            assert str(attrs.get(name, "data:")).startswith("data:")
    policy = next(a["content"] for _, a in frame.tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "url(" not in text.split("</style>")[0]


def test_the_licences_of_the_libraries_are_in_the_page() -> None:
    text = "".join(html_parts(Capture.from_events([], []), parse_names("f/1024\n")))
    for part in ("d3-flame-graph 5.0.0 (Apache-2.0)", "uplot 1.6.32 (MIT)", "Mike Bostock"):
        assert part in text


def test_the_size_of_a_page_stays_within_the_bound() -> None:
    """A call takes at most 16 bytes of the page, whatever the times; see docs/html.md."""
    random = np.random.default_rng(1)
    tags: list[int] = []
    stack: list[int] = []
    while len(tags) < 100_000:
        if stack and (len(stack) > 9 or random.random() < 0.5):
            tags.append(stack.pop() + 1)
        else:
            stack.append(1024 + 2 * int(random.integers(200)))
            tags.append(stack[-1])
    ticks = np.cumsum(random.integers(1, 400, len(tags)))
    names = parse_names("".join(f"function_{at}/{1024 + 2 * at}\n" for at in range(200)))
    capture = Capture.from_events(ticks, tags)
    calls = sum(row.calls for row in summarise(capture, names).functions)
    size = sum(map(len, html_parts(capture, names)))
    empty = sum(map(len, html_parts(Capture.from_events([], []), names)))
    tree_and_names = 20_000 * 14
    assert size - empty - tree_and_names < 16 * calls
