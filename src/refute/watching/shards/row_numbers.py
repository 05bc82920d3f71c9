"""Numbers for the rows of violations where the rows themselves are elsewhere: by key, as they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from refute.index.key_table import KeyTable
from refute.live.arrivals import repeated
from refute.live.columns import Columns, ReadRows
from refute.relation.arrays import combined
from refute.watching.publishing.table_parts import Longs


class RowNumbers:
    """The number of each key that was ever asked for. Keys are compared by their values."""

    def __init__(self, kinds: Mapping[str, pa.DataType]) -> None:
        self.kinds = dict(kinds)
        self._columns = Columns(self.kinds, (), tuple(self.kinds))
        self._known = KeyTable(len(self.kinds))

    def __len__(self) -> int:
        return len(self._known)

    def of(self, keys: pa.Table) -> Longs:
        """The number of each key, a new one where it has none."""
        lines, _ = self._columns.key_lines(ReadRows(keys), extend=True)
        found = self._known.find(lines)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            new = lines[unknown]
            first = new[~repeated(new)]
            self._known.put(first, np.arange(len(self._known), len(self._known) + len(first)))
            found[unknown] = self._known.find(new)
        return found

    def known(self, keys: pa.Table) -> Longs:
        """The number of each key, -1 where it has none."""
        return self._known.find(self._columns.key_lines(ReadRows(keys), extend=False)[0])


def sides_of(table: pa.Table, key: Sequence[str]) -> list[str]:
    """The sides of violations that rows stand on, by the keys of these: `s` and `t`, or `s` alone."""
    return [side for side in ("s", "t") if f"{side}_{key[0]}" in table.column_names]


def with_ids(table: pa.Table, key: Sequence[str]) -> pa.Table:
    """Violations by the keys of their rows, with the ids of these before them."""
    ids = {}
    for side in sides_of(table, key):
        parts = [table.column(f"{side}_{name}") for name in key]
        ids[side] = parts[0] if len(key) == 1 else pa.StructArray.from_arrays(map(combined, parts), list(key))
    return pa.table({**ids, **dict(zip(table.column_names, table.columns, strict=True))})
