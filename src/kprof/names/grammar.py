"""The name file's text: one trigger a line, ``name/value[modifier]`` (the paper, section 4.2).

========  =====================================================================================
modifier  the trigger belongs to
========  =====================================================================================
(none)    a function: `value` is even and fires at its entry, ``value + 1`` at its exit
``=``     a point in the code (inline trigger): one event, any value
``$``     a function that switches away from the running task (the paper's ``sw_sys/200$``)
``*``     a function that switches to a task (the paper's ``sw_task/202*``)
``!``     a ``swtch()``: its entry is the switch out, its exit the switch in (ours)
``@N``    task marks (ours): `N` tags from `value` on, one a task; the kernel's switch code fires
          ``value + n`` to say that task `n` runs from here on
``%``     user mode (ours): entered at `value`, left for the kernel at ``value + 1``
``~``     a function whose own time is idle time (ours): the loop of an idle task
``^``     an interrupt handler (ours)
========  =====================================================================================

A line is split at its last ``/``. Value 0 means that there is no trigger; any number of names may
have it. Blank lines and lines that begin with ``#`` are kept and mean nothing, but for the
directives that `kprof.names.store` writes so that static functions of one name in several source
files keep a tag each (ours; the paper has one name space):

- ``#@ kern/tty.c``: the entries below are functions of this file; ``#@`` alone ends that
- ``#@static kern/tty.c``: the same for its static functions
- ``#@own name<TAB>kern/tty.c``: the entry `name`, written by hand, is this file's static function

``#@tags 4096 32767`` (`kprof.names.store.start_names`) is the range that functions get tags from.

Another names tasks for the reports: ``#@task 4099 init`` names the task whose mark is tag 4099.

Lines end at a line feed only; a carriage return before it is kept and means nothing.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from kprof.errors import NameFileError

MAX_TAG = 0xFFFF
_VALUE = re.compile(r"([0-9]+)([=$*!%~^]?|@[0-9]{1,5})")

_RANGE = re.compile(r"^#@tags ([0-9]{1,5}) ([0-9]{1,5})[ \t\r]*$", re.M)


class Modifier(enum.Enum):
    """What a trigger's events mean; the value is the character in the name file."""

    FUNCTION = ""
    INLINE = "="
    SWITCH_OUT = "$"
    SWITCH_IN = "*"
    SWTCH = "!"
    TASKS = "@"
    USER = "%"
    IDLE = "~"
    INTERRUPT = "^"

    @property
    def switches(self) -> bool:
        """Is it a function that switches contexts?"""
        return self in (Modifier.SWITCH_OUT, Modifier.SWITCH_IN, Modifier.SWTCH)


_MODIFIERS = {modifier.value: modifier for modifier in Modifier}


@dataclass(frozen=True)
class NameEntry:
    """One line of a name file.

    Attributes
    ----------
    name
        The function or inline trigger; ``file.c:name`` for a static function whose plain name
        another file has.
    value
        0..65535; 0 is no trigger.
    modifier
        What its events mean.
    source
        The source file as the name file knows it (relative to the name file's folder), or "".
    static
        The function is known to be static in `source`.
    count
        Of task marks how many tags there are, from `value` on; else 0.
    """

    name: str
    value: int
    modifier: Modifier = Modifier.FUNCTION
    source: str = field(default="", compare=False)
    static: bool = field(default=False, compare=False)
    count: int = 0

    @property
    def entry_tag(self) -> int | None:
        """The tag that fires at the entry (or at the inline trigger); None where none does."""
        return self.value or None

    @property
    def exit_tag(self) -> int | None:
        """The tag that fires at the exit; None of inline triggers, task marks and value 0."""
        if self.value == 0 or self.modifier in (Modifier.INLINE, Modifier.TASKS):
            return None
        return self.value + 1

    @property
    def last_tag(self) -> int:
        """The highest tag that it fires; 0 where it fires none."""
        return self.exit_tag or self.value + max(0, self.count - 1)

    def line(self) -> str:
        """The entry as a line of a name file, without a line feed."""
        return f"{self.name}/{self.value}{self.modifier.value}{self.count or ''}"


