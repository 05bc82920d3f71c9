"""A number for the values of a row that says where it belongs: the same in every process, machine and version."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from refute.kernels.encode.dictionary import hash_block
from refute.relation.encode.strings import strings_of
from refute.relation.mixing import NULL, Bits, scrambled


def hashes(table: pa.Table, names: Sequence[str]) -> Bits:
    """A number for each row, equal where the values of these columns are; null is a value, and NaN is null."""
    found = np.zeros(table.num_rows, np.uint64)
    for name in names:
        column = table.column(name)
        parts = [_bits(part) for part in column.chunks]
        found = scrambled(found + (np.concatenate(parts) if parts else np.empty(0, np.uint64)))
    return found


def _bits(values: pa.Array) -> Bits:
    """A number for each value, equal where values of this type are."""
    kind = values.type
    if pt.is_null(kind):
        return np.full(len(values), NULL)
    if pt.is_floating(kind):
        floats = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0  # one zero of two
        bits = np.where(np.isnan(floats), NULL, floats.view(np.uint64))
    elif _is_whole(kind):
        bits = _whole(values)
    else:
        texts = strings_of(values if pt.is_string(kind) or pt.is_large_string(kind) else values.cast(pa.string()))
        bits = np.empty(len(values), np.uint64)
        hash_block(texts.data, texts.offsets, 0, len(values), bits)
    return np.where(np.asarray(values.is_null()), NULL, bits) if values.null_count else bits


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_temporal(kind))


def _whole(values: pa.Array) -> Bits:
    kind = values.type
    if pt.is_uint64(kind):
        return np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False), np.uint64)
    if pt.is_date32(kind) or pt.is_time32(kind):
        values = values.cast(pa.int32())
    numbers = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(numbers, np.int64).view(np.uint64)
