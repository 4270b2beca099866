"""Names of functions and inline triggers, and their tags: the name file.

`grammar` is the text and its values, `store` the file that compilations share, `find` the one that
belongs to a capture.
"""

from kprof.names.find import find_names
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
from kprof.names.store import FIRST_TAG, Function, allocate, allocate_functions, read_names

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
    "read_names",
]
