"""Source mode: which functions are found, what is put in where, and what stays as it was."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.errors import InstrumentError
from kprof.instrument.edits import apply_edits, has_edits, remove_edits
from kprof.instrument.shadow import shadow_of
from kprof.instrument.source import Scan, plant, scan_source
from kprof.instrument.targets import Target

MARK = Target("mark", "FIRE({tag});", strategy="cleanup")
BACK = Target("mark", "FIRE({tag});", strategy="returns")

# Each source, and the functions that are in it with the line of their names.
FOUND = [
    ("int f(void) { return 0; }", ["f:1"]),
    ("int f(void)\n{\n}\nint g(void) { }", ["f:1", "g:4"]),
    ("int f(void) { } int g(void) { } int h(void) { }", ["f:1", "g:1", "h:1"]),
    ("f() { }", ["f:1"]),
    ("main(argc, argv)\nint argc;\nchar **argv;\n{ }", ["main:1"]),
    ("int f(a, b) int a; int (*b)(); { }", ["f:1"]),
    ("f(a) register struct s *a; { }", ["f:1"]),
    ("int (*f(int a))(int) { }", ["f:1"]),
    ("int (*f(int a))[5] { }", ["f:1"]),
    ("void (*(*f(int a))(int))(void) { }", ["f:1"]),
    ("int (f)(int a) { }", ["f:1"]),
    ("struct s *f(struct s { int x; } *a) { }", ["f:1"]),
    ("struct s { int x; } f(void) { }", ["f:1"]),
    ("struct { int x; } f(void) { }", ["f:1"]),
    ("struct s { int x; } a = { 1 }; union u { int y; };", []),
    ("int a[] = { 1, 2 }; int b[2] = { [0 ... 1] = 3 };", []),
    ("int a = sizeof(struct { int x; });", []),
    ("enum e { A, B } f(void) { }", ["f:1"]),
    ("__attribute__((noinline)) int f(void) { }", ["f:1"]),
    ("int __attribute__((section(\"a\"))) f(void) { }", ["f:1"]),
    ("[[gnu::noinline]] int f(void) { }", ["f:1"]),
    ("__extension__ typeof(1) f(void) { }", ["f:1"]),
    ("_Noreturn void f(void) { for (;;); }", ["f:1"]),
    ("int f(void); int g(void) { }", ["g:1"]),
    ("asm(\"nop\"); int f(void) { }", ["f:1"]),
    ("int f(void) { int g(int a) { return a; } return g(1); }", ["f:1", "f.g:1"]),
    ("int f(void) { int g(a) int a; { return a; } return g(1); }", ["f:1", "f.g:1"]),
    ("int f(void) { int g(void); if (g()) { } while (g()) { } }", ["f:1"]),
    ("int f(int a) { for (int i = 0; i < a; i++) { } switch (a) { case 1: { } } }", ["f:1"]),
    ("int f(void) { LIST_FOREACH(a, b) { } }", ["f:1"]),
    ("int f(void) <% return a<:0:>; %>", ["f:1"]),
    ("int f(void) ??< return 0; ??>", ["f:1"]),
    ("char *a = \"int f(void) { }\"; /* int g(void) { } */ // int h(void) { }\n", []),
    ("#define F int f(void) { }\n#define G \\\n int g(void) { }\nint h(void) { }", ["h:4"]),
    ("int \\\nf\\\n(void) { }", ["f:2"]),
    ("int a = '{'; int b = '\"'; int f(void) { }", ["f:1"]),
    ("int f(void) { return '\\''; } int g(void) { }", ["f:1", "g:1"]),
    ("int a = 1'000'000; int b = 0x1'0; int f(void) { }", ["f:1"]),
    ("#if A\nint f(void) {\n#else\nint f(int a) {\n#endif\n}\n", ["f:2", "f:4"]),
    ("#ifdef A\nint f(void) { }\n#else\nint g(void) { }\n#endif\n", ["f:2", "g:4"]),
    ("#if 0\nint f(void) { don't }\n#endif\nint g(void) { }", ["g:4"]),
    ("#if 1\nint f(void) { }\n#else\nint g(void) { }\n#endif", ["f:2"]),
    ("#ifdef A\nif (\n#endif\nint g(void) { }", ["g:4"]),
    ("#ifdef A\nint f(a)\n#else\nint f(a, b)\n#endif\nint a;\n{ }", ["f:2"]),
    ("#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void) { }\n#ifdef __cplusplus\n}\n#endif",
     ["f:4"]),
    ("int f(a)\n#ifdef A\n{ }\n#endif\n#ifndef A\n{ }\n#endif\n", ["f:1", "f:1"]),
    ("#ifndef A\n#ifdef B\nint f(void) { }\n#elif C\nint g(void) { }\n#else\nint h(void) { }\n"
     "#endif\n#else\nint i(void) { }\n#endif\n", ["f:3", "g:5", "h:7", "i:10"]),
    ("MODULE(\"x\")\nstatic int f(void) { }", ["f:2"]),
    ("static void __init f(void) { }", ["f:1"]),
    ("int f(int a) UNUSED(b) { }", ["f:1"]),
    ("int WINAPI f(int a) { }", ["f:1"]),
    ("PT_THREAD(f(struct pt *p))\n{ }", ["f:1"]),
    ("void f(int (g)(int)) { }", ["f:1"]),
    ("f(g) int (*g)(int (h)(int)); { }", ["f:1"]),
    ("int f(typeof(int (*)(int)) g) { }", ["f:1"]),
    ("static PT_THREAD(f(struct pt *p))\n{ }", ["f:1"]),
    ("SYSCALL_DEFINE1(read, int, fd)\n{ }", ["read:1"]),
    ("struct PACKED(1) s { int x; };", []),
    ("static const struct s a = { F(1) };", []),
    ("int f(void) { return 0; };", ["f:1"]),
    ("int f\xe9(void) { }", ["f\udce9:1"]),
    ("int f\xc3\xa9(void) { }", ["f\xe9:1"]),
    ("int f(void)\r\n{\r\n}\r\nint g(void) { }\r\n", ["f:1", "g:4"]),
    ("", []),
    ("\n\n", []),
    ("int x;", []),
]  # fmt: skip

BODIES = [
    "return 0;",
    "if (a) return 1; else return 2;",
    "switch (a) { case 1: return a; default: break; }",
    "for (;;) { if (a) return a; }",
    "int b = a; { return b; }",
    "return ({ if (a) return 3; a; });",
    "out: return a;",
    "do return a; while (0);",
    "return (a), (a);",
    "return\n a ? \"}\"[0] : '}';",
    "int return_this = a; return return_this;",
    "/* return 5; */ return a; // return;\n",
    "return a;return a;",
    "",
    "#ifdef X\n return a\n#else\n return 0\n#endif\n ;",
]


def scanned(source: str) -> Scan:
    return scan_source(source, "x.c")


def tags(scan: Scan) -> dict[int, int]:
    return {brace: 1024 + 2 * number for number, brace in enumerate(scan.functions)}


@pytest.mark.parametrize(("source", "expected"), FOUND)
def test_functions_are_found(source: str, expected: list[str]) -> None:
    scan = scanned(source)
    assert [f"{f.name}:{scan.line(f)}" for f in scan.functions.values()] == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("int f(int a) { return a; }",
         "int f(int a) {«{FIRE(1024);}{typedef int kprof_t;» "
         "«return:{kprof_t kprof_r2=(» a«);{FIRE(1025);}return kprof_r2»;«}» «}{FIRE(1025);}»}"),
        ("void f(void) { if (x) return; y(); }",
         "void f(void) {«{FIRE(1024);}{» if (x) «return:{{FIRE(1025);}return»;«}» y(); "
         "«}{FIRE(1025);}»}"),
        ("void f(void) { return g(); }",
         "void f(void) {«{FIRE(1024);}{» «return:{(» g()«);{FIRE(1025);}return»;«}» "
         "«}{FIRE(1025);}»}"),
        ("static inline const char *f(a) int a; { return \"\"; }",
         "static inline const char *f(a) int a; {«{FIRE(1024);}{typedef const char * kprof_t;» "
         "«return:{kprof_t kprof_r2=(» \"\"«);{FIRE(1025);}return kprof_r2»;«}» "
         "«}{FIRE(1025);}»}"),
        ("int (*f(int a))[3] { return g; }",
         "int (*f(int a))[3] {«{FIRE(1024);}{typedef int ( * kprof_t)[3];» "
         "«return:{kprof_t kprof_r2=(» g«);{FIRE(1025);}return kprof_r2»;«}» «}{FIRE(1025);}»}"),
        ("f(a) { return a; }",
         "f(a) {«{FIRE(1024);}{typedef int kprof_t;» "
         "«return:{kprof_t kprof_r2=(» a«);{FIRE(1025);}return kprof_r2»;«}» «}{FIRE(1025);}»}"),
    ],
)  # fmt: skip
def test_returns_strategy_writes(source: str, expected: str) -> None:
    scan = scanned(source)
    text, failed = plant(scan, tags(scan), BACK)
    assert not failed
    text = re.sub(r"/\*kprof<(\w*)\*/", lambda m: f"«{m[1] + ':' if m[1] else ''}", text)
    assert text.replace("/*>kprof*/", "»") == expected


def test_cleanup_strategy_writes_one_declaration_behind_the_brace() -> None:
    scan = scanned("int f(int a)\n{\n\tint b = a;\n\treturn b;\n}\n")
    text, _ = plant(scan, tags(scan), MARK)
    lines = text.split("\n")
    assert re.fullmatch(
        r"\{/\*kprof<\*/__extension__ __const char kprof_1024 .*cleanup__\(kprof_x1025\)\)\)="
        r"\(\{FIRE\(1024\);\(char\)0;\}\);/\*>kprof\*/",
        lines[1],
    )
    assert lines[2:] == ["\tint b = a;", "\treturn b;", "}", ""]


@pytest.mark.parametrize("target", [MARK, BACK])
@pytest.mark.parametrize("source", [source for source, _ in FOUND])
def test_edits_removed_is_the_source(source: str, target: Target) -> None:
    scan = scanned(source)
    text, failed = plant(scan, tags(scan), target)
    assert remove_edits(text) == source
    assert text.count("\n") == source.count("\n") or "#line 1" in text
    assert has_edits(text) == (len(failed) < len(scan.functions))


@settings(max_examples=150, deadline=None)
@given(
    heads=st.lists(st.sampled_from([s for s, names in FOUND if names]), min_size=1, max_size=4),
    bodies=st.lists(st.sampled_from(BODIES), min_size=1, max_size=4),
    ends=st.sampled_from(["\n", "\r\n"]),
    target=st.sampled_from([MARK, BACK]),
)
def test_edits_removed_is_the_source_of_any_mixture(
    heads: list[str], bodies: list[str], ends: str, target: Target
) -> None:
    functions = [f"int b{i}(int a) {{ {body} }}" for i, body in enumerate(bodies)]
    source = "\n".join([*heads, *functions]).replace("\n", ends)
    scan = scanned(source)
    assert {f"b{i}" for i in range(len(bodies))} <= {f.name for f in scan.functions.values()}
    text, _ = plant(scan, tags(scan), target)
    assert remove_edits(text) == source


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from(list("(){};,\"'\\\n#/*= afi<%>:?[]")), max_size=60))
def test_any_text_is_refused_or_comes_back(source: str) -> None:
    try:
        scan = scanned(source)
    except InstrumentError:
        return
    text, _ = plant(scan, tags(scan), MARK)
    assert remove_edits(text) == source


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from(list("a\"'\\\n/*?<%#")), max_size=40))
def test_a_shadow_lies_on_its_text(source: str) -> None:
    shadow = shadow_of(source)
    assert len(shadow.code) == len(shadow.joined)
    for offset in range(len(shadow.joined)):
        assert shadow.raw[shadow.place(offset, before=False)] == shadow.joined[offset]


@pytest.mark.parametrize(
    "source",
    [
        "#include <a.h>\nint f(void) { }\n",
        "#ifdef A\nint f(void) { }\n#endif\nint g(void) { }\n",
        "\n#if A\nint x;\nint f(void) { }\n#endif\nint g(void) { }\n",
        "/* a\n b */\n#if A\nint f(void) { }\n#endif\nint g(void) { }\n",
        "#include <a.h>\n\n#if A\nint f(void) { }\n#else\nint g(void) { }\n#endif\n",
        "#ifndef H\n#define H\n\nint f(void) { }\n#endif\n",
    ],
)
def test_what_comes_first_needs_no_line_of_its_own(source: str) -> None:
    scan = scanned(source)
    text, _ = plant(scan, tags(scan), MARK)
    if not source.startswith(("#ifdef A",)):
        assert text.count("\n") == source.count("\n")
        assert "#line" not in text
    first = text.index("extern __inline__")
    line = text[text.rfind("\n", 0, first) + 1 : first]
    assert not line.lstrip().startswith("#")
    depth = len(re.findall(r"^#if", text[:first], re.M)) - text[:first].count("#endif")
    assert depth <= min(
        len(re.findall(r"^#if", source[:at], re.M)) - source[:at].count("#endif")
        for at in (source.find("int f("), source.find("int g("))
        if at >= 0
    )


def test_twice_is_refused() -> None:
    scan = scanned("int f(void) { }")
    text, _ = plant(scan, tags(scan), MARK)
    with pytest.raises(InstrumentError, match=r"^x\.c: has been instrumented already \("):
        scanned(text)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("int f(void)\n{\n if (1) {\n}\n", r"x\.c:2: syntax error: this \{ has no matching \}"),
        ("#if A\nint f(void) { }\n", r"x\.c: an #if and its #endif do not match"),
    ],
)
def test_what_does_not_match_is_said(source: str, message: str) -> None:
    with pytest.raises(InstrumentError, match=message):
        scanned(source)


def test_edits_at_one_place_keep_their_order() -> None:
    from kprof.instrument.edits import Edit

    text = apply_edits("ab", [Edit(1, 1, "2"), Edit(1, 0, "1")])
    assert text == "a/*kprof<*/1/*>kprof*//*kprof<*/2/*>kprof*/b"
    assert remove_edits(text) == "ab"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")
@pytest.mark.parametrize("strategy", ["cleanup", "returns"])
@pytest.mark.parametrize("standard", ["c89", "c99", "c11"])
def test_no_warning_is_new(standard: str, strategy: str, tmp_path: Path) -> None:
    source = """
static int f(int a, int b)
{
    int c = a + b;

    if (c > 5)
        return c;
    else
        return c - 1;
}

int g(int a);
int g(int a)
{
    switch (a) {
    case 1:
        return f(a, 2);
    default:
        break;
    }
    for (;;)
        if (f(a, 1))
            return 2;
}

const char *h(void);
const char *h(void)
{
    return "h";
}

void v(void);
void v(void)
{
    if (h())
        return;
    g(1);
}
"""
    target = Target(
        "t",
        "kprof_event({tag}u);",
        declares="extern void kprof_event(unsigned);",
        strategy=strategy,
    )
    scan = scanned(source)
    text, _ = plant(scan, tags(scan), target)
    (tmp_path / "x.c").write_text(text)
    flags = "-Wall -Wextra -pedantic -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wconversion"
    for level in ("-O0", "-O2"):
        done = subprocess.run(
            ["gcc", f"-std={standard}", level, *flags.split(), "-Werror", "-c", "x.c"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
