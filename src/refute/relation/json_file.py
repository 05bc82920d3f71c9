"""JSON files read in this process: one object a line, with types that Arrow tells or that a schema gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.errors import DataError
from refute.relation.schema import Schema, without_header
from refute.relation.unreadable import reading


def read_json(files: Sequence[Path], schema: Schema | None = None) -> list[pa.Table]:
    """The tables in files of JSON lines; raises DataError where one is malformed or does not fit the schema."""
    if schema is None:
        return [_told(file) for file in files]
    if not schema.header:
        raise without_header(str(files[0]))
    seen: dict[str, None] = {}  # names in order
    cells = {file: _cells(file, schema, seen) for file in files}
    schema.require(seen, str(files[0]))
    return [schema.table(columns, str(file)) for file, columns in cells.items()]


def _told(file: Path) -> pa.Table:
    """The table of the types that Arrow tells from the values."""
    from pyarrow import json as arrow_json

    with reading(file):
        table = arrow_json.read_json(file)
        dates = [field for field in table.schema if pa.types.is_timestamp(field.type)]
        if not dates:
            return table
        # Text of the shape of a time is text, as for every other reader of JSON.
        schema = pa.schema([pa.field(field.name, pa.string()) for field in dates])
        options = arrow_json.ParseOptions(explicit_schema=schema)
        return arrow_json.read_json(file, parse_options=options).select(table.column_names)


def _cells(file: Path, schema: Schema, seen: dict[str, None]) -> dict[str, pa.ChunkedArray]:
    """The columns of a schema as text, numbers as they are spelt; all names that there are go into `seen`."""
    columns: dict[str, list[str | None]] = {name: [] for name in schema.names}
    with reading(file), pa.input_stream(str(file), compression="detect") as stream:
        for number, line in enumerate(stream.read().decode("utf-8-sig").split("\n"), 1):
            if not line.strip():
                continue
            row = _row(line, number, file)
            seen |= dict.fromkeys(row)
            for name, column in columns.items():
                column.append(_cell(row.get(name), name, file))
    return {name: pa.chunked_array([pa.array(column, pa.string())]) for name, column in columns.items()}


def _row(line: str, number: int, file: Path) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise DataError(f"cannot read {str(file)!r}: line {number} is no JSON: {error.msg}") from error
    if not isinstance(row, dict):
        raise DataError(f"cannot read {str(file)!r}: line {number} is no JSON object")
    return row


def _cell(value: Any, name: str, file: Path) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    raise DataError(
        f"column {name!r} of {str(file)!r} has nested values, which a schema does not read in this process; "
        "leave it out, or read the file with Spark"
    )
