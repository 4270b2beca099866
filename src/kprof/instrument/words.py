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

BASIC_TYPES = frozenset(
    {"int", "char", "short", "long", "float", "double", "void", "unsigned", "signed", "_Bool"}
)

KEYWORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while _Bool
    """.split()  # noqa: SIM905
)
"""The keywords that pycparser is given as they are."""

_PUNCTUATION = """
    ( LPAREN  ) RPAREN  [ LBRACKET  ] RBRACKET  { LBRACE  } RBRACE  ; SEMI  , COMMA  . PERIOD
    : COLON  ? CONDOP  ~ NOT  ! LNOT  < LT  > GT  = EQUALS  + PLUS  - MINUS  * TIMES  / DIVIDE
    % MOD  & AND  | OR  ^ XOR  <<= LSHIFTEQUAL  >>= RSHIFTEQUAL  -> ARROW  ++ PLUSPLUS
    -- MINUSMINUS  << LSHIFT  >> RSHIFT  <= LE  >= GE  == EQ  != NE  && LAND  || LOR
    += PLUSEQUAL  -= MINUSEQUAL  *= TIMESEQUAL  /= DIVEQUAL  %= MODEQUAL  &= ANDEQUAL
    |= OREQUAL  ^= XOREQUAL
""".split()  # noqa: SIM905
_OTHERWISE = frozenset("{ } : ? && [ ^ enum case default goto auto".split())  # noqa: SIM905
PLAIN_TOKENS = {
    word: kind
    for word, kind in (
        *zip(_PUNCTUATION[::2], _PUNCTUATION[1::2], strict=True),
        *((word, f"_{word[1:].upper()}" if word == "_Bool" else word.upper()) for word in KEYWORDS),
    )
    if word not in _OTHERWISE
}
"""Words that mean to pycparser what they mean everywhere, and its names for them."""

ALIASES = {
    **dict.fromkeys(("__const", "__const__"), "const"),
    **dict.fromkeys(("__volatile", "__volatile__"), "volatile"),
    **dict.fromkeys(("__inline", "__inline__"), "inline"),
    **dict.fromkeys(("__restrict", "__restrict__"), "restrict"),
    **dict.fromkeys(("__signed", "__signed__"), "signed"),
    **dict.fromkeys(("_Alignof", "alignof", "__alignof__", "__alignof"), "sizeof"),
    **dict.fromkeys(("__auto_type", "__int128", "__int128_t", "__uint128_t"), "int"),
    **dict.fromkeys(("__builtin_va_list", "__builtin_ms_va_list"), "int"),
    **dict.fromkeys(
        """
        _Float16 _Float32 _Float64 _Float128 _Float32x _Float64x __float128 __float80 __ibm128
        __bf16 __fp16 _Decimal32 _Decimal64 _Decimal128
        """.split(),  # noqa: SIM905
        "double",
    ),
}
"""Other spellings of keywords, or words that are to the parser as one of them is."""

OPERANDS = frozenset(
    "ID RPAREN RBRACKET RBRACE PLUSPLUS MINUSMINUS STRING_LITERAL INT_CONST_DEC CHAR_CONST".split()  # noqa: SIM905
)
"""What an operand may end with, in pycparser's names."""

OF_ASSEMBLY = frozenset(
    "volatile __volatile __volatile__ inline __inline __inline__ goto".split()  # noqa: SIM905
)
"""What may stand between ``asm`` and its parentheses."""

DROPPED_WORDS = frozenset(
    """
    __extension__ _Noreturn _Thread_local __thread
    _Complex __complex__ __complex _Imaginary __real__ __imag__ __real __imag
    __cdecl __stdcall __fastcall __thiscall __ptr32 __ptr64 __unaligned __forceinline
    _Nonnull _Nullable _Null_unspecified __block _Sat __seg_fs __seg_gs
    """.split()  # noqa: SIM905
)
"""Words that change nothing of what the parser is asked."""

TYPE_ARGUMENT = {
    "__builtin_va_arg": (1,),
    "va_arg": (1,),
    "__builtin_offsetof": (0,),
    "offsetof": (0,),
    "__builtin_types_compatible_p": (0, 1),
    "__builtin_convertvector": (1,),
    "__builtin_bit_cast": (0,),
}
"""What is called like a function with the name of a type among its arguments: which of them."""
