"""Calls as Apache Parquet or an Arrow IPC file, one row a call; see `kprof.export.table`.

Needs pyarrow (extra ``arrow``). Times are int64 nanoseconds; function names are a dictionary. The
file's metadata say what it is of: source, clock, elapsed and idle time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from kprof.errors import MissingExtraError
from kprof.export.table import ENDINGS, call_rows
from kprof.export.units import Scale
from kprof.export.view import View

_ROWS = 1 << 18  # of a row group


def write_parquet(view: View, out: BinaryIO) -> None:
    """Write a Parquet file.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    """
    pa = _pyarrow()
    import pyarrow.parquet as pq

    schema = _schema(pa, view)
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in _grouped(pa, _batches(pa, view, schema)):
            writer.write_table(batch, row_group_size=_ROWS)
        writer.add_key_value_metadata(_ledger(view))


def write_arrow(view: View, out: BinaryIO) -> None:
    """Write an Arrow IPC file (Feather version 2).

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    """
    pa = _pyarrow()
    schema = _schema(pa, view)
    with pa.ipc.new_file(out, schema) as writer:
        for batch in _batches(pa, view, schema):
            writer.write_batch(batch)


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError("the export to Parquet and Arrow", "arrow") from error
    return pa


def _schema(pa: Any, view: View) -> Any:
    name = pa.dictionary(pa.int32(), pa.string())
    fields = [
        ("call", pa.int64()), ("parent", pa.int64()), ("function", name), ("tag", pa.uint16()),
        ("context", pa.int32()), ("depth", pa.int32()), ("entry_ns", pa.int64()),
        ("exit_ns", pa.int64()), ("elapsed_ns", pa.int64()), ("net_ns", pa.int64()),
        ("wall_ns", pa.int64()), ("resumed", pa.bool_()),
        ("ended_by", pa.dictionary(pa.int8(), pa.string())), ("interrupt", pa.bool_()),
    ]  # fmt: skip
    source = _utf8(view.info.source)
    about = {"kprof.source": source, "kprof.clock_hz": str(view.info.clock_hz)}
    if view.info.started_ns:
        about["kprof.started_ns"] = str(view.info.started_ns)
    return pa.schema(fields, metadata=about)


def _utf8(text: str) -> str:
    """Text whose bytes may not have been UTF-8, as Arrow wants it; escaped as in csv."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _ledger(view: View) -> dict[str, str]:
    scale = Scale(view.info.clock_hz, "ns")
    return {
        f"kprof.{name}_ns": str(scale.whole(ticks)) for name, ticks in view.ledger._asdict().items()
    }


def _batches(pa: Any, view: View, schema: Any) -> Iterator[Any]:
    import numpy as np

    ns = Scale(view.info.clock_hz, "ns").column
    names = pa.array([_utf8(entry.name) for entry in view.functions], pa.string())
    tags = np.array([entry.value for entry in view.functions], np.uint16)
    endings = pa.array(list(ENDINGS.values()), pa.string())
    places = np.zeros(max(ENDINGS) + 1, np.int8)
    for place, flag in enumerate(ENDINGS):
        places[flag] = place
    for shown in view:
        rows = call_rows(shown)
        if not len(rows.call):
            continue
        columns = [
            rows.call,
            pa.array(rows.parent, mask=rows.parent < 0),
            pa.DictionaryArray.from_arrays(rows.function.astype(np.int32), names),
            tags[rows.function],
            rows.context.astype(np.int32),
            rows.depth.astype(np.int32),
            ns(rows.entry), ns(rows.exit), ns(rows.elapsed), ns(rows.net), ns(rows.wall),
            rows.resumed,
            pa.DictionaryArray.from_arrays(places[rows.ending], endings),
            rows.interrupt,
        ]  # fmt: skip
        arrays = [
            pa.array(column) if isinstance(column, np.ndarray) else column for column in columns
        ]
        yield pa.record_batch(arrays, schema=schema)


def _grouped(pa: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Batches put together into row groups of a useful size."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(len(part) for part in held) >= _ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
