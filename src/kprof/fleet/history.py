"""Runs over months: per-function statistics, appended to a Parquet dataset.

A history is a folder. Each run is one file in it, ``month=YYYY-MM/TIME-RUN.parquet``, that appears
as a whole or not at all, and is never changed afterwards; any number of machines may add runs.
DuckDB, Polars, pandas and Spark read the folder as it is (`docs/fleet.md` has the columns).

A row is a function in a run. All figures are integers that merge exactly: sums over rows of several
runs are those of all their captures (`kprof.analysis.measures`). Times are in ticks of the clock.
The schema has a version, ``kprof_history`` in the file's metadata; readers refuse a newer one.
"""

from __future__ import annotations

import datetime
import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from kprof.analysis.measures import Measure
from kprof.analysis.statistics import FunctionStatistics, Statistics
from kprof.errors import KprofError, MissingExtraError, UsageError
from kprof.files import explain, write_bytes
from kprof.names import Modifier, NameEntry

VERSION = 1
_KEY = b"kprof_history"
_COUNTS = ("calls", "complete", "orphans", "opens", "unwound", "elapsed", "net", "wall")
_MEASURES = ("own", "whole", "real", "blocked")
_OF_MEASURE = ("count", "total", "squares", "least", "most")
_LEDGER = ("elapsed", "idle", "user", "unattributed")
_DIGITS = 38  # of a decimal: a sum of squares passes 64 bits


class HistoryError(KprofError):
    """A history that cannot be read, or already has the run."""


@dataclass(frozen=True)
class RunRow:
    """One function in one run of a history.

    Attributes
    ----------
    run, time, tags
        The run's name, when it was (UTC), and what it is of.
    hz
        Ticks a second.
    function
        Its statistics.
    """

    run: str
    time: datetime.datetime
    tags: dict[str, str]
    hz: Fraction
    function: FunctionStatistics


def add_run(
    folder: Path, statistics: Statistics, tags: Mapping[str, str], time: datetime.datetime
) -> Path:
    """Append a run; the file that it is in.

    Raises
    ------
    HistoryError
        The same run, with these tags and of this time, is there already.
    MissingExtraError
        pyarrow is not installed.
    """
    pa = _pyarrow()
    import pyarrow.parquet as pq

    time = time.astimezone(datetime.timezone.utc)
    run = _name(statistics, tags, time)
    month = folder / f"month={time:%Y-%m}"
    path = month / f"{time:%Y%m%dT%H%M%S}-{run}.parquet"
    if path.exists():
        raise HistoryError(f"{path}: the history has this run already")
    schema = _schema(pa)
    rows = [_row(run, time, tags, statistics, one) for one in statistics.functions.values()]
    table = pa.Table.from_pylist(rows, schema=schema)
    data = io.BytesIO()
    pq.write_table(table, data, compression="zstd")
    try:
        month.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HistoryError(explain(month, "make", error)) from error
    write_bytes(path, data.getvalue())
    return path


def read_runs(folder: Path, function: str | None = None) -> Iterator[RunRow]:
    """The functions of all runs, or one of them, in the order of the runs' times.

    Raises
    ------
    HistoryError
        There is no history, or one of a newer kprof.
    MissingExtraError
        pyarrow is not installed.
    """
    _pyarrow()
    import pyarrow.parquet as pq

    files = files_of(folder)
    for path in sorted(files, key=lambda path: path.name):
        try:
            with pq.ParquetFile(path) as file:
                metadata = file.schema_arrow.metadata or {}
                version = int(metadata.get(_KEY, b"0"))
                if not 1 <= version <= VERSION:
                    raise HistoryError(
                        f"{path}: is version {version} of a history; this kprof reads 1"
                    )
                rows = file.read().to_pylist()
        except (OSError, ValueError) as error:
            raise HistoryError(f"{path}: is no run of a history: {error}") from error
        yield from (_read(row) for row in rows if function in (None, row["function"]))


