"""Completion in the shells themselves: verbs, files, functions, fields, targets."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.report.test_report_command import EVENTS, NAMES

from kprof.capture import Capture, write_capture

CASES = [
    ("kprof interr", "kprof interrupts"),
    ("kprof trace dum", "dump.kpd"),
    ("kprof worst dump.kpd lan", "lanisr"),
    ("kprof between dump.kpd MG", "MGET"),
    ("kprof report dump.kpd --hist vec", "vec1"),
    ("kprof summary dump.kpd -f total,self-a", "total,self-avg"),
    ("kprof summary dump.kpd --trig", "--trigger-cost"),
    ("kprof cc --target x86", "x86-64"),
    ("kprof names wh", "which"),
    ("kprof run -- ./pr", "./program"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a capture, its name file, a program, and `kprof` for the shells."""
    folder = tmp_path_factory.mktemp("complete")
    (folder / "k.names").write_text(NAMES)
    times, tags = zip(*EVENTS, strict=True)
    write_capture(folder / "dump.kpd", Capture.from_events(list(times), list(tags)))
    (folder / "program").write_text("")
    (folder / "bin").mkdir()
    command = folder / "bin" / "kprof"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kprof "$@"\n')
    command.chmod(0o755)
    for shell in ("bash", "zsh", "fish"):
        script = subprocess.run([command, "completion", shell], capture_output=True, check=True)
        (folder / f"kprof.{shell}").write_bytes(script.stdout)
    return folder


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "TERM": "dumb",
        "PS1": "",
    }


class Terminal:
    """A shell in a terminal: what is typed is sent, what it shows is read until it is there."""

    def __init__(self, folder: Path, *command: str) -> None:
        self._line, end = pty.openpty()
        self._child = subprocess.Popen(
            command, stdin=end, stdout=end, stderr=end, cwd=folder, env=environment(folder),
            start_new_session=True,
        )  # fmt: skip
        os.close(end)
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._line, text.encode())

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 20
        while text not in self.shown:
            ready, _, _ = select.select([self._line], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no {text!r} in {self.shown!r}"
            self.shown += os.read(self._line, 4096).decode("utf-8", "replace")

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        os.close(self._line)


def complete_in_terminal(shell: Terminal, typed: str, expected: str) -> None:
    """Type, press Tab, see the rest of the word."""
    shell.shown = ""
    shell.type(typed + "\t")
    shell.wait_for(expected)
    shell.type("\x15")  # the line is given up


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes(folder: Path) -> None:
    shell = Terminal(folder, "bash", "--norc", "--noprofile", "-i")
    shell.type("source ./kprof.bash; echo rea''dy\n")
    shell.wait_for("ready")
    for typed, expected in CASES[:6]:
        complete_in_terminal(shell, typed, expected)
    shell.close()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_completes(folder: Path) -> None:
    shell = Terminal(folder, "zsh", "-f", "-i")
    shell.type("autoload -U compinit; compinit -u -D; source ./kprof.zsh; echo rea''dy\n")
    shell.wait_for("ready")
    for typed, expected in CASES[:6]:
        complete_in_terminal(shell, typed, expected)
    shell.close()


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_completes(folder: Path) -> None:
    script = "source ./kprof.fish\n" + "".join(
        f"echo case {at}\ncomplete -C {typed!r}\n" for at, (typed, _) in enumerate(CASES)
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True, text=True, cwd=folder, env=environment(folder), check=True,
    )  # fmt: skip
    parts = done.stdout.split("case ")[1:]
    for (typed, expected), part in zip(CASES, parts, strict=True):
        words = [line.split("\t")[0] for line in part.splitlines()[1:]]
        assert expected.removeprefix("kprof ") in words, (typed, part)
