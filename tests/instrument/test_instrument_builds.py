"""`kprof cc` as the compiler of build systems: what docs/instrument.md tells users to type."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.names import read_names

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")
DOCS = Path(__file__).resolve().parents[2] / "docs" / "instrument.md"
FUNCTIONS = ["half", "main", "twice"]

MESON_NATIVE = "[binaries]\nc = ['kprof', 'cc', '--target', 'soft', '--', 'gcc']\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of two folders, with `kprof` in the PATH."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "kprof"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kprof "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("KPROF_CACHE", str(tmp_path / "cache"))
    for variable in ("KPROF_NAMES", "KPROF_TARGET", "MAKELEVEL", "CC", "CFLAGS"):
        monkeypatch.delenv(variable, raising=False)
    root = tmp_path / "project"
    (root / "lib").mkdir(parents=True)
    (root / "lib" / "twice.c").write_text(
        "static int half(int a) { return a / 2; }\n"
        "int twice(int a);\nint twice(int a) { return 2 * half(2 * a); }\n"
    )
    (root / "main.c").write_text("int twice(int a);\nint main(void) { return twice(21) != 42; }\n")
    return root


def recipe(title: str) -> str:
    """The indented lines below the paragraph of the docs that begins with `title`."""
    text = DOCS.read_text().partition(f"\n**{title}**")[2]
    lines = re.search(r"\n\n((?:    .*\n|\n(?=    ))+)", text)
    assert lines is not None, title
    return re.sub(r"^    ", "", lines[1], flags=re.M)


def build(folder: Path, script: str) -> None:
    done = subprocess.run(["sh", "-e", "-c", script], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def has_run(folder: Path, program: str, names: Path) -> None:
    """The program runs, its capture has its calls, and the name file has nothing else."""
    subprocess.run([program], cwd=folder, check=True)
    done = subprocess.run(
        ["kprof", "report", "kprof.bin"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(name in done.stdout for name in FUNCTIONS)
    found = read_names(names)
    assert sorted(entry.name for entry in found.entries) == FUNCTIONS
    assert (folder / "kprof.bin").read_bytes()[80:112] == found.sha256()


@pytest.mark.skipif(shutil.which("autoconf") is None, reason="autoconf is missing")
def test_configure(project: Path) -> None:
    (project / "configure.ac").write_text(
        "AC_INIT([x], [1])\nAC_PROG_CC\nAC_CHECK_HEADERS([stdint.h])\nAC_CHECK_FUNCS([puts])\n"
        "AC_C_BIGENDIAN\nAC_CHECK_SIZEOF([long])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n"
    )
    (project / "Makefile.in").write_text(
        "CC = @CC@\nprog: main.o lib/twice.o\n\t$(CC) -o $@ main.o lib/twice.o\n"
    )
    subprocess.run(["autoconf"], cwd=project, check=True, capture_output=True)
    build(project, recipe("configure"))
    has_run(project, "./prog", project / "kprof.names")


def test_recursive_make(project: Path) -> None:
    (project / "Makefile").write_text(
        "prog: main.o sub\n\t$(CC) -o $@ main.o lib/twice.o\nsub:\n\t$(MAKE) -C lib twice.o\n"
    )
    (project / "lib" / "Makefile").write_text("twice.o: twice.c\n")
    build(project, recipe("make"))
    has_run(project, "./prog", project / "kprof.names")


@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is missing")
def test_cmake(project: Path, generator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if generator == "Ninja" and shutil.which("ninja") is None:
        pytest.skip("ninja is missing")
    monkeypatch.setenv("CMAKE_GENERATOR", generator)
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(x C)\ninclude(CheckFunctionExists)\n"
        "check_function_exists(puts HAVE_PUTS)\nadd_subdirectory(lib)\n"
        "add_executable(prog main.c)\ntarget_link_libraries(prog twice)\n"
    )
    (project / "lib" / "CMakeLists.txt").write_text("add_library(twice STATIC twice.c)\n")
    build(project, recipe("CMake"))
    has_run(project, "build/prog", project / "kprof.names")


@pytest.mark.skipif(shutil.which("meson") is None, reason="meson is missing")
def test_meson(project: Path) -> None:
    (project / "meson.build").write_text(
        "project('x', 'c')\ncc = meson.get_compiler('c')\ncc.has_function('puts')\n"
        "cc.compiles('int f(void) { return 0; }')\n"
        "executable('prog', 'main.c', 'lib/twice.c')\n"
    )
    build(project, recipe("Meson"))
    has_run(project, "build/prog", project / "kprof.names")


def test_kbuild(project: Path) -> None:
    """A Makefile that tries its compiler and links as Kbuild does."""
    (project / "Makefile").write_text(
        "CC = gcc\n"
        "ok := $(shell echo 'int f(void) { return 0; }' | $(CC) -x c -c - -o /dev/null && "
        "$(CC) -Werror -c -x c /dev/null -o /dev/null && echo yes)\n"
        "prog: main.o lib/twice.o\n\ttest '$(ok)' = yes\n"
        "\tld -r -o built-in.o main.o lib/twice.o\n\t$(CC) -o $@ built-in.o\n"
    )
    build(project, recipe("Kbuild").replace("ARCH=m68k ", "").replace("m68k-linux-gnu-gcc", "gcc"))
    found = read_names(project / "kprof.names")
    assert sorted(entry.name for entry in found.entries) == FUNCTIONS
    assert min(entry.value for entry in found.entries) == 4096


def test_a_wrapper_for_bazel(project: Path) -> None:
    script = recipe("Bazel")
    (project / "kprof-gcc").write_text(script.partition("\n")[2] if script[0] == "$" else script)
    (project / "kprof-gcc").chmod(0o755)
    (project / "kprof.names").touch()
    environment = {**os.environ, "KPROF_NAMES": str(project / "kprof.names")}
    for source in ("main.c", "lib/twice.c"):
        subprocess.run(["./kprof-gcc", "-c", source], cwd=project, check=True, env=environment)
    subprocess.run(["./kprof-gcc", "main.o", "twice.o", "-o", "prog"], cwd=project, check=True)
    has_run(project, "./prog", project / "kprof.names")
