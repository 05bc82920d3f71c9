"""The coded rows of a table in blocks, made once and kept while a discovery runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.spark.workers.blocks import BLOCK, Batches, packed, stacked


class Packing:
    """The task that packs coded rows: columns get their names, and hashes with a dictionary become small codes."""

    def __init__(self, names: Sequence[str], dictionaries: Mapping[str, NDArray[np.int64]], rows: int) -> None:
        self._names = list(names)
        self._dictionaries = dict(dictionaries)
        self._rows = rows

    def __call__(self, batches: Batches) -> Batches:
        """One row per block."""
        return map(self._block, stacked(batches, self._rows))

    def _block(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        table = pa.Table.from_batches(batches).rename_columns(self._names).combine_chunks()
        for name, dictionary in self._dictionaries.items():
            column = table.column(name).combine_chunks()
            known = column.is_null().to_numpy(zero_copy_only=False)
            codes = np.searchsorted(dictionary, column.fill_null(0).to_numpy())
            kind = np.int16 if len(dictionary) < 1 << 15 else np.int32
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.array(codes.astype(kind), mask=known))
        return pa.record_batch({BLOCK: pa.array([packed(table)], pa.binary())})
