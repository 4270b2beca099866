"""How far a verb is: a bar on a terminal, a line each tenth elsewhere, nothing at first."""

from __future__ import annotations

import io
import re

import pytest

from kprof.cli.meter import Meter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(stream: io.StringIO, seconds: float, total: int | None = 1000) -> str:
    """A thousand steps that take `seconds` in all."""
    clock = Clock()
    with Meter(stream, clock) as meter:
        for step in range(1001):
            clock.now = step * seconds / 1000
            meter.show("fetching", step, total, f"{step} records")
    return stream.getvalue()


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_is_drawn_on_at_most_ten_times_a_second() -> None:
    text = run(Terminal(), 20)
    drawn = re.findall(r"fetching", text)
    assert 150 <= len(drawn) <= 20 * 10 + 2
    assert "1000 records" in text
    assert "100%" in text


def test_the_line_is_cleared_at_the_end() -> None:
    assert run(Terminal(), 20).endswith("\x1b[2K")


def test_no_colour_where_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = re.compile(r"\x1b\[[0-9;]*(3[0-9]|9[0-7])[;m]")
    assert coloured.search(run(Terminal(), 5))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured.search(run(Terminal(), 5))


def test_elsewhere_it_is_a_line_each_tenth() -> None:
    lines = run(io.StringIO(), 20).splitlines()
    assert [line.split()[1] for line in lines] == [
        "5%",
        *(f"{percent}%" for percent in range(10, 101, 10)),
    ]
    assert lines[-1] == "fetching 100% 1000 records"


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_what_is_done_within_a_second_shows_nothing(stream: io.StringIO) -> None:
    assert run(stream, 0.9) == ""


def test_without_a_total_there_is_no_per_cent_elsewhere() -> None:
    assert run(io.StringIO(), 20, None) == ""
    assert "500 records" in run(Terminal(), 100, None)


def test_a_sentence_is_always_shown_and_stays() -> None:
    stream = io.StringIO()
    Meter(stream, Clock()).say("the line stays")
    assert stream.getvalue() == "kprof: the line stays\n"


def test_a_count_without_an_end_shows_its_rate() -> None:
    stream, clock = Terminal(), Clock()
    with Meter(stream, clock) as meter:
        for clock.now in (0.5, 1.25, 1.3, 2.0):
            meter.count("importing", int(clock.now * 1000))
    text = stream.getvalue()
    assert "1,250 events, 1,000 a second" in text
    assert "2,000 events, 1,000 a second" in text
    assert "1,300" not in text
    assert " 500 " not in text
