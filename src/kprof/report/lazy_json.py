"""JSON objects that are written while the values in them are being made.

The text is that of ``json.dumps(value, indent=1)``. In an object may stand `Items`, a list whose
items are made one by one, and functions without arguments that give the value when it is its turn.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

_IN_MEMORY = 1 << 20  # bytes of a list from which it goes to a file
_BATCH = 1 << 12
_END = "\x1e"


def text_file(in_memory: int) -> Any:
    """A temporary file for text, which is on disk when it has more characters."""
    return tempfile.SpooledTemporaryFile(in_memory, "w+", newline="\n")


class Items:
    """A list of items that are JSON texts already, as of ``json.dumps(item, indent=1)``."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


class Spool(Items):
    """A list that is complete before it is its turn, kept on disk where it is long."""

    def __init__(self) -> None:
        super().__init__(())
        self._file = text_file(_IN_MEMORY)

    def extend(self, texts: list[str]) -> None:
        """Append items."""
        self._file.writelines(text + _END for text in texts)

    def __iter__(self) -> Iterator[str]:
        with self._file as file:
            file.seek(0)
            rest = ""
            while part := file.read(_IN_MEMORY):
                *items, rest = (rest + part).split(_END)
                yield from items


def json_parts(value: Any) -> Iterator[str]:
    """The text of an object in pieces, with a line feed at the end."""
    yield from _parts(value, "\n")
    yield "\n"


def _parts(value: Any, line: str) -> Iterator[str]:
    """The text of a value, in which a line begins with `line`."""
    if callable(value):
        value = value()
    inner = line + " "
    if isinstance(value, Items):
        before = "[" + inner
        batch: list[str] = []
        for text in value:
            batch.append(text)
            if len(batch) == _BATCH:
                yield before + (",\n".join(batch)).replace("\n", inner)
                before = "," + inner
                batch.clear()
        if batch:
            yield before + (",\n".join(batch)).replace("\n", inner)
            before = ""
        yield "[]" if before == "[" + inner else line + "]"
    elif isinstance(value, dict) and any(_is_lazy(one) for one in value.values()):
        before = "{"
        for key, one in value.items():
            yield f"{before}{inner}{json.dumps(key)}: "
            yield from _parts(one, inner)
            before = ","
        yield line + "}"
    elif isinstance(value, list) and any(_is_lazy(one) for one in value):
        before = "["
        for one in value:
            yield before + inner
            yield from _parts(one, inner)
            before = ","
        yield line + "]"
    else:
        yield json.dumps(value, indent=1).replace("\n", line)


def _is_lazy(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_is_lazy(one) for one in value.values())
    if isinstance(value, list):
        return any(_is_lazy(one) for one in value)
    return isinstance(value, Items) or callable(value)
