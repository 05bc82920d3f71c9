"""Arrow memory as NumPy arrays, without a copy where layouts agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

ALL_VALID: Bytes = np.zeros(0, dtype=np.uint8)  # what kernels take for "no row is null"


def combined(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array: itself if it has one chunk, else a copy."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks == 0:
        return pa.array([], type=column.type)
    return pa.concat_arrays(column.chunks)


def valid_bytes(array: pa.Array) -> Bytes:
    """One byte per row, 0 for null; empty when no row is null."""
    bitmap = array.buffers()[0] if array.null_count else None
    return ALL_VALID if bitmap is None else _bits(array, bitmap)


def truths(column: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Booleans, null being false.

    Here as below, Arrow's `fill_null`, `to_numpy` and `array` would give the same; but they load pandas, if there is
    one, to see whether they have been given some of it, and that takes a quarter of a second.
    """
    parts = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        valid = valid_bytes(chunk)
        bits = _bits(chunk, chunk.buffers()[1]) if len(chunk) else ALL_VALID
        parts.append(bits & valid if len(valid) else bits)
    return (parts[0] if len(parts) == 1 else np.concatenate([ALL_VALID, *parts])).view(np.bool_)


def numbers(array: pa.Array, null: int | None = None) -> NDArray[np.int64]:
    """Whole numbers, with `null` for null; whatever Arrow stored there where that is None."""
    values = stored(array, np.dtype(array.type.to_pandas_dtype())).astype(np.int64, copy=null is not None)
    valid = valid_bytes(array)
    if null is not None and len(valid):
        values[valid == 0] = null
    return values


def _bits(array: pa.Array, bitmap: pa.Buffer) -> Bytes:
    """One byte per row for one bit per row."""
    first = array.offset // 8
    last = (array.offset + len(array) + 7) // 8
    bits = np.unpackbits(np.frombuffer(bitmap, dtype=np.uint8)[first:last], bitorder="little")
    return bits[array.offset - 8 * first :][: len(array)]


def stored(array: pa.Array, dtype: Any, buffer: int = 1, per_row: int = 1, extra: int = 0) -> NDArray[Any]:
    """The numbers of one buffer of an array, `per_row` of them for each row and `extra` at the end."""
    held = array.buffers()[buffer]
    if held is None or (held.size == 0 and extra):
        return np.zeros(len(array) * per_row + extra, dtype=dtype)
    first = array.offset * per_row
    return np.frombuffer(held, dtype=dtype)[first : first + len(array) * per_row + extra]


def row_numbers(rows: NDArray[Any]) -> pa.Array:
    """Whole numbers as Arrow, without a copy where they stand side by side."""
    values = np.ascontiguousarray(rows)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """The same array, not to be written: kernels then see one type, whether it is Arrow's memory or a copy."""
    values = values.view()
    values.flags.writeable = False
    return values


def exact_sum(counts: NDArray[np.int64]) -> int:
    """The sum as a Python int, beyond 64 bits where needed."""
    low = int((counts & 0xFFFFFFFF).sum(dtype=np.int64)) if len(counts) else 0
    high = int((counts >> 32).sum(dtype=np.int64)) if len(counts) else 0
    return (high << 32) + low
