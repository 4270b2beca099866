"""The head of a function definition: what stands before its ``{``.

Works on the tokens of one head only, GNU and C23 spellings and K&R parameter declarations
included. In source text (not `expanded`) macros may stand anywhere: of several names that are
followed by parentheses the likeliest is taken, and the compiler's preprocessor, where there is one,
has the last word (see `verify`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kprof.instrument.words import (
    ASM_WORDS,
    ATTRIBUTE_WORDS,
    BASIC_TYPES,
    NOT_A_NAME,
    STORAGE,
    TAG_WORDS,
    TYPE_ATTRIBUTES,
    TYPE_CALLS,
    TYPE_WORDS,
)

TOKEN = re.compile(
    r"(?:[A-Za-z_$\x80-\xff]|\\[uU][0-9A-Fa-f]{4})(?:[\w$\x80-\xff]|\\[uU][0-9A-Fa-f]{4})*|\.?[0-9](?:[eEpP][+-]|['.\w])*|\"[^\"]*\"?|'[^']*'?"
    r"|\[\[|\.\.\.|[-+*/%&|^<>=!]=|[^\s]"
)
_IDENTIFIER = re.compile(r"[A-Za-z_$\x80-\xff\\]")
_CLOSING = {"(": ")", "[": "]", "{": "}", "[[": "]"}


@dataclass(frozen=True)
class Item:
    """A token of a head, or a group in brackets: `start`, `end` are offsets in the text."""

    text: str
    start: int
    end: int
    inside: tuple[Item, ...] = ()

    @property
    def is_name(self) -> bool:
        return _IDENTIFIER.match(self.text) is not None


@dataclass(frozen=True)
class Head:
    """The head of a function definition.

    Attributes
    ----------
    name
        As it is spelled; for a macro that makes the head, its best guess.
    offset
        Where the name stands.
    static, inline
        Its storage class and function specifiers.
    words
        The names in its attributes, underscores at both ends dropped.
    type_parts
        What declares a variable of the type that it returns, around the variable's name: text
        before and behind. ("void", "") for a function that returns nothing.
    macro
        The name was taken from the arguments of a macro.
    overload
        Its parameters, of a function that clang may overload: they are a part of its name.
    """

    name: str
    offset: int
    static: bool
    inline: bool
    words: frozenset[str]
    type_parts: tuple[str, str]
    macro: str = ""
    overload: str = ""

    @property
    def returns_nothing(self) -> bool:
        return (
            self.type_parts[0].split() in (["void"], ["const", "void"]) and not self.type_parts[1]
        )


def items_of(text: str, start: int, end: int) -> list[Item]:
    """The tokens of ``text[start:end]`` with brackets grouped; an open one ends with it."""
    stack: list[tuple[str, int, list[Item]]] = []
    items: list[Item] = []
    for match in TOKEN.finditer(text, start, end):
        token = match[0]
        if token in _CLOSING:
            stack.append((token, match.start(), items))
            items = []
        elif token in ")]}":
            # The second bracket of [[..]] closes nothing.
            if stack and _CLOSING[stack[-1][0]] == token:
                opening, offset, outer = stack.pop()
                outer.append(Item(opening, offset, match.end(), tuple(items)))
                items = outer
        else:
            items.append(Item(token, match.start(), match.end()))
    while stack:
        opening, offset, outer = stack.pop()
        outer.append(Item(opening, offset, end, tuple(items)))
        items = outer
    return items


def parse_head(text: str, start: int, end: int, *, expanded: bool) -> Head | None:
    """The head in ``text[start:end]`` where that is one of a function definition, else None.

    Parameters
    ----------
    text
        Shadow text.
    start, end
        From behind the declaration before it up to the ``{`` of the body.
    expanded
        It is preprocessed: names followed by parentheses are what they seem.
    """
    words: set[str] = set()
    items = _without_attributes(items_of(text, start, end), words)
    if any(item.text == "=" for item in items) or any(item.text == "typedef" for item in items):
        return None
    found = _find_name(items, expanded)
    if found is None:
        return None
    index, path = found
    first = 0 if expanded else _first_specifier(items, index)
    name = path[-1]
    specifiers = {item.text for item in items[first:index]}
    parts = _type_parts(text, items[first:], index - first, path, expanded)
    inline = bool(specifiers & {"inline", "__inline", "__inline__"})
    head = Head(name.text, name.start, "static" in specifiers, inline, frozenset(words), parts)
    return head if expanded else _named_by_macro(head, items, index)


def _without_attributes(items: Sequence[Item], words: set[str]) -> list[Item]:
    kept: list[Item] = []
    index = 0
    while index < len(items):
        item = items[index]
        following = items[index + 1] if index + 1 < len(items) else None
        grouped = following is not None and following.text == "("
        if item.text == "[[":
            _collect(item.inside, words)
        elif item.text in ATTRIBUTE_WORDS and grouped:
            assert following is not None
            own: set[str] = set()
            _collect(following.inside, own)
            words |= own
            if own & TYPE_ATTRIBUTES:
                kept.append(Item("@", item.start, following.end))
            index += 1
        elif item.text in ASM_WORDS and grouped:
            index += 1
        elif item.text in ("_Noreturn", "noreturn"):
            words.add("noreturn")
            kept.append(item)
        elif item.text == "(":
            kept.append(
                Item("(", item.start, item.end, tuple(_without_attributes(item.inside, words)))
            )
        else:
            kept.append(item)
        index += 1
    return kept


def _collect(items: Sequence[Item], words: set[str]) -> None:
    for item in items:
        if item.inside:
            _collect(item.inside, words)
        elif item.is_name:
            words.add(item.text.strip("_"))


def _find_name(items: Sequence[Item], expanded: bool) -> tuple[int, tuple[Item, ...]] | None:
    """Where the declarator is: the index of its item, and the way in to the name.

    The way ends with the name; before it come the groups that it stands in, outermost first.
    """
    found: list[tuple[int, tuple[Item, ...], bool]] = []
    for index, item in enumerate(items):
        if item.text != "(" or index == 0:
            continue
        before = items[index - 1]
        # In T (name)(...) the first word is a type: no function returns a function.
        bracketed = _declarator_in(item) if expanded and _is_group(items, index + 1) else None
        if bracketed is not None:
            found.append((index, bracketed, True))
        elif _can_name(before):
            earlier = items[index - 2] if index > 1 else None
            if earlier is None or earlier.text not in TAG_WORDS:
                typed = earlier is not None and (earlier.is_name or earlier.text in ("*", "{"))
                found.append((index - 1, (before,), typed))
        elif before.text not in TYPE_CALLS and (expanded or not found):
            inner = _declarator_in(item)
            if inner is not None and (len(inner) > 1 or _is_group(items, index + 1)):
                found.append((index, inner, True))
        if expanded and found:
            break
    if not found:
        return None
    old_style = any(item.text == ";" for item in items[found[0][0] :])
    likely = [entry for entry in found if entry[2]] or found
    index, path, _ = likely[0 if old_style else -1]
    end = index + (2 if items[index].text != "(" or len(path) == 1 else 1)
    rest = [item for item in items[end:] if item.text not in ("(", "[")]
    if old_style and not rest[0].is_name:
        return None  # itself a declaration of a parameter, such as int (*f)();
    if expanded and not old_style and any(item.is_name for item in items[end:]):
        return None
    return index, path


def _can_name(item: Item) -> bool:
    known = TAG_WORDS | TYPE_CALLS | NOT_A_NAME
    return item.is_name and item.text not in known and not _is_specifier(item.text)


def _is_group(items: Sequence[Item], index: int) -> bool:
    return index < len(items) and items[index].text == "("


def _declarator_in(group: Item) -> tuple[Item, ...] | None:
    """The way to a name in ``(*name(...))``, ``(*(*name(...)))`` or ``(name)``."""
    inside = [item for item in group.inside if item.text != "*" and not _is_specifier(item.text)]
    if not inside:
        return None
    first = inside[0]
    if first.is_name:
        if len(inside) == 1:
            return (first,)
        return (group, first) if inside[1].text == "(" else None
    if first.text == "(":
        inner = _declarator_in(first)
        if inner is None:
            return None
        if len(inner) > 1 or (len(inside) > 1 and inside[1].text == "("):
            return (group, *inner)
        return inner if len(inside) == 1 else None
    return None


def _is_specifier(word: str) -> bool:
    return word in STORAGE or word in TYPE_WORDS


def _first_specifier(items: Sequence[Item], index: int) -> int:
    """Where the declaration begins: behind macro calls that stand before it without a semicolon."""
    for before in range(index - 1, -1, -1):
        if items[before].text in ("(", "{", ";", ":", ",") or items[before].text == ")":
            call = before > 0 and items[before - 1].text in TYPE_CALLS
            tag = items[before].text == "{" and any(
                item.text in TAG_WORDS for item in items[max(0, before - 2) : before]
            )
            if not call and not tag:
                return before + 1
    return 0


def _named_by_macro(head: Head, items: Sequence[Item], index: int) -> Head:
    """``PT_THREAD(f(..))`` names f; ``SYSCALL_DEFINE3(read, ..)`` names read."""
    if index > 0 and items[index - 1].text == "*":
        return head
    group = items[index + 1] if index + 1 < len(items) else None
    if group is None or group.text != "(" or not group.inside:
        return head
    inside = group.inside
    if _is_group(items, index + 2) and inside[0].is_name:
        item = inside[0]
        return replace(head, name=item.text, offset=item.start, macro=head.name)
    typed = any(item.text not in STORAGE for item in items[_first_specifier(items, index) : index])
    for place, item in enumerate(inside[:-1]):
        if item.text == "," or (typed and not head.name.isupper()):
            break
        if _can_name(item) and inside[place + 1].text == "(":
            return replace(
                head, name=item.text, offset=item.start, type_parts=("", ""), macro=head.name
            )
    shouted = head.name.isupper() and len(head.name) > 1
    if shouted and index == 0 and inside[0].is_name and not _is_specifier(inside[0].text):
        alone = len(inside) == 1 or inside[1].text == ","
        if alone:
            item = inside[0]
            return replace(
                head, name=item.text, offset=item.start, type_parts=("", ""), macro=head.name
            )
    return head


def _type_parts(
    text: str, items: Sequence[Item], index: int, path: tuple[Item, ...], expanded: bool
) -> tuple[str, str]:
    """The text around the name in a declaration of a variable of the returned type."""
    before: list[str] = []
    tagged = False
    basic = not expanded and any(item.text in BASIC_TYPES for item in items[:index])
    for item in items[:index]:
        if item.text == "{" and tagged:
            continue  # struct s {...} f(): the tag is enough
        if item.text not in STORAGE and not (
            basic and item.is_name and not _is_specifier(item.text)
        ):
            before.append(text[item.start : item.end])  # not API in API int f(): a macro
        tagged = item.is_name
    if not any(_IDENTIFIER.match(word) and word not in ("const", "volatile") for word in before):
        before.insert(0, "int")
    after: list[str] = []
    if len(path) == 1:
        return " ".join(before), ""
    # The outermost group and what follows it up to the body or to K&R declarations.
    for depth, group in enumerate(path[:-1]):
        inside = list(group.inside)
        inner = path[depth + 1]
        place = next(i for i, item in enumerate(inside) if _holds(item, inner))
        before.append("(")
        before.extend(text[item.start : item.end] for item in inside[:place])
        rest = inside[place + 1 :]
        if depth == len(path) - 2:
            rest = rest[1:]  # the function's own parameters
        after.insert(0, "".join(text[item.start : item.end] for item in rest) + ")")
    tail = items[index + 1 :]
    suffix = [text[item.start : item.end] for item in tail if item.text in ("(", "[")]
    return " ".join(before), "".join(after) + "".join(suffix[:1] if path else [])


def _holds(item: Item, wanted: Item) -> bool:
    return item == wanted or (item.start <= wanted.start and wanted.end <= item.end)
