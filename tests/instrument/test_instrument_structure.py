"""Choosing functions by what is in them, and who can call whom, from both modes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.names import read_names
from kprof.names.calls import FunctionFacts, read_calls

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")

HEADER = """
struct device { int (*open)(int), (*close)(int); };
extern struct device devices[2];
extern int shared(int);
_Noreturn void stop(int code);
static inline int twice(int n) { return 2 * n; }
"""
MAIN = """
#include <setjmp.h>
#include "x.h"
static jmp_buf out;
static int init(int n) { return twice(n) + shared(n); }
static int helper(int n) { n++; if (n > 3) n = 2; for (; n; n--) shared(n); return n; }
static int handler(int n) { longjmp(out, n); }
static void set(int (*f)(int)) { f(1); }
int unused(int n) { return helper(n); }
int main(void)
{
    if (setjmp(out))
        return 0;
    set(handler);
    return init(1) + devices[0].open(1);
}
"""
OTHER = """
#include <stdlib.h>
#include "x.h"
static int init(int n) { return n; }
static int close_it(int n) { return init(n); }
int open_it(int n) { return n; }
struct device devices[2] = { { open_it, close_it } };
int shared(int n) { if (n < 0) stop(n); return n; }
void stop(int code) { exit(code); }
#ifdef NEVER
int left_out(int n) { return open_it(n); }
#endif
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.h").write_text(HEADER)
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "other.c").write_text(OTHER)
    return tmp_path


def instrument(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kprof", "instrument", "main.c", "other.c", "-o", "out"]
    command += ["--names", "k.names", "--target", "soft", "--cc", "gcc", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def planted(folder: Path, *arguments: str) -> set[str]:
    done = instrument(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return {entry.name for entry in read_names(folder / "k.names").entries}


ALL = {
    *("init", "helper", "handler", "set", "unused", "main"),
    *("other.c:init", "close_it", "open_it", "shared", "stop", "left_out"),
}


@pytest.mark.parametrize(
    ("arguments", "gone"),
    [
        ((), set()),
        (("--min-statements", "1"), set()),
        (("--min-statements", "3"), ALL - {"helper", "main", "shared"}),
        (("--leaf", "skip"), {"other.c:init", "open_it"}),
        (("--no-inline",), set()),
        (("--only-called-from", "main"), {"helper", "unused", "left_out"}),
        (("--only-called-from", "unused"), ALL - {"unused", "helper", "shared", "stop"}),
        (("--only-called-from", "other.c:init"), ALL - {"other.c:init"}),
        (("--only-called-from", "init"), ALL - {"init", "shared", "stop", "other.c:init"}),
        (("--only-called-from", "main", "--leaf", "skip", "--exclude", "set"),
         {"helper", "unused", "left_out", "other.c:init", "open_it", "set"}),
    ],
)  # fmt: skip
def test_functions_are_chosen_by_structure(
    arguments: tuple[str, ...], gone: set[str], folder: Path
) -> None:
    names = {name.replace("other.c:", "") for name in planted(folder, *arguments)}
    assert names == {name.replace("other.c:", "") for name in ALL - gone}


def test_the_number_left_out_is_printed(folder: Path) -> None:
    done = instrument(folder, "--leaf", "skip", "--strict")
    assert done.returncode == 0
    assert done.stderr == "kprof: 10 functions of 2 files have triggers, 2 left out as asked\n"


def test_nothing_has_that_name(folder: Path) -> None:
    done = instrument(folder, "--only-called-from", "mian")
    assert done.returncode == 2
    assert done.stderr == (
        "kprof: --only-called-from mian: no such function; expected one of these sources\n"
    )


def known(folder: Path) -> dict[str, FunctionFacts]:
    found = read_calls(folder / "k.names")
    assert found is not None
    return dict(found.functions)


@pytest.mark.parametrize("mode", ["instrument", "cc"])
def test_who_can_call_whom(mode: str, folder: Path) -> None:
    if mode == "instrument":
        planted(folder)
    else:
        for name in ("main.c", "other.c"):
            command = [sys.executable, "-m", "kprof", "cc", "--target", "soft"]
            command += ["--names", "k.names", "--", "gcc", "-c", name]
            assert subprocess.run(command, cwd=folder).returncode == 0
    facts = known(folder)
    twice = "twice" if mode == "cc" else "x.h:twice"
    assert facts["init"].calls == {twice, "shared"}
    assert facts["close_it"].calls == {"other.c:init"}
    assert facts["main"].calls == {"set", "init", "_setjmp"}
    taken = {name for name, fact in facts.items() if fact.address_taken}
    assert taken == {"handler", "open_it", "close_it"}
    assert {name for name, fact in facts.items() if fact.indirect} == {"set", "main"}
    assert {name for name, fact in facts.items() if fact.setjmp} == {"main"}
    assert {name for name, fact in facts.items() if fact.longjmp} == {"handler"}
    assert {name for name, fact in facts.items() if fact.noreturn} == {"stop"}
    static = {"init", "other.c:init", "helper", "handler", "set", "close_it", twice}
    assert {name for name, fact in facts.items() if fact.static} == static
    assert facts["main"].signature == "int main(void)"
    assert (facts["main"].file, facts["main"].line) == ("main.c", 10)
    assert (facts[twice].file, facts[twice].line) == ("x.h", 6)
    # Source mode knows of branches that this configuration leaves out.
    assert ("left_out" in facts) == (mode == "instrument")


def test_a_function_without_a_tag_is_in_the_call_graph(folder: Path) -> None:
    planted(folder, "--only", "main")
    facts = known(folder)
    assert facts["main"].calls == {"main.c:set", "main.c:init", "_setjmp"}
    assert facts["other.c:close_it"].calls == {"other.c:init"}
    assert facts["shared"].calls == {"stop"}


@pytest.mark.parametrize("mode", ["instrument", "cc"])
def test_a_definition_need_not_repeat_static(mode: str, folder: Path) -> None:
    (folder / "main.c").write_text("static int f(int n);\nint f(int n) { return n; }\n")
    (folder / "other.c").write_text("static int f(int);\nint f(int n) { return n; }\n")
    if mode == "instrument":
        planted(folder)
    else:
        for name in ("main.c", "other.c"):
            command = [sys.executable, "-m", "kprof", "cc", "--target", "soft"]
            command += ["--names", "k.names", "--", "gcc", "-w", "-c", name]
            assert subprocess.run(command, cwd=folder).returncode == 0
    facts = known(folder)
    assert {name: fact.static for name, fact in facts.items()} == {"f": True, "other.c:f": True}
