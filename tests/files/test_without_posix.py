"""The verbs that firmware people use run without the POSIX modules: locks, ports, the board."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kprof.capture import open_capture, write_raw
from kprof.capture.model import Capture
from kprof.names import read_names

SCRIPT = Path(__file__).parent / "without_posix.py"
SOURCE = "int twice(int x)\n{\n\treturn 2 * x;\n}\nint main(void) { return twice(0); }\n"


def command(folder: Path, *words: str | Path) -> list[str]:
    return [sys.executable, str(SCRIPT), str(folder), *map(str, words)]


def kprof(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(folder, *words), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "a.c").write_text(SOURCE)
    return tmp_path


def test_from_source_to_export(folder: Path) -> None:
    kprof(folder, "instrument", "a.c", "--names", "k.names", "-o", "out")
    assert (folder / "k.names").read_text() == "#@ a.c\ntwice/1024\nmain/1026\n"
    assert "kprof" in (folder / "out" / "a.c").read_text()
    assert "twice" in kprof(folder, "names", "list", "k.names").stdout
    write_raw(folder / "dump.bin", Capture.from_events([0, 5, 9, 12], [1026, 1024, 1025, 1027]))
    assert "twice" in kprof(folder, "report", "dump.bin").stdout
    kprof(folder, "report", "dump.bin", "--html", "page.html")
    assert (folder / "page.html").stat().st_size > 10_000
    kprof(folder, "export", "dump.bin", "--format", "ctf", "-o", "x.ctf")
    assert (folder / "x.ctf" / "events").stat().st_size > 0
    assert not list(folder.glob(".*.tmp"))
    rows = ["time,CE," + ",".join(f"A{bit}" for bit in range(16))]
    for k, (select, address) in enumerate([(1, 0), (0, 1026), (1, 0), (0, 1024), (1, 0)]):
        lines = ",".join(str(address >> bit & 1) for bit in range(16))
        rows.append(f"{k * 1e-5:.6f},{select},{lines}")
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    kprof(folder, "import", "table.csv", "-o", "imported.kpd")
    assert open_capture(folder / "imported.kpd").tags().tolist() == [1026, 1024]


def test_the_browser_is_there(folder: Path) -> None:
    pytest.importorskip("textual", reason="the extra kprof[tui] is not installed")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import textual.app, without_posix;"
        "without_posix.become_windows(); import kprof.tui.app, kprof.api"
    )
    words = [sys.executable, "-c", code, str(SCRIPT.parent)]
    done = subprocess.run(words, cwd=folder, check=False)
    assert done.returncode == 0


def test_compilations_at_once_share_a_name_file(folder: Path) -> None:
    """Through the locks of Windows: no value is lost or given twice."""
    for k in range(4):
        (folder / f"f{k}.c").write_text(
            "".join(f"int f{k}_{j}(void) {{ return 0; }}\n" for j in range(30))
        )
    words = ("cc", "--target", "soft", "--names", "k.names", "--", "gcc", "-c")
    running = [
        subprocess.Popen(
            command(folder, *words, f"f{k}.c", "-o", f"f{k}.o"), stderr=subprocess.PIPE, text=True
        )
        for k in range(3)
    ]
    for one in running:
        _, said = one.communicate(timeout=120)
        assert one.returncode == 0, said
    entries = read_names(folder / "k.names").entries
    assert len({entry.name for entry in entries}) == len(entries) == 90
    assert len({entry.value for entry in entries}) == 90
    assert (folder / "k.names.calls").read_text().count("\n") == 91


@contextlib.contextmanager
def board(folder: Path) -> Iterator[str]:
    """The simulated board, and what its upload line is called."""
    pytest.importorskip("machine68k", reason="the extra kprof[board] is not installed")
    kernel = Path(__file__).parents[2] / "examples" / "minikernel" / "prebuilt"
    words = ("sim", kernel / "kernel.elf", "--names", kernel / "kernel.names")
    process = subprocess.Popen(
        command(folder, *words), stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"kprof upload (\S+)", line):
                yield found[1]
                break
        else:
            raise AssertionError("the board named no line")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.long
def test_the_board_serves_tcp_and_upload_reads_it(folder: Path) -> None:
    with board(folder) as line:
        assert re.fullmatch(r"socket://127\.0\.0\.1:\d+", line)
        kprof(folder, "upload", line, "-o", "dump.kpd")
    assert open_capture(folder / "dump.kpd").events == 16384


def test_a_lock_keeps_others_out(folder: Path) -> None:
    """Of another process, with the stand-in for Windows."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import without_posix, os;"
        "without_posix.become_windows();"
        "from kprof import locks;"
        "held = [os.open('x', os.O_RDWR | os.O_CREAT | locks.FLAGS) for _ in range(2)];"
        "assert not locks.RENAMES;"
        "locks.lock(held[0], wait=False); print('held', flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(SCRIPT.parent)],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        again = subprocess.run(
            [sys.executable, "-c", code, str(SCRIPT.parent)],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "PermissionError" in again.stderr
    finally:
        holder.communicate("\n")
    assert (folder / "x").stat().st_size == 0
