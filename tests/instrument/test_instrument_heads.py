"""Plain heads are read twice as the careful reader reads them, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.instrument.heads import parse_head
from kprof.instrument.plain_heads import plain_head

WORDS = [
    *("static", "inline", "__inline__", "extern", "const", "volatile", "unsigned", "int", "void"),
    *("u32", "struct s", "enum e", "*", "_Noreturn", "f", "__attribute__((unused))", "typedef"),
    *("__attribute__((__format__(printf, 1, 2)))", "__attribute__((vector_size(8)))", "[[x]]"),
    *("__attribute__((a, b))", "typeof(x)", "asm(\"y\")", "__extension__", "struct", "_Atomic"),
]  # fmt: skip
PARAMETERS = ["()", "(void)", "(int a, char *b)", "(int (*f)(int), ...)", "(a, b)", "((a))", "(a"]
ENDS = ["", " ", "\n", " int a;", "[3]", "(int)", " __attribute__((unused))"]


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), max_size=6),
    st.sampled_from(["f", "*f", "(f)", "int", "if", "f\n", ""]),
    st.sampled_from(PARAMETERS),
    st.sampled_from(ENDS),
)
def test_a_plain_head_is_what_the_careful_reader_finds(
    words: list[str], name: str, parameters: str, end: str
) -> None:
    text = f"{' '.join(words)} {name}{parameters}{end}"
    plain = plain_head(text, 0, len(text))
    if plain is not None:
        assert plain == parse_head(text, 0, len(text), expanded=True)


@pytest.mark.parametrize(
    "text",
    [
        "static inline int f(int a)",
        "\n\nvoid f(void)\n",
        "struct s *f(struct s *a, int (*b)(int))",
        "static __attribute__((__always_inline__)) unsigned long f(a)",
        "static __attribute__((alloc_size(1, 2))) inline void * f (size_t n)",
        "const char *const f()",
    ],
)
def test_usual_heads_are_plain(text: str) -> None:
    head = plain_head(text, 0, len(text))
    assert head is not None
    assert head.name == "f"
