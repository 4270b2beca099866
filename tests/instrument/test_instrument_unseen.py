"""Forms out of code that nobody here had seen, found in other people's projects and kept small."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.names import read_names
from kprof.names.calls import read_calls

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is missing")
STRATEGIES = pytest.mark.parametrize("strategy", ["cleanup", "returns"])
RECORDER = "void kprof_event(unsigned tag) { (void)tag; }\n"


def kprof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kprof", *arguments], cwd=folder, capture_output=True, text=True
    )


def instrument(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = ("-o", "out", "--names", "k.names", "--target", "soft")
    return kprof(folder, "instrument", *arguments, *options)


def compile_copy(folder: Path, name: str, *options: str, compiler: str = "gcc") -> None:
    """A copy compiles without a word, and what it makes runs well where it has a main."""
    (folder / "recorder.c").write_text(RECORDER)
    has_main = "main(" in (folder / "out" / name).read_text()
    command = [compiler, "-w", *options, f"out/{name}"]
    command += ["recorder.c", "-o", "program"] if has_main else ["-c", "-o", "x.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    if has_main:
        assert subprocess.run([folder / "program"]).returncode == 0


# Calls with a block behind them that are no functions, and how many functions there are.
CALLS = [
    ("int chk(int); int v(int n) { if (chk(n)) { return 1; } return 0; }", 1),
    ("struct { int b; } s;int v(void) { if (_Generic((s.b), int: 1)) { return 1; } return 0; }", 1),
    ("int chk(int); int v(int n) { return ({ while (chk(n)) { return 5; } 0; }); }", 1),
    ("#define unless(x) if (!(x))\nint v(int n) { unless(n) { return 1; } return 0; }", 1),
    ("int chk(int); int v(int n) { int in(int k) { if (chk(k)) { return 1; } return 0; }"
     " return in(n); }", 2),
]  # fmt: skip


@needs_gcc
@pytest.mark.parametrize(("source", "count"), CALLS)
def test_a_call_before_a_block_is_no_function(source: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(source)
    done = instrument(tmp_path, "x.c", "--strict", "--cc", "gcc")
    assert done.stderr == f"kprof: {count} functions of 1 files have triggers\n"
    assert done.returncode == 0


MADE = {
    "a macro opens the body": """
#define FN(n) int n(void) {
#define NF }
FN(a) return 1; NF
FN(b) return 2; NF
int c(void) { return 3; }
int main(void) { return a() + b() + c() - 6; }
""",
    "words for braces": """
#define OPEN {
#define BEGIN {
#define END }
int a(void) OPEN int x = 1; x++; return x - 1; END
int b(void)
BEGIN
    return 2;
END
static int d(int n) { if (n) OPEN return 7; END return 0; }
int c(void) { return 3; }
int main(void) { return a() + b() + c() + d(0) - 6; }
""",
    "types behind macros": """
