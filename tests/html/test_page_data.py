"""What the page is made of: columns, the merged tree, levels, interrupts, and the frame."""

from __future__ import annotations

import html.parser
import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis import kernel_sim, kernels
from tests.analysis.programs import Options
from tests.analysis.whole import interrupt_functions, kept_marks, mask
from tests.html.pages import page_columns, page_data

from kprof.analysis import summarise, timeline
from kprof.analysis.calls import Timeline
from kprof.analysis.overview import call_table
from kprof.analysis.replay.codes import LOST, MARK_IN, MARK_INLINE
from kprof.analysis.stream import Stream
from kprof.capture import Capture
from kprof.names import NameFile, parse_names
from kprof.report.choose import filter_of, report_parts
from kprof.report.html import page
from kprof.report.html.build import html_parts
from kprof.report.html.columns import ColumnWriter
from kprof.report.html.lanes import MAX_LEVEL
from kprof.report.request import Request
from kprof.report.shown import shown
from kprof.tui.reading import Reading

STYLES = ("pair", "early", "swtch")


def simulated(seed: int, style: str = "pair", steps: int = 1500) -> Any:
    kernel = kernel_sim.Kernel(seed, style, True, steps)
    names = parse_names(kernel_sim.name_text(style))
    return timeline(Capture.from_events(kernel.times, kernel.tags), names)


def as_page(writer: ColumnWriter) -> str:
    """Nothing but the columns."""
    data = {"columns": writer.directory, "pieces": writer.pieces}
    text = "".join(writer.taken(last=True))
    return (
        f'<script type="text/plain" class="columns">{text}</script>'
        f'<script type="application/json" id="data">{json.dumps(data)}</script>'
    )


LIMITS = {"u8": (0, 255), "u16": (0, 65535), "u32": (0, 2**32 - 1), "i32": (-(2**31), 2**31 - 1)}
numbers = st.lists(
    st.one_of(st.integers(0, 300), st.integers(-(2**50), 2**50), st.integers(-3, 70000))
)


@given(st.lists(st.tuples(numbers, numbers, st.booleans()), max_size=4))
def test_columns_come_back(columns: list[tuple[list[int], list[int], bool]]) -> None:
    writer = ColumnWriter()
    for piece in (0, 1):
        for at, column in enumerate(columns):
            writer.add(f"c{at}", np.array(column[piece], np.int64), delta=column[2])
    directory = writer.directory
    found = page_columns(as_page(writer))
    assert found == {f"c{at}": [*first, *second] for at, (first, second, _) in enumerate(columns)}
    for at, (first, second, _) in enumerate(columns):
        low, high = LIMITS.get(directory[f"c{at}"]["array"], (-(2**53), 2**53))
        assert all(low <= value <= high for value in [*first, *second])


def nested(columns: dict[str, list[int]]) -> list[int]:
    """Who called each call, as the page's script finds it again."""
    up = [-1] * len(columns["exit"])
    top: dict[int, int] = {}
    for call in reversed(columns["call"]):
        context = columns["context"][call]
        above = top.get(context, -1)
        while above > call:
            above = up[above]
        up[call], top[context] = above, call
    return up


CHOICES: dict[str, dict[str, Any]] = {
    "all": {},
    "hidden": {"hide": ("[1-2]$",)},
    "long": {"least": "30us"},
    "range": {"span": "2ms~4ms"},
    "trees": {"only": ("1$",)},
    "tasks": {"tasks": (1,)},
}


def kernel_of(style: str, seed: int) -> tuple[Capture, NameFile]:
    if style in STYLES:
        kernel = kernel_sim.Kernel(seed, style, True, 1500)
        names = parse_names(kernel_sim.name_text(style))
        return Capture.from_events(kernel.times, kernel.tags), names
    made = kernels.Kernel(seed, Options(style="far", marks=True))
    return Capture.from_events(made.ticks, made.tags), parse_names(made.names)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("style", [*STYLES, "marks"])
def test_the_calls_in_the_page_are_those_of_the_timeline(style: str, choice: str) -> None:
    the_page_has_the_calls(*kernel_of(style, 1), Request(**CHOICES[choice]))


