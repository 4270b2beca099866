"""What Tab completes behind a verb: files, functions, fields, targets, formats of a capture.

The value of a parameter is known by its placeholder in the help: ``FILE`` and ``DUMP`` are files,
``FOLDER`` is a folder, ``FUNC`` and ``PATTERN`` are functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

_FILES = re.compile(r"\b(FILE|DUMP|CAPTURE|SOURCE|PORT|PROGRAM|OUT|KERNEL|BEFORE|COMPILER)\b", re.I)
_FUNCTIONS = re.compile(r"\b(FUNC|PATTERN)\b")
_MARKS = re.compile(r"\[?[AB]\]?")
_NAMES = {"dump", "dumps", "file", "files", "source", "kernel", "port", "compiler"}

_Values = Callable[[click.Context, str], Iterable[str]]


def complete_arguments(command: click.Command) -> None:
    """Give the parameters of a verb, and of its subcommands, their completion."""
    if isinstance(command, click.Group):
        for sub in command.commands.values():
            complete_arguments(sub)
    for param in command.params:
        if param._custom_shell_complete is None and not isinstance(param.type, click.Choice):
            param._custom_shell_complete = _completer(param)


def _completer(param: click.Parameter) -> Any:
    shown = param.metavar or ""
    if param.name in ("fields", "sort"):
        return _of_values(_fields)
    if param.name == "target":
        return _of_values(_targets)
    if _FUNCTIONS.search(shown):
        return _of_values(_functions)
    if _MARKS.fullmatch(shown) or shown == "A B":
        return _of_values(_inline_triggers)
    if "FOLDER" in shown:
        return _typed("dir")
    if _FILES.search(shown) or param.name in _NAMES:
        return _typed("file")
    return None


def _typed(kind: str) -> Any:
    """The shell completes by itself: files or folders."""
    return lambda _ctx, _param, incomplete: [CompletionItem(incomplete, type=kind)]


def _of_values(values: _Values) -> Any:
    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = values(ctx, incomplete)
        return [CompletionItem(value) for value in found if value.startswith(incomplete)]

    return complete


def _fields(_: click.Context, incomplete: str) -> list[str]:
    from kprof.report.fields import field_names

    head = incomplete[: max(incomplete.rfind(","), incomplete.rfind("+")) + 1]
    return [head + name for name in (*field_names(), "name")]


def _targets(ctx: click.Context, _: str) -> list[str]:
    from kprof.errors import KprofError
    from kprof.instrument.targets import TARGETS, read_targets

    try:
        own = read_targets(ctx.params["targets"]) if ctx.params.get("targets") else {}
    except KprofError:
        own = {}
    return sorted({*TARGETS, *own})


def _functions(ctx: click.Context, _: str) -> list[str]:
    return _names_of(ctx, inline=False)


def _inline_triggers(ctx: click.Context, _: str) -> list[str]:
    return _names_of(ctx, inline=True)


def _names_of(ctx: click.Context, *, inline: bool) -> list[str]:
    """The functions, or the inline triggers, of the name file that the command would read."""
    from kprof.errors import KprofError
    from kprof.names import Modifier, find_names, read_names

    dumps = ctx.params.get("dump") or ctx.params.get("dumps") or "dump.bin"
    dump = dumps if isinstance(dumps, str) else dumps[0]
    path = ctx.params.get("names") or find_names(Path(dump))
    try:
        entries = read_names(path).entries if path else ()
    except KprofError:
        return []
    return [e.name for e in entries if (e.modifier is Modifier.INLINE) == inline]
