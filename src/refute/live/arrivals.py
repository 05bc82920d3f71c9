"""Tables that come to a monitor: held against the columns, types and keys that it has, before anything changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from refute.errors import DataError, SchemaError, did_you_mean
from refute.live.index import Longs
from refute.relation import Relation
from refute.relation.arrays import Bytes
from refute.relation.keys.key_index import keys_of
from refute.relation.shown import shown

MOST_SHOWN = 3  # offenders that a message names


def arrow_of(table: Any, schema: pa.Schema | None) -> pa.Table:
    """The table with the columns and types of the schema, in its order; the types of the first one otherwise.

    Raises SchemaError for a column that is missing, not known, or holds what its type cannot.
    """
    relation = Relation.of(table)
    names = list(relation.names) if schema is None else schema.names
    for name in names:
        if not relation.has(name):
            hint = did_you_mean(name, relation.names)
            raise SchemaError(f"the rows lack the column {name!r}, which the monitor has.{hint}", column=name)
    for name in relation.names:
        if name not in names:
            hint = did_you_mean(name, names)
            raise SchemaError(f"the monitor has no column {name!r}.{hint} Leave it out", column=name)
    if schema is None:
        columns = [relation.column(name) for name in names]
        return pa.table(
            [_cast(name, one, plain_type(one.type)) for name, one in zip(names, columns, strict=True)], names
        )
    arrow = relation.arrow
    if arrow.schema.equals(schema):
        return arrow
    columns = [_cast(field.name, relation.column(field.name), field.type) for field in schema]
    return pa.table(columns, schema=pa.schema([(f.name, c.type) for f, c in zip(schema, columns, strict=True)]))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which a monitor keeps values: as it is, but values themselves for those that point to entries."""
    if pt.is_dictionary(kind):
        return plain_type(kind.value_type)
    return pa.large_string() if pt.is_string_view(kind) else kind


def _cast(name: str, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type == kind:
        return column
    if pt.is_null(kind):  # nothing but null has come so far: the first values say what the column holds
        return column.cast(plain_type(column.type))
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"column {name!r} holds {kind} here, and the rows have {column.type} that does not fit: {error}",
            column=name,
        ) from error


def key_table(keys: Any, schema: pa.Schema, key: Sequence[str]) -> pa.Table:
    """Keys as columns: from a table that has them, or from a sequence of values for a key of one column."""
    kinds = {name: schema.field(name).type for name in key}
    module = type(keys).__module__.partition(".")[0]
    if module in ("pandas", "polars") and hasattr(keys, "columns"):
        keys = Relation.of(keys).arrow
    elif module in ("pandas", "polars", "numpy"):
        keys = keys.to_list() if hasattr(keys, "to_list") else keys.tolist()
    held = keys_of(keys, kinds)
    return pa.table({name: _cast(name, _chunked(held[name]), kinds[name]) for name in key})


def _chunked(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def refuse_nulls(names: Sequence[str], valid: Sequence[Bytes]) -> None:
    """Raises DataError where a key column is null in some row."""
    for name, present in zip(names, valid, strict=True):
        missing = np.flatnonzero(present == 0)
        if len(missing):
            raise DataError(
                f"the key column {name!r} is null in {_counted(len(missing))}, row {missing[0]:,} of the batch first; "
                "a key needs a value in every row",
                key=name,
                rows=missing.tolist()[:MOST_SHOWN],
            )


def refuse_keys(table: pa.Table, key: Sequence[str], wrong: np.ndarray[Any, np.dtype[np.bool_]], what: str) -> None:
    """Raises DataError that names the first keys with which something is wrong."""
    places = np.flatnonzero(wrong)
    if len(places) == 0:
        return
    told = [
        ", ".join(f"{name} = {shown(table.column(name)[int(row)])!r}" for name in key) for row in places[:MOST_SHOWN]
    ]
    more = "" if len(places) <= MOST_SHOWN else f" and {len(places) - MOST_SHOWN:,} more"
    raise DataError(f"{what}: {'; '.join(told)}{more}. Nothing was changed", rows=places.tolist()[:MOST_SHOWN])


def repeated(cells: Sequence[Longs]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows have the key of a row before them."""
    order = np.lexsort([*reversed(cells)]) if len(cells) > 1 else np.argsort(cells[0], kind="stable")
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in cells:
        same &= column[order[1:]] == column[order[:-1]]
    found = np.zeros(len(order), np.bool_)
    found[order[1:]] = same
    return found


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"
