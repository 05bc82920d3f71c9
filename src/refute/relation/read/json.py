"""JSON files read in this process: one object a line, with types inferred by Arrow or given by a schema."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.errors import DataError
from refute.faults import not_json, unreadable
from refute.relation.read.json_text import ONE_A_LINE, JsonText, kind_of, without_odd_columns
from refute.relation.read.schema import ODD, Schema, without_header
from refute.relation.read.unreadable import reading

_BLOCK = 1 << 20  # bytes that Arrow parses at once, unless a line is longer
_MOST_DIGITS = 38
_LONG_DIGITS = 20  # of the decimals by which Spark holds integers beyond 64 bits, at least


def read_json(
    files: Sequence[Path], schema: Schema | None = None, needed: Collection[str] | None = None
) -> list[pa.Table]:
    """The tables in files of JSON lines; raises DataError where one is malformed or does not fit the schema.

    Columns that are not `needed`, if these are given, may hold anything: they are `ODD` where Arrow has no type for
    all their values, or where they do not fit the schema.
    """
    if schema is None:
        return [_inferred(file, needed) for file in files]
    if not schema.header:
        raise without_header(str(files[0]))
    seen: dict[str, None] = {}  # names in order
    cells = {file: _cells(file, schema, seen, needed) for file in files}
    schema.require(seen, str(files[0]), needed)
    return [
        _with_odd(schema.table(columns, str(file), needed), [name for name in schema.types if name not in columns])
        for file, columns in cells.items()
    ]


def _with_odd(table: pa.Table, names: Sequence[str]) -> pa.Table:
    for name in names:
        table = table.append_column(name, pa.nulls(len(table), ODD))
    return table


def _inferred(file: Path, needed: Collection[str] | None) -> pa.Table:
    """The table of the types that Arrow infers from the values, but with every digit of whole numbers."""
    with reading(file):
        text = JsonText.of(file)
        try:
            return _typed(text, file)
        except pa.ArrowInvalid:
            if needed is not None:
                rest, odd = without_odd_columns(text, file, needed)
                with suppress(pa.ArrowInvalid):
                    return _with_odd(_typed(rest, file), odd)
            _require_alike(text, file, needed)  # which says more than Arrow does
            raise


def _typed(text: JsonText, file: Path) -> pa.Table:
    table = _parsed(text)
    # Text of the shape of a time is text, as for every other reader of JSON.
    dates = [pa.field(field.name, pa.string()) for field in table.schema if pa.types.is_timestamp(field.type)]
    if dates:
        table = _parsed(text, pa.schema(dates)).select(table.column_names)
    if table.num_rows != text.objects:
        raise unreadable(str(file), f"A line holds more than one object. {ONE_A_LINE}")
    rounded = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    return _with_whole_numbers(table, text, file, rounded) if rounded and text.has_long_numbers else table


def _parsed(text: JsonText, schema: pa.Schema | None = None) -> pa.Table:
    from pyarrow import json as arrow_json

    return arrow_json.read_json(
        pa.BufferReader(text.data),
        read_options=arrow_json.ReadOptions(block_size=max(_BLOCK, text.longest + 1)),
        parse_options=arrow_json.ParseOptions(explicit_schema=schema),
    )


def _require_alike(text: JsonText, file: Path, needed: Collection[str] | None) -> None:
    """Raises DataError for a line that is not JSON, or that has another kind of value in a column than lines before.

    Where it is said which columns are needed, only these are looked at.
    """
    known: dict[str, tuple[str, int]] = {}
    for number, line in text.lines():
        for name, value in _row(line, number, file, whole=float).items():
            if value is None or not (needed is None or name in needed):
                continue
            kind = kind_of(value)
            before, first = known.setdefault(name, (kind, number))
            if before != kind:
                reason = f"In line {number:,}, column {name!r} is {kind}, where line {first:,} has {before}."
                raise unreadable(str(file), reason, line=number)


def _with_whole_numbers(table: pa.Table, text: JsonText, file: Path, names: Sequence[str]) -> pa.Table:
    """The table in which columns of whole numbers beyond 64 bits are decimals, as on Spark, and not floats."""
    columns: dict[str, list[int | None]] = {name: [] for name in names}
    for number, line in text.lines():
        row = _row(line, number, file, whole=_whole)
        for name in list(columns):
            value = row.get(name)
            if isinstance(value, str):  # a fraction, or beyond all decimals: the column is of floats
                del columns[name]
            else:
                columns[name].append(value)
    for name, values in columns.items():
        digits = max((len(str(abs(value))) for value in values if value is not None), default=0)
        kind = pa.decimal128(max(digits, _LONG_DIGITS), 0)
        table = table.set_column(table.column_names.index(name), name, pa.array(values, kind))
    return table


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits.lstrip("-")) <= _MOST_DIGITS else digits


def _cells(
    file: Path, schema: Schema, seen: dict[str, None], needed: Collection[str] | None
) -> dict[str, pa.ChunkedArray]:
    """The columns of a schema as text, numbers as they are spelt; all names that there are go into `seen`.

    Columns that are not needed are missing where values are nested, or no Unicode.
    """
    columns: dict[str, list[str | None]] = {name: [] for name in schema.names}
    with reading(file):
        for number, line in JsonText.of(file).lines():
            row = _row(line, number, file)
            seen |= dict.fromkeys(row)
            for name in list(columns):
                value = row.get(name)
                if needed is not None and name not in needed and isinstance(value, list | dict):
                    del columns[name]
                else:
                    columns[name].append(_cell(value, name, file))
        found = {}
        for name, column in columns.items():
            with suppress(UnicodeEncodeError) if needed is not None and name not in needed else nullcontext():
                found[name] = pa.chunked_array([pa.array(column, pa.string())])
        return found


def _row(line: bytes, number: int, file: Path, whole: Any = str) -> dict[str, Any]:
    """The object of a line; numbers are texts, but whole ones what `whole` makes of them."""
    other = float if whole is float else str
    try:
        row = json.loads(line, parse_int=whole, parse_float=other, parse_constant=other)
    except json.JSONDecodeError as error:
        raise unreadable(str(file), f"Line {number:,} is not JSON: {not_json(error)}", line=number) from error
    assert isinstance(row, dict)  # as it begins with a brace
    return row


def _cell(value: Any, name: str, file: Path) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    raise DataError(
        f"Column {name!r} of {str(file)!r} has nested values, which cannot be read with a schema in this process. "
        "Leave it out, or read the file with Spark.",
        column=name,
        path=str(file),
    )
