"""Where triggers go in bodies that leave little room: what comes out compiles and does the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.errors import InstrumentError
from kprof.instrument.batch import output_paths
from kprof.instrument.preprocess import Preprocessor
from kprof.instrument.source import plant, scan_source
from kprof.instrument.targets import find_target
from kprof.instrument.verify import Verifier
from kprof.names import read_names

COUNTER = """
static int depth, events;
void kprof_event(unsigned tag) { events++; depth += tag & 1 ? -1 : 1; }
int printf(const char *, ...);
int main(void) { int value = f(3); printf("%d %d", value, depth); return events < 2; }
"""
PROTOTYPE = "int f(int);\n"

# A source with a function f, what f(3) is, and how many functions there are.
SOURCES = [
    ("int f(int a){return a;}", 3, 1),
    ("void g(void){} int f(int a){g();return a;}", 3, 2),
    ("int f(int a) { __label__ l; goto l; l: return a; }", 3, 1),
    ("int f(int a) { __label__ l, m; __label__ n; void *p = &&n; goto *p; l: m: n: return a; }",
     3, 1),
    ("int f(int a) {\n#pragma STDC FP_CONTRACT ON\n}", None, 1),
    ("double g(double x) {\n#pragma STDC CX_LIMITED_RANGE \\\n ON\n return x * 2.0; }\n"
     "int f(int a) { return (int)g(a); }", 6, 2),
    ("int f(int a)<%return a;%>", 3, 1),
    ("int f(int a) { auto int g(void) { return a; } auto int h(void) { return 1; }\n"
     "return g() + h(); }", 4, 3),
    ("int f(int a) { __attribute__((noinline, unused)) int g(void) { return a; } return g(); }",
     3, 2),
    ("int f(int a) { int k = 1; int g(b, c) int b; int *c; { return b + *c; }\n"
     "return g(a, &k); }", 4, 2),
]  # fmt: skip


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("strategy", ["cleanup", "returns"])
@pytest.mark.parametrize(("source", "value", "functions"), SOURCES)
def test_a_body_with_little_room(
    source: str, value: int | None, functions: int, strategy: str, tmp_path: Path
) -> None:
    scan = scan_source(PROTOTYPE + source + "\n", "t.c")
    tags = {brace: 1024 + 2 * number for number, brace in enumerate(scan.functions)}
    text, failed = plant(scan, tags, find_target("soft", strategy=strategy))
    assert not failed
    assert len(tags) == functions
    path = tmp_path / "t.c"
    path.write_text(text + COUNTER, "latin-1")
    program = tmp_path / "t"
    subprocess.run(["gcc", "-w", "-O1", str(path), "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0
    said, depth = done.stdout.split()
    assert depth == "0"
    assert value is None or int(said) == value


def test_half_an_edit_in_a_source_is_refused() -> None:
    # Else the comment would pair with one of ours, and the source could not be had back.
    with pytest.raises(InstrumentError, match="instrumented already"):
        scan_source("int f(void) { /*kprof<*/ return 0; }\n", "t.c")


def test_the_name_of_a_macro_between_old_style_parameters_and_the_body() -> None:
    source = (
        "int f(a, b REST) char *a, *b; int c; REST_TYPES\n{ return 1; }\n"
        "int g(int a) __attribute__((pure)); int h(int a); MAKE { int x; };\n"
        "int i(void); STRUCTURE { int y; };\nint j(GLOBAL a) int a; GLOBAL_TYPE\n{ return 2; }\n"
    )
    functions = scan_source(source, "t.c").functions.values()
    assert [function.name for function in functions] == ["f", "j"]


def test_a_macro_that_opens_the_body_and_declares_its_va_list(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    path = tmp_path / "t.c"
    path.write_text(
        "#define VA_DECL(v) (char *v, ...) { __builtin_va_list args;\n"
        "#define VA_END() __builtin_va_end(args); }\n"
        "#define MADE(n) int n(void) { int x;\n"
        "int f VA_DECL(a)\n{ __builtin_va_start(args, a); return 1; VA_END(); }\n"
        "MADE(g) { x = 1; } x = 2; return x; }\n"
    )
    scan = scan_source(path.read_text(), str(path))
    seen = Verifier(Preprocessor(("gcc",)), tmp_path / "k.names").verify(scan, path)
    assert [function.name for function in seen.scan.functions.values()] == ["f"]
    assert [skipped.name for skipped in seen.skipped] == ["g"]


def test_what_goes_to_the_top_is_at_file_scope_on_every_way() -> None:
    source = (
        "#ifndef B\nint a[] = { 1,\n#ifdef A\n};\n#endif\n#endif\n\n"
        "#ifndef A\n#ifdef B\nint b[] = {\n#endif\n2 };\n#endif\n"
        "#ifndef A\nint f(void) { return 0; }\n#endif\n"
    )
    scan = scan_source(source, "t.c")
    assert [function.name for function in scan.functions.values()] == ["f"]
    text, _ = plant(scan, dict.fromkeys(scan.functions, 1024), find_target("soft"))
    at = text.index("extern void kprof_event")
    assert at < text.index("int a[]") or at > text.index("2 };")


def test_a_copy_has_the_name_that_its_source_was_given_by(tmp_path: Path) -> None:
    (tmp_path / "sys.unx").write_text("int f(void) { return 0; }\n")
    source = tmp_path / "sys.c"
    source.symlink_to("sys.unx")
    assert output_paths([source], tmp_path / "out") == [tmp_path / "out" / "sys.c"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("mode", ["cc", "instrument"])
def test_a_name_in_parentheses_behind_the_name_of_a_type(mode: str, tmp_path: Path) -> None:
    # Taken for a function called T that returns int, its values would lose their upper half.
    source = tmp_path / "t.c"
    source.write_text(
        "typedef unsigned long long T;\n#define NAME(x) (x)\n#define U unsigned long long\n"
        "void kprof_event(unsigned tag) { (void)tag; }\n"
        "static T NAME(f)(int a) { return 1ull << a; }\nT (g)(int a) { return 1ull << a; }\n"
        "U (h)(int a) { return 1ull << a; }\nT *(i)(T *a) { return a; }\n"
        "int main(void) { T k = 1;\n return f(40) + g(41) + h(42) + *i(&k) "
        "!= (7ull << 40) + 1; }"
    )
    names = tmp_path / "t.names"
    kprof = [sys.executable, "-m", "kprof", mode, "--target", "soft", "--strategy", "returns"]
    program = tmp_path / "t"
    if mode == "cc":
        command = [*kprof, "--names", names, "--", "gcc", "-w", source, "-o", program]
        subprocess.run(command, check=True)
    else:
        out = tmp_path / "out"
        subprocess.run([*kprof, "--names", names, source, "-o", out], check=True)
        subprocess.run(["gcc", "-w", out / "t.c", "-o", program], check=True)
    assert subprocess.run([program]).returncode == 0
    assert [read_names(names).get(name) is not None for name in "fghiTU"] == [True] * 4 + [
        False
    ] * 2
