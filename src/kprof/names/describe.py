"""A name file for people and for programs: what `kprof names` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from kprof.errors import UsageError
from kprof.names.grammar import MAX_TAG, Modifier, NameEntry, NameFile, display_name
from kprof.names.reading import FIRST_TAG

KINDS = {
    Modifier.FUNCTION: "function",
    Modifier.INLINE: "inline",
    Modifier.SWITCH_OUT: "switch out",
    Modifier.SWITCH_IN: "switch in",
    Modifier.SWTCH: "swtch",
    Modifier.TASKS: "task marks",
    Modifier.USER: "user mode",
    Modifier.IDLE: "idle",
    Modifier.INTERRUPT: "interrupt",
}
LAST_SHORT_TAG = 0x7FFF
"""The last tag that a 68k's short absolute address reaches (the address is sign-extended)."""


def describe_names(names: NameFile, source: str) -> str:
    """One line: how many names of which kind, the tags in use, how many are free."""
    kinds = Counter(KINDS[entry.modifier] for entry in names.entries if entry.value)
    off = sum(1 for entry in names.entries if not entry.value)
    parts = [f"{count} {kind}" for kind in KINDS.values() if (count := kinds[kind])]
    parts += [f"{off} without trigger"] if off else []
    used = [entry for entry in names.entries if entry.value]
    free = max(0, (names.last_tag - 1 - names.next_value(FIRST_TAG)) // 2 + 1)
    tags = ""
    if used:
        tags = f"tags {min(e.value for e in used)} to {max(names.by_tag)}, "
    return f"{source}: {', '.join(parts) or 'no names'}; {tags}{free} values free\n"


def advice(names: NameFile, source: str) -> list[str]:
    """Sentences about what is allowed and may still not be what the user wants."""
    said = []
    if names.torn:
        said.append(
            f"{source}: its last line, {display_name(names.torn)!r}, is left out: it has no line "
            "feed and looks cut off by an interrupted write (complete it, or remove it)"
        )
    low = [entry for entry in names.entries if 0 < entry.value < 0x400]
    if low:
        said.append(
            f"{source}: {_many(low)} a tag below 1024, where a 68k's exception vectors lie: an "
            "exception fires it where the vectors are at address 0 (use higher values there)"
        )
    high = [entry for entry in names.entries if entry.value > LAST_SHORT_TAG - 1]
    if high:
        said.append(
            f"{source}: {_many(high)} a tag above {LAST_SHORT_TAG}: on a 68k its trigger takes 6 "
            "bytes instead of 4"
        )
    return said


def list_names(names: NameFile) -> str:
    """A table: value, exit tag, kind, name, source file where it is known."""
    rows = [
        (
            str(entry.value) if entry.value else "-",
            str(entry.exit_tag or "-"),
            KINDS[entry.modifier],
            display_name(entry.name),
            display_name(entry.source) + (" (static)" if entry.static else ""),
        )
        for entry in names.entries
    ]
    width = max((len(row[3]) for row in rows), default=4)
    lines = [f"{'tag':>5}  {'exit':>5}  {'kind':10}  {'name':{min(width, 40)}}  source"]
    lines += [f"{r[0]:>5}  {r[1]:>5}  {r[2]:10}  {r[3]:{min(width, 40)}}  {r[4]}" for r in rows]
    return "".join(line.rstrip() + "\n" for line in lines)


def names_as_json(names: NameFile, source: str) -> dict[str, Any]:
    """The same as JSON values; `kind` is one of `KINDS`, tags are null where there is none."""
    return {
        "source": source,
        "sha256": names.sha256().hex(),
        "next_value": names.next_value(FIRST_TAG),
        "entries": [
            {
                "name": entry.name,
                "value": entry.value,
                "modifier": entry.modifier.value,
                "kind": KINDS[entry.modifier],
                "entry_tag": entry.entry_tag,
                "exit_tag": entry.exit_tag,
                "source": entry.source or None,
                "static": entry.static,
            }
            for entry in names.entries
        ],
    }


def which(names: NameFile, tags: Iterable[str]) -> str:
    """A line for each tag (decimal, or hexadecimal after 0x): what fires it.

    Raises
    ------
    UsageError
        One is no number from 0 to 65535.
    """
    lines = []
    for text in tags:
        try:
            tag = int(text, 0)
        except ValueError:
            tag = -1
        if not 0 <= tag <= MAX_TAG:
            raise UsageError(f"tag {text!r}; expected a number from 0 to {MAX_TAG}, such as 0x401")
        entry = names.by_tag.get(tag)
        lines.append(f"{tag} (0x{tag:04x}): {_meaning(entry, tag)}\n")
    return "".join(lines)


def _meaning(entry: NameEntry | None, tag: int) -> str:
    if entry is None:
        return "not in the name file"
    if entry.modifier is Modifier.INLINE:
        return f"inline trigger {display_name(entry.name)}"
    if entry.modifier is Modifier.TASKS:
        return f"mark of task {tag - entry.value} of {display_name(entry.name)}"
    side = "entry" if entry.value == tag else "exit"
    kind = "" if entry.modifier is Modifier.FUNCTION else f" ({KINDS[entry.modifier]})"
    return f"{side} of {display_name(entry.name)}{kind}"


def _many(entries: list[NameEntry]) -> str:
    name = display_name(entries[0].name)
    if len(entries) == 1:
        return f"{name} has"
    return f"{name} and {len(entries) - 1} more have"
