"""The trace that is streamed is that of the whole timeline, line for line."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from tests.analysis.kernels import Kernel
from tests.analysis.programs import random_options
from tests.analysis.test_selection import some_filter
from tests.analysis.whole import mask
from tests.report.whole import trace_lines

import kprof.analysis.stream as stream_module
from kprof.analysis.calls import timeline
from kprof.analysis.filters import Filter
from kprof.analysis.ordered import Ordered
from kprof.analysis.replay.compiled import available
from kprof.analysis.stream import Stream
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameFile, parse_names
from kprof.report.trace import trace_tables, trace_text
from kprof.report.trace_text import FIELDS, SWITCHED_OUT, TRIGGER, Writer

needs_numba = pytest.mark.skipif(not available(), reason="numba (the extra 'fast') is missing")
NAMES = parse_names("a/2\nb/4\nc/6\nout/8$\nin/10*\nswtch/12!\nmark/14=\nd/16\n")
TAGS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 99]


def noise(seed: int, events: int) -> Capture:
    """Calls that nest, with some triggers at random between."""
    source = random.Random(seed)
    tags: list[int] = []
    inside: list[int] = []
    while len(tags) < events:
        choice = source.random()
        if choice < 0.1:
            tags.append(source.choice(TAGS))
        elif choice < 0.55:
            inside.append(source.choice((2, 4, 6, 16)))
            tags.append(inside[-1])
        elif inside:
            tags.append(inside.pop() + 1)
    times = np.cumsum([source.randrange(40) for _ in tags])
    return Capture.from_events(list(times), tags, CaptureInfo(unwrapped=True))


def streamed(
    capture: Capture,
    names: NameFile,
    block: int,
    kept: int,
    monkeypatch: pytest.MonkeyPatch,
    chosen: Filter | None = None,
) -> list[str]:
    """The lines of the streamed trace, with a window of `kept` blocks of so many events."""
    with monkeypatch.context() as patch:
        patch.setattr(stream_module, "BLOCK", block)
        stream = Stream(capture, names, fast=False)
        writer = Writer(stream.functions, stream.inlines, stream.info.clock_hz)
        ordered = Ordered(stream, chosen, kept=kept)
        return [line for table in trace_tables(ordered) for line in writer.lines(table)]


def hold(
    capture: Capture, names: NameFile, monkeypatch: pytest.MonkeyPatch, filters: int = 2
) -> None:
    """The streamed trace is that of the timeline, whatever the window and the filter."""
    lines = timeline(capture, names, fast=False)
    some = [some_filter(random.Random(seed), lines) for seed in range(filters)]
    for chosen in (None, *some):
        wanted = list(trace_lines(lines, None if chosen is None else mask(chosen, lines)))
        for block, kept in ((1 << 16, 4), (50, 2), (7, 1)):
            found = streamed(capture, names, block, kept, monkeypatch, chosen)
            for number, (one, other) in enumerate(zip(found, wanted, strict=False)):
                assert one == other, (block, number, chosen)
            assert len(found) == len(wanted)


@pytest.mark.parametrize("seed", range(25))
def test_kernels_of_every_kind(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = seed % 2 == 0
    kernel = Kernel(seed, random_options(seed, marks=marks, known=False, cut=marks))
    capture = Capture.from_events(kernel.ticks, kernel.tags)
    hold(capture, parse_names(kernel.names), monkeypatch)


@pytest.mark.parametrize("seed", range(5))
def test_noise(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(noise(seed, 2000), NAMES, monkeypatch)


@needs_numba
@pytest.mark.parametrize("hz", [1_000_000, 16_000_000, Fraction(100_000_000, 3), 33_333_333, 10**9])
def test_the_compiled_text_is_the_simple_one(hz: int | Fraction) -> None:
    functions = parse_names("".join(f"f{'x' * k}/{2 * k + 2}\n" for k in range(150))).entries
    inlines = parse_names("mark\u00e9\u4e2d/2=\n").entries
    random_ = np.random.default_rng(3)
    count = 3000
    table = np.zeros((FIELDS, count), np.int64)
    table[0] = random_.integers(0, SWITCHED_OUT + 1, count)
    table[1] = random_.integers(0, 1 << 40, count) >> random_.integers(0, 40, count)
    table[2] = random_.integers(0, 300, count)
    table[3] = np.where(table[0] == TRIGGER, 0, random_.integers(0, len(functions), count))
    table[4] = random_.integers(-(1 << 20), 1 << 45, count) >> random_.integers(0, 45, count)
    table[5] = random_.integers(0, 1 << 40, count) >> random_.integers(0, 40, count)
    for indent in (4, 1):
        simple = Writer(functions, inlines, Fraction(hz), indent=indent)
        quick = Writer(functions, inlines, Fraction(hz), fast=True, indent=indent)
        assert quick.text(table) == simple.text(table)


@needs_numba
def test_the_compiled_trace_is_the_plain_one() -> None:
    capture = noise(8, 20_000)
    quick = "".join(trace_text(Stream(capture, NAMES, fast=True)))
    assert quick == "".join(trace_text(Stream(capture, NAMES, fast=False)))


def test_a_deep_call_has_its_depth_as_a_number() -> None:
    capture = Capture.from_events(list(range(3000)), [2] * 3000)
    lines = "".join(trace_text(Stream(capture, NAMES))).splitlines()
    assert lines[100] == "0:000 100 " + 400 * " " + "-> a (1 us, 2899 total) open"
    assert lines[2998] == "0:002 998 " + 400 * " " + "[2998] -> a (1 us, 1 total) open"


def test_the_first_lines_come_before_the_capture_is_read() -> None:
    times = np.arange(700_000)
    capture = Capture.from_events(times, np.tile([2, 4, 5, 3], 175_000))
    stream = Stream(capture, NAMES, fast=False)
    assert next(trace_text(stream)).startswith("0:000 000 -> a (2 us, 3 total)\n")
    assert stream.outcome is None


def any_triggers(seed: int, monkeypatch: pytest.MonkeyPatch, filters: int) -> None:
    source = random.Random(seed)
    times = np.cumsum([source.randrange(3) for _ in range(600)])
    tags = [source.choice(TAGS) for _ in range(600)]
    capture = Capture.from_events(times, tags, CaptureInfo(unwrapped=True))
    hold(capture, NAMES, monkeypatch, filters)


@pytest.mark.parametrize("seed", range(20))
def test_any_triggers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    any_triggers(seed, monkeypatch, seed % 2)


@pytest.mark.long
def test_any_triggers_at_length(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(20, 320):
        any_triggers(seed, monkeypatch, 2)