@dataclass(frozen=True)
class NameFile:
    """A name file: its entries in the file's order, and its text to the byte.

    Attributes
    ----------
    entries
        Every entry, value 0 included.
    text
        What was parsed; bytes that are not UTF-8 are surrogate escapes.
    torn
        A last line without a line feed that was dropped as a killed writer's (see `read_names`).
    task_names
        What tasks are called, by the tags of their marks.
    """

    entries: tuple[NameEntry, ...] = ()
    text: str = ""
    torn: str = ""
    task_names: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> dict[str, NameEntry]:
        """The entries by their names."""
        return {entry.name: entry for entry in self.entries}

    @cached_property
    def by_tag(self) -> dict[int, NameEntry]:
        """The entries by each tag that they fire, exits included."""
        tags = {entry.value: entry for entry in self.entries if entry.value}
        tags.update({tag: entry for entry in self.entries if (tag := entry.exit_tag)})
        for marks in self.task_marks:
            tags.update(dict.fromkeys(range(marks.value, marks.last_tag + 1), marks))
        return tags

    @cached_property
    def task_marks(self) -> tuple[NameEntry, ...]:
        """The entries that are task marks."""
        return tuple(e for e in self.entries if e.modifier is Modifier.TASKS and e.value)

    def get(self, name: str) -> NameEntry | None:
        """The entry of this name, or None."""
        return self.by_name.get(name)

    @cached_property
    def tag_range(self) -> tuple[int, int] | None:
        """The first and the last tag that functions get, where the file says it (``#@tags``)."""
        found = _RANGE.search(self.text)
        return (int(found[1]), min(int(found[2]), MAX_TAG)) if found else None

    @property
    def last_tag(self) -> int:
        """The last tag that may be given."""
        return self.tag_range[1] if self.tag_range else MAX_TAG

    def next_value(self, first_tag: int) -> int:
        """The value for a name that is not in the file; where no value is in use, the first of
        `tag_range`, or `first_tag`.

        It is the next even value past every tag of functions and inline triggers in use, and in
        no range of task marks; the value after an inline trigger's counts as in use. More than
        `last_tag` - 1: there is none left.
        """
        first_tag = self.tag_range[0] if self.tag_range else first_tag
        marks = sorted(self.task_marks, key=lambda entry: entry.value)
        top = max((e.value for e in self.entries if e.modifier is not Modifier.TASKS), default=0)
        value = (top + 1) // 2 * 2 + 2 if top % 2 else (top + 2 if top else first_tag)
        for entry in marks:
            if entry.value - 1 <= value <= entry.last_tag:
                value = (entry.last_tag + 2) // 2 * 2
        return value

    def sha256(self) -> bytes:
        """The digest that a capture carries for its name file: of the text's bytes, 32 bytes."""
        import hashlib

        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).digest()


def parse_names(text: str, source: str = "<names>") -> NameFile:
    """The name file of this text; a last line needs no line feed here.

    Raises
    ------
    NameFileError
        With every problem of the text, one line each: ``source:LINE: ...``.
    """
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip(" \t\r")
        if stripped.startswith("#"):
            reader.comment(stripped)
        elif stripped:
            reader.entry(number, stripped)
    reader.check_overlaps()
    if reader.problems:
        raise NameFileError([f"{source}:{line}: {what}" for line, what in sorted(reader.problems)])
    return NameFile(tuple(reader.claimed()), text, task_names=reader.task_names)


def format_names(names: NameFile) -> str:
    """The text of a name file: for what `parse_names` gave, the same text to the byte."""
    return names.text


def display_name(name: str) -> str:
    """A name made safe for a terminal or a page of text.

    Control characters, escapes, bidirectional marks, and bytes that are not UTF-8 are written as
    ``\\xNN`` or ``\\uNNNN``; everything printable stays.
    """
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escape(char) for char in name)


def check_name(name: str) -> str | None:
    """Why this name cannot stand in a name file, or None where it can."""
    if not name:
        return "a name is empty"
    if "\n" in name or name != name.strip(" \t\r"):
        return f"{display_name(name)!r} has a line feed, or spaces around it"
    if name.startswith("#"):
        return f"{display_name(name)!r} begins with #, which is a comment"
    return None


