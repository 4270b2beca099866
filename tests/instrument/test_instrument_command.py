"""`kprof instrument` as a command: its files, its messages, its exit codes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.analysis.replay.tags import TagTable
from kprof.names import read_names

SOURCE = "int f(int a)\n{\n    return a;\n}\n"
MACROS = """\
#define MAKE(name) int name(int a) { return a; }
#define BAIL(a) if (a) return 1
MAKE(made)
int g(int a) { BAIL(a); return 2; }
"""


def kprof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kprof", "instrument", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.c").write_text(SOURCE)
    return tmp_path


def test_copies_and_names_are_written(folder: Path) -> None:
    (folder / "y.c").write_text("static int f(void) { return 1; }\n")
    done = kprof(folder, "x.c", "y.c", "-o", "build", "--names", "k.names")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "kprof: 2 functions of 2 files have triggers\n"
    assert files(folder) == {"x.c", "y.c", "build/x.c", "build/y.c", "k.names", "k.names.calls"}
    entries = read_names(folder / "k.names").entries
    assert [(entry.name, entry.value) for entry in entries] == [("f", 1024), ("y.c:f", 1026)]
    assert (folder / "x.c").read_text() == SOURCE
    before = (folder / "build/x.c").read_text()
    assert kprof(folder, "x.c", "y.c", "-o", "build", "--names", "k.names").returncode == 0
    assert (folder / "build/x.c").read_text() == before


def test_several_folders_keep_their_shape(folder: Path) -> None:
    for name in ("a/x.c", "a/b/x.c"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(SOURCE)
    assert kprof(folder, "a/x.c", "a/b/x.c", "-o", "out").returncode == 0
    assert {"out/x.c", "out/b/x.c"} <= files(folder)


def test_dry_run_writes_nothing(folder: Path) -> None:
    done = kprof(folder, "x.c", "--diff", "--names", "k.names")
    assert done.returncode == 0
    assert done.stdout.startswith("--- a/x.c\n+++ b/x.c\n@@ -1,4 +1,4 @@\n")
    assert files(folder) == {"x.c"}
    (folder / "patched").mkdir()
    shutil.copy(folder / "x.c", folder / "patched/x.c")
    if shutil.which("patch"):
        subprocess.run(["patch", "-s", "-p1"], cwd=folder / "patched", input=done.stdout, text=True,
                       check=True)  # fmt: skip
        kprof(folder, "x.c", "-o", "out", "--names", "k.names")
        assert (folder / "patched/x.c").read_bytes() == (folder / "out/x.c").read_bytes()


@pytest.mark.parametrize("target", ["m68k", "mmio", "soft"])
def test_the_source_comes_back(folder: Path, target: str) -> None:
    odd = b"int f\t(void)\r\n{ /* \xe9\xff */ return '\\n';\r\n}\r\n\r\nvoid g() { }"
    (folder / "x.c").write_bytes(odd)
    assert kprof(folder, "x.c", "-o", "out", "--target", target).returncode == 0
    assert (folder / "out/x.c").read_bytes() != odd
    assert kprof(folder, "out/x.c", "--un-instrument", "-o", "back").returncode == 0
    assert (folder / "back/x.c").read_bytes() == odd
    again = kprof(folder, "out/x.c", "--un-instrument", "-o", "back")
    assert again.returncode == 1
    assert again.stderr == "kprof: back/x.c: exists; remove it, or name another folder\n"


def test_value_0_leaves_a_function_alone(folder: Path) -> None:
    (folder / "k.names").write_text("f/0\n")
    done = kprof(folder, "x.c", "-o", "-", "--names", "k.names", "--strict")
    assert (done.returncode, done.stdout) == (0, SOURCE)
    assert done.stderr == "kprof: 0 functions of 1 files have triggers, 1 left out as asked\n"


def test_patterns(folder: Path) -> None:
    (folder / "x.c").write_text("int aa(void) { }\nint ab(void) { }\nint b(void) { }\n")
    kprof(folder, "x.c", "-o", "out", "--only", "a*", "--exclude", "x.c:*b", "--names", "k.names")
    assert [entry.name for entry in read_names(folder / "k.names").entries] == ["aa"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "no source files; expected at least one (or --header FILE)"),
        (["x.c"], 2, "no folder for the copies; expected -o FOLDER (or --diff)"),
        (["x.c", "-o", "."], 2, "x.c: would be replaced by its own copy; name another folder"),
        (["missing.c", "-o", "out"], 1,
         "missing.c: cannot read: no such file or directory "
         "(check the name, and that its folder exists)"),
        (["x.c", "-o", "x.c"], 1, "x.c: cannot make the folder: file exists"),
        (["x.c", "-o", "out", "--target", "pdp11"], 2, "no target 'pdp11'; expected one of "),
        (["x.c", "-o", "out", "--base", "1x"], 2,
         "the base is '1x'; expected an address such as 0xfe0000, or a symbol"),
        (["x.c", "-o", "out", "--first-tag", "7"], 2,
         "the first tag is 7; expected an even number from 2 to 65534"),
        (["bad.c", "x.c", "worse.c", "-o", "out"], 1,
         "bad.c:3: syntax error between '1' and '}'\n"
         "worse.c:1: syntax error: this { has no matching }\n"),
        (["x.c", "x.c", "-o", "out"], 2, "out/x.c: is named twice among the sources; name it once"),
        (["twice.c", "-o", "out"], 1, "twice.c: has been instrumented already ("),
        (["x.c", "-o", "out", "--un-instrument"], 1,
         "x.c: has no triggers of kprof; expected an instrumented copy"),
        (["x.c", "-o", "out", "--compile-commands", "x.c"], 1,
         "x.c: not a compilation database; expected a list of compile commands"),
        (["x.c", "-o", "out", "--cc", "no-such-cc"], 2,
         "no compiler 'no-such-cc'; expected one in PATH, or none"),
        (["x.c", "-o", "out", "--targets", "bad.targets", "--target", "a"], 1,
         "bad.targets: [a]: no 'fire'; expected the C statement that fires a trigger"),
    ],
)  # fmt: skip
def test_misuse_is_one_sentence(
    folder: Path, arguments: list[str], code: int, message: str
) -> None:
    (folder / "bad.c").write_text("int f(int a)\n{\n    return a + 1 }\n")
    (folder / "worse.c").write_text("int f(int a) {\n")
    (folder / "bad.targets").write_text("[a]\n")
    (folder / "twice.c").write_text("int f(void) {/*kprof<*/x/*>kprof*/ }\n")
    before = files(folder)
    done = kprof(folder, *arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith(f"kprof: {message}"), done.stderr
    assert files(folder) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    (folder / "out").mkdir(mode=0o500)
    done = kprof(folder, "x.c", "-o", "out", "--names", "k.names")
    assert (done.returncode, done.stderr) == (1, "kprof: out: cannot write: permission denied\n")
    assert files(folder) == {"x.c"}


needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")


@needs_gcc
def test_what_macros_make_is_listed(folder: Path) -> None:
    (folder / "m.c").write_text(MACROS)
    command = ["m.c", "-o", "out", "--cc", "gcc", "--target"]
    done = kprof(folder, *command, "soft")
    assert done.returncode == 0
    listed = "kprof: m.c:3: made: made by a macro: it has no { of its own here (kprof cc can do it)"
    assert done.stderr.splitlines()[0] == listed
    assert kprof(folder, *command, "soft", "--strict").returncode == 1
    done = kprof(folder, *command, "mmio", "--strict")
    assert done.returncode == 1
    assert done.stderr.splitlines()[:2] == [
        listed,
        "kprof: m.c:4: g: 1 of its returns come out of macros (the cleanup strategy covers them)",
    ]


@needs_gcc
def test_names_are_those_of_the_compiler(folder: Path) -> None:
    (folder / "include").mkdir()
    (folder / "include/m.h").write_text(
        "#define THREAD(x) char x\n#define CALL2(n, a, b) int sys_##n(a b)\n"
        "#define quiet __attribute__((no_instrument_function))\n#define LIST(x) int x[] =\n"
    )
    (folder / "m.c").write_text(
        "#include <m.h>\nTHREAD(t(int *a))\n{ return *a; }\nCALL2(read, int, fd)\n{ return fd; }\n"
        "int quiet q(void) { return 1; }\nLIST(l) { 1, 2 };\n"
        "#ifdef OTHER\nint o(void) { }\n#endif\n"
    )
    done = kprof(folder, "m.c", "-o", "out", "-I", "include", "--names", "k.names", "--cc", "gcc")
    assert done.returncode == 0
    names = [entry.name for entry in read_names(folder / "k.names").entries]
    assert names == ["t", "sys_read", "o"]
    (folder / "compile_commands.json").write_text(
        '[{"directory": ".", "file": "m.c", "command": "gcc -Iinclude -DOTHER -c m.c -o m.o"}]'
    )
    done = kprof(
        folder, "m.c", "-o", "out", "--compile-commands", "compile_commands.json",
        "--names", "c.names",
    )  # fmt: skip
    assert done.returncode == 0
    names = [entry.name for entry in read_names(folder / "c.names").entries]
    assert names == ["t", "sys_read", "o"]


def test_header_for_inline_triggers(folder: Path) -> None:
    (folder / "p.c").write_text(
        '#include "p.h"\nint f(int a)\n{\n    if (a)\n        PROFILE(MGET);\n    else\n'
        "        PROFILE(MFREE);\n    return a;\n}\n"
    )
    (folder / "k.names").write_text("MGET/222=\n")
    command = ["p.c", "-o", "out", "--names", "k.names", "--header", "p.h", "--cc", "none"]
    assert kprof(folder, *command).returncode == 0
    names = read_names(folder / "k.names")
    inline = names.get("MFREE")
    assert inline is not None
    assert inline.modifier.value == "="
    text = (folder / "p.h").read_text()
    assert '#define KPROF_INLINE_MGET do { __asm__ __volatile__("tst.b 222.w"); } while (0)' in text
    if shutil.which("gcc"):
        kprof(folder, *command, "--target", "soft")
        check = ["gcc", "-I.", "-Wall", "-Wextra", "-pedantic", "-std=c89", "-Werror", "-S", "p.c"]
        subprocess.run([*check, "-o", "off.s"], cwd=folder, check=True)
        subprocess.run([*check, "-DKPROF", "-o", "on.s"], cwd=folder, check=True)
        assert "kprof" not in (folder / "off.s").read_text()
        assert len(re.findall(r"call\s+kprof_event", (folder / "on.s").read_text())) == 2


@needs_gcc
def test_task_marks_of_the_header_are_what_the_analysis_reads(folder: Path) -> None:
    (folder / "p.c").write_text(
        '#include <stdio.h>\n#include "p.h"\n'
        'void kprof_event(unsigned tag) { printf("%u\\n", tag); }\n'
        "int main(void) { int n; for (n = -1; n < 6; n++) PROFILE_TASK(proc, n); return 0; }\n"
    )
    (folder / "k.names").write_text("proc/4096@4\n")
    options = ["-o", "out", "--names", "k.names", "--header", "p.h", "--cc", "none", "--only", "f"]
    assert kprof(folder, "p.c", *options, "--target", "soft").returncode == 0
    strict = ["-Wall", "-Wextra", "-pedantic", "-std=c89", "-Werror"]
    for flags, expected in (("-DKPROF", [4096, 4097, 4098, 4099]), ("-UKPROF", [])):
        subprocess.run(["gcc", *strict, flags, "-o", "p", "p.c"], cwd=folder, check=True)
        done = subprocess.run(["./p"], cwd=folder, check=True, capture_output=True, text=True)
        assert [int(tag) for tag in done.stdout.split()] == expected
        table = TagTable.of(read_names(folder / "k.names"))
        assert all(tag in table.task_names for tag in expected)


@pytest.mark.parametrize(
    ("more", "address"), [([], 4096), (["--base", "0x8000"], 36864), (["--shift", "1"], 8192)]
)
def test_task_marks_read_the_eprom_where_their_tags_are(
    folder: Path, more: list[str], address: int
) -> None:
    compiler = shutil.which("m68k-linux-gnu-gcc")
    if compiler is None:
        pytest.skip("no m68k-linux-gnu-gcc")
    (folder / "p.c").write_text('#include "p.h"\nvoid f(void) { PROFILE_TASK(proc, 3); }\n')
    (folder / "k.names").write_text("proc/4096@4\n")
    options = ["-o", "out", "--names", "k.names", "--header", "p.h", "--cc", "none"]
    assert kprof(folder, "p.c", *options, "--target", "m68k", *more).returncode == 0
    command = [compiler, "-O2", "-Wall", "-Werror", "-DKPROF", "-S", "-o", "-", "p.c"]
    text = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    read = re.findall(r"(?:tst|move)\.b (\d+)", text)
    shift = 1 if "--shift" in more else 0
    assert read == [str(address + (3 << shift))]


@needs_gcc
def test_a_header_that_is_not_there_yet(folder: Path) -> None:
    (folder / "p.c").write_text('#include "p.h"\nint f(void) { PROFILE(X); return 1; }\n')
    command = ["p.c", "-o", "out", "--names", "k.names", "--cc", "gcc"]
    assert "could not be preprocessed" in kprof(folder, *command).stderr
    done = kprof(folder, *command, "--header", "out/p.h")
    assert done.stderr == "kprof: 1 functions of 1 files have triggers\n"
    assert (folder / "out/p.h").exists()


def test_targets_of_ones_own(folder: Path) -> None:
    (folder / "own.targets").write_text(
        "[z80]\nfire = outp({tag}, {address});\nstrategy = returns\nbase = 0x100\n"
        "[near]\nlike = m68k\nbase = 0x4000\n"
    )
    own = ["--targets", "own.targets", "--cc", "none", "-o", "-"]
    done = kprof(folder, "x.c", *own, "--target", "z80")
    assert "{outp(1024, 1280);}{typedef int kprof_t;" in done.stdout
    assert "tst.b 17408.w" in kprof(folder, "x.c", *own, "--target", "near").stdout


def test_high_tags_are_said(folder: Path) -> None:
    (folder / "k.names").write_text("f/40000\n")
    done = kprof(folder, "x.c", "-o", "out", "--names", "k.names")
    assert done.returncode == 0
    assert "k.names: tags go up to 40001, address 0x9c41: past 0x7fff" in done.stderr
