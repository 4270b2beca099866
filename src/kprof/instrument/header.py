"""The header with ``PROFILE(name)`` and ``PROFILE_TASK(name, n)``: generated from the name file.

``PROFILE(MGET)`` fires the tag of the name file's line ``MGET/222=``, an inline trigger;
``PROFILE_TASK(proc, n)`` that of task n of the line ``proc/4096@64``, a task mark, where there is
such a task. Without ``KPROF`` defined they leave no code. (The paper's macro took the number and
was steered by ``PROF``, which BSD sources use for something else.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kprof.errors import InstrumentError
from kprof.instrument.compiler_settings import Compiling
from kprof.instrument.targets import Target
from kprof.names import Modifier, NameEntry, allocate
from kprof.symbols import DIGEST

_C_NAME = re.compile(r"[A-Za-z_]\w*")
_LEFT = re.compile(r"\bKPROF_INLINE_([A-Za-z_]\w*)")
_USE = re.compile(r"\bPROFILE\s*\(\s*([A-Za-z_]\w*)\s*\)")


def profile_names(code: str) -> list[str]:
    """The names that the shadow of a text uses ``PROFILE`` with, in their order."""
    return list(dict.fromkeys(match[1] for match in _USE.finditer(code)))


def fill_profiles(text: str, options: Compiling) -> str:
    """A preprocessed text with the triggers of the ``PROFILE(name)`` that its header lacked.

    Raises
    ------
    InstrumentError
        Such a name is a function's.
    """
    if "KPROF_INLINE_" not in text:
        return text
    names = dict.fromkeys(match[1] for match in _LEFT.finditer(text))
    entries = allocate(options.names, names, first_tag=options.first_tag, modifier=Modifier.INLINE)
    taken = [name for name in names if entries[name].modifier is not Modifier.INLINE]
    if taken:
        raise InstrumentError(
            [f"PROFILE({name}): a function has this name; expected another" for name in taken]
        )
    return _LEFT.sub(lambda match: _statement(entries[match[1]], options.target), text)


def _statement(entry: NameEntry, target: Target) -> str:
    statement = target.statement(entry.value) if entry.value and target.plants else ""
    return f"do {{ {statement} }} while (0)"


def _task_statement(entry: NameEntry, target: Target) -> str:
    fire = target.statement_for(f"{entry.value}u+kprof_n") if entry.value and target.plants else ""
    guard = f"if (kprof_n < {entry.count}u) {{ {fire} }}"
    return f"do {{ unsigned kprof_n = (unsigned)(n); {guard} }} while (0)"


def profile_header(
    entries: Iterable[NameEntry], target: Target, digest: bytes | None = None
) -> str:
    """The text of the header for the inline triggers and task marks among these entries.

    Parameters
    ----------
    digest
        The SHA-256 of the name file. A program has it in it (`kprof.symbols.DIGEST`) where one
        source that includes the header is compiled with ``-DKPROF_DIGEST``.
    """
    named = [entry for entry in entries if _C_NAME.fullmatch(entry.name)]
    lines = [
        "/* Made by kprof from the name file; make it again when that has changed. */",
        "#ifndef KPROF_PROFILE_H",
        "#define KPROF_PROFILE_H",
        "",
        "#ifdef KPROF",
        "#define PROFILE(name) KPROF_INLINE_##name",
        "#define PROFILE_TASK(name, n) KPROF_TASK_##name(n)",
    ]
    if target.declaration:
        lines.append(target.declaration)
    for entry in named:
        if entry.modifier is Modifier.INLINE:
            lines.append(f"#define KPROF_INLINE_{entry.name} {_statement(entry, target)}")
        elif entry.modifier is Modifier.TASKS:
            lines.append(f"#define KPROF_TASK_{entry.name}(n) {_task_statement(entry, target)}")
    if digest is not None:
        numbers = ",".join(map(str, digest))
        lines += [
            "#if defined KPROF_DIGEST && defined __GNUC__",
            f"extern const unsigned char {DIGEST}[32] __attribute__((__weak__));",
            f"const unsigned char {DIGEST}[32] = {{{numbers}}};",
            "#endif",
        ]
    lines += [
        "#else",
        "#define PROFILE(name) do { } while (0)",
        "#define PROFILE_TASK(name, n) do { } while (0)",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)