class _Reader:
    """The state of one pass over the lines: what was read, and all that is wrong with it."""

    def __init__(self) -> None:
        self.entries: list[NameEntry] = []
        self.problems: list[tuple[int, str]] = []
        self._lines: list[int] = []
        self._by_name: dict[str, int] = {}
        self._by_value: dict[int, int] = {}
        self._claims: dict[str, str] = {}
        self.task_names: dict[int, str] = {}
        self._source, self._static = "", False

    def comment(self, line: str) -> None:
        if not line.startswith("#@"):
            return
        word, _, rest = line[2:].partition(" ")
        if word == "own":
            name, _, source = rest.partition("\t")
            self._claims[name] = source
        elif word == "task":
            tag, _, name = rest.strip().partition(" ")
            if tag.isdecimal() and len(tag) <= 5 and name:
                self.task_names[int(tag)] = name.strip()
        elif word in ("", "static"):
            self._source, self._static = rest, word == "static"

    def entry(self, line: int, text: str) -> None:
        found = _parse_line(text)
        if isinstance(found, str):
            self.problems.append((line, found))
            return
        name, value, modifier, count = found
        entry = NameEntry(name, value, modifier, self._source, self._static, count)
        index = len(self.entries)
        self.entries.append(entry)
        self._lines.append(line)
        first = self._by_name.setdefault(entry.name, index)
        if first != index:
            self._problem(index, f"is already named in line {self._lines[first]}; remove one")
        if entry.value == 0:
            return
        if entry.modifier is Modifier.TASKS:
            if not 1 <= entry.count <= MAX_TAG + 1 - entry.value:
                self._problem(
                    index,
                    f"marks {entry.count} tasks from {entry.value} on; expected 1 to "
                    f"{MAX_TAG + 1 - entry.value}",
                )
        elif entry.modifier is not Modifier.INLINE and entry.value % 2:
            self._problem(
                index,
                f"has odd tag {entry.value}; entry tags are even, an exit's is the next "
                f"(try {max(2, entry.value - 1)})",
            )
        first = self._by_value.setdefault(entry.value, index)
        if first != index:
            self._problem(index, f"has value {entry.value}, which is that of {self._place(first)}")

    def check_overlaps(self) -> None:
        for value, index in self._by_value.items():
            below = self._by_value.get(value - 1) if value % 2 else None
            if below is not None and self.entries[below].exit_tag == value:
                self._problem(
                    index, f"has value {value}, which is the exit tag of {self._place(below)}"
                )
        for index, marks in enumerate(self.entries):
            if marks.modifier is Modifier.TASKS and marks.value:
                self._check_marks(index, marks)

    def _check_marks(self, index: int, marks: NameEntry) -> None:
        """Report the first entry with a tag in a range of task marks."""
        for other, entry in enumerate(self.entries):
            said = marks.value in (entry.value, entry.exit_tag)
            if other == index or said or not entry.value:
                continue
            if entry.value <= marks.last_tag and entry.last_tag >= marks.value:
                self._problem(
                    other,
                    f"has value {entry.value}, which is among the tags {marks.value} to "
                    f"{marks.last_tag} of {self._place(index)}",
                )
                return

    def claimed(self) -> list[NameEntry]:
        if not self._claims:
            return self.entries
        return [
            replace(e, source=self._claims[e.name], static=True) if e.name in self._claims else e
            for e in self.entries
        ]

    def _problem(self, index: int, what: str) -> None:
        self.problems.append((self._lines[index], f"{_quoted(self.entries[index].name)} {what}"))

    def _place(self, index: int) -> str:
        name = _quoted(self.entries[index].name)
        return f"{name} in line {self._lines[index]}; expected a value of its own"


def _parse_line(line: str) -> tuple[str, int, Modifier, int] | str:
    name, slash, rest = line.rpartition("/")
    if not slash:
        return f"{_quoted(line)} has no /value; expected name/value, such as {_quoted(line)}/1024"
    name, rest = name.rstrip(" \t"), rest.lstrip(" \t")
    if not name:
        return f"there is no name before /{_quoted(rest)}; expected name/value"
    match = _VALUE.fullmatch(rest)
    if match is None:
        return f"{_quoted(name)} {_bad_value(rest)}"
    digits = match[1].lstrip("0")
    if len(digits) > 5 or int(digits or "0") > MAX_TAG:
        return f"{_quoted(name)} has value {_quoted(match[1])}; expected 0 to {MAX_TAG}"
    count = int(match[2][1:] or "0") if match[2][:1] == "@" else 0
    return name, int(digits or "0"), _MODIFIERS[match[2][:1]], count


def _bad_value(rest: str) -> str:
    number = re.match(r"[0-9]+", rest)
    if number is None:
        found = f"value {_quoted(rest)}" if rest else "no value after the /"
        return f"has {found}; expected a decimal number from 0 to {MAX_TAG}"
    return (
        f"has an unknown modifier {_quoted(rest[number.end() :])}; expected nothing, or = inline, "
        "$ switch out, * switch in, ! swtch, @N task marks, % user mode, ~ idle, ^ interrupt"
    )


def _quoted(text: str) -> str:
    shown = display_name(text)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
