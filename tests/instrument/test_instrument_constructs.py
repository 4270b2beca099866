"""C as it is really written: each construct runs as before, and each call fires entry and exit.

One program of all of them, in each mode, strategy and level; a function's calls are counted by
its events, which must balance.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# ruff: noqa: E501
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")

# Each defines ``int NAME(int a, int b)``, written as F.
CONSTRUCTS = {
    "attribute_before": "__attribute__((noinline, cold)) int F(int a, int b) { return a + b; }",
    "attribute_between": "int __attribute__((noinline)) F(int a, int b) { return a - b; }",
    "attribute_declared": "int F(int a, int b) __attribute__((noinline, nonnull));\n"
    "int F(int a, int b) { return a; }",
    "asm_label": "int F(int a, int b) __asm__(\"F_\");\nint F(int a, int b) { return b; }",
    "asm_statement": "int F(int a, int b) { __asm__ volatile(\"\" : \"+r\"(a) : \"r\"(b) : \"memory\");"
    " asm(\"\"); return a; }",
    "asm_goto": "int F(int a, int b) { __asm__ goto(\"\" : : : : out); a++; out: return a + b; }",
    "statement_expression": "int F(int a, int b) { return ({ int c = a; if (b) return c + 1; c; }); }",
    "nested_statement_expression":
        "int F(int a, int b) { return ({ ({ if (a > b) return 1; 2; }) + ({ if (a) return 5; 3; }); }); }",
    "typeof": "__typeof__(1) F(__typeof__(1) a, int b) { __typeof__(a) c = b; return c + a; }",
    "auto_type": "int F(int a, int b) { __auto_type c = a * b; return c; }",
    "extension": "__extension__ int F(int a, int b) { return __extension__ ({ a + b; }); }",
    "generic": "int F(int a, int b) { return _Generic(a, int: 1, default: 2) + b; }",
    "builtins": "int F(int a, int b) { if (__builtin_expect(a, 0)) return __builtin_popcount(b);"
    " return __builtin_constant_p(a) ? 1 : 0; }",
    "designated_range": "int F(int a, int b) { int t[] = { [0 ... 3] = 2, [4] = 9 }; return t[a] + b; }",
    "empty_initialiser": "int F(int a, int b) { struct { int x; } s = {}; return s.x + a + b; }",
    "computed_goto": "int F(int a, int b) { static const void *const t[] = { &&x, &&y };"
    " goto *t[a & 1]; x: return b; y: return a; }",
    "local_label": "int F(int a, int b) { ({ __label__ l; if (a) goto l; b++; l: ; }); return b; }",
    "nested_function": "int F(int a, int b) { int g(int c) { if (c) return c + a; return b; }"
    " return g(0) + g(1); }",
    "nested_forward": "int F(int a, int b) { auto int g(int); int c = g(a); int g(int d) { return d + b; }"
    " return c; }",
    "int128": "static __int128 F128(int a) { return (__int128)a << 70; }\n"
    "int F(int a, int b) { return (int)(F128(a) >> 70) + b; }",
    "float128": "static _Float64 F64(int a) { return a / 2.0f64; }\n"
    "int F(int a, int b) { return (int)F64(a) + b; }",
    "vector": "typedef int v4 __attribute__((vector_size(16)));\n"
    "static v4 Fv(int a) { v4 v = { a, 1, 2, 3 }; return v + v; }\n"
    "static __attribute__((vector_size(8))) int Fw(int a) { v4 v = { a, a }; return"
    " (__attribute__((vector_size(8))) int){ v[0], v[1] }; }\n"
    "int F(int a, int b) { return Fv(a)[0] + Fw(b)[1]; }",
    "old_style": "int F(a, b) int a; register int b; { return a - b; }",
    "old_style_function_parameter":
        "static int Fcall(f, a) int (*f)(); int a; { return f(a); }\n"
        "static int Fid(a) int a; { return a; }\nint F(a, b) { return Fcall(Fid, a + b); }",
    "implicit_int": "F(a, b) { return a * b; }",
    "implicit_static": "static Fs(a) { return a + 1; }\nint F(a, b) { return Fs(a) + b; }",
    "c23_attribute": "[[gnu::noinline]] int F([[maybe_unused]] int a, int b) { [[maybe_unused]] int c;"
    " return b; }",
    "static_assert": "int F(int a, int b) { _Static_assert(sizeof(struct { int x; }) == 4, \"x\");"
    " return a + b; }\n_Static_assert(1, \"{\");",
    "digraphs": "int F(int a, int b) <% int c<:2:> = <% a, b %>; return c<:1:>; %>",
    "pragma": "#pragma GCC push_options\nint F(int a, int b)\n{\n#pragma GCC unroll 4\n"
    " for (int i = 0; i < b; i++) a++;\n _Pragma(\"GCC diagnostic push\") return a; }\n"
    "#pragma GCC pop_options",
    "one_line": "static int Fa(int a) { return a; } static int Fb(int a) { return Fa(a); }"
    " int F(int a, int b) { return Fa(a) + Fb(b); }",
    "if_return": "int F(int a, int b) { if (a > 100) return b; else if (b > 100) return a;"
    " else return a + b; }",
    "dangling_else": "int F(int a, int b) { if (a) if (b) return 1; else return 2; return 3; }",
    "do_return": "int F(int a, int b) { do return a; while (b); }",
    "case_return": "int F(int a, int b) { switch (a) { case 3: return b; case 4: a++;"
    " default: return a; } }",
    "case_range": "int F(int a, int b) { switch (a) { case 1 ... 3: return b; } return a; }",
    "duffs_device": "int F(int a, int b) { int n = 0; switch (a & 3) { case 0: do { n++; case 3: n++;"
    " case 2: n++; case 1: n++; } while (--b > 0); } return n; }",
    "label_return": "int F(int a, int b) { if (a) goto l; b++; l: return b; }",
    "goto_end": "static void Fg(int *p) { if (!*p) goto end; ++*p; end: ; }\n"
    "int F(int a, int b) { Fg(&a); return a + b; }",
    "label_at_end": "static void Fl(int *p) { if (!*p) goto end; ++*p; end: }\n"
    "int F(int a, int b) { Fl(&a); return a + b; }",
    "struct_return": "struct Fs { int x[9]; }; static struct Fs Fr(int a) { struct Fs s; s.x[2] = a;"
    " return s; }\nint F(int a, int b) { return Fr(a).x[2] + b; }",
    "struct_defined_in_head": "struct Fs { int x; } Fr(int a) { struct Fs s = { a }; return s; }\n"
    "int F(int a, int b) { return Fr(a).x + b; }",
    "union_return": "union Fu { int x; char c[2]; }; static union Fu Fr(int a)"
    " { union Fu u; u.x = a; return u; }\nint F(int a, int b) { return Fr(a).x + b; }",
    "pointer_to_function": "static int Fi(int a) { return a; }\nstatic int (*Fp(int a))(int)"
    " { return a ? Fi : 0; }\nint F(int a, int b) { return Fp(b)(a); }",
    "pointer_to_pointer_to_function":
        "static int Fi(int a) { return a; }\nstatic int (*Fp(void))(int) { return Fi; }\n"
        "static int (*(*Fq(void))(void))(int) { return Fp; }\nint F(int a, int b) { return Fq()()(a) + b; }",
    "pointer_to_array": "static int Ft[3] = { 1, 2, 3 }; static int (*Fa(void))[3] { return &Ft; }\n"
    "int F(int a, int b) { return (*Fa())[1] + a + b; }",
    "complex": "static _Complex double Fc(int a) { return a * 2.0; }\n"
    "int F(int a, int b) { return (int)__real__ Fc(a) + b; }",
    "void_expression": "static void Fn(int *p) { ++*p; } static void Fv(int *p) { return Fn(p); }\n"
    "int F(int a, int b) { Fv(&a); return a + b; }",
    "compound_literal": "struct Fs { int x, y; }; static struct Fs Fl(int a)"
    " { return (struct Fs){ a, .y = 2 }; }\nint F(int a, int b) { return Fl(a).y + b; }",
    "comma": "int F(int a, int b) { return a++, b++, a + b; }",
    "narrowing": "static signed char Fn(int a) { return a + 300; } static _Bool Fb(int a) { return a; }\n"
    "int F(int a, int b) { return Fn(a) + Fb(b); }",
    "string": "static const char *Fs(void) { return \"{return\"; }\n"
    "int F(int a, int b) { return Fs()[0] + a + b; }",
    "qualified": "static const volatile int *const Fq(const volatile int *p) { return p; }\n"
    "int F(int a, int b) { return *Fq(&a) + b; }",
    "infinite_loop": "int F(int a, int b) { for (;;) if (a++ > 20) return b + a; }",
    "noreturn": "#include <setjmp.h>\nstatic jmp_buf Fj; static _Noreturn void Fx(int a)"
    " { longjmp(Fj, a); }\nint F(int a, int b) { if (!setjmp(Fj)) Fx(b); return a; }",
    "always_inline": "static inline __attribute__((always_inline)) int Fi(int a) { return a + 1; }\n"
    "int F(int a, int b) { return Fi(a) + Fi(b); }",
    "gnu_inline": "extern inline __attribute__((gnu_inline)) int Fi(int a) { return a + 1; }\n"
    "int Fi(int a) { return a + 1; }\nint F(int a, int b) { return Fi(a) + b; }",
    "c99_inline": "inline int Fi(int a) { return a + 1; }\nextern int Fi(int a);\n"
    "int F(int a, int b) { return Fi(a) + b; }",
    "constructor": "static int Fk; __attribute__((constructor)) static void Fc(void) { Fk = 5; }\n"
    "int F(int a, int b) { return Fk + a + b; }",
    "alloca": "int F(int a, int b) { int *p = __builtin_alloca(sizeof *p * a); p[0] = b; return p[0]; }",
    "vla": "int F(int a, int b) { int v[a]; for (int i = 0; i < a; i++) v[i] = b; return v[a - 1]; }",
    "vla_parameter": "static int Fv(int n, int t[n][n]) { return t[n - 1][0]; }\n"
    "int F(int a, int b) { int t[2][2] = { { a, b }, { b, a } }; return Fv(2, t); }",
    "varargs": "#include <stdarg.h>\nstatic int Fv(int n, ...) { va_list l; int s = 0; va_start(l, n);"
    " while (n--) s += va_arg(l, int); va_end(l); return s; }\n"
    "int F(int a, int b) { return Fv(2, a, b); }",
    "parenthesised": "int (F)(int a, int b) { return (a) + (b); }",
    "return_parenthesised": "int F(int a, int b) { return(a+b); }",
    "return_split": "int F(int a, int b)\n{\n\treturn\n\t\ta\n\t\t+ b /* ; } */ // return ;\n\t\t;\n}",
    "shadowed_type": "typedef int Ft; static Ft Fs(int Ft) { return Ft; }\n"
    "int F(int a, int b) { return Fs(a) + b; }",
    "cleanup_of_its_own": "static void Fc(int *p) { ++*p; }\nint F(int a, int b)"
    " { int c __attribute__((cleanup(Fc))) = a; return c + b; }",
    "return_in_macro": "#define FBAIL(x) do { if (x) return -1; } while (0)\n"
    "int F(int a, int b) { FBAIL(a > b); return a; }",
    "function_by_macro": "#define FMAKE(n, e) int n(int a, int b) { return e; }\nFMAKE(F, a * b)",
    "spliced": "int F(int a, \\\nint b) { ret\\\nurn a + b; }",
    "empty_void": "static void Fe(void) { }\nint F(int a, int b) { Fe(); return a + b; }",
}  # fmt: skip

RECORDER = """\
#include <stdio.h>
static unsigned open_calls[100000], events, wrong, depth;
void kprof_event(unsigned tag)
{
    events++;
    if (!(tag & 1)) open_calls[depth++] = tag;
    else {
        while (depth && open_calls[depth - 1] != tag - 1) { depth--; wrong++; }
        if (depth) depth--; else wrong++;
    }
}
void kprof_tell(const char *name)
{
    fprintf(stderr, "%s %s, wrong %u, open %u\\n", name, events ? "fires" : "silent", wrong, depth);
    events = wrong = 0;
}
"""
# longjmp leaves a call open.
WRONG = {"noreturn": 1}
# In source mode: what macros make, and a return of two lines.
UNSEEN = {"return_in_macro", "function_by_macro", "spliced"}
# The type of what the function returns cannot be named in its body.
HIDDEN = {"shadowed_type"}


def program(names: list[str]) -> str:
    """A program that calls each of these and says how it went."""
    parts = ["int printf(const char *, ...);", "void kprof_tell(const char *);"]
    calls = []
    for name in names:
        parts.append(re.sub(r"\bF(?=\w*\b)", f"{name}_F", CONSTRUCTS[name]))
        calls.append(f'    printf("{name} %d\\n", {name}_F(3, 4));\n    kprof_tell("{name}");')
    body = "\n".join(calls)
    return "\n".join(parts) + f"\nint main(void)\n{{\n{body}\n    return 0;\n}}\n"


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    ("mode", "strategy"),
    [("cc", "cleanup"), ("cc", "returns"), ("instrument", "cleanup"), ("instrument", "returns")],
)
def test_everything_runs_as_before(mode: str, strategy: str, level: str, tmp_path: Path) -> None:
    left_out = (UNSEEN if mode == "instrument" else set()) | (
        HIDDEN if strategy == "returns" else set()
    )
    names = [name for name in CONSTRUCTS if name not in left_out]
    (tmp_path / "p.c").write_text(program(names))
    (tmp_path / "recorder.c").write_text(RECORDER)
    flags = ["-std=gnu2x", level, "-w"]
    run(tmp_path, "gcc", "-c", "recorder.c")
    run(tmp_path, "gcc", *flags, "p.c", "recorder.o", "-o", "plain")
    kprof = [sys.executable, "-m", "kprof", mode, "--names", "k.names", "--target", "soft"]
    kprof += ["--strategy", strategy, "--strict"]
    compiler = ["gcc", *flags, "-o", "ours", "recorder.o"]
    if mode == "cc":
        assert run(tmp_path, *kprof, "--", *compiler, "p.c").stderr == ""
    else:
        run(tmp_path, *kprof, "p.c", "-o", "out", "--cc", "none")
        run(tmp_path, *compiler, "out/p.c")
    plain, ours = run(tmp_path, "./plain"), run(tmp_path, "./ours")
    assert ours.stdout == plain.stdout
    assert len(plain.stdout.splitlines()) == len(names)
    # main is open while it tells.
    told = [f"{name} fires, wrong {WRONG.get(name, 0)}, open 1" for name in names]
    assert ours.stderr.splitlines() == told


def test_a_type_that_cannot_be_named_is_said(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(program(["shadowed_type"]))
    kprof = [sys.executable, "-m", "kprof", "instrument", "p.c", "-o", "out", "--cc", "none"]
    done = run(tmp_path, *kprof, "--target", "mmio")
    assert done.stderr.splitlines()[0] == (
        "kprof: p.c:3: shadowed_type_Fs: a parameter hides the name of the type that it returns"
    )
