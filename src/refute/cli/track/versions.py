"""Versions of a table: files that are read with the types that the first one had."""

from __future__ import annotations

import pyarrow as pa

from refute.relation import read_local
from refute.relation.read.csv.options import CsvOptions
from refute.relation.read.files import local_files
from refute.relation.read.like import read_like as read_files_like
from refute.relation.read.schema import Schema


def read(data: str, given: Schema | None, csv: CsvOptions) -> pa.Table:
    """The table, under a schema of the user's or without one."""
    return read_local(data, given, csv)


def read_like(data: str, schema: pa.Schema, op: str | None, csv: CsvOptions) -> pa.Table:
    """The table with the types of a schema; `op` is a column that only this one has."""
    return read_files_like(local_files(data), data, schema, op, csv=csv)
