"""Rows in blocks: one binary cell holds many rows as an Arrow stream, so that Spark ships cells and not values.

Arrow moves a cell of a megabyte about as fast as memory; it moves values one by one. Blocks are made once, kept while a
discovery runs, and cut and sent on by tasks in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Batches = Iterator[pa.RecordBatch]
BLOCK = "block"
BLOCK_ROWS = 1 << 16
PACKED = f"{BLOCK} binary"
_WRITING = pa.ipc.IpcWriteOptions(compression="lz4")


def packed(table: pa.Table) -> bytes:
    """The table as one cell."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_WRITING) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(cell: pa.Scalar) -> pa.Table:
    """The table that a cell holds."""
    return pa.ipc.open_stream(cell.as_buffer()).read_all()


def tables_of(batches: Batches) -> Iterator[pa.Table]:
    """The tables in the cells of a task, one by one."""
    for batch in batches:
        for cell in batch.column(BLOCK):
            yield unpacked(cell)


class Packing:
    """The task that packs coded rows: columns get their names, and hashes with a dictionary become small codes."""

    def __init__(self, names: Sequence[str], dictionaries: Mapping[str, NDArray[np.int64]], rows: int) -> None:
        self._names = list(names)
        self._dictionaries = dict(dictionaries)
        self._rows = rows

    def __call__(self, batches: Batches) -> Batches:
        """One row per block."""
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch)
            size += batch.num_rows
            if size >= self._rows:
                yield self._block(held)
                held, size = [], 0
        if size:
            yield self._block(held)

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
