"""Names of functions and inline triggers, and their tags: the name file.

`grammar` is the text and its values, `reading` and `store` the file that compilations share, `find`
the one that belongs to a capture, `calls` the file beside it: what can call what. The store is
imported when it is first used: reports only read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kprof.names.find import find_names, project_names
from kprof.names.grammar import (
    MAX_TAG,
    Modifier,
    NameEntry,
    NameFile,
    check_name,
    display_name,
    format_names,
    parse_names,
)
from kprof.names.reading import FIRST_TAG, read_names

if TYPE_CHECKING:
    from kprof.names.store import Function, allocate, allocate_functions

__all__ = [
    "FIRST_TAG",
    "MAX_TAG",
    "Function",
    "Modifier",
    "NameEntry",
    "NameFile",
    "allocate",
    "allocate_functions",
    "check_name",
    "display_name",
    "find_names",
    "format_names",
    "parse_names",
    "project_names",
    "read_names",
]


def __getattr__(name: str) -> Any:
    if name not in ("Function", "allocate", "allocate_functions"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kprof.names import store

    return getattr(store, name)
