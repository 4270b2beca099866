"""A table of numpy columns with readable names: what `kprof.Run` gives for functions and calls.

A `Frame` does without pandas; `Frame.to_pandas` and `Frame.to_polars` make their data frames of it.
"""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from kprof.errors import MissingExtraError, UsageError

__all__ = ["Frame"]

_SHOWN = 10

Column = NDArray[Any]


class Frame:
    """Columns of one length by name.

    ``frame["net_us"]`` is a column, ``frame[mask]`` and ``frame[2:5]`` are the rows chosen,
    ``len(frame)`` counts rows.

    Parameters
    ----------
    columns
        One-dimensional arrays of one length.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = dict(columns)
        lengths = {len(column) for column in self._columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of {sorted(lengths)} rows; expected one length")
        self._rows = lengths.pop() if lengths else 0

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, key: str) -> Column: ...
    @overload
    def __getitem__(self, key: slice | Column) -> Frame: ...
    def __getitem__(self, key: str | slice | Column) -> Column | Frame:
        """A column by its name, or the rows that a slice, a mask or an array of numbers chooses."""
        if isinstance(key, str):
            if key not in self._columns:
                raise KeyError(f"{key}: is not a column; expected one of {', '.join(self.columns)}")
            return self._columns[key]
        return Frame({name: column[key] for name, column in self._columns.items()})

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a dictionary of plain Python values."""
        lists = [column.tolist() for column in self._columns.values()]
        for values in zip(*lists, strict=True):
            yield dict(zip(self._columns, values, strict=True))

    def sort(self, column: str, *, ascending: bool = False) -> Frame:
        """The rows by a column, the largest first; rows of one value keep their order."""
        values = self[column]
        order = np.argsort(values, kind="stable")
        if not ascending:
            order = len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
        return self[order]

    def head(self, rows: int = _SHOWN) -> Frame:
        """The first rows."""
        return self[:rows]

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        return self.to_dataframe("pandas")

    def to_polars(self) -> Any:
        """The table as a ``polars.DataFrame``.

        Raises
        ------
        MissingExtraError
            polars is not installed.
        """
        return self.to_dataframe("polars")

    def to_dataframe(self, library: str | None = None) -> Any:
        """The table as a data frame of `library`; None: of pandas, or of polars.

        Raises
        ------
        MissingExtraError
            The library is not installed.
        UsageError
            The library has no data frames.
        """
        libraries = ("pandas", "polars")
        if library not in (None, *libraries):
            raise UsageError(
                f"{library}: is not a library for data frames; expected pandas or polars"
            )
        for name in libraries if library is None else (library,):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            return module.DataFrame(dict(self._columns))
        raise MissingExtraError(f"to_dataframe() ({library or 'pandas or polars'})", "frames")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frame):
            return NotImplemented
        return self.columns == other.columns and all(
            _same(mine, other[name]) for name, mine in self._columns.items()
        )

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        text = [
            self._aligned(column, cell, width)
            for row in cells
            for column, cell, width in zip(self.columns, row, widths, strict=True)
        ]
        lines = [
            "  ".join(text[at : at + len(widths)]).rstrip()
            for at in range(0, len(text), max(1, len(widths)))
        ]
        return "\n".join([*lines, *self._rest()])

    def _repr_html_(self) -> str:
        head, *rows = [[html.escape(cell) for cell in row] for row in self._cells()]
        lines = ["<table><thead><tr>", *(f"<th>{cell}</th>" for cell in head), "</tr></thead>"]
        lines.append("<tbody>")
        for row in rows:
            styles = ("left" if self._is_text(column) else "right" for column in self.columns)
            cells = zip(styles, row, strict=True)
            lines.append(
                "<tr>"
                + "".join(f'<td style="text-align: {s}">{c}</td>' for s, c in cells)
                + "</tr>"
            )
        return "".join([*lines, "</tbody></table>", *(f"<p>{line}</p>" for line in self._rest())])

    def _rest(self) -> list[str]:
        hidden = len(self) - _SHOWN
        return [f"... {hidden} more rows, {len(self)} in all"] if hidden > 0 else []

    def _cells(self) -> list[list[str]]:
        """The titles and the first rows as text."""
        return [self.columns, *([_text(v) for v in row.values()] for row in self.head().rows())]

    def _is_text(self, column: str) -> bool:
        return self._columns[column].dtype.kind in "OU"

    def _aligned(self, column: str, cell: str, width: int) -> str:
        return cell.ljust(width) if self._is_text(column) else cell.rjust(width)


def _text(value: object) -> str:
    from kprof.names import display_name

    if isinstance(value, float):
        return "-" if value != value else f"{value:.3f}".rstrip("0").rstrip(".")
    return display_name(str(value))


def _same(one: Column, other: Column) -> bool:
    if one.dtype.kind == "f" and other.dtype.kind == "f":
        return np.array_equal(one, other, equal_nan=True)
    return np.array_equal(one, other)


def text_column(values: Iterable[str]) -> Column:
    """A column of text."""
    return np.array(list(values), dtype=object)
