"""A name file of tens of thousands of lines, read for the few entries that one compilation needs.

`NameIndex` answers what `NameFile` does for the allocation, about four times sooner. Plain entries
(a function with a value) are taken in bulk and become `NameEntry` only when they are asked for; the
other lines go through `parse_names`. It is made of sound text only: where anything is wrong, there
is no index, and `parse_names` of the whole says what.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import chain

from kprof.errors import NameFileError
from kprof.names.grammar import MAX_TAG, Modifier, NameEntry, NameFile, parse_names

_DIRECTIVE = re.compile(r"^#@(.*)\n", re.M)
_PLAIN = re.compile(r"^([^#\s](?:.*[^ \t/\n])?)/([1-9][0-9]{0,4})$", re.M)


class NameIndex:
    """The entries of a name file by name, and the next value; `of` makes one."""

    def __init__(
        self,
        text: str,
        plain: dict[str, int],
        sections: tuple[list[int], list[str]],
        rest: NameFile,
    ) -> None:
        self.text = text
        self._plain = plain
        self._order: dict[str, int] | None = None
        self._starts, self._origins = sections
        self._rest = rest
        self._claims = dict(
            (origin[4:].partition("\t")[::2]) for origin in self._origins if origin[:4] == "own "
        )

    @classmethod
    def of(cls, text: str) -> NameIndex | None:
        """The index of a text whose last line is complete, or None where it is not sound."""
        parts = _DIRECTIVE.split(text)
        found: list[list[tuple[str, str]]] = []
        starts, origins, others, count = [0], [""], [], 0
        for number, part in enumerate(parts):
            if number % 2:
                others.append(f"#@{part}")
                starts.append(count)
                origins.append(part.rstrip(" \t\r"))
                continue
            entries = _PLAIN.findall(part)
            found.append(entries)
            count += len(entries)
            if len(entries) != part.count("\n"):
                left = _PLAIN.sub("", part)
                if "#@" in left:
                    return None  # indented directives
                others.append(left)
        plain = {name: int(value) for name, value in chain.from_iterable(found)}
        try:
            rest = parse_names("\n".join(others))
        except NameFileError:
            return None
        index = cls(text, plain, (starts, origins), rest)
        return index if len(plain) == count and index._is_sound() else None

    @property
    def last_tag(self) -> int:
        """The last tag that may be given."""
        return self._rest.last_tag

    def get(self, name: str) -> NameEntry | None:
        """The entry of this name, or None."""
        value = self._plain.get(name)
        if value is None:
            return self._rest.get(name)
        if name in self._claims:
            return NameEntry(name, value, Modifier.FUNCTION, self._claims[name], True)
        if self._order is None:
            self._order = dict(zip(self._plain, range(len(self._plain)), strict=True))
        section = bisect_right(self._starts, self._order[name]) - 1
        while section and self._origins[section].split(" ", 1)[0] not in ("", "static"):
            section -= 1  # a directive about something else
        word, _, source = self._origins[section].partition(" ")
        return NameEntry(name, value, Modifier.FUNCTION, source, word == "static")

    def next_value(self, first_tag: int) -> int:
        """As `NameFile.next_value`."""
        top = NameEntry("", max(self._plain.values(), default=0))
        return NameFile((*self._rest.entries, top), self._rest.text).next_value(first_tag)

    def _is_sound(self) -> bool:
        values = set(self._plain.values())
        if len(values) != len(self._plain) or any(value & 1 for value in values):
            return False
        if max(values, default=0) > MAX_TAG:
            return False
        for entry in self._rest.entries:
            if entry.name in self._plain:
                return False
            tags = range(entry.value, entry.last_tag + 1) if entry.value else ()
            if any(tag & ~1 in values for tag in tags):
                return False
        return True
