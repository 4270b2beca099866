"""The calls that kprof's events count are the calls that gcc's own hooks count, in one run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.realcode.suites import Counts, Suite, build, compile_own, read_counts, run

from kprof.names import read_names

HOOKS = "-O0 -w -no-pie -finstrument-functions -finstrument-functions-exclude-file-list=/usr/"


def _count(suite: Suite, program: str, folder: Path, data: str = "") -> tuple[str, Counts]:
    """Build a suite with both kinds of hooks and run it; what it printed, what was counted."""
    names = folder / "suite.names"
    counter = compile_own("counting", folder)
    built = build(
        suite,
        folder / "build",
        HOOKS,
        kprof=f"--target soft --names {names}",
        link=counter,
    )
    assert built.built, built.said[-2000:]
    counts = folder / "counts"
    said = run(suite, folder / "build", data=data, emulator=f"env KPROF_COUNTS={counts}.$$")
    entries = {entry.value: entry.name for entry in read_names(names).entries}
    os.environ["KPROF_COUNTS"] = str(counts)
    return said, read_counts(counts, folder / "build" / program, entries)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize(
    "name",
    [
        "zlib",
        "lua",
        pytest.param("cjson", marks=pytest.mark.long),
        pytest.param("sqlite", marks=pytest.mark.long),
    ],
)
def test_calls_equal_those_of_gccs_own_hooks(name: str, tmp_path: Path) -> None: ...
