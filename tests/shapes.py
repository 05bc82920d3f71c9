"""Tables by their shape: how many rows they have, and how many distinct values each column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def table_of(shape: str) -> pa.Table:
    """The table of a shape such as `9,000 rows: g 7, a 9000, b 4 up`.

    Values that go `up` ascend with the rows; those that are `wide` lie far apart.
    """
    size, columns = shape.split(" rows: ")
    rows = np.arange(int(size.replace(",", "")))
    table: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    for salt, column in enumerate(columns.split(", ")):
        name, distinct, *how = column.split(" ")
        table[name] = (rows * (2_654_435_761 + 2 * salt) >> 7) % int(distinct) * (1_000_003 if how == ["wide"] else 1)
        if how == ["up"]:
            table[name] = rows * int(distinct) // len(rows)
    return pa.table(table)
