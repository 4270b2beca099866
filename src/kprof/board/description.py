"""Boards as descriptions: a TOML file says what is on a board and where.

One table a part, ``[[...]]`` for parts of which there can be several; `docs/board.md` lists the
keys. Every mistake is one sentence with the file and the line: ``my.toml:12: ...``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from importlib import resources
from typing import Any

from kprof.board.cpu import KINDS, PAGE_BYTES
from kprof.errors import BoardError
from kprof.files import read_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_ADDRESS = 64 << 20
_BUILT_IN = "boards"
REGISTERS = {"68681": 16, "6850": 2, "16550": 8}
"""Registers of each kind of serial chip."""


def _number(least: int, most: int, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"least": least, "most": most})


def _choice(*choices: Any, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"choices": choices})


def _address(default: Any = MISSING) -> Any:
    return _number(0, MOST_ADDRESS - 1, default)


@dataclass(frozen=True)
class Eprom:
    """The boot EPROMs; the Profiler sits on a socket of the first set.

    Attributes
    ----------
    base, bytes
        Where they answer, all of them together.
    chip_bytes
        Size of one: the Profiler sees as many address lines, 16 at most.
    port_bits
        8, 16 or 32: one, two or four side by side.
    wait_states
        Clocks added to a bus cycle.
    at_reset
        Their first 8 bytes are at address 0 for the reset.
    profiler_chip
        Which of those side by side the Profiler sits on; 0 has the lowest address.
    """

    base: int = _address(0)
    bytes: int = _number(256, 16 << 20, 65_536)
    chip_bytes: int = _number(256, 16 << 20, 65_536)
    port_bits: int = _choice(8, 16, 32, default=8)
    wait_states: int = _number(0, 255, 0)
    at_reset: bool = False
    profiler_chip: int = _number(0, 3, 0)


@dataclass(frozen=True)
class Ram:
    """A range of memory."""

    base: int = _address()
    bytes: int = _number(PAGE_BYTES, MOST_ADDRESS)
    port_bits: int = _choice(8, 16, 32, default=32)
    wait_states: int = _number(0, 255, 0)


@dataclass(frozen=True)
class Uart:
    """A serial chip.

    Attributes
    ----------
    base, stride
        Address of its register 0, and the distance of the others.
    level
        Its interrupt level; 0: none.
    vectored
        It gives the vector of its own register (68681); else the CPU autovectors.
    clock_hz
        A 6850's transmit and receive clock, a 16550's crystal.
    """

    name: str
    kind: str = _choice(*REGISTERS)
    base: int = _address()
    stride: int = _choice(1, 2, 4, default=1)
    level: int = _number(0, 7, 0)
    vectored: bool = False
    wait_states: int = _number(0, 255, 0)
    clock_hz: int = _number(1_000, 100_000_000, 1_843_200)


@dataclass(frozen=True)
class Timer:
    """A line that asks for an interrupt so many times a second, until it is acknowledged.

    Attributes
    ----------
    base
        Writing there acknowledges.
    """

    name: str
    hz: int = _number(1, 100_000)
    level: int = _number(1, 7)
    base: int = _address()
    wait_states: int = _number(0, 255, 0)


@dataclass(frozen=True)
class EthernetAt:
    """The controller of `kprof.board.ethernet`."""

    registers: int = _address()
    buffer: int = _address()
    level: int = _number(1, 7)
    wait_states: int = _number(0, 255, 0)


@dataclass(frozen=True)
class Line:
    """What a channel of a serial chip is connected to.

    Attributes
    ----------
    serving_bit
        The bit of a 68681's output port with which the kernel says that its agent serves; -1: none.
    """

    uart: str
    channel: str = _choice("a", "b", default="a")
    serving_bit: int = _number(-1, 7, -1)


@dataclass(frozen=True)
class Description:
    """A board.

    Attributes
    ----------
    source
        The file, for messages.
    """

    name: str
    cpu: str = _choice(*KINDS)
    clock_hz: int = _number(100_000, 200_000_000)
    text: str = ""
    eprom: Eprom = field(default_factory=Eprom)
    ram: tuple[Ram, ...] = ()
    uart: tuple[Uart, ...] = ()
    timer: tuple[Timer, ...] = ()
    ethernet: EthernetAt | None = None
    console: Line | None = None
    upload: Line | None = None
    source: str = field(default="", metadata={"hidden": True})


_TABLES: dict[str, type[Any]] = {
    "eprom": Eprom,
    "ethernet": EthernetAt,
    "console": Line,
    "upload": Line,
}
_ARRAYS: dict[str, type[Any]] = {"ram": Ram, "uart": Uart, "timer": Timer}


def built_in() -> list[str]:
    """Names of the boards that come with kprof."""
    folder = resources.files("kprof.board") / _BUILT_IN
    return sorted(one.name[:-5] for one in folder.iterdir() if one.name.endswith(".toml"))


def find_board(name: str) -> Description:
    """A built-in board by name, or the one of a file (a name with a dot or a slash).

    Raises
    ------
    FileAccessError
        The file cannot be read.
    BoardError
        There is no such board, or its file is wrong.
    """
    if "." in name or "/" in name:
        return parse_board(read_bytes(name), name)
    if name not in built_in():
        raise BoardError(
            f"there is no board {name}; expected {', '.join(built_in())}, or a file: {name}.toml"
        )
    path = resources.files("kprof.board") / _BUILT_IN / f"{name}.toml"
    return parse_board(path.read_bytes(), f"{name}.toml")


def parse_board(data: bytes, source: str) -> Description:
    """The board that a TOML file describes.

    Raises
    ------
    BoardError
        The first mistake in it, with the line.
    """
    try:
        text = data.decode()
        tree = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BoardError(f"{source}:{line}: is not UTF-8 text; expected a board in TOML") from error
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"^(.*) \(at line (\d+)", str(error))
        where, what = (match[2], match[1]) if match else (str(text.count("\n") + 1), str(error))
        raise BoardError(f"{source}:{where}: {what[:1].lower()}{what[1:]}") from error
    return _Reader(text, source).board(tree)


@dataclass(frozen=True)
class Part:
    """A range of addresses, up to `end`, with the table and the number in it of what is there."""

    start: int
    end: int
    table: str
    number: int
    what: str


def occupied(board: Description) -> list[Part]:
    """The addresses that the parts of a board take, in the order of the tables."""
    parts: list[Part] = []

    def take(start: int, size: int, table: str, number: int, what: str) -> None:
        parts.append(Part(start, start + size, table, number, what))

    pages = -(-board.eprom.bytes // PAGE_BYTES)
    take(board.eprom.base, pages * PAGE_BYTES, "eprom", 0, "the EPROM")
    for number, ram in enumerate(board.ram):
        take(ram.base, ram.bytes, "ram", number, "the RAM")
    if board.ethernet is not None:
        take(board.ethernet.registers, PAGE_BYTES, "ethernet", 0, "the Ethernet's registers")
        take(board.ethernet.buffer, PAGE_BYTES, "ethernet", 0, "the Ethernet's buffer")
    for number, uart in enumerate(board.uart):
        size = (REGISTERS[uart.kind] - 1) * uart.stride + 1
        take(uart.base, size, "uart", number, f"the UART {uart.name}")
    for number, timer in enumerate(board.timer):
        take(timer.base, 1, "timer", number, f"the timer {timer.name}")
    return parts


class _Reader:
    """Reads one file; knows the line of each key."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._lines: dict[tuple[str, int, str], int] = {}
        table, counts = "", {"": 0}
        for number, line in enumerate(text.splitlines(), 1):
            if match := re.match(r"\s*\[\[?\s*([\w-]+)\s*\]\]?", line):
                table = match[1]
                counts[table] = counts.get(table, -1) + 1
                self._lines[table, counts[table], ""] = number
            elif match := re.match(r"\s*([\w-]+)\s*=", line):
                self._lines.setdefault((table, counts[table], match[1]), number)

    def board(self, tree: Mapping[str, Any]) -> Description:
        """The board of a parsed file."""
        values: dict[str, Any] = {"source": self._source}
        plain: dict[str, Any] = {}
        for key, value in tree.items():
            if key in _TABLES:
                if not isinstance(value, dict):
                    raise self._error("", 0, key, f"{key} is a table; expected [{key}]")
                values[key] = self._part(_TABLES[key], key, 0, value)
            elif key in _ARRAYS:
                if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
                    raise self._error(key, 0, "", f"{key} can be there several times: [[{key}]]")
                parts = [self._part(_ARRAYS[key], key, n, one) for n, one in enumerate(value)]
                values[key] = tuple(parts)
            else:
                plain[key] = value
        board: Description = self._part(Description, "", 0, plain, values)
        self._check(board)
        return board

    def _part(
        self,
        kind: type[Any],
        table: str,
        number: int,
        given: Mapping[str, Any],
        values: dict[str, Any] | None = None,
    ) -> Any:
        values = dict(values or {})
        known = {one.name: one for one in fields(kind) if not one.metadata.get("hidden")}
        for key, value in given.items():
            if key not in known:
                where = f"[{table}]" if table else "a board"
                raise self._error(
                    table, number, key, f"{where} has no {key}; expected {', '.join(known)}"
                )
            values[key] = self._value(known[key], table, number, value)
        for one in known.values():
            if one.name not in values and one.default is MISSING and one.default_factory is MISSING:
                raise self._error(
                    table, number, "", f"{one.name} is missing{f' in [{table}]' if table else ''}"
                )
        return kind(**values)

    def _value(self, one: Field[Any], table: str, number: int, value: Any) -> Any:
        meta = one.metadata
        expected = {"int": int, "str": str, "bool": bool}.get(str(one.type), object)
        right = isinstance(value, expected) and (expected is bool) == isinstance(value, bool)
        if right and "choices" in meta:
            right = value in meta["choices"]
        if right and "least" in meta:
            right = meta["least"] <= value <= meta["most"]
        if right:
            return value
        if "choices" in meta:
            wanted = f"one of {', '.join(map(str, meta['choices']))}"
        elif "least" in meta:
            wanted = f"a number from {meta['least']} to {meta['most']}"
        else:
            wanted = {"str": "a text in quotes", "bool": "true or false"}.get(str(one.type), "")
        raise self._error(
            table, number, one.name, f"{one.name} is {value!r}; expected {wanted or 'a table'}"
        )

    def _check(self, board: Description) -> None:
        """What no single key shows: parts in each other's way, names that are not there."""
        eprom = board.eprom
        if eprom.profiler_chip >= eprom.port_bits // 8:
            raise self._error(
                "eprom",
                0,
                "profiler_chip",
                f"profiler_chip is {eprom.profiler_chip}; a port of {eprom.port_bits} bits has "
                f"chips 0 to {eprom.port_bits // 8 - 1}",
            )
        for number, ram in enumerate(board.ram):
            for key in ("base", "bytes"):
                if getattr(ram, key) % PAGE_BYTES:
                    raise self._error(
                        "ram", number, key, f"{key} is not a multiple of 0x{PAGE_BYTES:x} (64 KB)"
                    )
        if not board.ram:
            raise self._error("", 0, "", "a board without RAM; expected a [[ram]]")
        parts = occupied(board)
        for at, part in enumerate(parts):
            for other in parts[:at]:
                if part.start < other.end and other.start < part.end:
                    raise self._error(
                        part.table,
                        part.number,
                        "",
                        f"{part.what} is at 0x{part.start:x}..0x{part.end - 1:x}, where "
                        f"{other.what} is (line {self._line(other.table, other.number, '')})",
                    )
        for table, line in (("console", board.console), ("upload", board.upload)):
            if line is None:
                continue
            found = [one for one in board.uart if one.name == line.uart]
            if not found:
                raise self._error(table, 0, "uart", f"there is no [[uart]] named {line.uart}")
            if line.channel == "b" and found[0].kind != "68681":
                raise self._error(table, 0, "channel", f"a {found[0].kind} has one channel, a")

    def _line(self, table: str, number: int, key: str) -> int:
        return self._lines.get((table, number, key)) or self._lines.get((table, number, ""), 1)

    def _error(self, table: str, number: int, key: str, what: str) -> BoardError:
        return BoardError(f"{self._source}:{self._line(table, number, key)}: {what}")
