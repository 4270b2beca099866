"""From C as it is written to the C that pycparser takes: what happens to its words.

pycparser speaks C11 and a little GNU C; C as it is written says more. Nothing of the text is
edited: the tokens of the shadow are fed to the parser one by one, and on the way what it does not
know is left out or given in words that it knows::

    __attribute__((..)), [[..]], asm, __label__, __extension__     nothing
    typeof (..), _BitInt (..), __auto_type, __int128               int
    a ?: b                                                         a ? 0 : b
    case 1 ... 5:, [0 ... 3] =                                     case 1 + 5:, [0 + 3] =
    goto *p;  &&label                                              *p;  0
    __builtin_va_arg (ap, T)                                       (ap, sizeof (T))
    _Generic (x, T: a, default: b)                                 (x, a, b)
    f (a) { .. }                                                   int f (a) { .. }
    ^(int a) { .. };  ({ .. })                                     ({ .. });  (({ .. }))

Each token keeps its offset in the text as its column, so every node of the tree leads back to the
bytes that it was made from; what is put in has the offset of what it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kprof.instrument.tokens import NotFed, Token, is_word
from kprof.instrument.words import (
    ALIASES,
    ASM_WORDS,
    ATTRIBUTE_WORDS,
    DROPPED_WORDS,
    OF_ASSEMBLY,
    OPERANDS,
    PLAIN_TOKENS,
    STORAGE,
    TYPE_ARGUMENT,
    TYPE_CALLS,
    TYPE_WORDS,
)

_BEFORE_STATEMENT = frozenset(["SEMI", "LBRACE", "RBRACE", "COLON", "START", "RPAREN", "ELSE"])
_IMPLICIT = frozenset(["REGISTER", "STATIC", "AUTO", "EXTERN", "CONST", "VOLATILE", "INLINE"])
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_DECLARES = TYPE_WORDS | STORAGE | {"struct", "union", "enum", "typedef", "static", "__auto_type"}


class Filter:
    """One pass over the words of a function, from what is written to what pycparser takes."""

    def __init__(self, words: list[str], offsets: list[int], typedefs: Collection[str]) -> None:
        self.out: list[Token] = []
        self.assembly: list[str] = []
        self._words, self._offsets, self._typedefs = words, offsets, typedefs
        self._last = "START"
        self._case = 0  # conditional operators whose colon is to come, behind a `case`
        self._in_case = False
        self._values: list[bool] = []  # for each open brace: is it an initialiser's?
        self._in_parentheses: list[bool] = []  # and: is it that of a statement expression?

    def run(self, at: int, end: int) -> None:
        words, out = self._words, self.out
        while at < end:
            word = words[at]
            kind = PLAIN_TOKENS.get(word)
            if kind is not None:
                if kind == "TIMES" and self._last == "START":
                    self._put("INT", "int", at)
                self._put(kind, word, at)
                at += 1
                continue
            first = word[0]
            special = _SPECIAL.get(word)
            if special is not None:
                at = special(self, at, end)
            elif first.isdigit() or (first == "." and len(word) > 1):
                self._put("INT_CONST_DEC", "0", at)
                at += 1
            elif word[-1] == '"':
                self._put("STRING_LITERAL", '""', at)
                at += 1
            elif word[-1] == "'":
                self._put("CHAR_CONST", "'0'", at)
                at += 1
            elif is_word(word):
                at = self._name(at, end)
            else:
                out.append(Token("PPHASH", word, self._offsets[at]))  # an error, told by the parser
                at += 1

    def _put(self, kind: str, value: str, at: int) -> None:
        self.out.append(Token(kind, value, self._offsets[at]))
        self._last = kind

    def _name(self, at: int, end: int) -> int:
        word, last = self._words[at], self._last
        following = self._words[at + 1] if at + 1 < end else ""
        if following == ":" and self._values and self._values[-1] and last in ("LBRACE", "COMMA"):
            self._put("PERIOD", ".", at)  # GNU's way to name a member in an initialiser
            self._put("ID", word, at)
            self._put("EQUALS", "=", at)
            return at + 2
        if (last in _IMPLICIT or last == "START") and self._has_no_type(at, following):
            self._put("INT", "int", at)
        self._put("ID", word, at)
        return at + 1

    def _has_no_type(self, at: int, following: str) -> bool:
        """Is this name, behind specifiers without a type, the one that is declared?"""
        if following not in ("=", ";", ",", "[", "("):
            return False
        qualified = self._last in ("CONST", "VOLATILE")
        for token in reversed(self.out):
            if token.type not in _IMPLICIT:
                # struct { .. } const x; is more usual than a block, then const x;
                if token.type not in _BEFORE_STATEMENT or (qualified and token.type == "RBRACE"):
                    return False
                break
        return following != "(" or self._words[at] not in self._typedefs

    def behind_group(self, at: int, end: int) -> int:
        """The index behind the group in brackets that begins at `at`."""
        depth = 0
        for index in range(at, end):
            if self._words[index] in _OPENING:
                depth += 1
            elif self._words[index] in _CLOSING:
                depth -= 1
                if depth == 0:
                    return index + 1
        raise NotFed("a bracket is not closed")

    def is_group(self, at: int, end: int) -> bool:
        return at < end and self._words[at] == "("

    def drop(self, at: int, _: int) -> int:
        return at + 1

    def drop_specifier(self, at: int, end: int) -> int:
        """A word of C23 before a type; in older C it may be the name of anything."""
        if at + 1 < end and is_word(self._words[at + 1]):
            return at + 1
        return self._name(at, end)

    def drop_call(self, at: int, end: int) -> int:
        if self.is_group(at + 1, end):
            return self.behind_group(at + 1, end)
        return at + 1 if self._words[at].startswith("_") else self._name(at, end)

    def assembler(self, at: int, end: int) -> int:
        at += 1
        while at < end and self._words[at] in OF_ASSEMBLY:
            at += 1
        if at < end and self._words[at] in "({":
            behind = self.behind_group(at, end)
            self.assembly += filter(is_word, self._words[at:behind])
            return behind
        return at

    def type_call(self, at: int, end: int) -> int:
        if self.is_group(at + 1, end):
            self._put("INT", "int", at)
            return self.behind_group(at + 1, end)
        if self._words[at] != "_Atomic":
            self._put("ID", self._words[at], at)
        return at + 1

    def enum(self, at: int, end: int) -> int:
        """``enum e : unsigned char { .. }`` (C23) without its type."""
        self._put("ENUM", "enum", at)
        at += 1
        while at < end and self._words[at] in ATTRIBUTE_WORDS:
            at = self.drop_call(at, end)
        if at < end and is_word(self._words[at]):
            self._put("ID", self._words[at], at)
            at += 1
        if at < end and self._words[at] == ":":
            while at < end and self._words[at] not in "{;)":
                at += 1
        return at

    def local_labels(self, at: int, end: int) -> int:
        while at < end and self._words[at] != ";":
            at += 1
        return at + 1

    def auto(self, at: int, end: int) -> int:
        self._put("AUTO", "auto", at)
        if at + 2 < end and self._words[at + 2] == "=":
            self._put("INT", "int", at)
        return at + 1

    def alias(self, at: int, _: int) -> int:
        word = ALIASES[self._words[at]]
        self._put(word.upper(), word, at)
        return at + 1

    def _parts(self, at: int, end: int) -> list[tuple[int, int]]:
        """The parts between commas of the group at `at`."""
        behind = self.behind_group(at, end)
        parts: list[tuple[int, int]] = []
        first, index = at + 1, at + 1
        while index < behind - 1:
            if self._words[index] in _OPENING:
                index = self.behind_group(index, behind)
                continue
            if self._words[index] == ",":
                parts.append((first, index))
                first = index + 1
            index += 1
        return [*parts, (first, behind - 1)]

    def type_argument(self, at: int, end: int) -> int:
        if not self.is_group(at + 1, end):
            self._put("ID", self._words[at], at)
            return at + 1
        types = TYPE_ARGUMENT[self._words[at]]
        self._put("LPAREN", "(", at)
        for number, (first, last) in enumerate(self._parts(at + 1, end)):
            if number:
                self._put("COMMA", ",", at)
            if number in types:
                self._put("SIZEOF", "sizeof", first)
                self._put("LPAREN", "(", first)
                self.run(first, last)
                self._put("RPAREN", ")", first)
            elif types == (0,):
                self._put("INT_CONST_DEC", "0", first)  # the member of an offsetof
            else:
                self.run(first, last)
        self._put("RPAREN", ")", at)
        return self.behind_group(at + 1, end)

    def generic(self, at: int, end: int) -> int:
        if not self.is_group(at + 1, end):
            return at + 1
        self._put("LPAREN", "(", at)
        for number, (first, last) in enumerate(self._parts(at + 1, end)):
            if number:
                self._put("COMMA", ",", at)
                depth = 0
                for index in range(first, last):
                    depth += self._words[index] in _OPENING
                    depth -= self._words[index] in _CLOSING
                    if self._words[index] == ":" and not depth:
                        first = index + 1
                        break
            self.run(first, last)
        self._put("RPAREN", ")", at)
        return self.behind_group(at + 1, end)

    def goto(self, at: int, end: int) -> int:
        if at + 1 < end and self._words[at + 1] == "*":
            return at + 1
        self._put("GOTO", "goto", at)
        return at + 1

    def case(self, at: int, _: int) -> int:
        self._in_case, self._case = True, 0
        self._put(self._words[at].upper(), self._words[at], at)
        return at + 1

    def question(self, at: int, end: int) -> int:
        self._case += self._in_case
        self._put("CONDOP", "?", at)
        if at + 1 < end and self._words[at + 1] == ":":
            self._put("INT_CONST_DEC", "0", at)
        return at + 1

    def colon(self, at: int, end: int) -> int:
        is_label = self._is_label()
        self._put("COLON", ":", at)
        if is_label and at + 1 < end and self._begins_no_statement(at + 1, end):
            self._put("SEMI", ";", at)
        return at + 1

    def _is_label(self) -> bool:
        if self._in_case:
            if self._case:
                self._case -= 1
                return False
            self._in_case = False
            return True
        before = self.out[-2].type if len(self.out) > 1 else "START"
        return self._last == "ID" and before in _BEFORE_STATEMENT

    def _begins_no_statement(self, at: int, end: int) -> bool:
        """Is what follows a label the end of the block, or a declaration?"""
        word = self._words[at]
        if word == "}" or word in _DECLARES or word in ("_Static_assert", "static_assert"):
            return True
        if word in ATTRIBUTE_WORDS:
            return self._begins_no_statement(self.behind_group(at + 1, end), end)
        following = self._words[at + 1] if at + 1 < end else ""
        return word in self._typedefs and following not in ("=", "(", "[", ".", ";", ":", "++")

    def ellipsis(self, at: int, end: int) -> int:
        if at + 1 < end and self._words[at + 1] == ")":
            if self._last != "LPAREN":
                self._put("ELLIPSIS", "...", at)
        else:
            self._put("PLUS", "+", at)
        return at + 1

    def bracket(self, at: int, end: int) -> int:
        if at + 1 < end and self._words[at + 1] == "[":
            return self.behind_group(at, end)
        self._put("LBRACKET", "[", at)
        return at + 1

    def both(self, at: int, _: int) -> int:
        """``&&``, which GNU C has before a label too."""
        if self._is_prefix():
            self._put("INT_CONST_DEC", "0", at)
            return at + 2
        self._put("LAND", "&&", at)
        return at + 1

    def _is_prefix(self) -> bool:
        """Does an operator here have nothing on its left: is what stands there at most a cast?"""
        if self._last != "RPAREN":
            return self._last not in OPERANDS
        before = self.out[-2].value if len(self.out) > 1 else ""
        if before != "*" and before not in TYPE_WORDS and before not in self._typedefs:
            return False
        depth = 0
        for index in range(len(self.out) - 1, 0, -1):
            depth += self.out[index].type == "RPAREN"
            depth -= self.out[index].type == "LPAREN"
            if not depth:
                alone = before != "*" and before not in TYPE_WORDS
                return self.out[index - 1].type not in ("SIZEOF", "ID") and (
                    not alone or index == len(self.out) - 3
                )
        return False

    def caret(self, at: int, end: int) -> int:
        following = self._words[at + 1] if at + 1 < end else ""
        if self._last in OPERANDS and not (self._last == "RPAREN" and following == "{"):
            self._put("XOR", "^", at)
            return at + 1
        if self._last in ("LPAREN", "TIMES") and following and following not in "({":
            self._put("TIMES", "*", at)  # a variable that holds a block: int (^name)(int)
            return at + 1
        index = at + 1
        while index < end and self._words[index] not in "{;":
            index = self.behind_group(index, end) if self._words[index] == "(" else index + 1
        behind = self.behind_group(index, end)
        self._put("LPAREN", "(", at)
        self.run(index, behind)
        self._put("RPAREN", ")", at)
        return behind

    def open_brace(self, at: int, _: int) -> int:
        inside = bool(self._values) and self._values[-1] and self._last in ("LBRACE", "COMMA")
        self._values.append(self._last == "EQUALS" or inside)
        self._in_parentheses.append(self._last == "LPAREN")
        if self._last == "LPAREN":  # ({ .. }): pycparsers before 3.12 add nothing to it
            self._put("LPAREN", "(", at)
        self._put("LBRACE", "{", at)
        return at + 1

    def close_brace(self, at: int, _: int) -> int:
        self._put("RBRACE", "}", at)
        if self._values:
            self._values.pop()
            if self._in_parentheses.pop():
                self._put("RPAREN", ")", at)
        return at + 1


_SPECIAL: dict[str, Callable[[Filter, int, int], int]] = {
    **dict.fromkeys(DROPPED_WORDS, Filter.drop),
    **dict.fromkeys(("constexpr", "thread_local"), Filter.drop_specifier),
    **dict.fromkeys(ATTRIBUTE_WORDS, Filter.drop_call),
    **dict.fromkeys(("_Static_assert", "static_assert", "_Pragma"), Filter.drop_call),
    **dict.fromkeys(ASM_WORDS, Filter.assembler),
    **dict.fromkeys(TYPE_CALLS, Filter.type_call),
    **dict.fromkeys(ALIASES, Filter.alias),
    **dict.fromkeys(TYPE_ARGUMENT, Filter.type_argument),
    "__label__": Filter.local_labels,
    "auto": Filter.auto,
    "enum": Filter.enum,
    "_Generic": Filter.generic,
    "goto": Filter.goto,
    "case": Filter.case,
    "default": Filter.case,
    "?": Filter.question,
    ":": Filter.colon,
    "...": Filter.ellipsis,
    "[": Filter.bracket,
    "&&": Filter.both,
    "^": Filter.caret,
    "{": Filter.open_brace,
    "}": Filter.close_brace,
}
