"""The page in a real browser: what a person does with it, and what it must never do."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis import kernel_sim
from tests.html.chromium import Page, chromium

from kprof.analysis import summarise, timeline
from kprof.analysis.replay.codes import MARK_IN, MARK_INLINE, OPEN, ORPHAN
from kprof.capture import Capture
from kprof.names import parse_names
from kprof.report.html.build import html_parts
from kprof.report.request import Request
from kprof.report.shown import shown

EVIL = "</script><img onerror=alert(1) src=x>"
NAMES = parse_names(kernel_sim.name_text("pair").replace("f3/", EVIL + "/"))


def simulated(seed: int, steps: int = 3000) -> Capture:
    kernel = kernel_sim.Kernel(seed, "pair", True, steps)
    return Capture.from_events(kernel.times, kernel.tags)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    path = tmp_path_factory.mktemp("page") / "out.html"
    capture = simulated(5)
    path.write_text("".join(html_parts(capture, NAMES)), "ascii")
    return path, timeline(capture, NAMES), summarise(capture, NAMES)


@pytest.fixture
def page(browser: Any, run: tuple[Path, Any, Any]) -> Iterator[Page]:
    page = Page(browser, run[0])
    yield page
    assert page.console() == []
    assert [url for url in page.requests() if not url.startswith("data:")] == [run[0].as_uri()]


def numbers(cells: list[str]) -> list[float]:
    return [float(cell.replace("\u202f", "").rstrip("%")) for cell in cells]


def test_the_header_has_the_totals_of_the_report(page: Page, run: Any) -> None:
    ledger = run[2].ledger
    text = page.text("#totals")
    for ticks in (ledger.elapsed, ledger.run, ledger.idle):
        assert f"{ticks // 1_000_000} sec {ticks % 1_000_000:06d} us" in text
    assert f"({100 * ledger.run / ledger.elapsed:.2f}%)" in text
    assert f"{run[2].events} events" in page.text("#said")


def test_the_table_sorts_by_each_column(page: Page, run: Any) -> None:
    rows = run[2].functions
    assert sorted(page.column("name")) == sorted(row.entry.name for row in rows)
    by_name = {row.entry.name: row for row in rows}
    assert numbers(page.column("net")) == sorted((row.net for row in rows), reverse=True)
    for key, value in (("elapsed", "elapsed"), ("count", "calls")):
        page.click(f"#table th[data-key={key}] button")
        down = numbers(page.column(key))
        assert down == sorted((getattr(row, value) for row in rows), reverse=True)
        page.click(f"#table th[data-key={key}] button")
        assert numbers(page.column(key)) == down[::-1]
        names = page.column("name")
        assert numbers(page.column("net")) == [by_name[name].net for name in names]
    page.click("#table th[data-key=name] button")
    names = page.column("name")
    assert names == sorted(names, key=str.lower)
    assert page.find("#table th[data-key=name]").get_attribute("aria-sort") == "ascending"


def test_search_leaves_what_matches(page: Page) -> None:
    page.keys("body", "/")
    page.keys("", "IRQ")
    assert sorted(page.column("name")) == ["irq0", "irq1"]
    assert page.text("#table-count").startswith("2 of ")
    page.keys("", "\ue007")  # Enter selects the first
    assert page.text("#function-name") == page.column("name")[0]
    page.keys("#search", "\ue00c")
    assert len(page.column("name")) > 2


def test_a_click_on_the_timeline_is_the_call_that_is_drawn_there(page: Page, run: Any) -> None:
    lines = run[1]
    calls = lines.calls
    level = calls.depth
    plain = (calls.flags & (ORPHAN | OPEN)) == 0
    for row in np.flatnonzero(plain & (calls.elapsed > 3))[3:60:14].tolist():
        middle = (calls.entry[row] + calls.exit[row]) / 2
        # By way of the worst call, the keys zoom to a window of a few microseconds.
        span = int(calls.exit[row] - calls.entry[row])
        show(page, float(calls.entry[row]) - span, float(calls.exit[row]) + span)
        x, y = page.place(int(calls.context[row]), int(level[row]), middle)
        page.pointer(x, y).click().perform()
        page.frame()
        assert page.text("#call-card b") == lines.functions[calls.function[row]].name
        facts = page.text("#call-card .facts").replace("\u202f", "")
        assert f"net{calls.net[row]} us" in facts
        assert f"elapsed{calls.elapsed[row]} us" in facts


WHEEL = """
const [x, steps] = arguments, canvas = document.getElementById("timeline");
const box = canvas.getBoundingClientRect();
const wheel = { deltaY: -300, ctrlKey: true, cancelable: true, clientX: box.left + x, clientY: box.top + 60 };
for (let k = 0; k < steps; k++) canvas.dispatchEvent(new WheelEvent("wheel", wheel));
"""  # noqa: E501


def show(page: Page, start: float, end: float) -> None:
    """Zoom with the wheel, pan with the keys, until the window is little wider than that."""
    page.keys("#timeline", "0")
    wanted, middle = max(9, 1.7 * (end - start)), (start + end) / 2
    while True:
        left, right = page.window()
        away = round((middle - (left + right) / 2) / (0.15 * (right - left)))
        if left > 0 and abs(away) > 1:
            page.keys("#timeline", *("d" if away > 0 else "a") * abs(away))
        elif right - left <= wanted:
            return
        else:
            x, _ = page.place(0, 0, middle)
            page.run(WHEEL, x, min(4, math.ceil(math.log((right - left) / wanted) / 0.6)))


def test_keys_zoom_to_a_microsecond_and_back(page: Page, run: Any) -> None:
    elapsed = run[2].ledger.elapsed
    assert page.window() == (0, elapsed)
    page.keys("#timeline", *"w" * 60)
    left, right = page.window()
    assert right - left == 8
    assert "8 us" in page.text("#window-text")
    page.keys("#timeline", "d", "d")
    assert page.window()[0] == pytest.approx(left + 2 * 0.15 * 8)
    page.keys("#timeline", "0")
    assert page.window() == (0, elapsed)


def test_dragging_pans_and_the_axis_chooses_a_window(page: Page) -> None:
    page.keys("#timeline", *"www")
    left, right = page.window()
    from selenium.webdriver.common.keys import Keys

    drag = page.pointer(700, 60).key_down(Keys.SHIFT).click_and_hold().move_by_offset(-200, 0)
    drag.release().key_up(Keys.SHIFT).perform()
    start, end = page.window()
    assert end - start == pytest.approx(right - left)
    assert start > left
    page.pointer(400, 12).click_and_hold().move_by_offset(100, 0).release().perform()
    assert page.window()[1] - page.window()[0] < (end - start) / 4


def clipped(line: Any, start: int, end: int) -> tuple[dict[str, int], dict[str, list[int]]]:
    """By function: its net time from `start` to `end`, and the net times of calls that begin in it.

    Event by event: what is on top of the running context's calls has the time.
    """
    calls, marks = line.calls, line.marks
    switch = marks.kind != MARK_INLINE
    runs = np.where(marks.kind == MARK_IN, marks.context, 0)[switch]
    begun = np.concatenate([[0], marks.time[switch], [line.ledger.elapsed]])
    context = np.concatenate([[line.first], runs])
    net = Counter()
    for row in range(len(calls)):
        inside = np.flatnonzero(calls.parent == row)
        spans = [(int(calls.entry[row]), int(calls.exit[row]), 1)]
        spans += [(int(calls.entry[c]), int(calls.exit[c]), -1) for c in inside]
        for first, last, sign in spans:
            for at in np.flatnonzero(context == calls.context[row]):
                low = max(first, start, int(begun[at]))
                high = min(last, end, int(begun[at + 1]))
                net[line.functions[calls.function[row]].name] += sign * max(0, high - low)
    here = (calls.entry >= start) & (calls.entry <= end) & (calls.flags & (OPEN | ORPHAN) == 0)
    own: dict[str, list[int]] = {}
    for row in np.flatnonzero(here).tolist():
        own.setdefault(line.functions[calls.function[row]].name, []).append(int(calls.net[row]))
    return net, own


@pytest.mark.parametrize("seed", [4, 7])
def test_a_dragged_range_is_what_all_figures_are_of(
    browser: Any, tmp_path: Path, seed: int
) -> None:
    capture, path = simulated(seed, 300), tmp_path / "range.html"
    path.write_text("".join(html_parts(capture, NAMES)), "ascii")
    page, line = Page(browser, path), timeline(capture, NAMES)
    calls, whole = line.calls, page.column("net")
    # Edges that snap to those of calls, at a level where they lie far apart.
    plain = np.flatnonzero((calls.flags & (ORPHAN | OPEN)) == 0)
    first = int(plain[len(plain) // 3])
    last = int(plain[np.flatnonzero(calls.entry[plain] > calls.exit[first] + 300)[0]])
    show(page, float(calls.entry[first]), float(calls.exit[last]))
    x0, y0 = page.place(int(calls.context[first]), int(calls.depth[first]), calls.entry[first])
    x1, _ = page.place(int(calls.context[last]), int(calls.depth[last]), calls.exit[last])
    x0, y0 = page.place(int(calls.context[first]), int(calls.depth[first]), calls.entry[first])
    right = float(page.run("return document.getElementById('timeline').clientWidth")) - 20
    assert 132 < x0 < right
    drag = page.pointer(x0, y0).click_and_hold().move_by_offset(round(min(x1, right) - x0), 0)
    drag.release().perform()
    page.frame()
    start, end = map(
        int, page.run("return document.getElementById('timeline').dataset.range").split()
    )
    assert start == calls.entry[first] or start in calls.exit  # it has snapped to an edge
    net, own = clipped(line, start, end)
    found = dict(zip(page.column("name"), numbers(page.column("net")), strict=True))
    assert {name: ticks for name, ticks in found.items() if ticks} == {
        name: ticks for name, ticks in net.items() if ticks
    }
    counts = dict(zip(page.column("name"), numbers(page.column("count")), strict=True))
    began = (calls.entry >= start) & (calls.entry <= end) & (calls.flags & ORPHAN == 0)
    names = [line.functions[f].name for f in calls.function[began]]
    assert {name: n for name, n in counts.items() if n} == dict(Counter(names))
    # As -r has them: the calls that began in the range.
    request = Request(span=f"{start}us~{end}us")
    text = {row.entry.name: row for row in shown(capture, NAMES, None, request).summary.functions}
    for name, times in own.items():
        assert (text[name].max, text[name].min) == (max(times), min(times))
        at = page.column("name").index(name)
        assert numbers([page.column(key)[at] for key in ("max", "min", "avg")]) == [
            max(times),
            min(times),
            text[name].avg,
        ]
    # The flame graph's root is all net time of the range, and it adds up with idle time.
    root = page.run("return document.querySelector('#flame g').__data__.data.value")
    assert root == sum(net.values())
    parts = dict(re.findall(r"(functions|unattributed|idle) ([\d.]+)%", page.text("#range-text")))
    assert sum(map(float, parts.values())) == pytest.approx(100, abs=0.02)
    page.click("#range-bar [data-do=clear-range]")
    assert page.column("net") == whole
    assert page.console() == []


def test_the_whole_run_as_a_range_has_the_figures_of_the_run(page: Page, run: Any) -> None:
    figures = [page.column(key) for key in ("elapsed", "net", "count", "max", "avg", "min")]
    page.keys("#timeline", "0")
    page.pointer(200, 60).perform()
    page.run(DRAG_ALL)
    page.frame()
    ledger = run[2].ledger
    start, end = page.run("return document.getElementById('timeline').dataset.range.split(' ')")
    assert (int(start), int(end)) == (0, ledger.elapsed)
    assert [page.column(key) for key in ("elapsed", "net", "count", "max", "avg", "min")] == figures
    text = page.text("#range-text")
    for name, ticks in (("idle", ledger.idle), ("unattributed", ledger.unattributed)):
        assert f"{name} {100 * ticks / ledger.elapsed:.2f}%" in text or not ticks


DRAG_ALL = """
const canvas = document.getElementById("timeline"), box = canvas.getBoundingClientRect();
const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type, {
  pointerId: 1, clientX: box.left + x, clientY: box.top + box.height - 2, bubbles: true }));
