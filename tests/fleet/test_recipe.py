"""The recipe for CI, run as it stands, on the simulated board."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

for module in ("machine68k", "pyarrow", "ruptures"):
    pytest.importorskip(module)

EXAMPLES = Path(__file__).parents[2] / "examples"
PREBUILT = EXAMPLES / "minikernel" / "prebuilt"


def test_the_recipe_on_the_simulated_board(tmp_path: Path) -> None:
    def measure(limit: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "k.budget").write_text(f"in_cksum.max < {limit}\nlanisr.call > 0\n")
        arguments = [PREBUILT / "kernel.elf", PREBUILT / "kernel.names", "k.budget", "hist", "out"]
        return subprocess.run(
            ["sh", EXAMPLES / "ci" / "measure.sh", *arguments],
            cwd=tmp_path,
            env={**os.environ, "KPROF": f"{sys.executable} -m kprof", "COMMIT": "abc"},
            capture_output=True,
            text=True,
            check=False,
        )

    good = measure("10s")
    assert good.returncode == 0, good.stderr
    out = tmp_path / "out"
    made = {"check.txt", "dump.kpd", "junit.xml", "page.html", "report.txt", "trend.txt"}
    assert {path.name for path in out.iterdir()} == made
    assert "never ran" in (out / "report.txt").read_text()
    assert "in_cksum" in (out / "trend.txt").read_text()
    bad = measure("1us")
    assert bad.returncode == 1, bad.stderr
    assert len(ET.parse(out / "junit.xml").findall(".//failure")) == 1
    assert len(list((tmp_path / "hist").rglob("*.parquet"))) == 2  # a bad run is kept, too
