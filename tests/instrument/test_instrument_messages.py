"""The compiler's messages are those for the source, and most units are compiled once for them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.instrument.indentation import may_mislead
from kprof.instrument.messages import source_columns

BLANKS = """\
/* a comment */ static int  unused( int   x,  /* y */ unsigned b )
{
\treturn   x <  b;
}
int old(argc,  argv) int   argc;   char **argv;
{
\tint   q;  int z;\t/* zz */ unsigned  k = 3;
\tif (argc   <   k)
\t\tz = 1;
\tz = 2;
\tswitch (z) {
\tcase 1: z++;
\tdefault:  return  0;
\t}
}
"""
INDENTATION = """\
int f(int a)
{
    if (a)
        a = 1;
        a = 2;
    return a;
}
"""
ONE_LINE = "int f(int unused,  long used) { return used > 0; }\n"
INDENTED = "struct s { int a; };\n   static int  f(void) {\n  struct s  s = { };\n return s.a; }\n"
ERROR = "int f(void) { return  nowhere; }\nint g(int  unused) { return 0; }\n"
TABLE = (
    "#define A 1\nstruct s { int a, b; } t[] = { { A }, { 2 } };\nint f(int u) { return t[0].a; }\n"
)
HEADER = '#include "h.h"\nint f(int  a) { return 0; }\n'
MACRO = "#define LESS(a, b) ((a) < (b))\nint f(int a, unsigned b) { return LESS(a, b); }\n"
ADDRESS = "#define IS(p) ((p) != 0)\nint f(int u) {\n int a[2];\n return IS(&a[0]); }\n"
INLINED = "static int *g(int a) { return &a; }\nint f(int u) { return *g(0); }\n"
PRAGMA = (
    '#pragma GCC diagnostic push\n    #pragma GCC diagnostic ignored "-Wunused-parameter"\n'
    "int f(int  u) { return 0; }\n  #pragma GCC diagnostic pop\nint  g(int   u)\n{ return 0; }\n"
)
WARNING = "#warning here\nint f(int  unused) { return 0; }\n"

# A source, and whether it has to be compiled again for its messages.
SOURCES = {
    "blanks": (BLANKS, False),
    "indentation": (INDENTATION, True),
    "one line": (ONE_LINE, False),
    "indented": (INDENTED, False),
    "pragma": (PRAGMA, False),
    "table": (TABLE, False),
    "header": (HEADER, False),
    "silent": ("int f(void) { return 0; }\n", False),
    "macro": (MACRO, True),
    "expanded macro": (ADDRESS, True),
    "optimiser": (INLINED, True),
    "preprocessor": (WARNING, True),
    "error": (ERROR, True),
}  # fmt: skip


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    """A folder with compilers that keep a log of what they are asked to compile."""
    for name in ("gcc", "clang"):
        if real := shutil.which(name):
            script = tmp_path / name
            script.write_text(
                f'#!/bin/sh\ncase " $* " in *" -E "*) ;; *) echo run >> {tmp_path}/log ;; esac\n'
                f'exec {real} "$@"\n'
            )
            script.chmod(0o755)
    (tmp_path / "h.h").write_text("static int in_h(int b) { return 0; }\n")
    return tmp_path


@pytest.mark.parametrize(
    "options", ["-O2 -Wall -Wextra", "-W -pedantic -fdiagnostics-color=always"]
)
@pytest.mark.parametrize("case", SOURCES)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_messages(case: str, compiler: str, options: str, counted: Path) -> None:
    if not (counted / compiler).exists():
        pytest.skip(f"{compiler} is missing")
    source, again = SOURCES[case]
    (counted / "s.c").write_text(source)
    command = [str(counted / compiler), *options.split(), "-c", "s.c", "-o", "s.o"]
    plain = subprocess.run(command, cwd=counted, capture_output=True, text=True)
    (counted / "log").write_text("")
    ours = subprocess.run(
        [sys.executable, "-m", "kprof", "cc", "--names", "k", "--target", "soft", "--", *command],
        cwd=counted,
        capture_output=True,
        text=True,
    )
    assert (ours.returncode, ours.stdout, ours.stderr) == (plain.returncode, "", plain.stderr)
    if compiler == "gcc" and "-O2" in options:  # clang quotes what it compiles: more must agree
        assert len((counted / "log").read_text().split()) == 1 + again


def test_lines_of_the_source_come_back(tmp_path: Path) -> None:
    path = tmp_path / "s.c"
    path.write_text('int  a; /* b */ int c;\nchar *s = "x  y";// z\n#define M 1\n\tint\td = M;\n')
    text = f'# 0 "{path}"\n# 1 "x.h" 1\nint  a;\n# 1 "{path}" 2\n'
    expanded = 'int a; int c;\nchar *s = "x  y";\n\n int d = 1;\n#pragma  once'
    assert source_columns(text + expanded) == text + (
        'int  a;         int c;\nchar *s = "x  y";    \n\n int d = 1;\n#pragma  once'
    )
    assert source_columns("int  a;\n") == "int  a;\n"
    gone = text.replace("s.c", "gone.c") + expanded
    assert source_columns(gone) == gone


GUARDED = [
    "if (a)\n  do{ b; }while (c);\nd;",
    "if (a) do {\n  b;\n} while (c);\nd;",
    "if (a) b;\n  c;",
    "if (a)\n  b;\n#if 0\n  c;\n#endif",
    "if (a)\nb;\nc;",
    "if (a)\n  do b; while (c);\nelse\n  d;\ne;",
    "if (a) { b; } c;",
    "if (a)\n  b;\nc;",
    "if (a)\n  b;\nelse\n  c;\nd;",
    "if (a) b;\nelse if (c) d;\nelse e;\nf;",
    "do b; while (a);\nc;",
    "while (a) ;\nc;",
    "for (;;)\n\tif (a)\n\t\tb;\n\telse\n\t\tc;\nd;",
    "if (a) b; /* c */\nd;",
    'if (a)\n  s = "else b;";\nc;',
    "if (a)\n  switch (b) {\n  case 1:\n    c;\n  }\nd;",
    "if (a)\n  b;\n}",
]
MISLEADING = [
    "while (a);\n{ b; }",
    "if (a)\n  do b; while (c);\n  d;",
    "while (a) ;\n  c;",
    "if (a)\n  b;\n  c;",
    "if (a) b; c;",
    "if (a)\n  b; c;",
    "for (;;)\n\tb;\n        c;",
    "if (a)\n  b;\nelse\n  c;\n  d;",
    "for (;;)\n  if (a) {\n    b;\n  }\n  c;",
    "while (f(a))\n  b;\n  c;",
]


def test_what_looks_guarded_is_found() -> None:
    for statements, expected in [(one, False) for one in GUARDED] + [(o, True) for o in MISLEADING]:
        body = "{\n" + statements.removesuffix("\n}") + "\n}\n"
        assert may_mislead(f"void f(void)\n{body}") == expected, statements


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")
def test_gcc_warns_of_the_same(tmp_path: Path) -> None:
    head = "char *s;\nint a, b, c, d, e, g(int);\n#define f(x) g(x)\nvoid h(void)\n{\n"
    for statements, expected in [(one, False) for one in GUARDED] + [(o, True) for o in MISLEADING]:
        text = statements.removesuffix("\n}").replace("f;", "e;")
        (tmp_path / "s.c").write_text(f"{head}{text}\n}}\n")
        command = ["gcc", "-fsyntax-only", "-Wmisleading-indentation"]
        done = subprocess.run([*command, "s.c"], cwd=tmp_path, capture_output=True, text=True)
        assert ("-Wmisleading-indentation" in done.stderr) == expected, (statements, done.stderr)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("target", ["soft", "x86-64"])
def test_a_copy_has_no_new_warnings_of_the_optimiser(
    tmp_path: Path, compiler: str, target: str
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    source = tmp_path / "g.c"
    # The compiler sees that `check` changes no variable of others; an event may.
    source.write_text(
        "int f(int); int g;\nstatic int check(int n) { return n + 1; }\n"
        "int f(int n) { int x; if (g) x = n; n = check(n); if (g) return x + n; return 0; }\n"
    )
    names = ["--names", str(tmp_path / "k.names"), "--target", target]
    instrument = [sys.executable, "-m", "kprof", "instrument", str(source)]
    subprocess.run([*instrument, "-o", str(tmp_path / "out"), *names], check=True)
    command = [compiler, "-O2", "-Wall", "-Wextra", "-std=c90", "-pedantic", "-Werror", "-S"]
    for path in (source, tmp_path / "out" / "g.c"):
        done = subprocess.run(
            [*command, str(path), "-o", str(tmp_path / "g.s")], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