def files_of(folder: Path) -> list[Path]:
    """The files of a history.

    Raises
    ------
    HistoryError
        There are none.
    """
    files = list(folder.glob("month=*/*.parquet"))
    if not files:
        raise HistoryError(f"{folder}: is no history, or an empty one (kprof history add makes it)")
    return files


def query(folder: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows of a query by DuckDB, in which the history is the table ``history``.

    Raises
    ------
    UsageError
        DuckDB does not take the query.
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError("kprof history sql", "history") from error
    files = [str(path) for path in files_of(folder)]
    with duckdb.connect() as connection:
        history = connection.read_parquet(files, hive_partitioning=True, union_by_name=True)
        history.create_view("history")
        try:
            answer = connection.execute(sql)
            columns = [column[0] for column in answer.description or ()]
            return columns, answer.fetchall()
        except duckdb.Error as error:
            raise UsageError(f"the query: {error}") from error


def _name(statistics: Statistics, tags: Mapping[str, str], time: datetime.datetime) -> str:
    """A name that the same run has again."""
    text = repr((sorted(tags.items()), time.isoformat(), statistics.captures, statistics.ledger))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _schema(pa: Any) -> Any:
    measures = [
        (f"{name}_{part}", pa.decimal128(_DIGITS, 0) if part == "squares" else pa.int64())
        for name in _MEASURES
        for part in _OF_MEASURE
    ]
    histograms = [(f"{name}_histogram", pa.map_(pa.int32(), pa.int64())) for name in _MEASURES]
    return pa.schema(
        [
            ("run", pa.string()),
            ("time", pa.timestamp("us", "UTC")),
            ("tags", pa.map_(pa.string(), pa.string())),
            ("captures", pa.int64()),
            ("events", pa.int64()),
            ("hz_numerator", pa.int64()),
            ("hz_denominator", pa.int64()),
            *((f"run_{name}", pa.int64()) for name in _LEDGER),
            ("function", pa.string()),
            ("tag", pa.int32()),
            ("modifier", pa.string()),
            *((name, pa.int64()) for name in _COUNTS),
            *measures,
            *histograms,
        ],
        metadata={_KEY: str(VERSION)},
    )


def _row(
    run: str,
    time: datetime.datetime,
    tags: Mapping[str, str],
    statistics: Statistics,
    function: FunctionStatistics,
) -> dict[str, Any]:
    from decimal import Decimal

    hz = statistics.info.clock_hz
    measures: dict[str, Any] = {}
    for name in _MEASURES:
        measure: Measure = getattr(function, name)
        for part in _OF_MEASURE:
            measures[f"{name}_{part}"] = getattr(measure, part)
        measures[f"{name}_squares"] = Decimal(measure.squares)
        measures[f"{name}_histogram"] = sorted(measure.histogram.items())
    return {
        "run": run,
        "time": time,
        "tags": sorted(tags.items()),
        "captures": len(statistics.captures),
        "events": statistics.events,
        "hz_numerator": hz.numerator,
        "hz_denominator": hz.denominator,
        **{f"run_{name}": getattr(statistics.ledger, name) for name in _LEDGER},
        "function": function.entry.name,
        "tag": function.entry.value,
        "modifier": function.entry.modifier.value,
        **{name: getattr(function, name) for name in _COUNTS},
        **measures,
    }


def _read(row: Mapping[str, Any]) -> RunRow:
    entry = NameEntry(row["function"], row["tag"], Modifier(row["modifier"]))
    function = FunctionStatistics(entry, **{name: row[name] for name in _COUNTS})
    for name in _MEASURES:
        known = {part: row[f"{name}_{part}"] for part in _OF_MEASURE}
        known["squares"] = int(known["squares"])
        setattr(function, name, Measure(**known, histogram=dict(row[f"{name}_histogram"])))
    hz = Fraction(row["hz_numerator"], row["hz_denominator"])
    return RunRow(row["run"], row["time"], dict(row["tags"]), hz, function)


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError("a history", "history") from error
    return pa
