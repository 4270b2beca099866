"""`kprof record` and `kprof run`: a host program built with triggers, run, and reported."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.capture.open import open_capture

PROGRAM = r"""
#include <stdio.h>
#include <signal.h>
static unsigned work(unsigned n) { return n * n + 1; }
unsigned twice(unsigned n) { return work(n) + work(n + 1); }
int main(int argc, char **argv)
{
    unsigned sum = 0;
    for (int i = 0; i < 5; i++)
        sum += twice(i);
    printf("%s: %u\n", argc > 1 ? argv[1] : "none", sum);
    if (argc > 2 && argv[2][0] == 'k')
        raise(SIGKILL);
    return argc > 2 ? 3 : 0;
}
"""
MAKEFILE = """\
CC = gcc
prog: prog.o
\t$(CC) -o $@ prog.o
prog.o: prog.c
\t$(CC) -c prog.c
"""
CALLS = {"main": 1, "twice": 5, "work": 10}


def kprof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kprof", *arguments]
    environment = {**os.environ, "MAKELEVEL": "0"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def calls(text: str) -> dict[str, int]:
    """The column ``# calls`` of the summary, by name."""
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +(\d+)  \(.*  (\w+)$", text, re.MULTILINE)
    return {name: int(number) for number, name in rows}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where `kprof record` built and ran the program once."""
    if shutil.which("cc") is None or shutil.which("make") is None:
        pytest.skip("no cc or no make")
    folder = tmp_path_factory.mktemp("record")
    (folder / "prog.c").write_text(PROGRAM)
    (folder / "Makefile").write_text(MAKEFILE)
    done = kprof(folder, "record", "prog.c", "--", "first")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("first: ")
    assert calls(done.stdout) == CALLS
    return folder


def test_a_program_is_run_again(built: Path) -> None:
    before = (built / "kprof.bin").read_bytes()
    done = kprof(built, "run", "--", "./prog.kprof", "second")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("second: ")
    assert calls(done.stdout) == CALLS
    assert (built / "kprof.bin.old").read_bytes() == before
    assert done.stderr == "kprof: kprof.bin: the capture; kprof trace kprof.bin shows every call\n"


def test_the_exit_code_is_the_programs(built: Path) -> None:
    done = kprof(built, "run", "--no-report", "-o", "three.bin", "--", "./prog.kprof", "a", "b")
    assert (done.returncode, done.stdout[:3]) == (3, "a: ")
    assert calls(done.stdout) == {}
    assert "kprof: ./prog.kprof: exit code 3\n" in done.stderr
    assert open_capture(built / "three.bin").events == 32


def test_the_events_kept(built: Path) -> None:
    last = ("--events", "8", "--keep", "last", "-o", "last.bin")
    done = kprof(built, "run", *last, "--no-report", "--", "./prog.kprof")
    assert done.returncode == 0, done.stderr
    assert open_capture(built / "last.bin").events == 8


def test_a_run_without_a_capture_leaves_the_one_before(built: Path) -> None:
    before = (built / "kprof.bin").read_bytes()
    for program in (("true",), ("./prog.kprof", "a", "k"), ("./nowhere",)):
        done = kprof(built, "run", "--", *program)
        assert done.returncode == 1
        assert "wrote no capture (exit code" in done.stderr or "cannot run" in done.stderr
        assert (built / "kprof.bin").read_bytes() == before


def test_a_foreign_file_is_not_replaced(built: Path) -> None:
    done = kprof(built, "run", "-o", "prog.c", "--", "./prog.kprof")
    assert done.returncode == 2
    assert "prog.c: already exists, and is not a capture file" in done.stderr
    assert (built / "prog.c").read_text() == PROGRAM
    (built / "mine").write_text("mine")
    done = kprof(built, "record", "prog.c", "--program", "mine")
    assert done.returncode == 2
    assert "mine: already exists, and kprof did not build it" in done.stderr


def test_a_build_with_make(built: Path) -> None:
    done = kprof(built, "record", "--build", "make", "-o", "made.bin", "--", "./prog", "made")
    assert done.returncode == 0, done.stderr
    assert "made: " in done.stdout
    assert calls(done.stdout) == CALLS


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["record"], "no sources; expected such as: kprof record prog.c"),
        (["record", "nothere.c"], "the compiler failed with exit code 1; the command was: cc"),
        (["record", "--build", "make"], "--build needs the program: kprof record --build make --"),
        (["record", "--build", "false", "--", "./prog"], "false: failed with exit code 1"),
    ],
)
def test_what_cannot_be_built(built: Path, arguments: list[str], said: str) -> None:
    done = kprof(built, *arguments)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
