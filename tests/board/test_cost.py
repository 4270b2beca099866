"""What a call costs on the board: the benchmark's own figures."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("m68k-linux-gnu-gcc") is None, reason="no m68k-linux-gnu-gcc here")
def test_triggers_are_the_cheapest_way_to_time_a_call() -> None:
    table = subprocess.run(
        [sys.executable, "-m", "benchmarks.board_cost"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = re.findall(r"^(.+?) +\+(\d+) +\+(\d+) +[\d.]+", table, re.MULTILINE)
    more = {name: (int(size), int(clocks)) for name, size, clocks in rows}
    # Two 4-byte instructions of 6 clocks, each with the EPROM's 2 wait states.
    assert more.pop("kprof, m68k triggers") == (8, 16)
    assert len(more) == 4
    assert all(clocks > 5 * 16 for _, clocks in more.values()), more
