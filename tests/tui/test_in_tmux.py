"""`kprof tui` in a real terminal: each key is pressed, and its effect is seen on the screen."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("textual", reason="the extra kprof[tui] is not installed")

from tests.analysis import kernel_sim

from kprof.analysis import summarise
from kprof.capture import Capture, write_raw
from kprof.names import format_names, parse_names

NAMES = parse_names(kernel_sim.name_text("pair"))
KERNEL = kernel_sim.Kernel(3, "pair", True, 1500)
CAPTURE = Capture.from_events(KERNEL.times, KERNEL.tags)
SUMMARY = summarise(CAPTURE, NAMES)
SIZES = [(80, 24), pytest.param(200, 60, marks=pytest.mark.long), (40, 12)]
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Terminal:
    """A pane of tmux with the browser in it."""

    def __init__(self, folder: Path, width: int, height: int, redirect: str = "") -> None:
        write_raw(folder / "dump.bin", CAPTURE)
        (folder / "dump.names").write_text(format_names(NAMES))
        self._server = ["tmux", "-L", f"kprof-{os.getpid()}-{width}", "-f", os.devnull]
        browse = f"{shlex.quote(sys.executable)} -m kprof tui dump.bin {redirect}"
        browse = f"env -u COLUMNS -u LINES {browse}"  # the size is that of the pane
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "sleep 600", cwd=folder)
        self.tmux("set-option", "-s", "set-clipboard", "on")
        self.tmux("respawn-pane", "-k", "-c", str(folder), browse)

    def tmux(self, *arguments: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            [*self._server, *arguments], capture_output=True, text=True, check=False, cwd=cwd
        )
        return done.stdout

    def lines(self) -> list[str]:
        return self.tmux("capture-pane", "-p").splitlines()

    def until(self, seen: Callable[[list[str]], object], what: str) -> list[str]:
        """The screen when it is as wanted."""
        deadline = time.monotonic() + 60
        while True:
            lines = self.lines()
            if seen(lines):
                return lines
            if time.monotonic() > deadline:
                pytest.fail(f"{what}: not seen on\n" + "\n".join(lines))

    def press(self, key: str, wanted: str) -> list[str]:
        """Press a key; the screen when it shows `wanted`."""
        before = self.lines()
        self.tmux("send-keys", key)
        return self.until(
            lambda lines: lines != before and wanted in "\n".join(lines), f"{key} -> {wanted}"
        )


@contextmanager
def browsing(folder: Path, width: int, height: int, redirect: str = "") -> Iterator[Terminal]:
    terminal = Terminal(folder, width, height, redirect)
    try:
        functions = len(SUMMARY.functions)
        terminal.until(lambda lines: f"line 1 of {functions}" in "\n".join(lines), "the table")
        yield terminal
    finally:
        terminal.tmux("kill-server")


@needs_tmux
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_key_has_its_effect(tmp_path: Path, width: int, height: int) -> None:
    rows = SUMMARY.functions
    many = len(rows)
    with browsing(tmp_path, width, height) as terminal:
        shown = terminal.until(lambda lines: rows[0].entry.name in lines[2], "the first name")
        assert [line.split()[-1] for line in shown[2:5]] == [r.entry.name for r in rows[:3]]
        assert all(str(row.net) in line for row, line in zip(rows, shown[2:5], strict=False))
        assert ("###" in shown[2]) == (width > 70)
        terminal.press("Down", f"line 2 of {many}")
        terminal.press("End", f"line {many} of {many}")
        terminal.press("Home", f"line 1 of {many}")
        terminal.press("f", "8 [x] bar")
        terminal.press("8", "8 [ ] bar")
        shown = terminal.press("Enter", f"line 1 of {many}")
        assert "###" not in "\n".join(shown)
        terminal.tmux("send-keys", "y")
        copied = terminal.until(lambda _: terminal.tmux("show-buffer"), "the clipboard")
        assert copied
        buffer = terminal.tmux("show-buffer").split()
        assert (buffer[-1], buffer[0]) == (rows[0].entry.name, str(rows[0].elapsed))
        terminal.press("d", f"Distribution of {rows[0].entry.name}"[: width - 2])
        terminal.press("r", f"line 1 of {many}")
        graph = terminal.press("G", "call graph")
        assert any("+ " in line for line in graph[2:])
        terminal.press("Enter", "- ")
        terminal.press("R", f" of {many}")
        terminal.press("w", "time ")
        terminal.press("[", "Calls that began"[: max(4, width - 26)])
        terminal.press("\\", "Elapsed")
        terminal.press("R", f" of {many}")
        terminal.press("?", "R")
        terminal.press("x", f" of {many}")
        by_elapsed = terminal.press("s", f" of {many}")
        assert width < 50 or "*elapsed" in by_elapsed[1]
        terminal.press("/", "search")
        terminal.press("irq1", "irq1")
        terminal.press("Enter", "irq1")


@needs_tmux
def test_it_draws_where_stderr_is_a_file(tmp_path: Path) -> None:
    with browsing(tmp_path, 80, 24, "2>/dev/null") as terminal:
        terminal.press("Down", f"line 2 of {len(SUMMARY.functions)}")


def test_a_key_repaints_only_the_lines_that_change(tmp_path: Path) -> None:
    """Bytes of a key press at 80x24; ``uftrace tui`` takes 250."""
    write_raw(tmp_path / "dump.bin", CAPTURE)
    (tmp_path / "dump.names").write_text(format_names(NAMES))
    main, side = pty.openpty()
    import fcntl
    import termios

    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "kprof", "tui", "dump.bin"]
    environ = {**os.environ, "TERM": "xterm-256color"}

    def read_until(wanted: bytes, quiet: float) -> bytes:
        """What is drawn, up to a pause after `wanted`."""
        out = b""
        while True:
            ready = select.select([main], [], [], quiet if wanted in out else 60)[0]
            if not ready:
                assert wanted in out
                return out
            out += os.read(main, 1 << 16)

    with subprocess.Popen(
        command, stdin=side, stdout=side, stderr=subprocess.DEVNULL, cwd=tmp_path, env=environ
    ) as process:
        try:
            read_until(b"line 1 of", 1)
            os.write(main, b"j")
            first = read_until(b"line 2 of", 0.5)
            os.write(main, b"j")
            drawn = read_until(b"3", 0.5)
        finally:
            process.kill()
    os.close(main)
    os.close(side)
    assert len(first) < 400
    assert len(drawn) < 400