@pytest.mark.parametrize("seed", [45, 52, 1258, 1266, 2314])
def test_orphans_that_do_not_come_are_no_calls(seed: int) -> None:
    """Random events, in which the exits that a look ahead saw come elsewhere."""
    names = parse_names("a/1024\nb/1026\nsw/1030!\nt/1032@4\n")
    random = np.random.default_rng(seed)
    tags = [random.integers(1024, 1036, 80).tolist() for _ in range(3)][-1]
    capture = Capture.from_events(list(range(0, 240, 3)), tags)
    assert any((rows.flags & LOST).any() for rows in Stream(capture, names).rows())
    for request in (Request(), Request(hide=("^b$",)), Request(least="9us")):
        the_page_has_the_calls(capture, names, request)
        table = call_table(shown(capture, names, None, request).found)
        line = timeline(capture, names)
        calls = line.calls.select(mask(filter_of(line.info, request), line))
        assert table.parent.tolist() == calls.parent.tolist()
        assert table.entry.tolist() == calls.entry.tolist()
        assert table.function.tolist() == calls.function.tolist()


def the_page_has_the_calls(capture: Capture, names: NameFile, request: Request) -> None:
    line = timeline(capture, names)
    keep = mask(filter_of(line.info, request), line)
    calls = line.calls.select(keep)
    found = page_columns("".join(html_parts(capture, names, request=request)))
    expected = {
        "function": calls.function,
        "event": calls.entry_event,
        "exit": calls.exit,
        "wall": calls.wall,
        "away": calls.wall - calls.elapsed,
        "inside": calls.elapsed - calls.net,
        "level": calls.depth,
        "context": calls.context,
        "flags": calls.flags,
    }
    for name, column in expected.items():
        assert found[name] == column.tolist(), name
    assert nested(found) == calls.parent.tolist()
    marks = line.marks
    stays = (marks.kind == MARK_INLINE) & kept_marks(line, keep)
    assert found["markTime"] == marks.time[stays].tolist()
    assert found["markSince"] == marks.since[stays].tolist()
    number = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
    assert found["markParent"] == (number[marks.parent[stays]] + 1).tolist()
    switch = marks.kind != MARK_INLINE
    assert found["sliceStart"] == [0, *marks.time[switch].tolist()]
    runs = np.where(marks.kind == MARK_IN, marks.context, 0)[switch]
    assert found["sliceContext"][1:] == runs.tolist()


@pytest.mark.parametrize("style", STYLES)
def test_calls_of_one_level_do_not_overlap(style: str) -> None:
    for seed in range(6):
        line = simulated(seed, style)
        calls, level = line.calls, line.calls.depth
        places: dict[tuple[int, int], list[int]] = {}
        for row in np.argsort(calls.entry_event, kind="stable").tolist():
            if level[row] < MAX_LEVEL:
                places.setdefault((int(calls.context[row]), int(level[row])), []).append(row)
        for rows in places.values():
            assert all(calls.entry_event[b] >= calls.exit_event[a] for a, b in pairwise(rows))
        up = calls.parent
        inside = (up >= 0) & (level < MAX_LEVEL)
        assert (level[inside] == level[up[inside]] + 1).all()


def data_of(parts: Any) -> dict[str, Any]:
    return page_data("".join(parts))


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
    assert kinds == ["text/plain", "application/json", "text/plain", None, None]
    assert "img" not in [tag_ for tag_, _ in frame.tags]
    data = json.loads(frame.scripts[1][1])
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


ASKED: dict[str, dict[str, Any]] = {
    "cost": {"trigger_cost": "0.5us"},
    "task": {"tasks": (1,)},
    "cost and filters": {"trigger_cost": "0.5us", "least": "20us", "without": ("1$",)},
    "range": {"span": "2ms~4ms"},
    "interrupt": {"irqs": ("f1",)},
}


@pytest.mark.parametrize("choice", ASKED)
def test_page_and_browser_have_the_figures_of_the_report(choice: str) -> None:
    """With the same filters, trigger cost, tasks and interrupts."""
    capture, names = kernel_of("pair", 3)
    request = Request(**ASKED[choice], form="json")
    rows = json.loads("".join(report_parts(capture, names, request)))["functions"]
    expected = {r["name"]: [r["calls"], r["elapsed_us"], r["net_us"]] for r in rows}
    data = data_of(html_parts(capture, names, request=request))
    us = data["usPerTick"]
    functions = [one["name"] for one in data["functions"]]
    figures = {functions[n]: [c, e * us, net * us] for n, c, e, net, *_ in data["figures"]}
    assert figures.keys() == expected.keys()
    for name, row in expected.items():
        assert figures[name] == pytest.approx(row, abs=0.001)
    summary = Reading(capture, names, None, request).summary
    assert {row.entry.name: row.calls for row in summary.functions} == {
        name: calls for name, (calls, _, _) in expected.items()
    }
    marked = [one["name"] for one in data["functions"] if one["interrupt"]]
    assert marked == (["f1"] if choice == "interrupt" else ["irq0", "irq1"])
