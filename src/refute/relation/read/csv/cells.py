"""Few rows of CSV files, looked at and cast all columns at once: each call of Arrow costs more than such a column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from refute.relation.arrays import row_numbers, truths
from refute.relation.read.csv.types import CsvType

ARROW_TYPES = {
    CsvType.INTEGER: pa.int64(),
    CsvType.BIG_INTEGER: pa.decimal128(38, 0),
    CsvType.FLOAT: pa.float64(),
    CsvType.BOOLEAN: pa.bool_(),
    CsvType.DATE: pa.date32(),
    CsvType.TIMESTAMP: pa.timestamp("us"),
}

Places = NDArray[np.intp]


def castable(cells: pa.Array | pa.ChunkedArray, kind: CsvType) -> bool:
    """Whether cells of a date's shape are dates, unlike 2021-02-30; other types are their shape."""
    if kind not in (CsvType.DATE, CsvType.TIMESTAMP):
        return True
    try:
        pc.cast(cells, ARROW_TYPES[kind])
    except pa.ArrowInvalid:
        return False
    return True


def cells_of(text: pa.Table) -> pa.Array:
    """The cells of a table of text, column after column."""
    batches = text.combine_chunks().to_batches()
    return pa.concat_arrays([pa.nulls(0, pa.string()), *(column for batch in batches for column in batch.columns)])


def typed_cells(text: pa.Table, names: Sequence[str]) -> pa.Table:
    """A table of at least one row, each column of the narrowest type that all its cells fit, else of text."""
    cells, rows = cells_of(text), len(text)
    places_of = _narrowest(cells, rows)
    if not places_of:
        return text
    columns = [None] * text.num_columns
    for kind, places in places_of.items():
        values = _columns_of(cells, places, rows).cast(ARROW_TYPES[kind])
        for start, place in enumerate(places.tolist()):
            columns[place] = values.slice(start * rows, rows)
    for place, column in enumerate(columns):
        if column is None:
            columns[place] = cells.slice(place * rows, rows)
    return pa.table(columns, names=list(names))


def _narrowest(cells: pa.Array, rows: int) -> dict[CsvType, Places]:
    """The columns of each type; those that are text, or have no cell but nulls, are of none."""
    absent = ~truths(cells.is_valid())
    left = np.flatnonzero(~absent.reshape(-1, rows).all(axis=1))
    found: dict[CsvType, Places] = {}
    for kind in CsvType:
        if not len(left):
            break
        matches = truths(pc.match_substring_regex(cells, kind.value)) | absent
        fit = np.logical_and.reduce(matches.reshape(-1, rows), axis=1)
        places = left[fit[left]]
        if not castable(_columns_of(cells, places, rows), kind):
            places = places[[castable(cells.slice(place * rows, rows), kind) for place in places.tolist()]]
        if len(places):
            found[kind] = places
            left = np.setdiff1d(left, places, assume_unique=True)
    return found


def _columns_of(cells: pa.Array, places: Places, rows: int) -> pa.Array:
    """The cells of some columns."""
    if len(places) * rows == len(cells):
        return cells
    return cells.take(row_numbers((places[:, None] * rows + np.arange(rows)).ravel()))
