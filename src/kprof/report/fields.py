"""The summary with fields of the user's choice, and the order of its rows.

The fields are the figures of `kprof.analysis.figures`, and ``size``, which is bytes of code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from kprof.analysis.figures import ALIASES, SHARES, canonical, figure_names, reader
from kprof.analysis.statistics import FunctionStatistics, Statistics
from kprof.errors import UsageError
from kprof.report.style import PLAIN, Style
from kprof.report.units import Units, percent, safe_name

Value = int | float | str | None
Sizes = Mapping[str, int] | None
_ALIASES = {"func": "name", "function": "name"}
_PLAIN = ("call", "size", *SHARES, "name")
DEFAULT = ("total", "self", "call")


def field_names() -> list[str]:
    """Every field, percentiles by example."""
    return [*figure_names(), "size"]


def parse_fields(text: str, option: str = "-f") -> list[str]:
    """The fields of ``a,b,c``; with ``+a,b`` after the default ones.

    Raises
    ------
    UsageError
        A name is not a field; the message has the nearest.
    """
    start = list(DEFAULT) if text.startswith("+") else []
    if not text.strip("+, "):
        raise UsageError(f"{option}: names no field; expected such as total,self-avg,p99,call")
    return start + [_field(name.strip(), option) for name in text.lstrip("+").split(",") if name]


def sort_rows(
    statistics: Statistics, keys: Sequence[str], sizes: Sizes = None
) -> list[FunctionStatistics]:
    """The functions by these fields, the largest first; names in their own order."""
    rows = sorted(statistics.functions.values(), key=lambda f: f.entry.name)
    for key in reversed(keys or ["self"]):
        name = _field(key, "-s")
        if name == "name":
            rows.sort(key=lambda f: f.entry.name)
        else:
            value = _reader(name, statistics, sizes)
            rows.sort(key=lambda f, value=value: _order(value(f)))  # type: ignore[misc]
    return rows


def field_rows(
    statistics: Statistics, fields: Sequence[str], keys: Sequence[str], sizes: Sizes = None
) -> list[dict[str, Value]]:
    """A row of values for every function, times in microseconds.

    Parameters
    ----------
    sizes
        The functions' sizes in bytes by their name (`kprof.symbols`), where they are known.
    """
    readers = [(name, _reader(name, statistics, sizes)) for name in fields if name != "name"]
    units = Units(statistics.info.clock_hz)
    rows: list[dict[str, Value]] = []
    for function in sort_rows(statistics, keys, sizes):
        row: dict[str, Value] = {}
        for name, read in readers:
            row[name] = _in_us(read(function), name, units)
        row["name"] = function.entry.name
        rows.append(row)
    return rows


def field_table(
    statistics: Statistics,
    fields: Sequence[str],
    keys: Sequence[str],
    sizes: Sizes = None,
    style: Style = PLAIN,
) -> list[str]:
    """The lines of the table; a row has the colour of its function's share of the run."""
    shown = [name for name in fields if name != "name"]
    cells = [[*(_title(name) for name in shown), "name"]]
    rows = field_rows(statistics, shown, keys, sizes)
    for row in rows:
        cells.append([*(_text(row[name], name) for name in shown), safe_name(str(row["name"]))])
    widths = [max(len(line[i]) for line in cells) for i in range(len(shown))]
    texts = ["  ".join(line[i].rjust(widths[i]) for i in range(len(shown))) for line in cells]
    lines = [style.title(f"{texts[0]}  {cells[0][-1]}")]
    for text, line, row in zip(texts[1:], cells[1:], rows, strict=True):
        net = statistics.functions[str(row["name"])].net
        lines.append(f"{style.share(text, net, statistics.ledger.run)}  {style.name(line[-1])}")
    return lines


def _field(name: str, option: str) -> str:
    import difflib

    name = _ALIASES.get(name, name)
    found = name if name in ("size", "name") else canonical(name)
    if found is not None:
        return found
    known = [*field_names(), "name"]
    near = difflib.get_close_matches(name, [*known, *ALIASES, *_ALIASES], 3)
    hint = f"do you mean {' or '.join(near)}?" if near else f"expected one of {', '.join(known)}"
    raise UsageError(f"{option} {name}: is not a field; {hint}")


def _reader(
    name: str, statistics: Statistics, sizes: Sizes
) -> Callable[[FunctionStatistics], Value]:
    ledger = statistics.ledger
    if name == "size":
        if sizes is None:
            raise UsageError(
                "size: a name file does not know it; give the program too (--elf FILE)"
            )
        return lambda f: sizes.get(f.entry.name)
    if name == "pct_real":
        return lambda f: percent(f.net, ledger.elapsed)
    if name == "pct_net":
        return lambda f: percent(f.net, ledger.run)
    return reader(name, statistics.info.step)


def _order(value: Value) -> float:
    return -value if isinstance(value, (int, float)) else math.inf


def _in_us(value: Value, name: str, units: Units) -> Value:
    if name in _PLAIN or not isinstance(value, (int, float)):
        return value
    return units.value(value) if isinstance(value, int) else round(units.us(value), 3)


def _title(name: str) -> str:
    return name if name in _PLAIN else f"{name} us"


def _text(value: Value, name: str) -> str:
    if value is None:
        return "-"
    if name.startswith("pct"):
        return f"{value:.2f}%"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return str(value)
