"""The public functions on Spark: schemas of files, tables in memory, databases, and what they warn of."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

import refute as rf
from misfits import MISFITS
from refute.errors import DataError, InferredTypesWarning, OptionError
from refute.relation.read.files import read_local
from refute.relation.read.schema import CellType, Schema
from refute.spark.source.frames import frame_of
from refute.spark.source.opening import open_source
from refute.spark.source.text_cells import cast, misfit

pytestmark = pytest.mark.spark

ROWS = "id,zip,city\n1,05401,Burlington\n2,5401,Burlingtown\n3,80836,Fairdale\n"
CLASH = "zip -> city"


def write(path: Path, text: str) -> str:
    """The path of a file with this text."""
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)


def test_a_schema_decides_what_cells_mean_and_nothing_is_announced(spark: SparkSession, tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", ROWS)
    with pytest.warns(InferredTypesWarning, match="id bigint, zip string, city string"):
        assert rf.count(file, CLASH, engine="spark") == 0  # as text, 05401 is not 5401
    struct = StructType([StructField("zip", LongType()), StructField("city", StringType())])
    text = "id int, zip bigint, city string"
    with warnings.catch_warnings():
        warnings.simplefilter("error", InferredTypesWarning)
        assert {rf.count(file, CLASH, schema=text, engine=engine) for engine in ("spark", "local", "auto")} == {2}
        assert not rf.verify(file, CLASH, schema=struct, engine="spark").holds
        found = rf.violations(file, CLASH, schema={"city": "string", "zip": "int"}, engine="spark")
        assert sorted(found.to_arrow()["s"].to_pylist()) == [0, 1]
        assert rf.check(file, CLASH, schema=text, engine="spark").exit_code == 1
        assert str(rf.explain(file, CLASH, schema=text, engine="spark")).startswith("answered on Spark\n")
        rules = [
            rf.discover(file, schema=text, columns=["zip", "city"], engine=engine).top(9)
            for engine in ("spark", "local")
        ]
    assert [rule.sentence for rule in rules[0]] == [rule.sentence for rule in rules[1]]


def test_a_file_without_a_header_has_the_columns_of_the_schema(spark_kind: SparkSession, tmp_path: Path) -> None:
    plain = ROWS.partition("\n")[2]
    broken = '1,05401,"Bur\nlington"\r\n2,5401,\r\n3,80836,Fairdale\r\n'
    schema = Schema.of("id int, zip bigint, city string", header=False)
    for text in (plain, broken):
        file = write(tmp_path / "a.csv", text)
        rows = open_source(file, session=spark_kind, schema=schema).identified().toArrow().sort_by("__row")
        assert rows.drop_columns(["__row"]).to_pylist() == read_local(file, schema).to_pylist()
        assert rows["__row"].to_pylist() == [0, 1, 2]


CELLS = """n,f,g,d,ok,day,at,when,word,none
+007,1e3,0.1,001.50,TRUE,2024-02-29,2024-02-29,2024-02-29T12:00:00+01:00,05401,
"",.5,1e400,-2,false,,2024-02-29 12:00:00.25,2024-02-29 12:00:00Z,"",
-128,-Infinity,1e-50,,,,,,"a
b",
"""
ALL = (
    "n tinyint, f double, g float, d decimal(4,2), ok boolean, day date, at timestamp_ntz, when timestamp, "
    "word string, none bigint"
)
LINES = """{"n": 7, "f": 1e3, "d": 1.50, "ok": true, "at": "2024-02-29", "word": 1.10, "x": {"y": 1}}
{"n": "-128", "f": 0.1, "d": 99.99, "ok": false, "none": null, "word": "é"}
"""
SOME = "n tinyint, f double, d decimal(4,2), ok boolean, at timestamp_ntz, word string, none int"


@pytest.mark.parametrize(("name", "text", "schema"), [("a.csv", CELLS, ALL), ("a.jsonl", LINES, SOME)])
def test_a_schema_means_the_same_to_spark_and_to_the_local_reader(
    name: str, text: str, schema: str, spark_kind: SparkSession, tmp_path: Path
) -> None:
    file = write(tmp_path / name, text)
    source = open_source(file, session=spark_kind, schema=schema)
    local = read_local(file, Schema.of(schema))
    rows = source.identified().toArrow().sort_by("__row").drop_columns(["__row"])
    assert rows.schema.types == local.schema.types
    assert rows.to_pylist() == local.to_pylist()
    assert source.n_rows() == local.num_rows


NUMBERS = (
    "0 -0 +0 007 +7 1.0 1. .5 . - + 1e5 1E+05 1e400 -1e400 1e-400 1e1000 NaN nan Infinity -Infinity +Infinity inf 127 "
    "128 -129 32768 2147483648 9223372036854775807 9223372036854775808 -9223372036854775808 0x10 1_000 12.34 123.45 "
    "99.995 100 00012.3400 -0.001 999999999999999999999999999999999999999 99999999999999999999999999999999999999 0.1 "
    "0.30000000000000004 123456789012345678 5e-324 2e-324 3.4028236e38 16777217 0.1f 1d true TRUE tRue t 1 é \u0661"
)
MOMENTS = [
    *("2024-02-29", "2023-02-29", "2024-2-9", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "1582-10-10"),
    *("2024-02-29 12:00:00", "2024-02-29T12:00:00.123456", "2024-02-29 12:00:00.1234567", "2024-02-29 24:00:00"),
    *("2024-02-29 23:59:60", "2024-02-29 12:00", "2024-02-29 12:00:00Z", "2024-02-29 12:00:00-17:59"),
    *("2024-02-29 12:00:00+18:00", "2024-02-29T12:00:00 +01:00", "1847-11-30 00:00:00+09:00", "2024-02-29\n", " 1", ""),
]
KINDS = (
    "boolean tinyint smallint int bigint float double date timestamp_ntz timestamp "
    "decimal(4,2) decimal(2,2) decimal(38,0) decimal(38,18)"
)


@pytest.mark.parametrize("setting", [{}, {"ansi.enabled": "false", "timestampType": "TIMESTAMP_NTZ"}])
def test_a_cell_is_the_same_value_to_both_engines_or_to_neither(setting: dict[str, str], spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    for name, value in setting.items():
        session.conf.set(f"spark.sql.{name}", value)
    cells = [*NUMBERS.split(), *MOMENTS]
    frame = session.createDataFrame([(cell,) for cell in cells], "x string")
    kinds = [CellType.of(name, "x") for name in KINDS.split()]
    fitting = [F.when(misfit("x", kind).isNull(), cast("x", kind)).alias(kind.name) for kind in kinds]
    found = frame.select("x", *fitting).toArrow()
    assert found["x"].to_pylist() == cells
    for kind in kinds:
        for cell, value in zip(cells, found[kind.name], strict=True):
            try:
                ours = kind.values(pa.chunked_array([[cell]]), "x", "here")[0]
            except DataError:
                ours = pa.scalar(None, kind.arrow)
            assert value.equals(ours) or (cell == "NaN" and str(value) == "nan"), (kind.name, cell)


def test_a_schema_that_does_not_fit_is_the_same_sentence_in_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    header = ",".join(f"c{i}" for i in range(len(MISFITS)))
    file = write(tmp_path / "a.csv", f"{header}\n{','.join(cell for _, cell in MISFITS)}\n")
    lines = write(tmp_path / "a.json", '{"a": 1}\n{"b": "x"}\n')
    parquet = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": [1]}), parquet)
    cases = [(file, f"c{i} {kind}") for i, (kind, _) in enumerate(MISFITS)]
    cases += [(file, "c0 string, id int"), (lines, "c int"), (lines, "b int"), (lines, "a int, b bigin")]
    cases += [(parquet, "a int")]
    for path, schema in cases:
        told = []
        for engine in ("spark", "local"):
            with pytest.raises((DataError, OptionError)) as raised:
                rf.count(path, "not (s.a = t.a)", schema=schema, engine=engine)
            told.append(str(raised.value))
        assert told[0] == told[1]
        assert "\n" not in told[0]


def test_options_of_files_are_refused_where_there_are_none(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, 2)], "a int, b int")
    frame.createOrReplaceTempView("pairs")
    for table in (frame, pa.table({"a": [1], "b": [2]})):
        for how in ({"schema": "a int"}, {"header": False}):
            with pytest.raises(OptionError, match="apply to files only"):
                rf.count(table, "a -> b", **how)
    with pytest.raises(OptionError, match="'pairs' is a catalog table, which has its own schema"):
        rf.count("pairs", "a -> b", schema="a int, b int")
    with pytest.raises(OptionError, match="A file without a header needs a schema"):
        rf.count(write(tmp_path / "a.csv", "1,2\n"), "a -> b", header=False, engine="spark")


def test_types_of_json_are_announced_as_those_of_csv(spark: SparkSession, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", '{"a": 1, "b": "x"}\n{"a": 1, "b": "y"}\n')
    with pytest.warns(InferredTypesWarning, match=r"were inferred: a bigint, b string\. Pass a schema"):
        assert rf.count(file, "a -> b", engine="spark") == 2


NOON = dt.datetime(2024, 2, 29, 12)
TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.uint32()),
        "zip": ["05401", "05401", None],
        "city": pa.array(["Burlington", "Burlingtown", "x"]).dictionary_encode(),
        "at": pa.array([NOON, NOON, None], pa.timestamp("ns")),
    }
)
IN_MEMORY: dict[str, Callable[[], Any]] = {
    "arrow": lambda: TABLE,
    "pandas": TABLE.to_pandas,
    "polars": lambda: polars.from_arrow(TABLE),
}


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_a_table_in_memory_goes_to_spark_where_that_is_asked_for(kind: str, spark: SparkSession) -> None:
    table = IN_MEMORY[kind]()
    for rule in (CLASH, "at -> city"):
        assert rf.count(table, rule, engine="spark") == 2
    found = rf.violations(table, CLASH, key="id", engine="spark").to_arrow()
    assert sorted(found["s"].to_pylist()) == [1, 2]
    assert rf.check(table, CLASH, key="id", engine="spark").exit_code == 1
    with pytest.raises(DataError, match=r"needs row ids.*key="):
        rf.violations(table, CLASH, engine="spark")


def test_timestamps_keep_or_lack_their_zone_with_and_without_rows(spark_kind: SparkSession) -> None:
    table = pa.table(
        {
            "plain": pa.array([NOON], pa.timestamp("ms")),
            "zoned": pa.array([NOON], pa.timestamp("us", tz="Europe/Paris")),
        }
    )
    for some in (table, table.slice(0, 0)):
        frame = frame_of(some, spark_kind)
        assert frame.dtypes == [("plain", "timestamp_ntz"), ("zoned", "timestamp")]
        assert frame.toArrow().to_pylist() == some.to_pylist()


def test_a_column_that_spark_cannot_hold_exactly_is_named(spark: SparkSession) -> None:
    for column, told in (
        (pa.array([1], pa.timestamp("ns")), r"cannot hold the column 'a' \(timestamp\[ns\]\) exactly"),
        (pa.array([1]).cast(pa.decimal256(50, 2)), r"no type for the column 'a' \(decimal256"),
    ):
        with pytest.raises(DataError, match=told):
            rf.count(pa.table({"a": column}), "not (s.a = t.a)", engine="spark")
    largest = pa.table({"a": pa.array([2**64 - 1, 2**64 - 2], pa.uint64())})
    assert rf.count(largest, "not (s.a > t.a)", engine="spark") == 1


def test_a_pandas_frame_without_a_type_is_told_as_in_process(spark: SparkSession) -> None:
    mixed = pandas.DataFrame({"a": [1, "x"]})
    with pytest.raises(rf.errors.SchemaError, match="Column 'a' has no single type"):
        rf.count(mixed, "not (s.a = t.a)", engine="spark")


def test_rows_of_a_database_are_checked_through_a_dataframe(spark_kind: SparkSession, spark: SparkSession) -> None:
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", "/dev/null")  # type: ignore[union-attr]
    url = "jdbc:derby:memory:refute;create=true"
    rows = spark_kind.createDataFrame(
        [(1, "05401", "a"), (2, "05401", "b"), (3, "80836", "c")], "id int, zip string, city string"
    )
    rows.write.jdbc(url, "people", mode="overwrite")
    people = spark_kind.read.jdbc(url, "people", column="id", lowerBound=0, upperBound=4, numPartitions=2)
    assert sorted(rf.violations(people, CLASH, key="id").to_arrow()["t"].to_pylist()) == [1, 2]
    report = rf.check(people, [CLASH, "unique(id)"], key="id")
    assert [result.finding.violations for result in report] == [2, 0]
    assert report.split(blame="all")[1].count() == 2
    with pytest.raises(DataError, match="Listing violations needs row ids"):
        rf.violations(people, CLASH)


def test_a_stream_and_an_empty_name_are_one_sentence(spark_kind: SparkSession) -> None:
    stream = spark_kind.readStream.format("rate").load()
    with pytest.raises(DataError, match="The DataFrame is a stream, and streams are not supported"):
        rf.count(stream, "not (s.value = t.value)")
    for engine in ("spark", "local"):
        for name in ("", " "):
            with pytest.raises(DataError, match="The path is empty"):
                rf.count(name, "a -> b", engine=engine)
