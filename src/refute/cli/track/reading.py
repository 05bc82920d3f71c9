"""Versions of a table: files that are read with the types that the first one had."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from refute.relation import read_local
from refute.relation.read.files import local_files
from refute.relation.read.formats import FileFormat, common_format
from refute.relation.read.schema import Schema, schema_like


def read(data: str, given: Schema | None) -> pa.Table:
    """The table, under a schema of the user's or without one."""
    return read_local(data, given)


def read_like(data: str, schema: pa.Schema, op: str | None) -> pa.Table:
    """The table, whose files are read again with the types of a schema where their cells looked like others.

    A column of text may hold nothing but digits in one version of a file. `op` is a column that only this one has.
    """
    table = read(data, None)
    kind = common_format([str(file) for file in local_files(data)], data)
    names = [name for name in table.column_names if name != op]
    same = all(name in schema.names and table.schema.field(name).type == schema.field(name).type for name in names)
    if same or (kind.delimiter is None and kind is not FileFormat.JSON) or set(names) - set(schema.names):
        return table
    fields = [pa.field(name, pa.string() if name == op else schema.field(name).type) for name in table.column_names]
    wanted = schema_like(pa.schema(fields))
    if wanted is None:
        return table
    again = read(data, wanted)
    texts = [name for name in again.column_names if pa.types.is_string(again.schema.field(name).type)]
    for name in texts if kind.delimiter is not None else ():  # where an empty cell is null, unless a schema was given
        column = again.column(name)
        place = again.column_names.index(name)
        again = again.set_column(place, name, pc.if_else(pc.equal(column, ""), None, column))
    return again
