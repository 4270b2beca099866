"""What a m68k compiler makes of the triggers: `tst.b` in the right places, at -O2."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kprof.instrument.batch import Options, instrument_files
from kprof.instrument.shadow import encode
from kprof.instrument.targets import find_target
from kprof.names import read_names

GCC, OBJDUMP = "m68k-linux-gnu-gcc", "m68k-linux-gnu-objdump"
pytestmark = pytest.mark.skipif(
    shutil.which(GCC) is None, reason=f"{GCC} is missing (apt-get install gcc-m68k-linux-gnu)"
)

# Each function divides to get what it returns: the division must stand between the triggers.
RETURNS = {
    "plain": "int f(int a, int b) { return a / b; }",
    "initialiser": "int f(int a, int b) { int c = a / b; return c; }",
    "initialiser_and_return": "int f(int a, int b) { int c = a / b; return c / a; }",
    "no_braces": "int f(int a, int b) { if (a) return a / b; return b / 3; }",
    "else_return": "int f(int a, int b) { if (a > 5) a++; else return a / b; return b / a; }",
    "case": "int f(int a, int b) { switch (a) { case 1: return a / b; default: return b / a; } }",
    "fall_through_case": "int f(int a, int b) { switch (a) { case 1: b++; case 2: b /= a; }"
    " return a / b; }",
    "label": "int f(int a, int b) { if (b > 9) goto out; a++; out: return a / b; }",
    "struct": "struct s { int x, y, z; }; struct s f(int a, int b)"
    " { struct s r; r.x = a / b; r.y = b; r.z = b / a; return r; }",
    "union": "union u { int x; char c[12]; }; union u f(int a, int b)"
    " { union u r; r.x = a / b; return r; }",
    "pointer_to_function": "typedef int (*fp)(int); int (*f(int a, int b))(int)"
    " { return (fp)(a / b); }",
    "pointer_to_array": "int (*f(int a, int b))[5] { return (int (*)[5])(a / b); }",
    "complex": "_Complex double f(int a, int b) { return a / b; }",
    "void_expression": "extern int v; void g(int); static void h(int a, int b) { v = a / b; }"
    " void f(int a, int b) { return h(a, b); }",
    "void": "extern int v; void f(int a, int b) { if (a) { v = a / b; return; } v = b / 2; }",
    "void_fall_through": "extern int v; void f(int a, int b) { v = a / b; }",
    "compound_literal": "struct s { int x, y, z; }; struct s f(int a, int b)"
    " { return (struct s){ a / b, b, 3 }; }",
    "statement_expression": "int f(int a, int b) { return ({ int c = a / b; if (c) return c / 3;"
    " c; }); }",
    "narrow": "signed char f(int a, int b) { return a / b; }",
    "widened": "long long f(int a, int b) { return a / b; }",
    "implicit_int": "f(a, b) { return a / b; }",
    "old_style": "long f(a, b) int a; register int b; { long c = a / b; return c; }",
    "qualified": "const char *f(int a, int b) { return (const char *)(a / b); }",
    "vla": "int f(int a, int b) { int x[a]; x[0] = a / b; return x[0] / b; }",
    "alloca": "void *g(void *); int f(int a, int b) { char *p = __builtin_alloca(a);"
    " g(p); return *p / b; }",
    "varargs": "int f(int a, ...) { __builtin_va_list v; int b; __builtin_va_start(v, a);"
    " b = __builtin_va_arg(v, int); __builtin_va_end(v); return a / b; }",
    "computed_goto": "int f(int a, int b) { static void *t[] = { &&x, &&y }; goto *t[a & 1];"
    " x: return a / b; y: return b / a; }",
    "nested": "int f(int a, int b) { int g(int c) { return c / b; } return g(a) / g(b); }",
    "several_on_a_line": "int g(int a) { return a / 7; } int f(int a, int b) { return a / b; }",
    "loop": "int f(int a, int b) { for (;;) { if (a++ > b) return a / b; } }",
    "attribute": "__attribute__((noinline)) int f(int a, int b) { return a / b; }",
}


def listing(source: str, strategy: str, folder: Path, *options: str) -> tuple[str, int]:
    """The disassembly of f in this source, instrumented, and its entry tag."""
    path = folder / "unit.c"
    path.write_text(source + "\n")
    names = folder / "unit.names"
    target = find_target("m68k", strategy=strategy)
    (done,) = instrument_files([path], Options(target, names)).done
    assert not done.skipped
    copy = folder / "copy.c"
    copy.write_bytes(encode(done.after))
    subprocess.run(
        [GCC, "-O2", "-w", "-m68020", "-fno-tree-ter", *options, "-c", copy, "-o", "copy.o"],
        cwd=folder,
        check=True,
    )
    text = subprocess.run(
        [OBJDUMP, "-d", "--disassemble=f", "copy.o"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    body = text[text.index("<f>:") :]
    entry = read_names(names).get("f")
    assert entry is not None
    return body, entry.value


@pytest.mark.parametrize("strategy", ["cleanup", "returns"])
@pytest.mark.parametrize("kind", RETURNS)
def test_triggers_enclose_the_function(kind: str, strategy: str, tmp_path: Path) -> None:
    body, tag = listing(RETURNS[kind], strategy, tmp_path)
    entry, leave = f"4a38 {tag:04x}", f"4a38 {tag + 1:04x}"
    assert body.count(entry) == 1
    before, after = body.split(entry)
    assert not re.search(r"div|jsr|bsr", before), f"work before the entry trigger:\n{body}"
    # On the way from each exit trigger to the rts that it leads to, nothing is computed.
    assert leave in after
    ways_out = after.split("rts")[:-1]
    assert ways_out
    for way in ways_out:
        assert leave in way, f"a way out without an exit trigger:\n{body}"
        assert not re.search(r"div|mul|jsr|bsr", way.rpartition(leave)[2]), (
            f"work behind the exit trigger:\n{body}"
        )


def test_long_form_past_7fff(tmp_path: Path) -> None:
    (tmp_path / "unit.names").write_text("f/32768\n")
    body, tag = listing("int f(int a) { return a; }", "cleanup", tmp_path)
    assert tag == 0x8000
    assert "4a39 0000 8000" in body
    assert "4a39 0000 8001" in body


def test_nothing_but_the_triggers_remains(tmp_path: Path) -> None:
    body, _ = listing("void f(void) { }", "cleanup", tmp_path, "-fomit-frame-pointer")
    code = re.findall(r"\t((?:[0-9a-f]{4} )+)", body)
    assert [words.split()[0] for words in code] == ["4a38", "4a38", "4e75"]
