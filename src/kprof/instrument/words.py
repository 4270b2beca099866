"""The words of C, GNU C and C23 that matter in the head of a function."""

from __future__ import annotations

ATTRIBUTE_WORDS = frozenset({"__attribute__", "__attribute", "__declspec", "_Alignas", "alignas"})
ASM_WORDS = frozenset({"asm", "__asm", "__asm__"})
TYPE_CALLS = frozenset(
    {"typeof", "__typeof", "__typeof__", "typeof_unqual", "__typeof_unqual__", "_Atomic", "_BitInt"}
)
TAG_WORDS = frozenset({"struct", "union", "enum"})
TYPE_ATTRIBUTES = frozenset({"vector_size", "ext_vector_type", "mode", "address_space"})
STORAGE = frozenset(
    [
        "static",
        "extern",
        "inline",
        "__inline",
        "__inline__",
        "register",
        "auto",
        "_Noreturn",
        "noreturn",
        "__extension__",
        "_Thread_local",
        "__thread",
        "constexpr",
    ]
)
NOT_A_NAME = frozenset(
    [
        "if",
        "for",
        "while",
        "switch",
        "do",
        "else",
        "return",
        "goto",
        "case",
        "default",
        "sizeof",
        "break",
        "continue",
    ]
)


TYPE_WORDS = frozenset(
    [
        "const",
        "volatile",
        "restrict",
        "__restrict",
        "__restrict__",
        "__const",
        "__volatile__",
        "void",
        "int",
        "char",
        "short",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "_Bool",
        "__signed__",
        "_Complex",
        "__complex__",
    ]
)
