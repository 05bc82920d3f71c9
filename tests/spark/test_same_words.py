"""One wording for one fault: what both engines refuse, they refuse with the same message and the same facts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.errors import InferredTypesWarning, RefuteError

pytestmark = pytest.mark.spark

ROWS = pa.table(
    {"id": [1, 2, 2, 3], "zip": ["a", "a", "b", None], "city": ["x", "y", "x", "z"], "rate": [1.0, 2, 3, 4]}
)
PAIRS = pa.table({"a": [2, 2, 1, 1], "b": ["q", "q", "p", "p"], "n": [1, 2, 3, 4]})
GAPS = pa.table({"id": [1, None, 3, None], "f": [1.0, float("nan"), 2.0, 3.0], "zip": ["a", "b", "c", "d"]})
LISTS = pa.table({"id": [1, 2], "l": [[1], [2]]})


def where(condition: str) -> dict[str, Any]:
    """A book of one rule with this condition."""
    return {"version": 1, "rules": [{"name": "r", "fd": "zip -> city", "where": condition}]}


Ask = Callable[[str], object]

TABLES: dict[str, Ask] = {
    "unknown column, near another": lambda engine: rf.count(ROWS, "zipp -> city", engine=engine),
    "unknown column, near none": lambda engine: rf.verify(ROWS, "unique(quantity)", engine=engine),
    "unknown column of a listing": lambda engine: rf.violations(ROWS, "unique(quantity)", engine=engine),
    "unknown column of a plan": lambda engine: rf.explain(ROWS, "unique(quantity)", engine=engine),
    "unknown column of a condition": lambda engine: rf.check(ROWS, where("cty = 'x'"), engine=engine),
    "types in a condition": lambda engine: rf.check(ROWS, where("city = 1"), engine=engine),
    "types in a condition, of one verdict": lambda engine: rf.verify(ROWS, where("city > rate"), engine=engine),
    "two types": lambda engine: rf.count(ROWS, "not (s.zip = t.rate)", engine=engine),
    "a literal of another type": lambda engine: rf.count(
        ROWS, "not (s.zip = t.zip and s.rate = 'high')", engine=engine
    ),
    "several rules that do not fit": lambda engine: rf.check(
        ROWS, ["a -> b", "zip -> cty", "unique(id)"], engine=engine
    ),
    "a column that cannot be compared": lambda engine: rf.count(LISTS, "unique(l)", engine=engine),
    "unknown key column": lambda engine: rf.check(ROWS, "zip -> city", key="idd", engine=engine),
    "unknown key column, near none": lambda engine: rf.check(ROWS, "zip -> city", key="quantity", engine=engine),
    "key column twice": lambda engine: rf.check(ROWS, "zip -> city", key=["id", "id"], engine=engine),
    "key of lists": lambda engine: rf.check(LISTS, "unique(id)", key="l", engine=engine),
    "key that is not unique": lambda engine: rf.check(ROWS, "zip -> city", key="id", engine=engine),
    "key of text that is not unique": lambda engine: rf.check(ROWS, "zip -> city", key="city", engine=engine),
    "key of two columns": lambda engine: rf.check(PAIRS, "unique(n)", key=["a", "b"], engine=engine),
    "null in a key": lambda engine: rf.check(GAPS, "unique(zip)", key="id", engine=engine),
    "NaN in a key": lambda engine: rf.check(GAPS, "unique(zip)", key="f", engine=engine),
    "null in the second key column": lambda engine: rf.check(GAPS, "unique(zip)", key=["zip", "id"], engine=engine),
    "unknown method": lambda engine: rf.count(ROWS, "zip -> city", method="swep", engine=engine),
    "unknown nulls": lambda engine: rf.count(ROWS, "zip -> city", nulls="sqll", engine=engine),
    "several rules for one": lambda engine: rf.count(ROWS, ["zip -> city", "unique(id)"], engine=engine),
    "a limit": lambda engine: rf.violations(ROWS, "zip -> city", 0, engine=engine),
    "a rule that a report lacks": lambda engine: rf.check(ROWS, "zip -> city", engine=engine).violations("zip_fixes"),
    "unknown column of a search": lambda engine: rf.discover(ROWS, columns=["zipp"], engine=engine),
    "unknown column of a condition on what is searched": lambda engine: rf.discover(
        ROWS, where="cty = 'x'", engine=engine
    ),
    "types in a condition on what is searched": lambda engine: rf.discover(ROWS, where="city > rate", engine=engine),
    "a condition that cannot be read": lambda engine: rf.discover(ROWS, where="city like 'x'", engine=engine),
    "unknown method of a search": lambda engine: rf.discover(ROWS, method="guide", engine=engine),
}

FILES: dict[str, tuple[dict[str, bytes], str, dict[str, Any]]] = {
    "row with too many cells": ({"t.csv": b"id,zip\n1,a\n2,b,c\n"}, "t.csv", {}),
    "row with too few cells": ({"t.csv": b"id,zip\n1,a\n2\n"}, "t.csv", {}),
    "long row with too many cells": ({"t.csv": b"id,zip\n1,a\n2," + b"b" * 300 + b",c\n"}, "t.csv", {}),
    "rows with too many cells, the first behind a cell of three lines": (
        {"a.csv": b"id,zip\n1,a\n", "t.csv": b'id,zip\r\n1,"a\r\nb\nc"\r\n\r\n2\r\n3,a,b\r\n'},
        "*.csv",
        {},
    ),
    "row with too many cells in an encoding of its own": (
        {"t.csv": "id;zip\n1;a\n2;'é;b';ö;ü\n".encode("cp1252")},
        "t.csv",
        {"csv": {"delimiter": ";", "encoding": "cp1252", "quote": "'"}},
    ),
    "quote that is never closed in a header": ({"t.csv": b'id,"zip\n1,a\n2,b\n'}, "t.csv", {}),
    "quote that is never closed in a row that then lacks cells": (
        {"t.csv": b'id,zip\n1,"a\nb"\n"2,b\n3,c\n'},
        "t.csv",
        {},
    ),
    "UTF-8 with a mark in another encoding": (
        {"t.csv": b"\xef\xbb\xbfid,zip\n1,a\n"},
        "t.csv",
        {"csv": {"encoding": "cp1252"}},
    ),
    "UTF-16 without a mark": ({"t.csv": "id,zip\n1,a\n".encode("utf-16-le")}, "t.csv", {}),
    "name that is too long": ({"t.csv": b"id," + b"z" * 200_000 + b"\n1,a\n"}, "t.csv", {}),
    "row with too many cells for a schema": (
        {"t.csv": b"1,a\n2,b,c\n"},
        "t.csv",
        {"schema": "id bigint, zip string", "header": False},
    ),
    "other header": ({"d/a.csv": b"id,zip\n1,a\n", "d/b.csv": b"id,city\n1,a\n"}, "d", {}),
    "longer header": ({"d/a.csv": b"id,zip\n1,a\n", "d/b.csv": b"id,zip,city\n1,a,b\n"}, "d", {}),
    "column twice in a header": ({"t.csv": b"id,id\n1,2\n"}, "t.csv", {}),
    "no header": ({"t.csv": b""}, "t.csv", {}),
    "bytes that are not text": ({"t.csv": b"id,zip\n1,\xff\xfe\n"}, "t.csv", {}),
    "missing file": ({}, "nothing.csv", {}),
    "missing folder": ({}, "nothing/", {}),
    "unmatched glob": ({}, "*.parquet", {}),
    "empty folder": ({"d/readme.txt": b"x"}, "d", {}),
    "two formats": ({"d/a.csv": b"id\n1\n", "d/b.json": b'{"id": 1}\n'}, "d", {}),
    "unknown format": ({"t.xlsx": b"x"}, "t.xlsx", {}),
    "schema with another column": ({"t.csv": b"id,zip\n1,a\n"}, "t.csv", {"schema": "id bigint, city string"}),
    "cell of another type": ({"t.csv": b"id,zip\n1,a\nx,b\n"}, "t.csv", {"schema": "id bigint, zip string"}),
    "schema for JSON without a header": (
        {"t.json": b'{"id": 1}\n'},
        "t.json",
        {"schema": "id bigint", "header": False},
    ),
    "a type that is not one": ({"t.csv": b"id\n1\n"}, "t.csv", {"schema": "id number"}),
    "header without a schema": ({"t.csv": b"id\n1\n"}, "t.csv", {"header": False}),
}


def refused(ask: Callable[[], object]) -> tuple[type, str, dict[str, object]]:
    """What an engine says: the class of its error, the message and the facts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferredTypesWarning)
        with pytest.raises(RefuteError) as error:
            ask()
    return type(error.value), str(error.value), error.value.facts


def test_both_engines_leave_a_column_out_in_the_same_words(spark: SparkSession) -> None:
    here, there = (rf.discover(LISTS, engine=engine).notes for engine in ("local", "spark"))
    assert here == there == ("Column 'l' (list) was left out: its values cannot be compared.",)


@pytest.mark.parametrize("name", TABLES)
def test_both_engines_refuse_a_table_or_a_rule_in_the_same_words(name: str, spark: SparkSession) -> None:
    here = refused(lambda: TABLES[name]("local"))
    assert here == refused(lambda: TABLES[name]("spark"))
    assert here[2], "an error without facts"


@pytest.mark.parametrize("name", FILES)
def test_both_engines_refuse_a_file_in_the_same_words(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, path, options = FILES[name]
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(content)
    monkeypatch.chdir(tmp_path)  # so that a message which shows another path than the given one is seen
    here = refused(lambda: rf.count(path, "unique(id)", engine="local", **options))
    assert here == refused(lambda: rf.count(path, "unique(id)", engine="spark", **options))
    assert here[2], "an error without facts"
