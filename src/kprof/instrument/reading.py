"""Reading functions: each by pycparser, once, and remembered by its text.

What the parser makes of a function depends on its text and on which of its words are types, nothing
else. The same header functions are in every unit of a project, and the next compilation has nearly
all functions of the last: their readings are kept in a data base in the user's cache folder. So is
what source mode makes of a whole source, while the source and all that it includes stay as they
are. The data base may be lost, locked, or unwritable; then all is read again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kprof.files import cache_folder
from kprof.instrument.declarations import types_used, without_macros
from kprof.instrument.functions import Function
from kprof.instrument.heads import TOKEN
from kprof.instrument.strategy import RETURN

_AT_ONCE = 500
_FLAGS = {"s": "static", "i": "inline", "v": "returns_nothing", "p": "indirect"}
_MOST_BYTES = 256 << 20
_READERS = (
    *("branches.py", "declarations.py", "dialect.py", "facts.py", "feed.py", "functions.py"),
    *("heads.py", "reading.py", "shadow.py", "source.py", "tokens.py", "tree.py", "unit.py"),
    *("verify.py", "words.py"),
)


@dataclass(frozen=True)
class Reading:
    """What the tree of a function says. Offsets count from the function's first character.

    Attributes
    ----------
    name
        The function's name.
    static, inline
        Its storage class and function specifiers.
    returns_nothing
        It returns void.
    returns
        Offsets of the ``return`` words, ascending.
    statements
        How many statements it has; blocks, labels and empty statements are none, a declaration
        with an initialiser is one.
    calls
        The functions that it calls by name, sorted.
    mentions
        The names from outside that it uses in any other way, sorted: functions among them have
        their address taken.
    indirect
        It calls through pointers, or holds assembly.
    gotos
        Labels that it jumps to and does not have: those of a function around it.
    """

    name: str
    static: bool
    inline: bool
    returns_nothing: bool
    returns: tuple[int, ...]
    statements: int
    calls: tuple[str, ...]
    mentions: tuple[str, ...]
    indirect: bool
    gotos: tuple[str, ...] = ()


@dataclass(frozen=True)
class NoTree:
    """Why a function has no tree, and the offset in the text at which the parser gave up."""

    reason: str
    offset: int


def spans_of(function: Function, inner: Sequence[Function]) -> list[tuple[int, int]]:
    """The parts of the text that are the function's own, those nested in it cut out."""
    spans: list[tuple[int, int]] = []
    position = function.start
    for nested in sorted(inner, key=lambda item: item.start):
        if nested.start >= position:
            spans.append((position, nested.start))
            position = nested.end
    return [*spans, (position, function.end)]


def read_functions(
    code: str,
    functions: Iterable[Function],
    types: Collection[str],
    memory: Memory | None = None,
    *,
    wanted: Collection[int] | None = None,
    guess: bool = False,
) -> dict[int, Reading | NoTree]:
    """What the parser says of these functions of a shadow text, by the offset of their ``{``.

    Parameters
    ----------
    functions
        All of the text that matter; those nested in one of them are read by themselves.
    types
        The names of types in the text.
    memory
        What is known from before; what is new is added to it.
    wanted
        Only these, by the offset of their ``{``.
    guess
        Names that are used as types are taken for types: the text is not preprocessed.
    """
    functions = list(functions)
    nested: dict[int, list[Function]] = {}
    for function in functions:
        if function.outer is not None:
            nested.setdefault(function.outer.brace, []).append(function)
    by_brace = {function.brace: function for function in functions}
    spans = {
        f.brace: spans_of(f, nested.get(f.brace, ()))
        for f in functions
        if wanted is None or f.brace in wanted
    }
    keys = {brace: _key(code, of, types) for brace, of in spans.items()} if memory else {}
    known = memory.recall(keys.values()) if memory else {}
    found: dict[int, Reading | NoTree] = {}
    new: dict[bytes, Reading] = {}
    reader = None
    for brace, of in spans.items():
        remembered = known.get(keys[brace]) if keys else None
        if remembered is not None:
            found[brace] = remembered
            continue
        if reader is None:
            from kprof.instrument.tree import FunctionReader  # takes 20 ms to import

            reader = FunctionReader(code)
        if guess:
            of = without_macros(code, by_brace[brace], of)
            reading = reader.read(of, types_used(code, of).union(types))
        else:
            reading = reader.read(of, types)
        if isinstance(reading, Reading) and keys:
            new[keys[brace]] = reading
        found[brace] = reading
    if memory and new:
        memory.keep(new)
    return found


def disagreement(code: str, function: Function, inner: Sequence[Function], reading: Reading) -> str:
    """What the parser sees otherwise than the rules that found a function, or ""."""
    if reading.name != function.head.name:
        return f"the parser reads a function {reading.name} here"
    returns = [
        match.start() - function.start
        for start, end in spans_of(function, inner)
        for match in RETURN.finditer(code, max(start, function.brace), end)
    ]
    if tuple(returns) != reading.returns:
        return f"the parser sees {len(reading.returns)} returns, the text has {len(returns)}"
    if reading.gotos and function.outer is not None:
        return f"jumps to {reading.gotos[0]} in the function around it: no exit would fire"
    return ""


