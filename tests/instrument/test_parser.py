"""pycparser reads the functions: every construct has its tree, and what has none is counted."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycparser import CParser, c_ast
from pycparser.c_parser import ParseError
from tests.instrument.test_instrument_constructs import CONSTRUCTS

from kprof.instrument.compiler_settings import Compiling
from kprof.instrument.declarations import Declarations
from kprof.instrument.feed import Feed, tokens_of
from kprof.instrument.functions import find_functions
from kprof.instrument.planting import instrument_unit
from kprof.instrument.reading import Memory, NoTree, Reading, read_functions, spans_of
from kprof.instrument.shadow import shadow_of
from kprof.instrument.targets import find_target
from kprof.instrument.tree import FunctionReader

# What pycparser by itself refuses, or takes for something else.
BODIES = [
    "int x = ({ int y = 2; y; }); return x ?: 3;",
    "switch (n) { case 1 ... 3: return 1; case 'a': { } default: ; }",
    "switch (n) { case 1 ? 2 : 3: int m = n; default: }",
    "void *p[] = { &&a, &&b }; goto *p[n]; a: return 0; b: return (long)&&a != 0;",
    "return sizeof(n) == sizeof(int) && n;",
    "return sizeof(int *) && (n) && n;",
    "__label__ out; goto out; out: __attribute__((unused)); return 0;",
    "out: int m = n; return m;",
    "out: }; int after(void) { return 0;",
    "struct { int a, b; } s = { a: 1, b: 2 }; return s.a;",
    "int t[4] = { [0 ... 2] = 1, [3] = 2 }; return t[0];",
    'asm volatile ("nop" : "=r" (n) : "0" (n) : "memory"); return n;',
    'register int r asm("ebx") = n; asm goto ("" : : : : l); l: return r;',
    "_BitInt(17) b = 5; unsigned _BitInt(3) c = 1; return b + c;",
    "enum e : unsigned char { A, B }; enum e v = A; return v;",
    "return 1'000'000 + 0b101 + 0x1p3 + 1.5f16;",
    "[[maybe_unused]] int a[[gnu::aligned(8)]] = 1; return a;",
    "__auto_type a = n; auto b = n; typeof(a) c = b; return c;",
    "return _Generic((n), int: 1, char *: f(2), default: 3);",
    "__builtin_va_list ap; return __builtin_va_arg(ap, int (*)(void)) != 0;",
    "return __builtin_offsetof(struct s, m[2].x) + __builtin_types_compatible_p(int, long);",
    '_Static_assert(1, "x"); struct { int a; _Static_assert(1, ""); } s; return 0;',
    "__extension__ __int128 w = n; __real__ n; return w;",
    "int (^b)(int) = ^(int a) { return a; }; return b(^{ return 1; }());",
    "const __typeof__(n) k = n; static z = 1; register i, j; return k + z;",
    "return _Alignof(int) + __alignof__(n);",
    'if (n) asm(""); else asm volatile(""); return 0;',
    "for (int i = 0; i < n; i++) { int i = 2; (void)i; } return 0;",
    "typedef int n2; n2 m = (n2)n; n2 *p = &m; return *p;",
    'char *s = "a" L"b" u8"c"; return s[0] + L\'x\' + u\'\\\'\';',
    "size_t size_t = 1; return size_t * n;",
    "return n<:0:>;",
    "static struct { int a; } const t[] = { { 1 } }; { n++; } static z = 1; return t[0].a + z;",
    "__uint128_t const w = (__uint128_t)n; __builtin_ms_va_list ap; return w >> 64;",
    "static int constexpr, alignas = 1; constexpr = alignas; return constexpr ? 1 : thread_local;",
    "constexpr int c = 1; static thread_local int t; static_assert(1); return c + t;",
]


def readings(text: str) -> dict[str, Reading | NoTree]:
    shadow = shadow_of(text)
    functions = find_functions(shadow.code, expanded=True)
    types = Declarations(shadow.code, functions).types
    found = read_functions(shadow.code, functions, types)
    return {function.name: found[function.brace] for function in functions}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_every_construct_has_a_tree(name: str) -> None:
    done = subprocess.run(
        ["gcc", "-E", "-"], input=CONSTRUCTS[name], capture_output=True, text=True, check=False
    )
    found = readings(done.stdout)
    assert found
    assert {n: r for n, r in found.items() if isinstance(r, NoTree)} == {}
    assert found["F"].name == "F"


@pytest.mark.parametrize("body", BODIES)
def test_every_body_has_a_tree(body: str) -> None:
    text = f"typedef unsigned long size_t;\nint f(int n) {{ {body} }}\n"
    found = readings(text)
    assert {n: r for n, r in found.items() if isinstance(r, NoTree)} == {}
    returns = [m.start() for m in re.finditer(r"\breturn\b", shadow_of(text).code)]
    start = text.index(";") + 1
    reading = found["f"]
    assert isinstance(reading, Reading)
    if "after" not in body:
        assert [at + start for at in reading.returns] == returns


@pytest.mark.parametrize(
    ("typedef", "names"),
    [
        ("typedef unsigned long size_t;", {"size_t"}),
        ("typedef struct s { int a; } s_t, *s_p;", {"s_t", "s_p"}),
        ("typedef int (*fn)(int count, char *buffer);", {"fn"}),
        ("typedef int fn(int count);", {"fn"}),
        ("typedef int (fn)(int count);", {"fn"}),
        ("typedef int v4 __attribute__((vector_size(16)));", {"v4"}),
        ("typedef __typeof__(sizeof(int)) sz, t[3];", {"sz", "t"}),
        ("typedef enum { A, B } e;", {"e"}),
        ("typedef void (*(*pp)(int))(char);", {"pp"}),
        ("__extension__ typedef long long ll;", {"ll"}),
        ("typedef int (^block)(int a);", {"block"}),
        ("typedef char jb[1]; typedef jb *q;", {"jb", "q"}),
        ("int f(void) { typedef int local; return 0; } typedef int g;", {"g"}),
    ],
)
def test_names_of_types(typedef: str, names: set[str]) -> None:
    code = shadow_of(typedef).code
    assert Declarations(code, find_functions(code, expanded=True)).types == names


def test_every_node_leads_back_to_the_text() -> None:
    text = (
        'typedef int t;\nint f(t a, int b)\n{\n    t c = a ?: b; __asm__("");\n'
        '    for (;;) { g(c, "x"); if (a) return h->i[b] + (t)c; }\n}\n'
    )
    code = shadow_of(text).code
    (function,) = find_functions(code, expanded=True)
    tree = FunctionReader(code).tree(spans_of(function, ()), {"t"})
    assert isinstance(tree, c_ast.FuncDef)
    seen = []

    def visit(node: c_ast.Node) -> None:
        if isinstance(node, (c_ast.ID, c_ast.Return)):
            word = node.name if isinstance(node, c_ast.ID) else "return"
            assert text.startswith(word, node.coord.column - 1)
            seen.append(word)
        for child in node:
            visit(child)

    visit(tree.body)
    assert seen == ["a", "b", "g", "c", "a", "return", "h", "i", "b", "c"]


def test_what_a_tree_says() -> None:
    text = """
