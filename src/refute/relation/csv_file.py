"""CSV files read with Arrow; cells become numbers, dates or booleans only where nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from refute.relation.csv_types import CsvType, narrowest

_ARROW_TYPES = {
    CsvType.INTEGER: pa.int64(),
    CsvType.BIG_INTEGER: pa.decimal128(38, 0),
    CsvType.FLOAT: pa.float64(),
    CsvType.BOOLEAN: pa.bool_(),
    CsvType.DATE: pa.date32(),
    CsvType.TIMESTAMP: pa.timestamp("us"),
}


def read_csv(file: Path, delimiter: str = ",") -> pa.Table:
    """The table in a CSV file with a header; an empty cell is null, whatever the type of its column."""
    parsing = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    with csv.open_csv(file, parse_options=parsing) as reader:
        names = reader.schema.names
    text = csv.read_csv(
        file,
        parse_options=parsing,
        convert_options=csv.ConvertOptions(
            column_types={name: pa.string() for name in names},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return pa.table([typed(column) for column in text.columns], names=text.column_names)


def typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The text column as the narrowest type that every cell fits, else as it is."""
    if column.null_count == len(column):
        return column
    fits = {kind: bool(pc.all(pc.match_substring_regex(column, kind.value)).as_py()) for kind in CsvType}
    kind = narrowest(fits)
    if kind is None:
        return column
    try:
        return pc.cast(column, _ARROW_TYPES[kind])
    except pa.ArrowInvalid:  # of a date's shape but no date, such as 2021-02-30
        return column
