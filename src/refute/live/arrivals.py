"""Tables that come to a monitor: held against the columns, types and keys that it has, before anything changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from refute.display.plurals import with_article
from refute.errors import DataError, SchemaError, did_you_mean, ended
from refute.faults import null_key, unlike_key
from refute.kernels.runs.rows import Lines
from refute.live.indexes.index import Longs
from refute.relation import Relation
from refute.relation.arrays import Bytes
from refute.relation.shown import shown

MOST_SHOWN = 3  # offenders that a message names
LONG_DIGITS = 18  # of a decimal that has a key of 64 bits
NOWHERE = np.empty(0, np.intp)
MOST_LETTERS = 40  # of a value that a message shows


def arrow_of(table: Any, schema: pa.Schema | None) -> pa.Table:
    """The table with the columns and types of the schema, in its order; the types of the first one otherwise.

    Raises SchemaError for a column that is missing, not known, or holds what its type cannot.
    """
    if schema is not None and isinstance(table, pa.Table) and table.schema.equals(schema):
        return table
    relation = relation_of(table, schema)
    if schema is not None and relation.n_rows == 0 and not relation.names:
        return schema.empty_table()
    names = list(relation.names) if schema is None else schema.names
    for name in names:
        if not relation.has(name):
            in_index = name in (getattr(getattr(table, "index", None), "names", None) or ())  # of pandas
            hint = " Use reset_index() first." if in_index else did_you_mean(name, relation.names)
            raise SchemaError(
                f"The rows lack the column {name!r}.{hint}",
                column=name,
                known=tuple(relation.names),
            )
    for name in relation.names:
        if name not in names:
            hint = did_you_mean(name, names)
            raise SchemaError(f"There is no column {name!r} here.{hint} Leave it out.", column=name, known=tuple(names))
    if schema is None:
        columns = [relation.column(name) for name in names]
        if relation.n_rows == 0 and _module(table) == "pandas":  # whose types mean nothing without rows
            return pa.table([pa.nulls(0) for _ in names], names)
        kinds = [plain_type(one.type) for one in columns]
        if isinstance(table, list | tuple) or _module(table) == "pandas":
            kinds = list(map(_roomy, kinds))
        return pa.table([one.cast(kind) for one, kind in zip(columns, kinds, strict=True)], names)
    arrow = relation.arrow
    if arrow.schema.equals(schema):
        return arrow
    columns = [_cast(field.name, relation.column(field.name), field.type) for field in schema]
    return pa.table(columns, schema=pa.schema([(f.name, c.type) for f, c in zip(schema, columns, strict=True)]))


def relation_of(table: Any, schema: pa.Schema | None = None) -> Relation:
    """The table, which may be a list with a mapping for each row; raises DataError for anything else."""
    if isinstance(table, Mapping):
        raise DataError(
            "Cannot read rows from a dict. Give a table, or a list with one dict for each row.", type="dict"
        )
    if not isinstance(table, list | tuple):
        return Relation.of(table)
    if not table:
        if schema is None:
            raise DataError("The first rows define the columns, and none came. Insert some rows first.", count=0)
        return Relation.of(schema.empty_table())
    for place, row in enumerate(table):
        if not isinstance(row, Mapping) or not row:
            raise DataError(
                f"Row {place:,} of the list is {_shown(row)}. Give a dict with its columns, or a table.", row=place
            )
        if row.keys() != table[0].keys():
            name = next(iter(row.keys() ^ table[0].keys()))
            lacking = place if name in table[0] else 0
            raise DataError(
                f"Row {lacking:,} of the list lacks the column {name!r}. Give None where it has no value.",
                row=lacking,
                column=name,
            )
    return Relation.of(pa.table({str(name): _inferred(str(name), [row[name] for row in table]) for name in table[0]}))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which a monitor keeps values: as it is, but values themselves for those that point to entries."""
    if pt.is_dictionary(kind):
        return plain_type(kind.value_type)
    return pa.large_string() if pt.is_string_view(kind) else kind


def _roomy(kind: pa.DataType) -> pa.DataType:
    """The type for Python's decimals, which have no type but their own digits: later ones may have more of them."""
    return pa.decimal128(LONG_DIGITS, kind.scale) if pt.is_decimal(kind) and kind.precision < LONG_DIGITS else kind


