"""Page and terminal browser of ten million events: what they cost."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.replay import make_capture

PAGE = """\
import sys
from kprof.cli.main import main
sys.argv = ["kprof", "report", "dump.bin", "--valid", "all", "--names", "k.names", "--html", "-"]
try:
    main()
except SystemExit:
    pass
"""
BROWSER = """\
from kprof.capture import open_capture
from kprof.names import read_names
from kprof.tui.app import Browser
from kprof.tui.reading import Reading
reading = Reading(open_capture("dump.bin", valid="all"), read_names("k.names"))
app = Browser(reading, {})
print(len(app.functions), "rows")
"""
TRACE = "print(app.trace_view.worst(0), len(app.trace_view), 'calls')\n"
PEAK = "import sys; print(open('/proc/self/status').read(), file=sys.stderr)\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("numba", reason="numba (the extra 'fast') is not installed")
    if not Path("/proc/self/status").exists():
        pytest.skip("needs Linux's /proc to see a process's memory")
    place = tmp_path_factory.mktemp("large")
    make_capture(place, 10_000_000)
    return place


def peak(folder: Path, code: str) -> int:
    """The largest resident size in MB; of the second run, for the first may compile."""
    for _ in range(2):
        command = [sys.executable, "-c", code + PEAK]
        with (folder / "out").open("wb") as out:
            done = subprocess.run(
                command, cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True, check=True
            )
    assert (folder / "out").stat().st_size > 0
    return int(re.findall(r"VmHWM:\s*(\d+)", done.stderr)[0]) // 1024


@pytest.mark.long
def test_a_page_takes_less_than_300_megabytes(folder: Path) -> None:
    assert peak(folder, PAGE) < 300


@pytest.mark.long
def test_the_browser_takes_less_than_500_megabytes(folder: Path) -> None:
    pytest.importorskip("textual", reason="the extra kprof[tui] is not installed")
    assert peak(folder, BROWSER) < 300
    assert peak(folder, BROWSER + TRACE) < 500
