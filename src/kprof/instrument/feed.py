"""The tokens of one function, fed to pycparser through a lexer object (see `dialect`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from kprof.instrument.dialect import Filter
from kprof.instrument.tokens import Token, words_in


def tokens_of(
    code: str, spans: Sequence[tuple[int, int]], typedefs: Collection[str]
) -> tuple[list[Token], list[str]]:
    """The tokens for pycparser of these parts of a shadow text, and the names in its assembly.

    Parameters
    ----------
    typedefs
        The names of types; those that the text mentions are declared before it.

    Raises
    ------
    NotFed
    """
    words, offsets = words_in(code, spans)
    filter_ = Filter(words, offsets, typedefs)
    filter_.run(0, len(words))
    known = sorted(set(words) & set(typedefs))
    first = offsets[0] if offsets else 0
    declared = [
        Token(kind, text, first)
        for name in known
        for kind, text in (("TYPEDEF", "typedef"), ("INT", "int"), ("ID", name), ("SEMI", ";"))
    ]
    return declared + filter_.out, filter_.assembly


class Feed:
    """A lexer for ``CParser(lexer=...)`` that gives tokens made beforehand.

    Older pycparsers have the lexer tell them of braces and ask them for the names of types.
    """

    def __init__(
        self,
        error_func: Callable[[str, int, int], None],
        on_lbrace_func: Callable[[], None] | None = None,
        on_rbrace_func: Callable[[], None] | None = None,
        type_lookup_func: Callable[[str], bool] | None = None,
        dialect: str = "",  # noqa: ARG002 - newer pycparsers give it
    ) -> None:
        self.filename = ""
        self.tokens: Iterator[Token] = iter(())
        self._error, self._is_type = error_func, type_lookup_func
        self._braces = {"LBRACE": on_lbrace_func, "RBRACE": on_rbrace_func}

    def input(self, text: str, filename: str = "") -> None:
        """Begin; the tokens are in `tokens` already."""

    def token(self) -> Token | None:
        """The next token, or None at the end."""
        token = next(self.tokens, None)
        if token is not None and self._is_type is not None:
            if token.type == "ID" and self._is_type(token.value):
                token.type = "TYPEID"
            elif (told := self._braces.get(token.type)) is not None:
                told()
        return token