def _cast(name: str, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The column in the type that the monitor has for it; raises SchemaError where a value would become another."""
    if column.type == kind:
        return column
    if pt.is_null(kind):  # nothing but null has come so far: the first values say what the column holds
        return column.cast(plain_type(column.type))
    own = plain_type(column.type)
    if pt.is_null(own):  # which any type holds, though Arrow casts none of them back
        return column.cast(kind)
    if _family(own) != _family(kind):
        raise SchemaError(
            f"Column {name!r} holds {kind}, but {own} was given. Convert it to {kind} first.",
            column=name,
            type=str(own),
            expected=str(kind),
        )
    try:
        plain = column.cast(own)
        found = plain.cast(kind)
        exact = not (pt.is_floating(own) or pt.is_floating(kind)) or _same(plain, found.cast(own))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        nan = pt.is_floating(own) and pc.any(pc.is_nan(column)).as_py()
        hint = " A missing whole number must be null, not NaN (in pandas, use the type Int64)." if nan else ""
        raise SchemaError(
            f"Column {name!r} holds {kind}, and the given {own} does not fit: {ended(str(error))}{hint}",
            column=name,
            type=str(own),
            expected=str(kind),
            reason=str(error),
        ) from error
    if not exact:
        raise SchemaError(
            f"Column {name!r} holds {kind}, which would round the given {own}. Convert it to {kind} first.",
            column=name,
            type=str(own),
            expected=str(kind),
        )
    return found


def _family(kind: pa.DataType) -> str:
    """What types must share for the values of one to be those of the other."""
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind):
        return "number"
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return "text"
    if pt.is_timestamp(kind):
        return "moment" if kind.tz is None else "moment with a zone"
    for name in ("boolean", "date", "time", "duration"):
        if getattr(pt, f"is_{name}")(kind):
            return name
    return "other"


def _same(column: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Whether two columns of one type have the same values, of which NaN is one."""
    equal = pc.fill_null(pc.equal(column, other), True)
    if pt.is_floating(column.type):
        equal = pc.or_(equal, pc.fill_null(pc.and_(pc.is_nan(column), pc.is_nan(other)), True))
    return bool(pc.all(equal, min_count=0).as_py())


def key_table(keys: Any, schema: pa.Schema, key: Sequence[str]) -> pa.Table:
    """Keys as columns: from a table that has them, a column of structs, or a sequence.

    A sequence has values for a key of one column, else a tuple or a mapping for each key.
    """
    held = _key_columns(keys, list(key))
    return pa.table({name: _cast(name, _chunked(held[name]), schema.field(name).type) for name in key})


def named_rows(keys: Any, schema: pa.Schema, key: Sequence[str]) -> pa.Table | Longs:
    """Rows by their keys; by their numbers where they have no key."""
    if key:
        return key_table(keys, schema, key)
    column = key_table(keys, pa.schema([("number", pa.int64())]), ["number"]).column(0)
    if column.null_count:
        raise DataError(
            "The number of a row is null. Rows are numbered from 0, in the order in which they came.",
            count=int(column.null_count),
        )
    return np.asarray(column.to_numpy())


def _key_columns(keys: Any, names: list[str]) -> Mapping[str, Any]:
    module = _module(keys)
    if module in ("pandas", "polars") and not hasattr(keys, "columns") and hasattr(keys, "to_frame"):
        flat = getattr(keys, "nlevels", 1) == 1
        keys = Relation.of(keys.to_frame(name=names[0])).column(names[0]) if flat else keys.to_list()
    elif module == "numpy" and getattr(keys, "ndim", 0) == 1 and keys.dtype != object:
        keys = pa.array(keys)
    elif module in ("pandas", "numpy") and hasattr(keys, "tolist") and not hasattr(keys, "columns"):
        keys = keys.tolist()
    if isinstance(keys, pa.Array | pa.ChunkedArray):
        return _fields(keys, names)
    if hasattr(keys, "columns") or isinstance(keys, pa.RecordBatchReader):
        relation = Relation.of(keys)
        for name in names:
            if not relation.has(name):
                raise unlike_key(name, names, did_you_mean(name, relation.names))
        return {name: relation.column(name) for name in names}
    if isinstance(keys, str | bytes | bytearray | Mapping) or not isinstance(keys, Iterable):
        raise DataError(
            f"Give keys as {_forms(names)}, not as {_shown(keys)}. Put a single key into a list.", key=tuple(names)
        )
    return _listed(list(keys), names)


def _fields(column: pa.Array | pa.ChunkedArray, names: list[str]) -> Mapping[str, Any]:
    """A column as the only one of its key, or the fields of its structs."""
    if pt.is_struct(column.type):
        held = {field.name: part for field, part in zip(column.type, column.flatten(), strict=True)}
    else:
        held = {names[0]: column}
    for name in names:
        if name not in held:
            raise unlike_key(name, names)
    return held


def _listed(values: list[Any], names: list[str]) -> Mapping[str, Any]:
    """The columns of keys that are Python values."""
    if len(names) == 1 and not any(isinstance(value, Mapping | list | tuple) for value in values):
        return {names[0]: _inferred(names[0], values)}
    found: list[Any] = []
    for place, value in enumerate(values):
        if isinstance(value, Mapping):
            for name in names:
                if name not in value:
                    raise unlike_key(name, names)
            found.append([value[name] for name in names])
        elif isinstance(value, list | tuple) and len(value) == len(names):
            found.append(value)
        else:
            raise DataError(
                f"Key {place:,} of the list is {_shown(value)}. Give keys as {_forms(names)}.",
                key=tuple(names),
                row=place,
            )
    return {name: _inferred(name, [value[place] for value in found]) for place, name in enumerate(names)}


def _inferred(name: str, values: list[Any]) -> pa.Array:
    """Python values as an Arrow array of the type that they have, not of one that they could be made to fit."""
    try:
        try:
            return pa.array(values)
        except OverflowError:
            if not all(value is None or type(value) is int for value in values):
                raise
            return pa.array(values, pa.uint64())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(
            f"The values of {name!r} cannot be read as one type: {ended(str(error))}", column=name, reason=str(error)
        ) from error


def _forms(names: Sequence[str]) -> str:
    """The ways in which keys can be given."""
    each = "values" if len(names) == 1 else f"tuples ({', '.join(names)}) or dicts"
    return f"a table with the column{'s' if len(names) > 1 else ''} {', '.join(names)}, or as a list of {each}"


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= MOST_LETTERS else with_article(type(value).__name__)


def _module(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _chunked(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def refuse_nulls(names: Sequence[str], valid: Sequence[Bytes]) -> None:
    """Raises DataError where a key column is null in some row."""
    for name, present in zip(names, valid, strict=True):
        missing = np.flatnonzero(present == 0) if len(present) else NOWHERE
        if len(missing):
            raise null_key(name, len(missing), f", first in row {missing[0]:,} of the batch")


def refuse_keys(table: pa.Table, key: Sequence[str], wrong: np.ndarray[Any, np.dtype[np.bool_]], what: str) -> None:
    """Raises DataError that names the first keys with which something is wrong."""
    if not np.count_nonzero(wrong):
        return
    places = np.flatnonzero(wrong)
    clashes = dict.fromkeys(
        ", ".join(f"{name} = {shown(table.column(name)[int(row)])!r}" for name in key) for row in places[:MOST_SHOWN]
    )
    more = "" if len(places) <= MOST_SHOWN else f" and {len(places) - MOST_SHOWN:,} more"
    raise DataError(
        f"{what}: {'; '.join(clashes)}{more}. Nothing was changed.", key=tuple(key), rows=places.tolist()[:MOST_SHOWN]
    )


def repeated(keys: Lines) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which lines are that of a row before them."""
    found = np.zeros(len(keys), np.bool_)
    if len(keys) > 1:
        order = np.lexsort(keys.T[::-1]) if keys.shape[1] > 1 else np.argsort(keys[:, 0], kind="stable")
        same = np.ones(len(order) - 1, np.bool_)
        for column in keys.T:
            same &= column[order[1:]] == column[order[:-1]]
        found[order[1:]] = same
    return found
