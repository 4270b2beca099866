"""What can call what: the call-knowledge file that stands beside a name file.

`kernel.names` has `kernel.names.calls`. The instrumenter writes it, the analysis reads it; nothing
depends on its being there. UTF-8 (other bytes as surrogate escapes), ``# kprof calls 1`` in its
first line, then a line a function, six columns with a TAB between them, sorted by name and file:

=========  =====================================================================================
name       as the name file has it; of a function without an entry there the plain name, or
           ``file.c:name`` where it is static. Empty: the initialisers at file scope of the file
place      ``file:line``, the file as the name file writes files (relative to its folder)
flags      letters, in this order: ``a`` its address is taken, ``i`` it calls through pointers or
           holds assembly, ``n`` it does not return, ``s`` it calls setjmp, ``j`` it calls longjmp,
           ``S`` it is static
signature  as C, in one line
calls      the functions that it calls by name, sorted, a blank between two (``%20`` and ``%25``
           stand for a blank and a per cent sign in a name)
addresses  the functions whose address it takes, the same way
=========  =====================================================================================

A function that is called and has no line is code that was not read: a library's, or assembly.

The lines of one source file are replaced when it is compiled again. A function of a header has one
line for all the files that include it: what they say is put together while it stands in the same
line of the header, so the order of compilations that run at once does not matter. Delete the file
to begin again.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kprof.errors import FileAccessError, NameFileError
from kprof.files import explain, read_bytes, write_bytes
from kprof.names.grammar import display_name
from kprof.names.store import file_of_names, locked

_FIRST_LINE = "# kprof calls 1"
_FLAGS = (
    ("a", "address_taken"),
    ("i", "indirect"),
    ("n", "noreturn"),
    ("s", "setjmp"),
    ("j", "longjmp"),
    ("S", "static"),
)
_COLUMNS = 6
_BREAKS = re.compile(r"[\t\r\n]+")


@dataclass(frozen=True)
class FunctionFacts:
    """What is known of a function from its source.

    Attributes
    ----------
    name
        See the module's table; "" for the initialisers at file scope of `file`.
    file, line
        Where it is defined; line 0 where it is not known.
    signature
        Such as ``static int init(struct tty *tp, int flags)``.
    calls
        The functions that it calls by name.
    address_taken
        Its address is taken somewhere: calls through pointers may reach it.
    indirect
        It calls through pointers, or holds assembly, which may call anything.
    noreturn
        It does not return.
    setjmp, longjmp
        It calls setjmp or longjmp, or a relative of theirs.
    static
        It is known in its file only.
    addresses
        The functions whose address it takes.
    """

    name: str
    file: str = ""
    line: int = 0
    signature: str = ""
    calls: frozenset[str] = frozenset()
    address_taken: bool = False
    indirect: bool = False
    noreturn: bool = False
    setjmp: bool = False
    longjmp: bool = False
    static: bool = False
    addresses: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CallKnowledge:
    """The call graph of a program, as far as its sources were read.

    Attributes
    ----------
    functions
        The functions by name. Where two files define one of this name, their facts are put
        together. `FunctionFacts.address_taken` holds for the whole program.
    scopes
        By file, the functions whose address its initialisers at file scope take.
    """

    functions: Mapping[str, FunctionFacts]
    scopes: Mapping[str, frozenset[str]] = field(default_factory=dict)


def parse_calls(text: str, source: str = "<calls>") -> CallKnowledge:
    """The call knowledge in this text.

    A call by a name that a static function of another file has means the function of that name
    that is not static, and the other too where it is a header's.

    Raises
    ------
    NameFileError
        With every problem of the text, one line each: ``source:LINE: ...``.
    """
    problems: list[str] = []
    facts: list[FunctionFacts] = []
    for number, line in enumerate(_lines(text, source), 2):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            facts.append(_parse_line(line.replace("\r", "")))
        except ValueError as error:
            problems.append(f"{source}:{number}: {error}")
    if problems:
        raise NameFileError(problems)
    return _knowledge(facts)


def format_calls(knowledge: CallKnowledge) -> str:
    """The text of this call knowledge; `parse_calls` of it gives the same knowledge."""
    scopes = (FunctionFacts("", file, addresses=a) for file, a in knowledge.scopes.items())
    return _text(map(_line, [*knowledge.functions.values(), *scopes]))


def calls_path(names: Path | str) -> Path:
    """The call-knowledge file that belongs to this name file."""
    path = Path(names)
    return path.with_name(f"{path.name}.calls")


def read_calls(names: Path | str) -> CallKnowledge | None:
    """The call knowledge beside the name file `names`, or None where there is none.

    Raises
    ------
    FileAccessError, NameFileError
        It is there and cannot be read, or is not well formed.
    """
    path = calls_path(names)
    if str(names) == "-" or not path.exists():
        return None
    return parse_calls(read_bytes(path).decode("utf-8", "surrogateescape"), str(path))


def update_calls(names: Path | str, unit: str, facts: Iterable[FunctionFacts]) -> None:
    """Put what is known of one source file into the call knowledge; safe across processes.

    Parameters
    ----------
    names
        The name file.
    unit
        The source file that was read: what was known of its functions before is replaced.
    facts
        Of all its functions, those of headers included; `FunctionFacts.file` and `unit` are as the
        current folder sees them. Calls are by the names that the other lines have. Of two
        with one name and file the first says where it is and what is declared of it.

    Raises
    ------
    FileAccessError, NameFileError
        The file cannot be written, or is another kind of file; it is as it was.
    """
    path = calls_path(names)
    own = file_of_names(unit, names)
    own_facts: dict[tuple[str, str], FunctionFacts] = {}
    shown: dict[str, str] = {}
    for item in facts:
        if item.file not in shown:
            shown[item.file] = file_of_names(item.file, names)
        item = replace(item, file=shown[item.file])
        first = own_facts.setdefault((item.name, item.file), item)
        if first is not item:  # in another branch of an #if, or in another block
            both = _together(first, item)
            own_facts[item.name, item.file] = replace(
                both,
                line=first.line,
                signature=first.signature,
                static=first.static,
                noreturn=first.noreturn,
            )
    lines = {key: _line(item) for key, item in own_facts.items()}
    with contextlib.suppress(OSError):
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        if _updated(text, own, lines, str(path)) is None:
            return  # most compilations change nothing: no lock
    try:
        with locked(path, replaced=True):
            data = path.read_bytes() if path.exists() else b""
            text = data.decode("utf-8", "surrogateescape")
            new = _updated(text, own, lines, str(path))
            if new is not None:
                write_bytes(path, new.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise FileAccessError(explain(path, "write", error)) from error


def _lines(text: str, source: str) -> list[str]:
    """The lines behind the first, which says what this is."""
    first, *lines = text.removeprefix("\ufeff").split("\n")
    if first.rstrip("\r") != _FIRST_LINE and text.strip():
        raise NameFileError(
            [
                f"{source}:1: the first line is {display_name(first[:40])!r}; expected "
                f"{_FIRST_LINE!r} (remove the file, and compile again)"
            ]
        )
    return lines


def _updated(text: str, unit: str, lines: Mapping[tuple[str, str], str], source: str) -> str | None:
    """The text with these lines in it and no others of `unit`, or None where it is so already."""
    known = text.startswith(_FIRST_LINE)
    old = set(_lines(text, source))
    of_unit = f"\t{unit}:"
    stale = {line for line in old if of_unit in line and _key(line)[1] == unit}
    stale -= set(lines.values())
    new = {key: line for key, line in lines.items() if line not in old}
    if known and not stale and not new:
        return None
    kept = {_key(line): line for line in old - stale if line}
    changed = False
    for key, line in new.items():
        merged = _merged(kept[key], line) if key in kept else line
        changed = changed or merged != kept.get(key)
        kept[key] = merged
    return _text(kept.values()) if changed or stale or not known else None


def _merged(one: str, other: str) -> str:
    """Two lines of one function; the other alone where it is not in the same place any more."""
    try:
        a, b = _parse_line(one), _parse_line(other)
    except ValueError:
        return other
    return _line(_together(a, b)) if a.line == b.line else other


def _together(a: FunctionFacts, b: FunctionFacts) -> FunctionFacts:
    first = min(a, b, key=lambda item: (item.file, item.line, item.signature))
    return replace(
        first,
        calls=a.calls | b.calls,
        address_taken=a.address_taken or b.address_taken,
        indirect=a.indirect or b.indirect,
        noreturn=a.noreturn and b.noreturn,
        setjmp=a.setjmp or b.setjmp,
        longjmp=a.longjmp or b.longjmp,
        static=a.static and b.static,
        addresses=a.addresses | b.addresses,
    )


def _knowledge(facts: Iterable[FunctionFacts]) -> CallKnowledge:
    functions: dict[str, FunctionFacts] = {}
    scopes: dict[str, frozenset[str]] = {}
    facts = list(facts)
    renamed: dict[str, set[str]] = {}  # functions that are not static, by their names in C
    statics: dict[str, set[str]] = {}  # the files of static functions, by name
    for item in facts:
        if item.static:
            statics.setdefault(item.name, set()).add(item.file)
        elif ":" in item.name:
            renamed.setdefault(item.name.rpartition(":")[2], set()).add(item.name)

    def meant(names: frozenset[str], file: str) -> frozenset[str]:
        if not (names & statics.keys()) or not renamed:
            return names
        more = (renamed.get(n, ()) for n in names if n in statics and file not in statics[n])
        return names.union(*more)

    taken: set[str] = set()
    for item in facts:
        addresses = meant(item.addresses, item.file)
        taken |= addresses
        if not item.name:
            scopes[item.file] = scopes.get(item.file, frozenset()) | addresses
            continue
        item = replace(item, calls=meant(item.calls, item.file), addresses=addresses)
        earlier = functions.get(item.name)
        functions[item.name] = _together(earlier, item) if earlier else item
    for name in taken & functions.keys():
        functions[name] = replace(functions[name], address_taken=True)
    return CallKnowledge(functions, scopes)


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in [_FIRST_LINE, *sorted(lines)])


def _key(line: str) -> tuple[str, str]:
    columns = line.split("\t", 2)
    return columns[0], columns[1].rpartition(":")[0] if len(columns) > 1 else ""


def _line(facts: FunctionFacts) -> str:
    flags = "".join(letter for letter, name in _FLAGS if getattr(facts, name))
    columns = (
        facts.name,
        f"{facts.file}:{facts.line}",
        flags,
        _BREAKS.sub(" ", facts.signature),
        _list(facts.calls),
        _list(facts.addresses),
    )
    return "\t".join(columns)


def _parse_line(line: str) -> FunctionFacts:
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise ValueError(f"{len(columns)} columns; expected {_COLUMNS}, with a TAB between two")
    name, place, flags, signature, calls, addresses = columns
    file, colon, number = place.rpartition(":")
    if not colon or not (number.isascii() and number.isdigit() and len(number) < 10):
        raise ValueError(f"the place is {display_name(place)!r}; expected file:line")
    known = dict(_FLAGS)
    unknown = [letter for letter in flags if letter not in known]
    if unknown:
        found = display_name(unknown[0])
        raise ValueError(f"the flag {found!r} is not known; expected some of {''.join(known)}")
    return FunctionFacts(
        name,
        file,
        int(number),
        signature,
        _names(calls),
        addresses=_names(addresses),
        **{known[letter]: True for letter in flags},
    )


def _list(names: frozenset[str]) -> str:
    return " ".join(sorted(n.replace("%", "%25").replace(" ", "%20") for n in names if n))


def _names(column: str) -> frozenset[str]:
    words = column.split(" ")
    return frozenset(w.replace("%20", " ").replace("%25", "%") for w in words if w)
