"""Versions of a table, and parts of one: files that are read with the types that the first one had."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from refute.errors import DataError
from refute.relation.read.csv.options import USUAL, CsvOptions
from refute.relation.read.files import read_files
from refute.relation.read.formats import FileFormat, common_format
from refute.relation.read.schema import schema_like


def read_like(
    files: Sequence[Path],
    path: str,
    schema: pa.Schema,
    op: str | None = None,
    *,
    spare: Collection[str] | None = None,
    csv: CsvOptions = USUAL,
) -> pa.Table:
    """The table, whose files are read again with the types of a schema where their cells looked like others.

    A column of text may hold nothing but digits in one version of a file. `op` is a column that only this one has.
    Columns that are `spare` may hold anything: those that do not fit have the types that their cells look like, and
    columns that the schema lacks are left out. Without it, a table with such columns comes as it is. A column that no
    row of JSON has is null then, as it is where some rows have it, unless there is one that the schema lacks, which may
    be the same column under another name.
    """
    return retyped(read_files(files, path, None, csv), files, path, schema, op, spare=spare, csv=csv)


def retyped(
    table: pa.Table,
    files: Sequence[Path],
    path: str,
    schema: pa.Schema,
    op: str | None = None,
    *,
    order: str | None = None,
    needed: Collection[str] | None = None,
    spare: Collection[str] | None = None,
    csv: CsvOptions = USUAL,
) -> pa.Table:
    """The table of files that have been read, with the types of a schema, as `read_like` has it.

    The schema may lack `order`, too, which has the type that its cells look like then. Columns that are not `needed`,
    if these are given, may hold what cannot be read.
    """
    kind = common_format([str(file) for file in files], path)
    known = [name for name in table.column_names if name in schema.names and name != op]
    same = all(table.schema.field(name).type == schema.field(name).type for name in known)
    others = set(table.column_names) - {*known, op, order}
    is_left_out = kind is FileFormat.JSON and spare is not None and not others
    absent = [one for one in schema if is_left_out and one.name not in table.column_names]
    if same or (kind.delimiter is None and kind is not FileFormat.JSON) or (others and spare is None):
        return _with_nulls(table, absent)
    misfits: list[str] = []
    while True:
        fields = [_field(name, table, schema, op) for name in table.column_names if name not in {*others, *misfits}]
        wanted = schema_like(pa.schema(fields))
        if wanted is None:
            return _with_nulls(table, absent)
        try:
            again = read_files(files, path, wanted, csv, needed=needed)
        except DataError as error:
            name = str(error.facts.get("column"))
            if name in misfits or name not in (spare or ()):
                raise
            misfits.append(name)
        else:
            break
    texts = [name for name in again.column_names if pa.types.is_string(again.schema.field(name).type)]
    for name in texts if kind.delimiter is not None else ():  # where an empty cell is null, unless a schema was given
        column = again.column(name)
        place = again.column_names.index(name)
        again = again.set_column(place, name, pc.if_else(pc.equal(column, ""), None, column))
    for name in misfits:
        again = again.append_column(name, table.column(name))
    return _with_nulls(again, absent)


def _with_nulls(table: pa.Table, fields: Sequence[pa.Field]) -> pa.Table:
    for field in fields:
        table = table.append_column(field, pa.nulls(len(table), field.type))
    return table


def _field(name: str, table: pa.Table, schema: pa.Schema, op: str | None) -> pa.Field:
    if name == op:
        return pa.field(name, pa.string())
    if name not in schema.names:
        return table.schema.field(name)
    known, own = schema.field(name).type, table.schema.field(name).type
    kind = own if pa.types.is_null(known) else known
    return pa.field(name, pa.string() if pa.types.is_null(kind) else kind)  # which holds as many nulls as any type
