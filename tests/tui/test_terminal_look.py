"""Text reports on a terminal: colours, marks, links, the strip; and none of it elsewhere."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.analysis import timeline
from kprof.analysis.budget import check_budget, parse_budget
from kprof.analysis.compare import compare
from kprof.analysis.measured import measure
from kprof.analysis.statistics import statistics
from kprof.capture import Capture, write_raw
from kprof.cli.terminal import _pager_passes
from kprof.names import parse_names
from kprof.report.check import check_lines
from kprof.report.choose import report_parts
from kprof.report.diff import diff_lines
from kprof.report.request import Request
from kprof.report.sparkline import depth_strip
from kprof.report.style import PLAIN, Style, mark_of

NAMES = parse_names("f/1024\ng/1026\nM/1028=\nlong (1 us)/1030\n")
CAPTURE = Capture.from_events(
    [0, 5, 6, 2_000_000, 2_001_500, 2_001_510, 2_001_520],
    [1024, 1026, 1028, 1027, 1025, 1030, 1031],
)
ESCAPES = re.compile(r"\x1b\[[0-9]*m|\x1b\]8;;[^\x1b]*\x1b\\")


FULL = Style(colour=True, links={"f": "file:///a.c#1"})


def text_of(what: str = "summary", style: Style = PLAIN, *subject: str) -> str:
    return "".join(report_parts(CAPTURE, NAMES, Request(what=what, subject=subject, style=style)))


REPORTS = [
    ("summary",), ("trace",), ("graph",), ("graph", "g"), ("hist", "f"), ("worst", "f"),
    ("tasks",), ("interrupts",),
]  # fmt: skip


@pytest.mark.parametrize("report", REPORTS)
def test_without_its_escapes_it_is_the_plain_report(report: tuple[str, ...]) -> None:
    plain = text_of(report[0], PLAIN, *report[1:])
    dressed = text_of(report[0], FULL, *report[1:])
    assert ESCAPES.sub("", dressed) == plain
    assert dressed != plain or report[0] == "interrupts"
    if report[0] in ("summary", "trace", "graph", "worst"):
        assert "\x1b]8;;file:///a.c#1\x1b\\\x1b[36mf\x1b[0m\x1b]8;;\x1b\\" in dressed


def test_the_fields_the_budget_and_the_difference_in_colour() -> None:
    def fields(style: Style) -> str:
        request = Request(fields="total,self-avg,pct_net", style=style)
        return "".join(report_parts(CAPTURE, NAMES, request))

    assert ESCAPES.sub("", fields(FULL)) == fields(PLAIN)
    assert "\x1b[31m" in fields(FULL)
    run = measure(CAPTURE, NAMES)
    change = compare([run], [run])
    plain = list(diff_lines(change, everything=True))
    shown = list(diff_lines(change, everything=True, style=FULL))
    assert [ESCAPES.sub("", line) for line in shown] == plain
    assert shown != plain
    boxes = "\n".join(diff_lines(change, everything=True, style=Style(boxes=True)))
    assert "1 \u2192 1" in boxes
    verdicts = check_budget(
        parse_budget("f.call < 5\ng.max < 1us\n", "b"), statistics(CAPTURE, NAMES), NAMES
    )
    lines = list(check_lines(verdicts, ["", "the call"], FULL))
    assert lines[0].startswith("\x1b[32mpass\x1b[0m  f.call < 5")
    assert lines[1].startswith("\x1b[31mFAIL\x1b[0m  g.max < 1us")
    assert [ESCAPES.sub("", line) for line in lines] == list(
        check_lines(verdicts, ["", "the call"])
    )


def test_a_call_has_the_colour_of_its_time_and_a_function_that_of_its_share() -> None:
    dressed = text_of("trace", FULL)
    assert "(\x1b[32m1505\x1b[0m us, \x1b[31m2001500\x1b[0m total)" in dressed
    lines = text_of("summary", Style(colour=True)).splitlines()
    row = next(line for line in lines if line.endswith("mf\x1b[0m"))
    assert re.match(r"\x1b\[31m *2001500\x1b\[0m +1505 +1 ", row)  # 1505 us: 0.08% of the run


@pytest.mark.parametrize("width", [24, 30, 40, 60, 71])
def test_no_line_of_the_table_is_wider_than_the_terminal(width: int) -> None:
    names = parse_names("a_function_with_quite_a_long_name/1024\nshort/1026\n")
    capture = Capture.from_events([0, 5, 600, 1_700_001], [1024, 1026, 1027, 1025])
    style = Style(width=width)
    text = "".join(report_parts(capture, names, Request(style=style)))
    table = text.split("-" * min(72, width) + "\n")[1].split("\n\n")[0].splitlines()
    assert len(table) == 3
    assert all(len(line) <= width for line in table)
    assert any(line.endswith(" short") for line in table)
    assert any("a_funct" in line for line in table)
    assert "Net" in table[0]


def test_boxes_and_blocks_where_utf8_allows() -> None:
    style = Style(boxes=True)
    assert "\u2514\u2500 \u001bg".replace("\u001b", "") in text_of("graph", style)
    assert "\u2588" in text_of("hist", style, "f")
    assert "\u2500" * 72 in text_of("summary", style)
    assert not any(
        ord(letter) > 127 for report in REPORTS for letter in text_of(report[0], PLAIN, *report[1:])
    )
    assert [style.bar(part, 16, 2) for part in (0, 1, 8, 9, 16)] == [
        "", "\u258f", "\u2588", "\u2588\u258f", "\u2588\u2588"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "colours", "links"),
    [
        ({}, True, True),
        ({"LESS": "-FX"}, False, False),
        ({"LESS": "-FRX"}, True, True),
        ({"LESS": "-R"}, True, True),
        ({"PAGER": "more"}, False, False),
        ({"PAGER": "less -S"}, False, False),
    ],
)
def test_colours_and_links_only_where_the_pager_passes_them(
    environment: dict[str, str], colours: bool, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("less") is None:
        pytest.skip("no less")
    monkeypatch.delenv("LESS", raising=False)
    monkeypatch.delenv("PAGER", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    said = subprocess.run(["less", "--version"], capture_output=True, text=True).stdout
    new = int(re.findall(r"less (\d+)", said)[0]) >= 566
    assert _pager_passes("r") == colours
    assert _pager_passes("links") == (links and new)


def test_marks_are_those_of_ftrace() -> None:
    assert [mark_of(us) for us in (1, 10, 11, 101, 1001, 10_001, 100_001, 1_000_001)] == [
        *"  +!#*@$"
    ]
    lines = text_of("trace", Style(marks=True)).splitlines()
    assert [line[:2] for line in lines[:3]] == ["$ ", "$ ", "  "]
    assert [line[2:] for line in lines] == text_of("trace").splitlines()


def test_the_strip_shows_where_calls_were_open() -> None:
    events = [(0, 1024), (500, 1026), (600, 1027), (750, 1025), (1000, 1028)]
    line = timeline(Capture.from_events(*map(list, zip(*events, strict=True))), NAMES)
    assert depth_strip(line, 10, ascii_only=True) == "Depth |=====@@=  | to 2"
    assert depth_strip(line, 10).count("\u2588") == 2
    assert depth_strip(timeline(Capture.from_events([], []), NAMES)) == ""


def run_report(folder: Path, *options: str, tty: bool, **environment: str) -> str:
    dump = folder / "dump.bin"
    write_raw(dump, CAPTURE)
    (folder / "dump.names").write_text(NAMES.text)
    command = [sys.executable, "-m", "kprof", "report", str(dump), *options]
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    environ = {**clean, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    environ |= {"COLUMNS": "200", **environment}
    if not tty:
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, check=True
        ).stdout
    main, side = pty.openpty()
    with subprocess.Popen(command, env=environ, stdout=side, stderr=side) as process:
        os.close(side)
        parts = []
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            parts.append(part)
        process.wait()
    os.close(main)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_colour_is_for_terminals(tmp_path: Path) -> None:
    plain = run_report(tmp_path, tty=False)
    assert "\x1b" not in plain
    shown = run_report(tmp_path, tty=True)
    assert "\x1b[36mf\x1b[0m" in shown
    assert "Depth \u258f" in shown
    assert run_report(tmp_path, tty=True, NO_COLOR="1") == plain
    assert run_report(tmp_path, "--color", "never", tty=True) == plain
    assert run_report(tmp_path, "--color", "always", tty=False) == shown
