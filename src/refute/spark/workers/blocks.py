"""Rows in blocks: one binary cell holds many rows as an Arrow stream, so Spark ships cells and not values.

Arrow moves a cell of a megabyte about as fast as memory; it moves values one by one. Tasks in Python cut blocks and
send the pieces on.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]
BLOCK = "block"
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


def stacked(batches: Batches, rows: int) -> Iterator[list[pa.RecordBatch]]:
    """The batches of a task in lists, each of as many as it takes to have so many rows; the last may have fewer."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.num_rows
        if size >= rows:
            yield held
            held, size = [], 0
    if size:
        yield held


def tables_of(batches: Batches) -> Iterator[pa.Table]:
    """The tables in the cells of a task, one by one."""
    for batch in batches:
        for cell in batch.column(BLOCK):
            yield unpacked(cell)
