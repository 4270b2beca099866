"""The compiled replay finds what the plain one finds, to the last tick."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kprof.analysis import summarise, timeline
from kprof.analysis.filters import Filter
from kprof.analysis.replay import compiled as fast
from kprof.analysis.selection import filtered_statistics
from kprof.capture import Capture
from kprof.capture.model import CaptureInfo
from kprof.names import parse_names

pytest.importorskip("numba", reason="numba (the extra 'fast') is not installed")

NAMES = parse_names("a/2\nb/4\nc/6\nout/8$\nin/10*\nswtch/12!\nmark/14=\nd/16\n")
TAGS = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 99]


def _noise(seed: int, events: int, wide: bool = False) -> Capture:
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
    return Capture.from_events(list(times), tags, CaptureInfo(unwrapped=wide))


@pytest.mark.parametrize("wide", [False, True])
def test_the_summary_is_the_same(wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kprof.analysis.replay.decoding._PART", 999)
    for seed in range(6):
        capture = _noise(seed, 20_000, wide)
        assert summarise(capture, NAMES, fast=True) == summarise(capture, NAMES, fast=False)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("switch", [8, 10, 11, 12, 13])
def test_a_first_switch_behind_the_sample_is_found(
    wide: bool, switch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kprof.analysis.replay.survey.SAMPLE", 64)
    monkeypatch.setattr("kprof.analysis.replay.decoding._SCANNED", 100)
    tags = [2, 3] * 500 + [switch] + [4, 5, 8, 9, 10, 11] * 20
    times = [7 * event for event in range(len(tags))]
    capture = Capture.from_events(times, tags, CaptureInfo(unwrapped=wide))
    plain, quick = (timeline(capture, NAMES, fast=fast) for fast in (False, True))
    assert plain.ledger == quick.ledger
    assert plain.first == quick.first == (0 if switch in (10, 13) else 1)
    assert summarise(capture, NAMES, fast=True) == summarise(capture, NAMES, fast=False)


def test_the_calls_are_the_same() -> None:
    capture = _noise(9, 30_000)
    plain, quick = timeline(capture, NAMES, fast=False), timeline(capture, NAMES, fast=True)
    for name in plain.calls.__dataclass_fields__:
        assert np.array_equal(getattr(plain.calls, name), getattr(quick.calls, name)), name
    for name in plain.marks.__dataclass_fields__:
        assert np.array_equal(getattr(plain.marks, name), getattr(quick.marks, name)), name
    assert plain.ledger == quick.ledger


def test_compiled_code_is_kept_by_edition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summarise(_noise(2, 100), NAMES, fast=True)
    assert fast.pays(fast.WORTH)
    # As after a change of any source: what was compiled before is not taken.
    monkeypatch.setattr(fast, "cache_folder", lambda: tmp_path)
    assert not fast.pays(fast.WORTH)


def test_a_numba_that_cannot_be_imported_is_none(tmp_path: Path) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('needs another numpy')\n")
    code = (
        "from kprof.analysis import summarise\nfrom kprof.analysis.replay import compiled as fast\n"
        "from kprof.capture import Capture\n"
        "from kprof.errors import MissingExtraError\n"
        "from kprof.names import parse_names\n"
        "fast.WORTH = fast._WORTH_COMPILING = 1\n"
        "capture, names = Capture.from_events([1, 5], [2, 3]), parse_names('a/2\\n')\n"
        "print(summarise(capture, names).functions[0].net)\n"
        "try:\n    summarise(capture, names, fast=True)\n"
        "except MissingExtraError as error:\n    print(error)\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("4\nthe compiled replay")


def test_the_calls_that_a_filter_keeps_are_the_same() -> None:
    capture = _noise(5, 20_000)
    chosen = Filter(only=("a",), callers=("c",), hide=("b",), least=30, start=9000)
    plain, quick = (
        filtered_statistics(capture, NAMES, lambda _: chosen, fast=fast) for fast in (False, True)
    )
    assert plain == quick
    assert 0 < plain.ledger.net < plain.ledger.left_out
