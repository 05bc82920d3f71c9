"""Short decimals travel as whole numbers of their last digit: Arrow writes decimals slowly."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from refute.spark.expressions import quoted

_MOST_DIGITS = 18  # of a decimal that 64 bits hold
_MOST_PLACES = 9  # after the point, so Spark has digits enough to shift them in front of it


def is_short_decimal(kind: pa.DataType) -> bool:
    """Whether values of this type travel as whole numbers."""
    return bool(pa.types.is_decimal128(kind)) and kind.precision <= _MOST_DIGITS and 0 <= kind.scale <= _MOST_PLACES


def narrowed(name: str, kind: pa.DataType) -> str:
    """The column as Spark sends it with least work, as an expression."""
    if not is_short_decimal(kind):
        return quoted(name)
    return f"cast({quoted(name)} * {10**kind.scale} as bigint) as {quoted(name)}"


def widened(table: pa.Table, exact: Mapping[str, pa.DataType]) -> pa.Table:
    """The table with whole numbers read as the decimals they were, without a copy."""
    for place, name in enumerate(table.column_names):
        kind = exact.get(name)
        if kind is not None and is_short_decimal(kind) and pa.types.is_int64(table.column(place).type):
            decimal = pa.decimal64(kind.precision, kind.scale)
            chunks = [
                pa.Array.from_buffers(decimal, len(chunk), chunk.buffers(), chunk.null_count, chunk.offset)
                for chunk in table.column(place).chunks
            ]
            table = table.set_column(place, name, pa.chunked_array(chunks, decimal))
    return table