class Memory:
    """Readings from earlier runs, by what they were made from."""

    def __init__(self, path: Path, patience_s: float = 2) -> None:
        self._path, self._patience_s = path, patience_s
        self._seed = _seed()

    def recall(self, keys: Iterable[bytes]) -> dict[bytes, Reading]:
        """The readings that are known of these keys."""
        wanted = list(dict.fromkeys(keys))

        def select(database: sqlite3.Connection) -> list[tuple[bytes, str]]:
            rows: list[tuple[bytes, str]] = []
            for start in range(0, len(wanted), _AT_ONCE):
                some = [self._seed + key for key in wanted[start : start + _AT_ONCE]]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, reading FROM readings WHERE key IN ({marks})"
                rows += database.execute(query, some)
            return rows

        size = len(self._seed)
        return {key[size:]: _decoded(text) for key, text in self._use(select)}

    def keep(self, readings: Mapping[bytes, Reading]) -> None:
        """Remember these."""
        rows = [(self._seed + key, _encoded(r)) for key, r in readings.items()]

        def insert(database: sqlite3.Connection) -> list[Any]:
            if self._path.stat().st_size > _MOST_BYTES:
                database.execute("DELETE FROM readings")
                database.execute("DELETE FROM sources")
            database.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?)", rows)
            database.commit()
            return []

        self._use(insert)

    def recall_source(self, key: bytes) -> Any:
        """What `keep_source` was given under this key; None where one of its files has changed."""
        query = "SELECT files, value FROM sources WHERE key = ?"
        rows = self._use(lambda database: database.execute(query, [self._seed + key]).fetchall())
        for files, value in rows:
            if _states(line.partition("\t")[2] for line in files.split("\n")) == files:
                with contextlib.suppress(Exception):  # whatever a damaged pickle does
                    return pickle.loads(value)
        return None

    def keep_source(self, key: bytes, files: Iterable[str], value: object) -> None:
        """Remember what was made of a source, while these files stay as they are."""
        row = (self._seed + key, _states(sorted(files)), pickle.dumps(value))

        def insert(database: sqlite3.Connection) -> list[Any]:
            database.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", row)
            database.commit()
            return []

        self._use(insert)

    def _use(self, action: Callable[[sqlite3.Connection], list[Any]]) -> list[Any]:
        """What the action gives; nothing where the data base cannot be used."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self._path, timeout=self._patience_s)
            try:
                database.execute("PRAGMA synchronous = OFF")
                database.execute(
                    "CREATE TABLE IF NOT EXISTS readings (key BLOB PRIMARY KEY, reading TEXT) "
                    "WITHOUT ROWID"
                )
                database.execute(
                    "CREATE TABLE IF NOT EXISTS sources "
                    "(key BLOB PRIMARY KEY, files TEXT, value BLOB) WITHOUT ROWID"
                )
                return action(database)
            finally:
                database.close()
        except (sqlite3.Error, OSError):
            return []


def user_memory() -> Memory | None:
    """The memory in the user's cache folder; None where there is none."""
    folder = cache_folder()
    return Memory(folder / "functions.sqlite3") if folder else None


def _key(code: str, spans: Sequence[tuple[int, int]], types: Collection[str]) -> bytes:
    text = "\0".join(code[start:end] for start, end in spans)
    words = set(TOKEN.findall(text)).intersection(types)
    digest = hashlib.blake2b(text.encode("latin-1"), digest_size=16)
    digest.update("\0".join(sorted(words)).encode("latin-1"))
    return digest.digest()


def _states(files: Iterable[str]) -> str:
    """A line for each file: when it was changed, its size, its name."""
    lines = []
    for name in files:
        try:
            state = os.stat(name)  # noqa: PTH116 - thousands of them
            lines.append(f"{state.st_mtime_ns}:{state.st_size}\t{name}")
        except OSError:
            lines.append(f"missing\t{name}")
    return "\n".join(lines)


def _seed() -> bytes:
    """What tells the readings of this version of kprof from those of others."""
    folder = Path(__file__).parent
    states = [(folder / name).stat() for name in _READERS]
    text = repr([(state.st_size, state.st_mtime_ns) for state in states])
    return hashlib.blake2b(text.encode(), digest_size=4).digest()


def _encoded(reading: Reading) -> str:
    """A reading in a few lines; the names of C have no blanks."""
    flags = "".join(letter for letter, name in _FLAGS.items() if getattr(reading, name))
    returns = " ".join(map(str, reading.returns))
    lists = (reading.calls, reading.mentions, reading.gotos)
    return "\n".join([reading.name, flags, returns, str(reading.statements), *map(" ".join, lists)])


def _decoded(text: str) -> Reading:
    name, flags, returns, statements, *lists = text.split("\n")
    calls, mentions, gotos = (tuple(column.split()) for column in lists)
    return Reading(
        name,
        returns=tuple(map(int, returns.split())),
        statements=int(statements),
        calls=calls,
        mentions=mentions,
        gotos=gotos,
        **{word: letter in flags for letter, word in _FLAGS.items()},
    )
