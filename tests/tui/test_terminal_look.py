"""Text reports on a terminal: colours, marks, links, the strip; and none of it elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kprof.analysis import timeline
from kprof.capture import Capture, write_raw
from kprof.names import parse_names
from kprof.report.choose import report_parts
from kprof.report.colour import Look, dress, mark_of
from kprof.report.request import Request
from kprof.report.sparkline import depth_strip

NAMES = parse_names("f/1024\ng/1026\nM/1028=\nlong (1 us)/1030\n")
CAPTURE = Capture.from_events(
    [0, 5, 6, 2_000_000, 2_001_500, 2_001_510, 2_001_520],
    [1024, 1026, 1028, 1027, 1025, 1030, 1031],
)
ESCAPES = re.compile(r"\x1b\[[0-9]*m|\x1b\]8;;[^\x1b]*\x1b\\")


def text_of(what: str = "summary") -> str:
    return "".join(report_parts(CAPTURE, NAMES, Request(what=what)))


@pytest.mark.parametrize("what", ["summary", "trace"])
def test_without_its_escapes_it_is_the_plain_report(what: str) -> None:
    plain = text_of(what)
    links = {"f": "file:///a.c#1"}
    dressed = "".join(dress([plain], Look(colour=True, links=links)))
    assert dressed != plain
    assert ESCAPES.sub("", dressed) == plain
    assert "\x1b]8;;file:///a.c#1\x1b\\\x1b[36mf\x1b[0m\x1b]8;;\x1b\\" in dressed


@given(st.lists(st.text(), max_size=6), st.booleans())
@example([" "], True)
@example(["a  b  name\n", "1  2\n  3  4  x  y\n\n", "name\n"], True)
@example(["0:000 000 -> f (1.2.3 us)\n0:000 000 == (5 us)\na us  b us  name\n.  1.2.3  f"], True)
def test_any_text_in_any_parts_stays_itself(parts: list[str], colour: bool) -> None:
    plain = "".join(parts)
    if "\x1b" in plain:
        return
    dressed = list(dress(parts, Look(colour=colour)))
    assert ESCAPES.sub("", "".join(dressed)) == plain
    if not colour:
        assert "".join(dressed) == plain


def test_milliseconds_are_green_and_seconds_red() -> None:
    dressed = "".join(dress([text_of("trace")], Look(colour=True)))
    assert "(\x1b[32m1505\x1b[0m us, \x1b[31m2001500\x1b[0m total)" in dressed
    summary = "".join(dress([text_of()], Look(colour=True)))
    assert re.search(r"\x1b\[31m2001500\x1b\[0m +\x1b\[32m1505\x1b\[0m +1 ", summary)


def test_marks_are_those_of_ftrace() -> None:
    assert [mark_of(us) for us in (1, 10, 11, 101, 1001, 10_001, 100_001, 1_000_001)] == [
        *"  +!#*@$"
    ]
    lines = "".join(dress([text_of("trace")], Look(marks=True))).splitlines()
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
    environ = {**clean, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **environment}
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
