"""Batches of Arrow as CSV: what CSV has no form for becomes text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.types as pt

from refute.relation.shown import id_text, shown_values

_PLAIN = (
    pt.is_boolean,
    pt.is_integer,
    pt.is_floating,
    pt.is_string,
    pt.is_large_string,
    pt.is_date32,
    pt.is_timestamp,
)


def write_csv(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write batches of a schema, after a line of names."""
    from pyarrow import csv

    written = pa.schema([(field.name, field.type if _is_plain(field.type) else pa.string()) for field in schema])
    with csv.CSVWriter(str(path), written) as writer:
        for batch in batches:
            columns = [
                column if _is_plain(column.type) else pa.array(_texts(column), pa.string()) for column in batch.columns
            ]
            writer.write_batch(pa.record_batch(columns, schema=written))


def _is_plain(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in _PLAIN)


def _texts(column: pa.Array) -> list[str | None]:
    return [None if value is None else id_text(value) for value in shown_values(column)]
