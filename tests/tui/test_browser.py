"""`kprof tui` driven by its keys."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("textual", reason="the extra kprof[tui] is not installed")

from tests.analysis import kernel_sim

from kprof.analysis import summarise, timeline
from kprof.analysis.replay.codes import OPEN, ORPHAN
from kprof.capture import Capture
from kprof.names import parse_names
from kprof.report.choose import report_parts, statistics_of
from kprof.report.request import Request
from kprof.report.units import Scale, safe_name
from kprof.tui.app import Browser
from kprof.tui.reading import Reading

EVIL = "[bold]\x1b[31mred[/bold]"
NAMES = parse_names(kernel_sim.name_text("pair").replace("f3/", EVIL + "/"))
KERNEL = kernel_sim.Kernel(3, "pair", True, 1500)
CAPTURE = Capture.from_events(KERNEL.times, KERNEL.tags)
LINES = timeline(CAPTURE, NAMES)
SUMMARY = summarise(CAPTURE, NAMES)


def drive(
    steps: Callable[[Browser, Any], Coroutine[Any, Any, None]], capture: Capture = CAPTURE
) -> None:
    async def run() -> None:
        app = Browser(Reading(capture, NAMES), {})
        async with app.run_test(size=(100, 30)) as pilot:
            await steps(app, pilot)

    asyncio.run(run())


def current(app: Browser) -> str:
    return app.lines.view.line(app.lines.cursor).plain


def test_the_table_is_the_summary_and_sorts() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        shown = [app.functions.line(at).plain.split() for at in range(len(app.functions))]
        rows = SUMMARY.functions
        assert [row[1] for row in shown] == [str(row.net) for row in rows]
        assert shown[0][0] == str(rows[0].elapsed)
        await pilot.press("s")
        shown = [app.functions.line(at).plain.split() for at in range(len(app.functions))]
        assert [int(row[0]) for row in shown] == sorted((r.elapsed for r in rows), reverse=True)
        assert "*elapsed" in app.lines.view.title(80)

    drive(steps)


def test_the_table_fits_eighty_columns() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        await pilot.press("end")
        for at, row in enumerate(SUMMARY.functions):
            line = app.functions.line(at, 80).plain
            assert line.isascii()
            assert len(line) <= 80
            assert line.endswith(safe_name(row.entry.name))
        assert app.functions.title(80).index("name") == line.index(line.split()[-1])

    drive(steps)


def test_the_keys_of_a_terminal_move_the_cursor() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        await pilot.press("T")
        await pilot.pause()
        app.trace_view.unfolded.unfold_all(0)
        app.lines.changed()
        view, page = app.lines.view, app.lines.size.height - 1
        assert len(view) > 2 * page
        places = []
        for key in ("down", "down", "up", "pagedown", "end", "pageup", "home"):
            await pilot.press(key)
            places.append(app.lines.cursor)
        assert current(app) == view.line(0).plain
        last = len(view) - 1
        assert places == [1, 2, 1, 1 + page, last, last - page, 0]

    drive(steps)


def test_the_worst_call_stands_in_the_middle() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        for at in range(len(app.functions)):
            await pilot.press("R", "home", *["down"] * at, "w")
            await pilot.pause()
            line, height = app.lines.cursor, app.lines.size.height
            if height // 2 < line < len(app.lines.view) - height // 2:
                assert line - app.lines.scroll_offset.y == height // 2
                return
        pytest.fail("no worst call far from both ends")

    drive(steps)


def test_the_worst_call_of_a_function() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        found = [
            at
            for at, row in enumerate(SUMMARY.functions)
            if (mine := np.flatnonzero(LINES.calls.function == app.functions.function(at))).size
            and mine[LINES.calls.net[mine].argmax()] != mine[LINES.calls.elapsed[mine].argmax()]
        ]
        assert found
        line = found[0]
        await pilot.press(*["j"] * line)
        function = app.functions.function(line)
        await pilot.press("w")
        assert app.lines.id == "trace"
        calls = LINES.calls
        mine = (calls.function == function) & ((calls.flags & (OPEN | ORPHAN)) == 0)
        node = app.trace_view.unfolded.lines[app.lines.cursor][0]
        assert calls.elapsed[node] == calls.elapsed[mine].max()
        assert calls.function[node] == function
        await pilot.press("r")
        assert app.lines.id == "functions"
        assert app.lines.cursor == line

    drive(steps)


def test_the_graph_unfolds_and_adds_up() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        await pilot.press("G")
        roots = len(app.graph)
        await pilot.press("E")
        assert len(app.graph) > roots
        assert int(app.graph.tree.net.sum()) == int(LINES.calls.net.sum())
        await pilot.press("l")
        line = app.lines.cursor
        assert app.graph.unfolded.lines[line][1] == 1
        await pilot.press("u", "C")
        assert len(app.graph) == roots
        await pilot.press("enter")
        assert app.graph.unfolded.is_open(app.lines.cursor)
        await pilot.press("n", "p", "end", "home", "pagedown", "pageup", "z", "e", "c")

    drive(steps)


def test_the_graph_of_one_function() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        row = SUMMARY.functions[1]
        await pilot.press("j", "g")
        assert app.lines.id == "graph"
        shown = [app.lines.view.line(at).plain for at in range(len(app.lines.view))]
        heads = [line for line in shown if "and what it calls" in line or "called from" in line]
        assert [line.split()[3:5] for line in heads] == [["-", row.entry.name]] * 2
        assert [line.split()[0] for line in heads] == [str(row.elapsed)] * 2
        await pilot.press("G")
        assert app.lines.view is app.graph

    drive(steps)


def chain(levels: int) -> Capture:
    """f0 calls f1 calls ... to `levels` deep; the last calls two others."""
    tags: list[int] = []
    for at in range(levels):
        tags.append(1024 + 2 * at)
    for leaf in (levels, levels + 1):
        tags += [1024 + 2 * leaf, 1025 + 2 * leaf]
    for at in reversed(range(levels)):
        tags.append(1025 + 2 * at)
    return Capture.from_events([10 * n for n in range(len(tags))], tags)


def test_a_chain_of_single_callees_is_one_step() -> None:
    names = parse_names("".join(f"f{at}/{1024 + 2 * at}\n" for at in range(40)))
    graph = Browser(Reading(chain(35), names), {}).graph
    assert [graph.line(at, 60).plain.split()[-1] for at in range(len(graph))] == ["f0"]
    graph.toggle(0)
    shown = [graph.line(at, 60).plain for at in range(len(graph))]
    assert [line.split()[-1] for line in shown] == [f"f{at}" for at in range(37)]
    assert {line.index("f") for line in shown[1:35]} == {shown[1].index("f")}
    assert shown[36].index("f") == shown[35].index("f") > shown[0].index("f")
    graph.toggle(0)
    assert len(graph) == 1


@pytest.mark.parametrize("width", [40, 80, 200])
def test_columns_go_before_names(width: int) -> None:
    names = parse_names("chacha_permute_and_encrypt/1024\ng/1026\n")
    capture = Capture.from_events([0, 5, 900_000, 1_800_000], [1024, 1026, 1027, 1025])
    capture = replace(capture, info=replace(capture.info, clock_hz=Fraction(31_250_000)))
    app = Browser(Reading(capture, names), {})
    for view in (app.functions, app.graph, app.trace_view):
        line = view.line(0, width).plain
        assert len(line) <= width or width == 40
        assert "chacha_permute" in line[:width]
        assert len(view.title(width)) <= width
    everything = app.functions.line(0, width).plain.split()
    assert everything[-1] == "chacha_permute_and_encrypt"
    assert ("##" in everything[-2]) == (width == 200)
    heads = app.functions.title(200).split()
    cells = [app.functions.line(at, 200).plain.split() for at in range(2)]
    # One number of decimals a column: 1800000 ticks of 32 ns are 57.6 ms.
    assert heads[0] == "elapsed"
    assert [row[0] for row in cells] == ["57600.000", "28799.840"]


def test_a_column_of_long_times_is_in_milliseconds() -> None:
    scale = Scale(Fraction(31_250_000), 10**8)
    assert (scale.unit, scale.text(10**8), scale.text(31)) == ("ms", "3200.000", "0.001")
    assert Scale(Fraction(1_000_000), 12_146_820).text(12_146_820) == "12146820"
    assert Scale(Fraction(31_250_000), 3_000).text(31) == "0.992"
    assert Scale(Fraction(1_000_000), 5).text(None) == "-"


def test_a_range_shows_the_calls_that_began_in_it() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        await pilot.press("T")
        app.lines.go(len(app.lines.view) // 3)
        first = app.trace_view.span(app.lines.cursor)
        await pilot.press("left_square_bracket")
        node = app.trace_view.unfolded.lines[app.lines.cursor][0]
        assert app.trace_view.calls.entry[node] == first[0]
        await pilot.press("end")
        app.lines.go(len(app.lines.view) // 2)
        last = app.trace_view.span(app.lines.cursor)
        await pilot.press("right_square_bracket")
        request = Request(span=f"{first[0]}us~{last[1]}us")
        expected = statistics_of(CAPTURE, NAMES, request).summary().functions
        assert app.reading.summary.functions == expected
        await pilot.press("R")
        assert len(app.functions) == len(expected) < len(SUMMARY.functions)
        await pilot.press("G")
        assert int(app.graph.tree.net.sum()) == sum(row.net for row in expected)
        await pilot.press("backslash", "R")
        assert [row.net for row in app.reading.summary.functions] == [
            row.net for row in SUMMARY.functions
        ]

    drive(steps)


def test_the_distribution_is_that_of_the_report() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        await pilot.press("j", "d")
        name = SUMMARY.functions[1].entry.name
        request = Request(what="hist", subject=(name,))
        expected = "".join(report_parts(CAPTURE, NAMES, request)).splitlines()
        view = app.lines.view
        assert [view.line(at).plain for at in range(len(view))] == expected
        await pilot.press("r")
        assert app.lines.cursor == 1

    drive(steps)


def test_search_goes_from_match_to_match() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        await pilot.press("T", "slash", *"mark", "enter")
        await pilot.pause()
        assert "== mark" in current(app)
        first = app.trace_view.unfolded.lines[app.lines.cursor][0]
        await pilot.press("N")
        second = app.trace_view.unfolded.lines[app.lines.cursor][0]
        assert second == first + 1
        await pilot.press("P")
        assert app.trace_view.unfolded.lines[app.lines.cursor][0] == first
        await pilot.press("slash", *"no such", "enter")
        assert app.trace_view.unfolded.lines[app.lines.cursor][0] == first

    drive(steps)


def test_names_are_shown_as_they_are() -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        await pilot.press("slash", *"[bold]", "enter")
        await pilot.pause()
        assert "[bold]\\x1b[31mred[/bold]" in current(app)
        await pilot.press("question_mark")
        assert len(app.screen_stack) == 2
        await pilot.press("x", "I", "x", "O")
        assert len(app.screen_stack) == 1

    drive(steps)


@pytest.mark.parametrize("events", [0, 1, 3])
def test_nearly_nothing(events: int) -> None:
    async def steps(app: Browser, pilot: Any) -> None:
        for key in ("j", "w", "G", "E", "l", "u", "n", "enter", "T", "enter", "z", "s", "g", "end"):
            await pilot.press(key)
        assert app.is_running

    drive(steps, Capture.from_events(list(range(events)), [1024, 1026, 1300][:events]))


@pytest.mark.parametrize(
    ("stdin", "stdout", "which"),
    [(None, None, "input"), (None, "tty", "input"), ("tty", None, "output")],
)
def test_without_a_terminal_it_is_refused(
    tmp_path: Path, stdin: str | None, stdout: str | None, which: str
) -> None:
    (tmp_path / "dump.bin").write_bytes(bytes([0, 0, 0, 4, 0]))
    (tmp_path / "dump.names").write_text("f/1024\n")
    main, side = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "tui", "dump.bin"],
        cwd=tmp_path,
        stdin=side if stdin else subprocess.DEVNULL,
        stdout=side if stdout else subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.set_blocking(main, False)
    with contextlib.suppress(BlockingIOError):
        assert os.read(main, 100) == b""
    os.close(main)
    os.close(side)
    assert (done.returncode, done.stdout or b"") == (2, b"")
    assert done.stderr.decode().startswith(f"kprof: standard {which} is not a terminal, which the")


def test_how_to_read_a_raw_image_is_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two events over the run before, the bytes of each record backwards."""
    from kprof.cli.tui import command

    records = [bytes([0, 0, time, 4, time & 1])[::-1] for time in range(8)]
    old = [bytes([0, 0, 99, 4, 0])[::-1]] * 8
    (tmp_path / "old.bin").write_bytes(b"".join(old))
    (tmp_path / "dump.bin").write_bytes(b"".join([*records[:2], *old[2:]]))
    (tmp_path / "dump.names").write_text("f/1024\n")
    shown: list[Browser] = []
    monkeypatch.setattr(Browser, "run", lambda self: shown.append(self))
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    command.main(
        [
            str(tmp_path / "dump.bin"),
            *("--previous", str(tmp_path / "old.bin")),
            *("--record-order", "43210"),
        ],
        standalone_mode=False,
    )
    assert [app.reading.summary.events for app in shown] == [2]
    assert [(row.entry.name, row.net) for row in shown[0].reading.summary.functions] == [("f", 1)]


def test_without_textual_it_says_what_to_install(tmp_path: Path) -> None:
    dump = tmp_path / "dump.bin"
    dump.write_bytes(bytes([0, 0, 0, 4, 0]))
    (tmp_path / "dump.names").write_text("f/1024\n")
    code = (
        "import sys; sys.modules['textual'] = None\n"
        "sys.argv = ['kprof', 'tui', sys.argv[1]]\n"
        "from kprof.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(dump)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        1,
        "kprof: kprof tui needs the extra 'tui': install it with pip install 'kprof[tui]'\n",
    )
