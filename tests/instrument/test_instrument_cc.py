"""Compiler mode, with real compilers: what goes in comes out as without it, plus triggers."""

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
M68K = "m68k-linux-gnu-gcc"
needs_m68k = pytest.mark.skipif(shutil.which(M68K) is None, reason=f"{M68K} is missing")

HEADER = """\
static inline int twice(int a) { return 2 * a; }
#define MAKE(name) int name(int a) { return twice(a) + 1; }
"""
MAIN = """\
#include <stdio.h>
#include "x.h"
MAKE(made)
int other(int a);
static int local(int a)
{
    int b = made(a);
    if (b > 3)
        return other(b);
    return b;
}
int main(void)
{
    printf("%d %d\\n", local(1), local(5));
    return 0;
}
"""
OTHER = """\
#include "x.h"
static int local(int a) { return twice(a); }
int other(int a) { return local(a) + twice(a); }
"""
RECORDER = """\
#include <stdio.h>
static int depth, events;
void kprof_event(unsigned tag)
{
    events++;
    fprintf(stderr, "%u\\n", tag);
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {"x.h": HEADER, "main.c": MAIN, "other.c": OTHER}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "recorder.c").write_text(RECORDER)
    subprocess.run(["gcc", "-c", "recorder.c"], cwd=tmp_path, check=True)
    return tmp_path


def kprof_cc(
    folder: Path, *arguments: str, options: tuple[str, ...] = (), text: str | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kprof", "cc", "--names", "k.names", "--target", "soft"]
    return subprocess.run(
        [*command, *options, "--", *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
    )


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def by_name(folder: Path, events: str) -> list[str]:
    """The events as ``>name`` and ``<name``."""
    entries = read_names(folder / "k.names").by_tag
    return [f"{'<' if int(tag) % 2 else '>'}{entries[int(tag)].name}" for tag in events.split()]


def balanced(events: list[str]) -> bool:
    stack: list[str] = []
    for event in events:
        if event[0] == ">":
            stack.append(event[1:])
        elif not stack or stack.pop() != event[1:]:
            return False
    return not stack


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("strategy", ["cleanup", "returns"])
def test_a_program_runs_and_fires(project: Path, level: str, strategy: str) -> None:
    done = kprof_cc(
        project,
        *f"gcc {level} -Wall -Wextra -Werror main.c other.c recorder.o -o prog".split(),
        options=("--strategy", strategy),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    ran = run(project, "./prog")
    assert ran.stdout == "3 44\n"
    events = by_name(project, ran.stderr)
    assert balanced(events)
    called = [event[1:] for event in events if event[0] == ">"]
    assert called == [
        *("main", "local", "made", "twice", "local", "made", "twice"),
        *("other", "other.c:local", "twice", "twice"),
    ] or called == [
        *("main", "local", "made", "twice", "other", "other.c:local", "twice", "twice"),
        *("local", "made", "twice"),
    ]
    assert sorted(e.name for e in read_names(project / "k.names").entries) == [
        *("local", "made", "main", "other", "other.c:local", "twice")
    ]


def test_objects_dependencies_and_assembly_go_where_they_would(project: Path) -> None:
    cases = [
        ("-c main.c", ["main.o"]),
        ("-c main.c other.c", ["main.o", "other.o"]),
        ("-c main.c -o out.o", ["out.o"]),
        ("-c -oout.o main.c", ["out.o"]),
        ("-S main.c", ["main.s"]),
        ("-c -MD main.c", ["main.d", "main.o"]),
        ("-c -MMD -MP main.c -o sub/a.o", ["sub/a.d", "sub/a.o"]),
        ("-c -MD -MF deps main.c", ["deps", "main.o"]),
        ("-c -MD -MF deps -MT target main.c", ["deps", "main.o"]),
        ("-c -Wp,-MD,deps main.c", ["deps", "main.o"]),
        ("main.c other.c recorder.o", ["a.out"]),
        ("-c -x c main.c", ["main.o"]),
        ("-c --output=out.o main.c", ["out.o"]),
    ]
    for arguments, files in cases:
        seen = []
        for command in ("plain", "kprof"):
            folder = project / "work"
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "sub").mkdir(parents=True)
            for name in ("x.h", "main.c", "other.c", "recorder.o"):
                shutil.copy(project / name, folder / name)
            words = ["gcc", *arguments.split()]
            done = run(folder, *words) if command == "plain" else kprof_cc(folder, *words)
            if command == "plain" and "a.out" in files:
                assert done.returncode == 0
            assert done.returncode == 0, f"{command} {arguments}: {done.stderr}"
            left = {
                str(path.relative_to(folder))
                for path in folder.rglob("*")
                if path.is_file()
                and not path.name.startswith(("k.names", "main.c", "other.c", "x.h"))
            } - {"recorder.o"}
            texts = {
                name: (folder / name).read_text() for name in left if name[-2:] in (".d", "ps")
            }
            seen.append((sorted(left), texts))
        assert seen[0] == seen[1], arguments
        assert seen[0][0] == files


def test_what_is_not_a_compilation_is_the_compilers(project: Path) -> None:
    for arguments in ("-E main.c", "-M main.c", "-MM main.c", "--version", "-dumpmachine", ""):
        plain = run(project, "gcc", *arguments.split())
        ours = kprof_cc(project, "gcc", *arguments.split())
        assert (ours.returncode, ours.stdout, ours.stderr) == (
            plain.returncode,
            plain.stdout,
            plain.stderr,
        )
    assert not (project / "k.names").exists()


def test_messages_are_the_compilers_own(project: Path) -> None:
    bad = "#define TWICE(a) ((a) * 2)\nint f(int a)\n{\n    int unused;\n    return TWICE(b);\n}\n"
    (project / "bad.c").write_text(bad)
    (project / "warn.c").write_text(bad.replace("(b)", "(a)"))
    for arguments in ("-c bad.c", "-Wall -c warn.c", "-Wall -Werror -c warn.c", "-c missing.c"):
        plain = run(project, "gcc", *arguments.split())
        ours = kprof_cc(project, "gcc", *arguments.split())
        assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr)


def test_warnings_that_only_expanded_macros_have_are_not_shown(project: Path) -> None:
    (project / "w.c").write_text(
        "#define CHECK(p) do { if ((p) != 0) f(); } while (0)\nint f(void);\n"
        "int g(void);\nint g(void) { int a[2]; a[0] = 1; CHECK(&a[0]); return a[0]; }\n"
    )
    for arguments in ("-Wall -c w.c", "-Wall -Wextra -Werror -O2 -c w.c"):
        plain = run(project, "gcc", *arguments.split())
        ours = kprof_cc(project, "gcc", *arguments.split())
        assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr)


def test_comments_that_steer_a_warning_still_do(project: Path) -> None:
    (project / "ft.c").write_text(
        "int f(int a);\nint f(int a)\n{\n    switch (a) {\n    case 1:\n        a++;\n"
        "        /* fall through */\n    default:\n        return a;\n    }\n}\n"
    )
    ours = kprof_cc(project, *["gcc", "-Wall", "-Wextra", "-Werror", "-c", "ft.c"])
    assert (ours.returncode, ours.stderr) == (0, "")


def test_debug_lines_are_those_of_the_source(project: Path) -> None:
    assert kprof_cc(project, *["gcc", "-g", "-O0", "-c", "main.c"]).returncode == 0
    lines = run(project, "objdump", "-dl", "--no-show-raw-insn", "main.o").stdout
    places = set(re.findall(r"^\S*/(\S+:\d+)", lines, re.M))
    assert {place.split(":")[0] for place in places} == {"main.c", "x.h"}
    assert {"main.c:7", "main.c:8", "main.c:9", "main.c:10", "main.c:14"} <= places


def test_response_files_stdin_and_assembler(project: Path) -> None:
    (project / "args").write_text('-O2 "-DQ=\\"a b\\"" -c\nmain.c')
    assert kprof_cc(project, "gcc", "@args").returncode == 0
    assert "kprof_event" in run(project, "nm", "main.o").stdout
    # What has no name is a build system's trial.
    done = kprof_cc(
        project, *["gcc", "-x", "c", "-c", "-", "-o", "stdin.o"], text="int f(void) { }"
    )
    assert done.returncode == 0
    assert "kprof_event" not in run(project, "nm", "stdin.o").stdout
    (project / "a.s").write_text(".globl asm_f\nasm_f: ret\n")
    (project / "b.c").write_text("void asm_f(void); int main(void) { asm_f(); return 0; }")
    assert kprof_cc(project, *["gcc", "b.c", "a.s", "recorder.o", "-o", "b", "-lm"]).returncode == 0
    events = by_name(project, run(project, "./b").stderr)
    assert events == [">main", "<main"]


def test_attributes_and_patterns_are_respected(project: Path) -> None:
    (project / "a.c").write_text(
        "__attribute__((no_instrument_function)) int a(void) { return 1; }\n"
        "int b(void) __attribute__((no_instrument_function));\nint b(void) { return 1; }\n"
        "int c(void) { return 1; }\nint skip_d(void) { return 1; }\n"
        '__attribute__((naked)) void e(void) { asm("ret"); }\n'
    )
    done = kprof_cc(project, "gcc", "-c", "a.c", options=("--exclude", "skip_*"))
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "kprof: a.c:6: e: is naked: it has no frame of its own to put code into"
    ]
    assert [entry.name for entry in read_names(project / "k.names").entries] == ["c"]
    assert kprof_cc(project, "gcc", "-c", "a.c", options=("--strict",)).returncode == 1


def test_names_in_other_alphabets(project: Path) -> None:
    (project / "\u0436.c").write_text("int h\u00e9(void) { return 1; }\n")
    assert kprof_cc(project, "gcc", "-c", "\u0436.c").returncode == 0
    (entry,) = read_names(project / "k.names").entries
    assert (entry.name, entry.source) == ("h\u00e9", "\u0436.c")


def test_instrumented_copies_are_refused(project: Path) -> None:
    run(project, sys.executable, "-m", "kprof", "instrument", "other.c", "-o", "out")
    done = kprof_cc(project, "gcc", "-I.", "-c", "out/other.c", "-o", "o.o")
    assert done.returncode == 1
    assert done.stderr == (
        "kprof: out/other.c: has been instrumented already; compile the original\n"
    )
    assert not (project / "o.o").exists()


def test_landing_pads_are_not_added(project: Path) -> None:
    done = kprof_cc(project, *["gcc", "-fexceptions", "-O2", "-c", "main.c"])
    assert done.returncode == 0
    assert ".gcc_except_table" not in run(project, "objdump", "-h", "main.o").stdout


def test_make_in_parallel_shares_the_name_file(project: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is missing")
    for number in range(12):
        (project / f"p{number}.c").write_text(
            f"static int s(void) {{ return {number}; }}\nint p{number}(void) {{ return s(); }}\n"
        )
    (project / "Makefile").write_text("all: $(patsubst %.c,%.o,$(wildcard p*.c))\n")
    compiler = f"{sys.executable} -m kprof cc --target soft --names k.names -- gcc"
    done = run(project, "make", "-j4", f"CC={compiler}")
    assert done.returncode == 0, done.stderr
    entries = read_names(project / "k.names").entries
    assert len({entry.value for entry in entries}) == len(entries) == 24


def test_cmake_launcher(project: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is missing")
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(x C)\n"
        "add_executable(prog main.c other.c ${CMAKE_SOURCE_DIR}/recorder.o)\n"
    )
    launcher = f"{sys.executable};-m;kprof;cc;--target;soft;--names;{project}/k.names;--"
    made = run(project, "cmake", "-B", "b", f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}")
    assert made.returncode == 0, made.stderr
    done = run(project, "cmake", "--build", "b")
    assert done.returncode == 0, done.stdout + done.stderr
    assert balanced(by_name(project, run(project, "b/prog").stderr))


def test_ccache_in_front_of_the_compiler(project: Path) -> None:
    if shutil.which("ccache") is None:
        pytest.skip("ccache is missing (apt-get install ccache)")
    os.environ["CCACHE_DIR"] = str(project / "cache")
    try:
        for _ in range(2):
            (project / "main.o").unlink(missing_ok=True)
            assert kprof_cc(project, *["ccache", "gcc", "-c", "main.c"]).returncode == 0
            assert "kprof_event" in run(project, "nm", "main.o").stdout
    finally:
        del os.environ["CCACHE_DIR"]


COUNTED = """\
#include <stdio.h>
#include <setjmp.h>
struct s { int x[4]; };
static inline int small(int a) { return a & 1; }
static struct s make(int a) { struct s s = { { a, 1, 2, 3 } }; return s; }
static void nothing(void) { }
static int fib(int n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }
static int old(a, b) int a; char *b; { return a + b[0]; }
static int (*pick(int a))(int) { return a ? fib : small; }
#define BAIL(x) do { if (x) return -1; } while (0)
static int bail(int a) { BAIL(a > 3); switch (a) { case 1: return 5; case 2: a++; } return a; }
static int outer(int a) { int inner(int b) { return a + b; } return inner(2) + inner(3); }
static int value(int a) { return ({ int b = small(a); if (b) return 7; b + 2; }); }
int main(void)
{
    int i, sum = 0;
    for (i = 0; i < 9; i++) {
        sum += make(i).x[0] + small(i) + bail(i) + outer(i) + value(i) + pick(i & 1)(5);
        nothing();
    }
    printf("%d\\n", sum + old(1, "a"));
    return 0;
}
"""
COUNTER = """\
#include <stdio.h>
__attribute__((no_instrument_function))
void __cyg_profile_func_enter(void *f, void *c) { (void)c; fprintf(stderr, "%p\\n", f); }
__attribute__((no_instrument_function))
void __cyg_profile_func_exit(void *f, void *c) { (void)f; (void)c; }
"""


@pytest.mark.parametrize("strategy", ["cleanup", "returns"])
def test_calls_are_those_that_gcc_counts(project: Path, strategy: str) -> None:
    (project / "count.c").write_text(COUNTED)
    (project / "counter.c").write_text(COUNTER)
    files = ["count.c", "counter.c"]
    done = kprof_cc(
        project,
        *["gcc", "-O0", "-w", "count.c", "recorder.o", "-o", "ours"],
        options=("--strategy", strategy),
    )
    assert done.returncode == 0, done.stderr
    subprocess.run(
        [*("gcc", "-O0", "-w", "-no-pie", "-finstrument-functions"), "-o", "theirs", *files],
        cwd=project,
        check=True,
    )
    symbols = {
        int(line.split()[0], 16): line.split()[2]
        for line in run(project, "nm", "theirs").stdout.splitlines()
        if len(line.split()) == 3
    }
    ours, theirs = run(project, "./ours"), run(project, "./theirs")
    assert ours.stdout == theirs.stdout
    events = by_name(project, ours.stderr)
    assert balanced(events)
    called = [event[1:].rpartition(".")[2] for event in events if event[0] == ">"]
    expected = [symbols[int(line, 16)].split(".")[0] for line in theirs.stderr.split()]
    assert called == expected


@needs_m68k
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_base_and_shift(project: Path, shift: int) -> None:
    (project / "f.c").write_text("void f(void) { }")
    command = [sys.executable, "-m", "kprof", "cc", "--names", "m.names", "--base", "0x2000"]
    done = run(project, *command, "--shift", str(shift), "--", M68K, "-O2", "-c", "f.c")
    assert done.returncode == 0, done.stderr
    text = run(project, "m68k-linux-gnu-objdump", "-d", "f.o").stdout
    assert f"4a38 {0x2000 + (1024 << shift):04x}" in text
    assert f"4a38 {0x2000 + (1025 << shift):04x}" in text
