"""Schemas that users give: how they are written, and what they make of the cells of a file read in this process."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from misfits import MISFITS
from refute.errors import DataError, OptionError
from refute.relation.read.files import read_local
from refute.relation.read.like import read_like
from refute.relation.read.schema import Schema


def types(given: Any) -> dict[str, str]:
    """The types of a schema by column."""
    schema = Schema.of(given)
    assert schema is not None
    return {name: kind.name for name, kind in schema.types.items()}


def test_a_schema_is_a_text_or_a_mapping() -> None:
    expected = {"id": "bigint", "o d`d, (x)": "decimal(10,2)", "at": "timestamp_ntz"}
    assert types("id long,`o d``d, (x)` DECIMAL(10, 2) ,at: timestamp_ntz") == expected
    assert types({"id": "BIGINT", "o d`d, (x)": "numeric(10,2)", "at": " timestamp_ntz "}) == expected
    assert types("a dec, b real, c short, d byte") == {
        "a": "decimal(10,0)",
        "b": "float",
        "c": "smallint",
        "d": "tinyint",
    }
    assert Schema.of(None) is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "has no columns"),
        ({}, "has no columns"),
        ("id", "'id' in the schema is not a column with its type"),
        ("id bigint,", "'' in the schema is not a column with its type"),
        ("id bigint, id int", "more than one column 'id'"),
        ("id bigin", "'bigin' is not a type for the column 'id'.* Did you mean 'bigint'"),
        ("id bigint not null", "'bigint not null' is not a type"),
        ("m map<string,int>, n int", "'map<string,int>' is not a type for the column 'm'"),
        ("d decimal(40,2)", "1 to 38 digits"),
        ("d decimal(4,5)", "1 to 38 digits"),
        ("a int, `b int", "Cannot read the schema from '`b int' on"),
        ({"a": int}, "not 'a' to <class 'int'>"),
        (7, "a text, a mapping or a StructType, not int"),
    ],
)
def test_a_schema_that_cannot_be_understood_is_one_sentence(given: Any, told: str) -> None:
    with pytest.raises(OptionError, match=told) as raised:
        Schema.of(given)
    assert "\n" not in str(raised.value)


CELLS = """n,f,d,ok,day,at,when,word
+007,1e3,001.50,TRUE,2024-02-29,2024-02-29,2024-02-29T12:00:00+01:00,05401
"",.5,-2,false,,2024-02-29 12:00:00.25,2024-02-29 12:00:00Z,""
-128,-Infinity,,,,,,
"""
ALL = "n tinyint, f double, d decimal(4,2), ok boolean, day date, at timestamp_ntz, when timestamp, word string"


def test_cells_are_values_of_the_types_that_a_schema_gives(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CELLS, encoding="utf-8")
    table = read_local(tmp_path / "a.csv", Schema.of(ALL))
    assert table.schema.types == [
        pa.int8(),
        pa.float64(),
        pa.decimal128(4, 2),
        pa.bool_(),
        pa.date32(),
        pa.timestamp("us"),
        pa.timestamp("us", tz="UTC"),
        pa.string(),
    ]
    noon = dt.datetime(2024, 2, 29, 12)
    assert table.to_pydict() == {
        "n": [7, None, -128],
        "f": [1000.0, 0.5, float("-inf")],
        "d": [Decimal("1.50"), Decimal("-2.00"), None],
        "ok": [True, False, None],
        "day": [dt.date(2024, 2, 29), None, None],
        "at": [dt.datetime(2024, 2, 29), noon.replace(microsecond=250_000), None],
        "when": [noon.replace(hour=11, tzinfo=dt.UTC), noon.replace(tzinfo=dt.UTC), None],
        "word": ["05401", "", None],
    }


@pytest.mark.parametrize(("kind", "cell"), MISFITS)
def test_a_cell_that_is_no_value_of_its_type_is_named(kind: str, cell: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"x\n{cell}\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=f"Column 'x' of '.*a.csv' has a cell '{cell}', which is not a valid "
    ) as raised:
        read_local(tmp_path / "a.csv", Schema.of({"x": kind}))
    assert ("+01:00" in str(raised.value)) == (kind == "timestamp")


def test_a_schema_chooses_columns_by_name_and_names_those_of_a_file_without_a_header(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("1,2,3\n4,5,6\n", encoding="utf-8")
    assert read_local(file, Schema.of("`3` int, `1` string")).to_pydict() == {"3": [6], "1": ["4"]}
    headless = Schema.of("a int, b int, c int", header=False)
    assert read_local(file, headless).to_pylist() == [{"a": 1, "b": 2, "c": 3}, {"a": 4, "b": 5, "c": 6}]
    with pytest.raises(DataError, match=r"a column 'bb', which '.*a.csv' lacks. Its columns are 1, 2, 3"):
        read_local(file, Schema.of("bb int"))
    with pytest.raises(DataError, match=r"a.csv:1: This row has 3 cells instead of 2: '1,2,3'"):
        read_local(file, Schema.of("a int, b int", header=False))
    with pytest.raises(OptionError, match="A file without a header needs a schema"):
        Schema.of(None, header=False)


def test_a_schema_reads_json_by_the_text_of_its_values(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": 1.10, "b": "2", "x": [1]}\n\n{"a": 12345678901234567890.5}\n{"b": 3, "a": null}\n')
    schema = Schema.of("b bigint, a decimal(30,2)")
    assert read_local(file, schema).to_pydict() == {
        "b": [2, None, 3],
        "a": [Decimal("1.10"), Decimal("12345678901234567890.50"), None],
    }
    assert read_local(file, Schema.of("a string"))["a"].to_pylist() == ["1.10", "12345678901234567890.5", None]
    for wrong, told in {
        "c int": "'c', which '.*' lacks. Its columns are a, b, x",
        "a bigint": "a cell '1.10', which is not a valid bigint",
        "x string": "Column 'x' of '.*' has nested values",
    }.items():
        with pytest.raises(DataError, match=told):
            read_local(file, Schema.of(wrong))
    with pytest.raises(OptionError, match=r"is not CSV: header=False \(--no-header\) applies to CSV files only"):
        read_local(file, Schema.of("a int", header=False))
    file.write_text('{"a": 1}\n{"a":\n')
    with pytest.raises(DataError, match="Line 2 is not"):
        read_local(file, Schema.of("a int"))


def test_files_that_tell_their_own_types_take_no_schema(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(OptionError, match=r"a.parquet' is Parquet, which has its own schema. Leave out schema="):
        read_local(tmp_path / "a.parquet", Schema.of("a int"))


def test_an_empty_text_is_no_path() -> None:
    with pytest.raises(DataError, match="The path is empty"):
        read_local("")


@pytest.mark.parametrize("spelled", ["7", '"7"'])
def test_what_no_row_of_json_has_is_null_unless_it_may_have_another_name(tmp_path: Path, spelled: str) -> None:
    known = pa.schema([("id", pa.int64()), ("zip", pa.string()), ("city", pa.string())])
    path = tmp_path / "a.json"
    path.write_text(f'{{"id": 1, "zip": {spelled}}}\n')
    table = read_like([path], "a.json", known, spare=())
    assert table.to_pylist() == [{"id": 1, "zip": "7", "city": None}]
    assert table.schema.field("city").type == pa.string()
    path.write_text(f'{{"id": 1, "zip": {spelled}, "town": "x"}}\n')
    assert "city" not in read_like([path], "a.json", known, spare=()).column_names
    assert "city" not in read_like([path], "a.json", known).column_names