static int helper(int a);
int table(int a) { return a; }
static inline int f(int a, int (*cb)(int))
{
    int helper_count = 0, t = helper(a);
    extern int other(int);
    if (a)
        helper_count++;
    else
        return other(cb(t)) + (*table)(2) + sizeof(never(1));
    { int table = 2; use(&helper, table); }
    do { } while (a--);
    return 0;
}
void nothing(void) { }
void jumps(void) { longjmp(buffer, 1); }
"""
    found = readings(text)
    f = found["f"]
    assert isinstance(f, Reading)
    assert f.calls == ("helper", "other", "table", "use")
    assert f.mentions == ("helper",)
    assert (f.static, f.inline, f.returns_nothing, f.indirect) == (True, True, False, True)
    # three initialisers, if, ++, return, use(), do, return
    assert f.statements == 9
    assert found["nothing"] == Reading("nothing", False, False, True, (), 0, (), (), False)
    assert found["jumps"].calls == ("longjmp",)  # type: ignore[union-attr]


UNIT = "int f(int a) { if (a) return 1; return 2; }\nint g(void) { return f(1); }\n"


def instrumented(text: str, tmp_path: Path) -> tuple[str, list[str]]:
    notices: list[object] = []
    options = Compiling(find_target("soft"), tmp_path / "k.names")
    result = instrument_unit(text, "x.c", options, notices)  # type: ignore[arg-type]
    return result, [str(notice) for notice in notices]


def test_the_parser_is_what_reads_the_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KPROF_CACHE", "")
    text, notices = instrumented(UNIT, tmp_path)
    assert (text.count("kprof_1024"), text.count("kprof_1026"), notices) == (1, 1, [])

    def fails(*_: object) -> None:
        raise ParseError(":1:15: before: x")

    with monkeypatch.context() as patch:
        patch.setattr(CParser, "parse", fails)
        text, notices = instrumented(UNIT, tmp_path)
    assert "kprof_1024" in text
    assert notices == [
        ":1: f: read without the parser: before: x",
        ":2: g: read without the parser: before: x",
    ]

    real = CParser.parse

    def sees_another_return(self: CParser, *arguments: str) -> c_ast.FileAST:
        unit = real(self, *arguments)
        unit.ext[-1].body.block_items.append(c_ast.Return(None, unit.ext[-1].coord))
        return unit

    with monkeypatch.context() as patch:
        patch.setattr(CParser, "parse", sees_another_return)
        text, notices = instrumented(UNIT, tmp_path)
    assert text == UNIT
    assert notices == [
        ":1: f: the parser sees 3 returns, the text has 2",
        ":2: g: the parser sees 2 returns, the text has 1",
    ]


def test_readings_are_remembered_and_the_memory_may_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = shadow_of(
        "typedef int t; int f(t a) { return g(a); } int g(t a) { t *b; return a; }"
    ).code
    functions = find_functions(code, expanded=True)
    first = read_functions(code, functions, {"t"}, Memory(tmp_path / "m" / "f.sqlite3"))

    def fails(*_: object) -> None:
        raise AssertionError("parsed again")

    memory = Memory(tmp_path / "m" / "f.sqlite3")
    with monkeypatch.context() as patch:
        patch.setattr(FunctionReader, "read", fails)
        assert read_functions(code, functions, {"t"}, memory) == first
        # t * b is an expression where t is no type: another reading.
        with pytest.raises(AssertionError, match="parsed again"):
            read_functions(code, functions, set(), memory)
    (tmp_path / "m" / "f.sqlite3").write_bytes(b"not a data base" * 100)
    assert read_functions(code, functions, {"t"}, memory) == first
    (tmp_path / "file").write_text("")
    assert read_functions(code, functions, {"t"}, Memory(tmp_path / "file" / "f")) == first
    locked = sqlite3.connect(tmp_path / "m" / "locked.sqlite3")
    locked.execute("CREATE TABLE x (y)")
    locked.execute("BEGIN EXCLUSIVE")
    short = Memory(tmp_path / "m" / "locked.sqlite3", patience_s=0.05)
    assert read_functions(code, functions, {"t"}, short) == first
    locked.close()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(
    ["(", ")", "{", "}", "[", "]", ";", ",", "?", ":", "&&", "^", "...", "=", "*", "x", "t", "case",
     "goto", "asm", "return", "typeof", "_Generic", "__builtin_va_arg", "[[", "enum", "1", "'a'"]),
    max_size=25))  # fmt: skip
def test_any_tokens_are_read_or_refused(words: list[str]) -> None:
    code = f"int f(int x) {{ {' '.join(words)} }}"
    found = FunctionReader(code).read([(0, len(code))], {"t"})
    assert isinstance(found, (Reading, NoTree))


def test_older_parsers_are_fed_the_same() -> None:
    """Their lexers tell of braces, and ask which names are types."""
    told: list[str] = []
    feed = Feed(
        lambda *_: None,
        on_lbrace_func=lambda: told.append("{"),
        on_rbrace_func=lambda: told.append("}"),
        type_lookup_func=lambda name: name == "t",
    )
    code = "int f(t a) { return a; }"
    feed.tokens = iter(tokens_of(code, [(0, len(code))], {"t"})[0])
    kinds = []
    while (token := feed.token()) is not None:
        kinds.append(token.type)
    assert "".join(told) == "{}"
    assert kinds.count("TYPEID") == 2
