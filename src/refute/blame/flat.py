"""The lines of suspects as a flat table: one line for each row, rule and cell, as spreadsheets and SQL read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refute.relation.arrays import combined, row_numbers

_FIRST, _LAST = ("rule", "violations", "clears"), ("severity", "either", "removed")
_CELL = ("column", "value", "suggestion", "support")


def by_cell(lines: pa.Table, key: Sequence[str]) -> pa.Table:
    """One line for each cell of each line, and one with nulls for a line without cells.

    The id is the column `row`, or the columns of the key; one that is named as another column here is `key_<name>`
    (`key_key_<name>` where that is taken too).
    """
    cells = combined(lines.column("cells"))
    sizes = pc.list_value_length(cells).to_numpy(zero_copy_only=False).astype(np.int64)
    parents = np.repeat(np.arange(len(sizes)), np.maximum(sizes, 1))
    has_cell = np.repeat(sizes > 0, np.maximum(sizes, 1))
    places = pa.array(np.cumsum(has_cell) - 1, pa.int64(), mask=~has_cell)
    told = cells.flatten()
    taken = lines.select(["row", *_FIRST, *_LAST]).take(row_numbers(parents))
    columns = {
        **_ids(taken.column("row"), key),
        **{name: taken.column(name) for name in _FIRST},
        **{name: pc.struct_field(told, name).take(places) for name in _CELL},
        **{name: taken.column(name) for name in _LAST},
    }
    return pa.table(list(columns.values()), names=list(columns))


def _ids(ids: pa.ChunkedArray, key: Sequence[str]) -> dict[str, pa.Array | pa.ChunkedArray]:
    if not key:
        return {"row": ids}
    columns = [ids] if len(key) == 1 else [pc.struct_field(ids, [place]) for place in range(len(key))]
    taken = {*_FIRST, *_CELL, *_LAST}
    names = {name: name for name in key if name not in taken}
    taken.update(names)
    for name in key:
        if name not in names:
            names[name] = f"key_{name}"
            while names[name] in taken:
                names[name] = f"key_{names[name]}"
            taken.add(names[name])
    return {names[name]: column for name, column in zip(key, columns, strict=True)}
