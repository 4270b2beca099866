"""The page's address, lanes, tables and accessibility, in real browsers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.analysis import kernel_sim
from tests.html.chromium import READERS, Page, chromium, firefox

from kprof.analysis import summarise
from kprof.capture import Capture
from kprof.names import parse_names
from kprof.report.html.build import html_parts

NAMES = parse_names(kernel_sim.name_text("pair"))
KERNEL = kernel_sim.Kernel(5, "pair", True, 800)
CAPTURE = Capture.from_events(KERNEL.times, KERNEL.tags)
SUMMARY = summarise(CAPTURE, NAMES)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(1440, 900) as driver:
        yield driver


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("state") / "out.html"
    target.write_text("".join(html_parts(CAPTURE, NAMES)), "ascii")
    return target


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Page]:
    browser.get("about:blank")
    page = Page(browser, path)
    yield page
    assert page.console() == []


def used_hash(page: Page) -> str:
    return str(page.run("return location.hash"))


def test_back_goes_to_the_view_before_and_a_link_opens_it(page: Page, path: Path) -> None:
    first, second = page.column("name")[1:3]
    page.click("#table tr.row:nth-child(3)")
    assert f"f={first}" in used_hash(page)
    page.click("#table tr.row:nth-child(4)")
    page.keys("body", "x")
    page.keys("#timeline", "[", "]")
    link, window = used_hash(page), page.window()
    assert re.search(r"c=\d+&r=\d+-\d+&t=", link)
    text, call = page.text("#range-text"), page.text("#call-card b")
    assert call == second
    for _ in range(4):
        page.driver.back()
        page.frame()
        if f"f={first}" in used_hash(page):
            break
    assert page.text("#function-name") == first
    assert page.run("return document.getElementById('range-bar').hidden")
    page.driver.get("about:blank")
    page.driver.get(path.as_uri() + link)
    page.wait("return document.documentElement.dataset.ready")
    assert (page.text("#range-text"), page.text("#call-card b")) == (text, call)
    assert page.window() == pytest.approx(window, abs=0.01)


def test_a_link_that_is_damaged_opens_the_page(page: Page, path: Path) -> None:
    page.driver.get("about:blank")
    page.driver.get(path.as_uri() + "#f=%E0%A4%A&c=999999999&r=9-x&t=5-1&q")
    page.wait("return document.documentElement.dataset.ready")
    assert page.window() == (0, SUMMARY.ledger.elapsed)
    assert len(page.column("name")) > 3


def lanes(page: Page) -> list[list[int]]:
    import json

    return list(json.loads(page.run("return document.getElementById('timeline').dataset.lanes")))


def test_every_task_is_in_the_first_view_and_lanes_fold_hide_and_pin(page: Page) -> None:
    shown = lanes(page)
    height = page.run("return document.getElementById('timeline').clientHeight")
    assert shown[0][0] == -1
    assert all(top < height for _, top, _, _ in shown)
    last = shown[-1][0]
    page.click("#lanes-button")
    row = f"#lanes-list tr[data-context='{last}']"
    page.click(f"{row} td:nth-child(4) input")
    assert [lane[0] for lane in lanes(page)][:2] in ([-1, last], [last, -1])
    page.click(f"{row} td:nth-child(3) input")
    assert last not in [lane[0] for lane in lanes(page)]
    page.click("#lanes form button")
    one = next(lane for lane in lanes(page) if lane[3] > 1)
    page.fold(one[0])
    after = page.lane(one[0])
    assert after[2] != one[2]
    page.fold(one[0])
    assert {page.lane(one[0])[2], after[2]} == {1, one[3]}


def test_run_time_is_the_sum_that_is_shown(page: Page) -> None:
    parts = page.text("#totals .about").replace("\u202f", "")
    assert sum(map(int, re.findall(r"(\d+) us", parts))) == SUMMARY.ledger.run


def test_frames_are_items_of_the_tree_and_the_tip_says_all_of_a_call(page: Page) -> None:
    page.wait("return document.querySelectorAll('#flame [role=treeitem][aria-level=\"2\"]').length")
    page.keys("#flame", "\ue015")  # down
    chosen = page.find("#flame [aria-selected=true]")
    assert chosen.get_attribute("id") == page.run(
        "return document.getElementById('flame').getAttribute('aria-activedescendant')"
    )
    page.keys("body", "x")
    start, end = page.window()
    name = page.text("#call-card b")
    width = float(page.run("return document.getElementById('timeline').clientWidth"))
    lane = page.run("return document.querySelector('#call-card .facts').textContent")
    context, level = re.findall(r"in(?:task (\d+)|system).*?, depth (\d+)", lane)[0]
    x, y = page.place(int(context or 0), int(level), (start + end) / 2)
    assert 0 < x < width
    page.pointer(x, y).perform()
    tip = page.wait("return document.getElementById('tip').textContent")
    assert tip.startswith(name)
    assert "the slowest" in tip
    assert "called from" in tip or "nothing seen below it" in tip
    page.pointer(x, y).double_click().perform()
    page.frame()
    assert page.text("#call-card b") == name


def test_print_has_all_rows(browser: Any, tmp_path: Path) -> None:
    many = 300
    text = "".join(f"f{at}/{1024 + 2 * at}\n" for at in range(many))
    tags = [1024 + 2 * (at // 2) + at % 2 for at in range(2 * many)]
    path = tmp_path / "many.html"
    capture = Capture.from_events(list(range(2 * many)), tags)
    path.write_text("".join(html_parts(capture, parse_names(text))), "ascii")
    page = Page(browser, path)
    assert len(page.column("name")) < many
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    assert len(page.column("name")) == many
    page.run("window.dispatchEvent(new Event('afterprint'))")
    assert len(page.column("name")) < many


def test_a_column_has_one_unit_and_names_are_whole(browser: Any, tmp_path: Path) -> None:
    name = "chacha_permute_and_encrypt_block"
    names = parse_names(f"{name}/1024\ng/1026\n")
    capture = Capture.from_events([0, 5, 900_000, 9_000_000], [1024, 1026, 1027, 1025])
    capture = replace(capture, info=replace(capture.info, clock_hz=Fraction(31_250_000)))
    path = tmp_path / "units.html"
    path.write_text("".join(html_parts(capture, names)), "ascii")
    page = Page(browser, path)
    assert page.column("elapsed") == ["288.000", "28.800"]
    assert page.text("#table th[data-key=elapsed]") == "Elapsed ms"
    widths = page.run(
        "const c = [...document.querySelectorAll('#table td.name')].find("
        "(td) => td.textContent === arguments[0]); return [c.scrollWidth, c.clientWidth]",
        name,
    )
    assert widths[0] <= widths[1]


AXE = READERS / "node_modules" / "axe-core" / "axe.min.js"
FIND = """
const [done] = arguments;
axe.run(document, { resultTypes: ["violations"] }).then((found) => done(found.violations
  .filter((v) => ["serious", "critical"].includes(v.impact))
  .map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`)));
"""


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core (tools/install-test-tools.sh)")
def test_axe_finds_nothing_serious(page: Page) -> None:
    page.keys("body", "x")
    page.keys("#timeline", "[", "]")
    page.run(AXE.read_text("utf-8"))
    assert page.driver.execute_async_script(FIND) == []
    page.keys("body", "t")
    assert page.driver.execute_async_script(FIND) == []


@pytest.mark.long
@pytest.mark.skipif(not AXE.exists(), reason="no axe-core (tools/install-test-tools.sh)")
def test_axe_finds_nothing_serious_on_a_phone(path: Path) -> None:
    with chromium(390, 844) as driver:
        page = Page(driver, path)
        page.run(AXE.read_text("utf-8"))
        assert driver.execute_async_script(FIND) == []


@pytest.mark.long
def test_the_same_page_in_firefox(path: Path) -> None:
    with firefox() as driver:
        page = Page(driver, path)
        rows = SUMMARY.functions
        nets = [int(cell.replace("\u202f", "")) for cell in page.column("net")]
        assert nets == [row.net for row in rows]
        page.click("#table tr.row:nth-child(3) td.name")
        assert page.text("#function-name") == rows[1].entry.name
        page.keys("body", "x")
        assert page.text("#call-card b") == rows[1].entry.name
        page.keys("#timeline", "[", "]")
        assert "functions" in page.text("#range-text")
        assert page.run("return location.hash").startswith(f"#f={rows[1].entry.name}&c=")
        assert page.all("#flame [role=treeitem]")
        page.click("#range-bar [data-do=clear-range]")
        page.keys("#timeline", "0")
        assert page.window() == (0, SUMMARY.ledger.elapsed)
        x, y = page.place(0, 0, SUMMARY.ledger.elapsed / 3)
        page.pointer(x, y).click_and_hold().move_by_offset(150, 0).release().perform()
        assert not page.run("return document.getElementById('range-bar').hidden")
