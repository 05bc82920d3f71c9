"""Where columns come from: Arrow, pandas and polars tables behind one small protocol, converted column by column."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.display.plurals import with_article
from refute.errors import DataError
from refute.relation.shown import shown
from refute.relation.sources.frames import PandasSource, PolarsSource


class Source(Protocol):
    """A table whose columns can be had as Arrow, each on its own, so columns no rule reads cost nothing."""

    n_rows: int
    names: tuple[str, ...]

    def column(self, position: int) -> pa.ChunkedArray:
        """One column."""

    def row(self, place: int) -> list[Any]:
        """The cells of one row, whatever they hold, for users to look at."""

    def slice(self, start: int, n: int) -> Source:
        """At most n rows from `start` on, without a copy."""

    def filter(self, mask: NDArray[np.bool_]) -> Source:
        """The rows for which the mask is true."""


class ArrowSource:
    """An Arrow table."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.n_rows = table.num_rows
        self.names = tuple(table.column_names)

    def column(self, position: int) -> pa.ChunkedArray:
        """One column as it is."""
        return self.table.column(position)

    def row(self, place: int) -> list[Any]:
        """The cells of one row as Python has them."""
        return [shown(column[place]) for column in self.table.columns]

    def slice(self, start: int, n: int) -> ArrowSource:
        """At most n rows from `start` on."""
        return ArrowSource(self.table.slice(start, n))

    def filter(self, mask: NDArray[np.bool_]) -> ArrowSource:
        """The rows for which the mask is true."""
        return ArrowSource(self.table.filter(pa.array(mask)))


def source_of(table: object) -> Source:
    """The source for a table; raises DataError for anything else. Looks only at packages that are loaded already."""
    if isinstance(table, pa.RecordBatch):
        return ArrowSource(pa.Table.from_batches([table]))
    if isinstance(table, pa.RecordBatchReader):
        return ArrowSource(table.read_all())
    if isinstance(table, pa.Table):
        return ArrowSource(table)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return PandasSource(table)
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(table, polars.LazyFrame):
        return PolarsSource(table.collect())
    if polars is not None and isinstance(table, polars.DataFrame):
        return PolarsSource(table)
    module, name = type(table).__module__, type(table).__qualname__
    kind = name if module == "builtins" else f"{module}.{name}"
    raise DataError(
        f"Cannot read a table from {with_article(kind)}. Give a pyarrow, pandas or polars table.", type=kind
    )