#define API extern
#define U unsigned
#define CHARS const char *
API int a(void) { return 1; }
U int b(int n) { return n; }
CHARS c(void) { return "c"; }
int main(void) { return a() + b(2) + c()[0] - 'c' - 3; }
""",
}


@needs_gcc
@STRATEGIES
@pytest.mark.parametrize("compiler", ["gcc", "none"])
@pytest.mark.parametrize("name", MADE)
def test_what_macros_open_and_close_compiles(
    name: str, compiler: str, strategy: str, tmp_path: Path
) -> None:
    (tmp_path / "x.c").write_text(MADE[name])
    done = instrument(tmp_path, "x.c", "--cc", compiler, "--strategy", strategy)
    assert done.returncode == 0, done.stderr
    compile_copy(tmp_path, "x.c", "-Wall", "-Werror")


@needs_gcc
@pytest.mark.parametrize("compiler", ["gcc", "none"])
def test_a_file_whose_brace_closes_elsewhere_is_refused_alone(
    compiler: str, tmp_path: Path
) -> None:
    (tmp_path / "t.inc").write_text("1, 2 };\n")
    (tmp_path / "x.c").write_text('int t[] = {\n#include "t.inc"\nint f(void) { return t[0]; }\n')
    (tmp_path / "good.c").write_text("int good(void) { return 1; }\n")
    done = instrument(tmp_path, "x.c", "good.c", "--cc", compiler)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "kprof: x.c:1: the { here is closed by a macro or in an included file: this file is left "
        "out (kprof cc can do it)",
        "kprof: 1 functions of 1 files have triggers",
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["good.c"]
    done = kprof(tmp_path, "cc", "--target", "soft", "--names", "k.names", "--", "gcc", "-c", "x.c")
    assert (done.returncode, done.stderr) == (0, "")
    assert [entry.name for entry in read_names(tmp_path / "k.names").entries] == ["good", "f"]


@needs_gcc
def test_a_brace_that_is_closed_by_a_macro_is_refused_alone(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text("#define END }\nint f(void) { return 1; END\n")
    (tmp_path / "good.c").write_text("int good(void) { return 1; }\n")
    done = instrument(tmp_path, "x.c", "good.c", "--cc", "gcc")
    assert done.returncode == 1
    assert done.stderr.startswith("kprof: x.c:2: the { here is closed by a macro or in an ")
    assert (tmp_path / "out" / "good.c").exists()


@needs_clang
@STRATEGIES
@pytest.mark.parametrize("mode", ["source", "unseen", "cc"])
def test_a_musttail_return_is_listed_and_left(mode: str, strategy: str, tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(
        "int g(int);\nint f(int x) { __attribute__((musttail)) return g(x); }\n"
        "int h(int x) { return x; }\n"
    )
    listed = "x.c:2: f: has a musttail return: no exit trigger can follow its call"
    if mode == "cc":
        options = ("--target", "soft", "--names", "k.names", "--strategy", strategy, "--strict")
        done = kprof(tmp_path, "cc", *options, "--", "clang", "-c", "x.c")
    else:
        compiler = "clang" if mode == "source" else "none"
        done = instrument(tmp_path, "x.c", "--cc", compiler, "--strategy", strategy, "--strict")
        compile_copy(tmp_path, "x.c", compiler="clang")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == f"kprof: {listed}"
    assert [entry.name for entry in read_names(tmp_path / "k.names").entries] == ["h"]


@needs_clang
@STRATEGIES
def test_functions_that_clang_overloads_have_a_tag_each(strategy: str, tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(
        "#define O __attribute__((overloadable))\n"
        "O int f(int x) { return x; }\nO int f(double x)\n{ return x > 1; }\n"
        "int main(void) { return f(1) + f(2.0) - 2; }\n"
    )
    done = instrument(tmp_path, "x.c", "--cc", "clang", "--strategy", strategy, "--strict")
    assert done.returncode == 0
    compile_copy(tmp_path, "x.c", compiler="clang")
    names = [entry.name for entry in read_names(tmp_path / "k.names").entries]
    assert names == ["f(int x)", "f(double x)", "main"]
    known = read_calls(tmp_path / "k.names")
    assert known is not None
    assert known.functions["main"].calls == {"f(int x)", "f(double x)"}


@needs_clang
def test_blocks_are_no_functions_and_their_returns_not_ours(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text(
        "int call(int (^b)(int));\n"
        "int f(int n) { return call(^(int x) { if (x) { return 1; } return x + n; }); }\n"
        "int g(int n) { int (^b)(int) = ^(int x) { return x; }; return b(n) + ^{ return 1; }(); }\n"
    )
    compiler = "clang -fblocks"
    done = instrument(tmp_path, "x.c", "--cc", compiler, "--strict")
    assert done.stderr == "kprof: 2 functions of 1 files have triggers\n"
    compile_copy(tmp_path, "x.c", "-fblocks", compiler="clang")
    done = instrument(tmp_path, "x.c", "--cc", compiler, "--strategy", "returns")
    assert done.stderr.splitlines()[:2] == [
        f"kprof: x.c:{line}: {name}: has blocks, whose returns are not its own "
        "(the cleanup strategy can)"
        for line, name in ((2, "f"), (3, "g"))
    ]


WORDS = {
    "c99": "int f(void) ??< int t??(2??) = ??< 1, 2 ??>; return t??(0??); ??>\n"
    "int main(void) ??< return f() - 1; ??>\n",
    "gnu11": "#pragma GCC poison volatile inline const\nint p(void) { return 1; }\n"
    "int main(void) { return p() - 1; }\n",
    "gnu99": "#define inline\n#define const\n#define volatile\n#define restrict\n"
    "static inline int p(void) { return 1; }\nint main(void) { return p() - 1; }\n",
    "c2x": "enum e : unsigned char { A, B };\n"
    "static enum e en(enum e x) { enum e y = x; enum in : char { C } z = C; return y + z; }\n"
    "static int sep(void) { return 1'000'000 > 5 ? 1'0 : 2; }\n"
    "static _BitInt(7) bi(_BitInt(7) a) { _BitInt(7) b = a; return b; }\n"
    "int main(void) { return sep() - 10 + en(A) + (int)bi(0); }\n",
}


@needs_clang
@STRATEGIES
@pytest.mark.parametrize("target", ["soft", "mmio"])
@pytest.mark.parametrize("standard", WORDS)
def test_words_of_all_standards(standard: str, target: str, strategy: str, tmp_path: Path) -> None:
    compiler = "clang" if standard == "c2x" else "gcc"
    (tmp_path / "x.c").write_text(WORDS[standard])
    done = kprof(
        tmp_path, "instrument", "x.c", "-o", "out", "--names", "k.names", "--target", target,
        "--cc", f"{compiler} -std={standard}", "--strategy", strategy, "--strict",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if target == "soft":
        compile_copy(tmp_path, "x.c", f"-std={standard}", compiler=compiler)
    else:
        (tmp_path / "out" / "y.c").write_text(
            "int unused;\n" + (tmp_path / "out" / "x.c").read_text()
        )
        command = [compiler, "-w", f"-std={standard}", "-c", "out/x.c", "-o", "x.o"]
        assert subprocess.run(command, cwd=tmp_path).returncode == 0


@needs_gcc
@STRATEGIES
@pytest.mark.parametrize("mode", ["source", "cc"])
def test_a_nested_function_that_jumps_out_is_listed(
    mode: str, strategy: str, tmp_path: Path
) -> None:
    (tmp_path / "x.c").write_text(
        "int f(int n) {\n  __label__ out;\n  int in(int k) { if (k) goto out; return k; }\n"
        "  int stays(int k) { if (k) goto end; k++; end: return k; }\n"
        "  in(n); stays(n); return 1;\n  out: return 2;\n}\nint main(void) { return f(1) - 2; }\n"
    )
    listed = "x.c:3: f.in: jumps to out in the function around it: no exit would fire"
    if mode == "cc":
        options = ("--target", "soft", "--names", "k.names", "--strategy", strategy)
        done = kprof(tmp_path, "cc", *options, "--", "gcc", "-c", "x.c")
    else:
        done = instrument(tmp_path, "x.c", "--cc", "gcc", "--strategy", strategy)
        compile_copy(tmp_path, "x.c")
    assert done.stderr.splitlines()[0] == f"kprof: {listed}"
    names = [entry.name for entry in read_names(tmp_path / "k.names").entries]
    assert names == ["f", "f.stays", "main"]


@needs_gcc
def test_the_second_run_sees_every_change_of_source_header_and_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KPROF_CACHE", str(tmp_path / "cache"))
    (tmp_path / "x.h").write_text("#define NAME(n) n##_one\n")
    (tmp_path / "x.c").write_text('#include "x.h"\nint NAME(f)(int n)\n{\n    return n;\n}\n')

    def planted(*options: str) -> list[str]:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        (tmp_path / "k.names").unlink(missing_ok=True)
        done = instrument(tmp_path, "x.c", "--cc", "gcc", "--strict", *options)
        assert done.stderr == "kprof: 1 functions of 1 files have triggers\n"
        known = read_calls(tmp_path / "k.names")
        assert known is not None
        names = [entry.name for entry in read_names(tmp_path / "k.names").entries]
        assert [known.functions[name].signature for name in names] == [f"int {names[0]}(int n)"]
        return names

    first = (planted(), (tmp_path / "out" / "x.c").read_text())
    assert (planted(), (tmp_path / "out" / "x.c").read_text()) == first
    assert first[0] == ["f_one"]
    (tmp_path / "x.h").write_text("#define NAME(n) n##_other\n")
    assert planted() == ["f_other"]
    (tmp_path / "x.h").write_text("#ifndef NAME\n#define NAME(n) n##_third\n#endif\n")
    assert planted() == ["f_third"]
    assert planted("-D", "NAME(n)=n##_given") == ["f_given"]
    (tmp_path / "x.c").write_text('#include "x.h"\nint NAME(g)(int n)\n{\n    return n;\n}\n')
    assert planted() == ["g_third"]


@pytest.mark.skipif(shutil.which("tcc") is None, reason="tcc is missing")
def test_tcc_can_be_the_preprocessor(tmp_path: Path) -> None:
    (tmp_path / "x.h").write_text("#define NAME(n) n##_one\n")
    (tmp_path / "x.c").write_text('#include "x.h"\nint NAME(f)(int n)\n{\n    return n;\n}\n')
    done = instrument(tmp_path, "x.c", "--cc", "tcc", "--strict")
    assert (done.returncode, done.stderr) == (0, "kprof: 1 functions of 1 files have triggers\n")
    assert [entry.name for entry in read_names(tmp_path / "k.names").entries] == ["f_one"]


def test_problems_of_many_files_come_out_of_their_processes_whole(tmp_path: Path) -> None:
    body = "    n += 1; n -= 1; n *= 2; n /= 2;\n" * 40
    large = "".join(f"int f{i}(int n)\n{{\n{body}    return n;\n}}\n" for i in range(100))
    assert len(large) > 120_000
    (tmp_path / "a.c").write_text(large)
    (tmp_path / "b.c").write_text(large.replace("int f", "int g"))
    (tmp_path / "bad.c").write_text("int f(int a)\n{\n    return a + 1 }\n")
    (tmp_path / "twice.c").write_text("int f(void) {/*kprof<*/x/*>kprof*/ }\n")
    done = instrument(tmp_path, "a.c", "b.c", "--cc", "none", "--strict")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        0,
        "kprof: 200 functions of 2 files have triggers",
    )
    done = instrument(tmp_path, "a.c", "bad.c", "b.c", "twice.c", "--cc", "none", "--force")
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if not line.startswith("read ")] == [
        "kprof: bad.c:3: syntax error between '1' and '}'",
        "twice.c: has been instrumented already (instrument the original, or get it back with "
        "--un-instrument)",
    ]
    done = instrument(tmp_path, "a.c", "missing.c", "b.c", "--cc", "none", "--force")
    assert done.returncode == 1
    assert "missing.c: cannot read: no such file or directory" in done.stderr