canvas.setPointerCapture = () => {};
send("pointerdown", Number(canvas.dataset.gutter) + 300);
send("pointermove", box.width + 40);
send("pointerup", box.width + 40);
const grip = box.left + Number(canvas.dataset.gutter) + 300;
send("pointerdown", Number(canvas.dataset.gutter) + 300);
send("pointermove", Number(canvas.dataset.gutter) + 40);
send("pointermove", 0);
send("pointerup", 0);
"""


def test_the_calls_of_a_chosen_function_are_marked(page: Page, run: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    lines, calls = run[1], run[1].calls
    assert page.run("return document.getElementById('timeline').dataset.marked") in (None, "")
    name = page.column("name")[2]
    number = [entry.name for entry in lines.functions].index(name)
    before = picture(page)
    page.click("#table tr.row:nth-child(4)")
    assert page.text("#function-name") == name
    marked = int(page.run("return document.getElementById('timeline').dataset.marked"))
    assert marked == (calls.function == number).sum()
    assert picture(page) != before  # the others dim
    page.keys("body", "/")
    page.keys("", "irq")
    page.frame()
    irqs = [i for i, entry in enumerate(lines.functions) if "irq" in entry.name]
    marked = int(page.run("return document.getElementById('timeline').dataset.marked"))
    assert marked == np.isin(calls.function, irqs).sum()
    page.keys("#search", Keys.ESCAPE)
    page.keys("#timeline", Keys.ESCAPE)
    assert page.run("return document.getElementById('timeline').dataset.marked") == ""
    assert picture(page) == before


def picture(page: Page) -> str:
    """The picture of the timeline."""
    page.frame()
    return str(page.run("return document.getElementById('timeline').toDataURL()"))


def test_inline_triggers_are_marks_with_their_names(page: Page, run: Any) -> None:
    lines = run[1]
    marks = lines.marks
    mark = int(np.flatnonzero((marks.kind == MARK_INLINE) & (marks.parent >= 0))[2])
    time = float(marks.time[mark])
    show(page, time - 5, time + 5)
    level = max(0, int(marks.depth[mark]) - 1)
    x, y = page.place(int(marks.context[mark]), level, time)
    page.pointer(x, y - 9).perform()
    assert page.wait("return document.getElementById('tip').textContent").startswith("== mark")
    page.pointer(x, y - 9).click().perform()
    page.frame()
    parent = int(marks.parent[mark])
    assert page.text("#call-card b") == lines.functions[lines.calls.function[parent]].name
    assert "== mark (" in page.text("#call-card .listing")


def test_the_keyboard_does_it_all(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    page.keys("body", "2")
    names = page.column("name")
    page.keys("", Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.text("#function-name") == names[2]
    page.keys("", Keys.ENTER)
    assert page.text("#call-card b") == names[2]
    first = page.text("#call-card .figures")
    page.keys("body", "n")
    _, number, _, count = first.split()
    assert page.text("#call-card .figures") == f"call {min(int(number) + 1, int(count))} of {count}"
    page.keys("body", "x")
    assert page.text("#call-card .figures") == first
    path = page.all("#call-card .crumbs button")
    if path:
        caller = path[-1].text
        page.keys("body", "1")
        page.keys("", Keys.ARROW_UP)
        assert page.text("#call-card b") == caller
        page.keys("", Keys.ESCAPE)
        assert page.run("return document.getElementById('call-card').hidden")
    theme = page.run("return document.documentElement.dataset.theme")
    page.keys("body", "t")
    assert page.run("return document.documentElement.dataset.theme") != theme
    page.keys("body", "?")
    assert page.run("return document.getElementById('help').open")
    page.keys("", Keys.ESCAPE)
    assert not page.run("return document.getElementById('help').open")


def test_the_flame_graph_zooms_searches_and_turns(page: Page, run: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    whole = page.wait("return Number(document.querySelector('#flame g').getAttribute('width'))")
    page.click("#flame-value [data-value=net]")
    net = {row.entry.name: row.net for row in run[2].functions}
    shown = page.run(
        "return [...document.querySelectorAll('#flame g')].map((g) => [g.__data__.depth,"
        "g.getAttribute('name'), g.__data__.data.value])"
    )
    bottom = {name: value for depth, name, value in shown if depth == 1}
    assert bottom.items() <= net.items()
    assert max(net, key=lambda name: net[name]) in bottom
    page.click("#flame-shape [data-value=flame]")
    ys = page.run(
        "const y = (d) => [...document.querySelectorAll('#flame g')].find((g) =>"
        "g.__data__.depth === d).getBoundingClientRect().y; return [y(0), y(1)]"
    )
    assert ys[0] > ys[1]
    page.keys("body", "f")
    page.keys("", "irq0")
    assert page.text("#flame-text").endswith("%")
    page.keys("#flame-search", Keys.ESCAPE)
    page.click("#flame-value [data-value=elapsed]")
    name = page.run(
        "const g = [...document.querySelectorAll('#flame g')].find((g) => g.__data__.depth === 1);"
        "g.dispatchEvent(new MouseEvent('click', {bubbles: true})); return g.getAttribute('name')"
    )
    assert page.text("#function-name") == name
    widths = page.run(
        "return [...document.querySelectorAll('#flame g')].filter((g) => g.__data__.depth === 1)"
        ".map((g) => Number(g.getAttribute('width')))"
    )
    assert widths == pytest.approx([whole])
    page.keys("#flame", Keys.BACKSPACE)
    page.keys("#flame", Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.run("return document.querySelectorAll('#flame g.here').length") == 1


def test_the_source_has_the_figures_of_each_function(browser: Any, tmp_path: Path) -> None:
    """Functions that begin on one line have a row each."""
    (tmp_path / "a.c").write_text("int a(void) {} int b(void) {} int c(void) {}\nint d(void)\n{}\n")
    names = parse_names("#@ a.c\na/1024\nb/1026\nc/1028\nd/1030\n")
    capture = Capture.from_events(
        [0, 5, 10, 17, 20, 29], [1024, 1025, 1026, 1027, 1030, 1031]
    )  # c never ran
    path = tmp_path / "out.html"
    parts = html_parts(capture, names, source_root=tmp_path, with_sources=True)
    path.write_text("".join(parts), "ascii")
    page = Page(browser, path)

    def rows(css: str) -> list[list[str]]:
        return list(
            page.run(
                "return [...document.querySelectorAll(arguments[0])]"
                ".map((row) => [...row.childNodes].map((cell) => cell.textContent))",
                f"#source-card {css}",
            )
        )

    page.keys("body", "/")
    page.keys("", "d\ue007")
    assert page.text("#function-name") == "d"
    assert rows("div")[1:] == [
        ["1", "5", "5", "", "a:"],
        ["1", "7", "7", "", "b:"],
        ["", "", "", "1", "int a(void) {} int b(void) {} int c(void) {}"],
        ["1", "9", "9", "2", "int d(void)"],
        ["", "", "", "3", "{}"],
    ]
    assert [row[3] for row in rows(".here")] == ["2", "3"]
    assert page.console() == []


def test_a_hostile_name_is_text(page: Page) -> None:
    assert EVIL in page.column("name")
    assert page.all("img") == []
    page.keys("#search", "onerror")
    page.keys("#search", "\ue007")
    assert page.text("#function-name") == EVIL
    page.click("#worst button")
    assert page.text("#call-card b") == EVIL
    page.keys("#flame-search", "onerror")
    assert page.all("img") == []


def test_two_captures_make_a_difference(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "difference.html"
    after, before = simulated(5), simulated(6)
    path.write_text("".join(html_parts(after, NAMES, before=(before, NAMES))), "ascii")
    page = Page(browser, path)
    now, was = summarise(after, NAMES), summarise(before, NAMES)
    shares = {}
    for way, summary in ((1, now), (-1, was)):
        for row in summary.functions:
            share = way * 100 * row.net / summary.ledger.run
            shares[row.entry.name] = shares.get(row.entry.name, 0.0) + share
    names = page.column("name")
    assert numbers(page.column("delta")) == pytest.approx([shares[n] for n in names], abs=0.006)
    assert (
        page.run("return document.querySelector('#flame-value [aria-checked=true]').dataset.value")
        == "difference"
    )
    fills = page.run(
        "return [...document.querySelectorAll('#flame rect')].map((r) => r.getAttribute('fill'))"
    )
    assert any("--more" in fill for fill in fills)
    assert any("--less" in fill for fill in fills)
    assert page.console() == []


HOVER = """
const over = document.querySelector("#distribution .u-over"), box = over.getBoundingClientRect();
const said = new Set();
for (let x = 2; x < box.width; x += 3) {
  const at = { clientX: box.left + x, clientY: box.top + 40, bubbles: true };
  over.dispatchEvent(new MouseEvent(x === 2 ? "mouseenter" : "mousemove", at));
  over.dispatchEvent(new MouseEvent("mousemove", at));
  said.add(document.getElementById("tip").textContent);
}
return [...said].filter((text) => text.includes("below"));
"""


def test_with_a_trigger_cost_bars_and_windows_are_of_the_captures_ticks(
    browser: Any, tmp_path: Path
) -> None:
    # Calls of 8, 9, 10, ... us, less the 0.3 us of a trigger.
    times = [t for k in range(100) for t in (1000 * k, 1000 * k + 8 + k)]
    capture = Capture.from_events(times, [2, 3] * 100)
    path = tmp_path / "cost.html"
    request = Request(trigger_cost="0.3us")
    parts = html_parts(capture, parse_names("f/2\n"), request=request)
    path.write_text("".join(parts), "ascii")
    page = Page(browser, path)
    page.click("#table tr.row")
    edges = [text.split("to below ")[1].split(" us")[0] for text in page.run(HOVER)]
    assert len(edges) > 3
    for edge in edges:
        sixteenths = 16 * math.log2(float(edge))
        assert sixteenths == pytest.approx(round(sixteenths), abs=0.01)
    page.keys("#timeline", *"w" * 60)
    left, right = page.window()
    assert right - left == 8000  # thousandths
    assert page.console() == []


def test_the_page_follows_the_system_into_the_dark(run: Any) -> None:
    with chromium(
        900, 900, "--force-dark-mode", "--blink-settings=preferredColorScheme=0"
    ) as driver:
        page = Page(driver, run[0])
        assert page.run("return document.documentElement.dataset.theme") == "dark"
        assert page.console() == []


def test_odd_captures_make_a_page(browser: Any, tmp_path: Path) -> None:
    odd = {
        "none": Capture.from_events([], []),
        "one": Capture.from_events([7], [1024]),
        "unknown": Capture.from_events([1, 2, 3], [9, 9, 9]),
        "exits": Capture.from_events(list(range(50)), [1025 + 2 * (i % 9) for i in range(50)]),
        "deep": Capture.from_events(list(range(900)), [1024] * 900),
        "still": Capture.from_events([5] * 40, [1024, 1025] * 20),
    }
    for name, capture in odd.items():
        path = tmp_path / f"{name}.html"
        path.write_text("".join(html_parts(capture, NAMES)), "ascii")
        page = Page(browser, path)
        page.keys("#timeline", "w", "d", "0")
        assert page.console() == [], name


@pytest.mark.long
def test_a_million_events_make_a_page_that_works(browser: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    tags: list[int] = []
    stack: list[int] = []
    while len(tags) < 1_000_000:
        if stack and (len(stack) > 9 or random.random() < 0.5):
            tags.append(stack.pop() + 1)
        else:
            stack.append(1024 + 2 * int(random.integers(200)))
            tags.append(stack[-1])
    names = parse_names("".join(f"function_{at}/{1024 + 2 * at}\n" for at in range(200)))
    capture = Capture.from_events(np.cumsum(random.integers(1, 400, len(tags))), tags)
    path = tmp_path / "million.html"
    path.write_text("".join(html_parts(capture, names)), "ascii")
    assert path.stat().st_size < 8_000_000
    page = Page(browser, path)
    assert len(page.column("name")) > 10
    page.keys("#timeline", *"wwwwwwwwwwdd", "0")
    page.click("#worst button")
    assert page.text("#call-card b") == page.column("name")[0]
    page.click("#flame-value [data-value=net]")
    page.keys("#flame-search", *"function_7")
    assert page.text("#flame-text").endswith("%")
    assert page.console() == []
