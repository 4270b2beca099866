"""The header with ``PROFILE(name)``, for inline triggers: generated from the name file.

``PROFILE(MGET)`` fires the tag of the name file's line ``MGET/222=``. Without ``KPROF`` defined it
leaves no code. (The paper's macro took the number and was steered by ``PROF``, which BSD sources
use for something else.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kprof.instrument.targets import Target
from kprof.names import Modifier, NameEntry

_C_NAME = re.compile(r"[A-Za-z_]\w*")
_USE = re.compile(r"\bPROFILE\s*\(\s*([A-Za-z_]\w*)\s*\)")


def profile_names(code: str) -> list[str]:
    """The names that the shadow of a text uses ``PROFILE`` with, in their order."""
    return list(dict.fromkeys(match[1] for match in _USE.finditer(code)))


def profile_header(entries: Iterable[NameEntry], target: Target) -> str:
    """The text of the header for the inline triggers among these entries."""
    inline = [entry for entry in entries if entry.modifier is Modifier.INLINE]
    lines = [
        "/* Made by kprof from the name file; make it again when that has changed. */",
        "#ifndef KPROF_PROFILE_H",
        "#define KPROF_PROFILE_H",
        "",
        "#ifdef KPROF",
        "#define PROFILE(name) KPROF_INLINE_##name",
    ]
    if target.declaration:
        lines.append(target.declaration)
    for entry in inline:
        if _C_NAME.fullmatch(entry.name):
            statement = target.statement(entry.value) if entry.value and target.plants else ""
            lines.append(f"#define KPROF_INLINE_{entry.name} do {{ {statement} }} while (0)")
    lines += ["#else", "#define PROFILE(name) do { } while (0)", "#endif", "", "#endif", ""]
    return "\n".join(lines)
