"""`kprof demo`: the whole chain, end to end."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from kprof.board.minikernel import ready_built
from kprof.capture.open import open_capture
from kprof.cli.demo import command
from kprof.names import read_names

needs_cross = pytest.mark.skipif(
    shutil.which("m68k-linux-gnu-gcc") is None, reason="no m68k-linux-gnu-gcc here"
)


def run_demo(folder: Path, *options: str) -> tuple[str, str]:
    result = CliRunner().invoke(
        command, ["-o", str(folder), *options], catch_exceptions=False, prog_name="kprof"
    )
    assert result.exit_code == 0
    return result.stdout, result.stderr


@pytest.mark.parametrize(
    "how", ["--ready-built", pytest.param("--cross=m68k-linux-gnu-", marks=needs_cross)]
)
def test_from_c_source_to_report(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "demo"
    out, notices = run_demo(folder, how, "--lines", "300")
    assert re.search(r"^Elapsed time = 1 sec \d+ us$", out, re.MULTILINE)
    assert re.search(r"^ *\d+ +\d+ +\d+ +\(\d+/\d+/\d+\) +[\d.]+% +[\d.]+%  lanisr$", out, re.M)
    assert "---- Context switch in ----" in out
    assert f"kprof trace {folder}/again.bin" in out
    assert ("ready-built" in notices) == (how == "--ready-built")
    assert "byte for byte" in notices
    assert re.search(r"counters agree: 7\d\d\d calls of 4\d functions", notices)
    capture = open_capture(folder / "dump.bin")
    assert capture.events == 16384
    assert capture.info.full
    assert capture.info.names_sha256 == read_names(folder / "kernel.names").sha256()
    assert "tst.b" in (folder / "src" / "le.c").read_text()
    # Static functions are those of the ready-built kernel, not new ones of the same names.
    built = [(entry.name, entry.value) for entry in read_names(ready_built()[1]).entries]
    assert [(e.name, e.value) for e in read_names(folder / "kernel.names").entries] == built
    assert (folder / "kernel.elf").exists()


def test_it_can_be_repeated_in_its_folder(tmp_path: Path) -> None:
    first, _ = run_demo(tmp_path, "--ready-built")
    second, _ = run_demo(tmp_path, "--ready-built")
    assert first == second


def test_without_a_cross_compiler_it_says_so(tmp_path: Path) -> None:
    _, notices = run_demo(tmp_path, "--cross", "none-such-")
    assert "using the ready-built kernel, there is no none-such-gcc here" in notices


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(command, ["-o", str(tmp_path / "file" / "demo")])
    assert result.exception is not None
    assert "cannot write" in str(result.exception)


@pytest.mark.long
def test_the_lines_to_do_it_by_hand_work_when_pasted(tmp_path: Path) -> None:
    out, _ = run_demo(tmp_path / "a demo", "--ready-built")
    lines = out.split("By hand, from the kernel to the report:\n")[1]
    done = subprocess.run(["bash", "-e"], input=lines, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    again = (tmp_path / "a demo" / "again.bin").read_bytes()
    assert open_capture(tmp_path / "a demo" / "again.bin").events == 16384
    assert again[-81920:] == (tmp_path / "a demo" / "dump.bin").read_bytes()[-81920:]
    assert done.stdout.count("-> ") > 20
