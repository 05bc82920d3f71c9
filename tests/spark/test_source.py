"""Where rows come from on Spark, and who they are: the same as for the local reader."""

from __future__ import annotations

import gzip
import io
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyarrow import json, orc, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import refute as rf
from refute.errors import DataError, EngineError, InferredTypesWarning, RefuteError, SchemaError
from refute.relation.read.files import read_local
from refute.spark.session.failures import plain_failures
from refute.spark.source.frames import frame_of
from refute.spark.source.opening import open_source
from thorough import examples

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _inferred_types_are_no_error() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferredTypesWarning)
        yield


@pytest.fixture
def small_blocks(spark: SparkSession) -> Iterator[SparkSession]:
    """The classic session, cutting files into blocks of a few rows."""
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    cost = spark.conf.get("spark.sql.files.openCostInBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "500")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    yield spark
    spark.conf.set("spark.sql.files.maxPartitionBytes", before or "")
    spark.conf.set("spark.sql.files.openCostInBytes", cost or "")


def by_position(frame: DataFrame) -> pa.Table:
    """The rows in order of their ids, without them; the ids must be 0, 1, 2, ..."""
    table = frame.toArrow().sort_by("__row")
    assert table.column("__row").to_pylist() == list(range(table.num_rows))
    return table.drop_columns(["__row"])


def same(spark_rows: pa.Table, local: pa.Table) -> None:
    """Both tables have the same columns, of types that hold the same values, and the same rows in the same order."""
    assert sorted(spark_rows.column_names) == sorted(local.column_names)
    spark_rows = spark_rows.select(local.column_names)
    for theirs, ours in zip(spark_rows.schema, local.schema, strict=True):
        assert pa.types.is_nested(ours.type) or theirs.type == ours.type, theirs.name
    assert spark_rows.to_pylist() == local.to_pylist()


def write(path: Path, text: str) -> Path:
    """A file with this text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


TYPED = """id,zip,big,price,ok,day,at,late,mixed,none
1,05401,12345678901234567890,1.5,true,2024-02-29,2024-02-29 12:00:00,2021-02-30,1,
2,10001,1,-0.25,False,1999-12-31,2024-02-29T23:59:59.25,2021-02-28,x,
,90210,-7,1e3,,,,,"",
"""


def test_a_csv_column_has_a_type_only_where_nothing_is_lost(spark_kind: SparkSession, tmp_path: Path) -> None:
    file = write(tmp_path / "typed.csv", TYPED)
    source = open_source(str(file), session=spark_kind)
    assert [kind for _, kind in source.frame.dtypes] == [
        "bigint",
        "string",
        "decimal(38,0)",
        "double",
        "boolean",
        "date",
        "timestamp_ntz",
        "string",
        "string",
        "string",
    ]
    assert source.n_rows() == 3
    same(by_position(source.identified()), read_local(file))


def test_types_that_were_told_from_cells_are_announced_and_given_ones_are_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = write(tmp_path / "a.csv", "id,name\n1,x\n")
    with pytest.warns(InferredTypesWarning, match=r"id bigint, name string. Pass a schema"):
        open_source(file, session=spark)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given_types = open_source(file, session=spark, schema="id int, name string")
    assert given_types.frame.dtypes == [("id", "int"), ("name", "string")]
    assert by_position(given_types.identified()).to_pylist() == [{"id": 1, "name": "x"}]


cells = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.integers(-20, 20).map(str),
    st.floats(allow_nan=False, width=32).map(repr),
    st.dates().map(str),
    st.datetimes().map(str),
    st.sampled_from(
        ["", "0", "-0", "007", "1.0", "1e5", "1E+05", "true", "TRUE", "tRue", "NA", "nan", "é", " 1", "1 "]
    ),
    st.sampled_from(["2021-02-30", "0000-01-01", "2021-01-01 24:00:00", "2021-01-01T10:00:00", "2021-01-01 10:00:60"]),
    st.sampled_from(["5\n", "\n", "a,b", 'q"q', "x\r\ny"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\x00\ufeff\ue000\ue001"), max_size=4),
)


@st.composite
def csv_files(draw: st.DrawFn) -> list[str]:
    """The texts of one to three files of one header; most columns draw their cells from few different ones."""
    width = draw(st.integers(1, 12))
    pools = [draw(st.lists(cells, min_size=1, max_size=3)) for _ in range(width)]
    header = ",".join(f"c{i}" for i in range(width))
    texts = []
    for _ in range(draw(st.integers(1, 3))):
        lines = [header]
        for _ in range(draw(st.integers(0, 5))):
            row = [draw(st.sampled_from(pool)) for pool in pools]
            quoted = [draw(st.booleans()) or any(c in cell for c in ',"\n\r') for cell in row]
            quoted[0] = quoted[0] or (width == 1 and not row[0].strip())
            lines.append(
                ",".join(
                    '"' + cell.replace('"', '""') + '"' if quote else cell
                    for cell, quote in zip(row, quoted, strict=True)
                )
            )
        texts.append("\n".join(lines) + draw(st.sampled_from(["", "\n"])))
    return texts


@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=csv_files())
def test_spark_and_the_local_reader_see_the_same_table_in_a_csv_file(
    texts: list[str], spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    shutil.rmtree(folder, ignore_errors=True)
    for number, text in enumerate(texts):
        write(folder / f"{number}.csv", text)
    source = open_source(str(folder), session=spark)
    local = read_local(folder)
    assert source.n_rows() == local.num_rows
    same(by_position(source.identified()), local)


def numbers(start: int, stop: int) -> pa.Table:
    """A few columns over a range of numbers."""
    values = range(start, stop)
    return pa.table({"n": pa.array(values, pa.int64()), "text": [f"row {value}" for value in values]})


def as_csv(table: pa.Table, delimiter: str = ",") -> bytes:
    """The table as the text of a CSV file."""
    rows = [delimiter.join(table.column_names)]
    rows += [delimiter.join(str(cell) for cell in row.values()) for row in table.to_pylist()]
    return "\n".join(rows).encode()


def as_json(table: pa.Table) -> bytes:
    """The table as JSON lines."""
    return "\n".join(f'{{"n": {row["n"]}, "text": "{row["text"]}"}}' for row in table.to_pylist()).encode()


def write_table(table: pa.Table, path: Path) -> None:
    """A file of the format that its name tells."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.name.split(".", 1)[1]
    match kind:
        case "parquet":
            parquet.write_table(table, path, row_group_size=50)
        case "orc":
            orc.write_table(table, path, stripe_size=1024)
        case "csv" | "tsv":
            path.write_bytes(as_csv(table, "," if kind == "csv" else "\t"))
        case "csv.gz":
            path.write_bytes(gzip.compress(as_csv(table)))
        case "jsonl":
            path.write_bytes(as_json(table))
        case "json.gz":
            path.write_bytes(gzip.compress(as_json(table)))


KINDS = ["parquet", "orc", "csv", "tsv", "csv.gz", "jsonl", "json.gz"]


@pytest.mark.parametrize("kind", KINDS)
def test_positions_are_those_of_the_local_reader_for_any_cut_into_tasks(
    kind: str, small_blocks: SparkSession, tmp_path: Path
) -> None:
    write_table(numbers(0, 150), tmp_path / f"b.{kind}")
    write_table(numbers(150, 151), tmp_path / f"a 1%.{kind}")
    write_table(numbers(151, 300), tmp_path / "c" / f"a.{kind}")
    source = open_source(str(tmp_path), session=small_blocks, split_bytes=100)
    same(by_position(source.identified()), read_local(tmp_path))
    assert source.identified().where("n = 151").select("__row").collect()[0][0] == 151
    assert source.n_rows() == 300
    if kind in ("parquet", "csv", "jsonl"):
        assert source.frame.select(F.spark_partition_id().alias("p")).distinct().count() > 3


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_dataframe_that_scans_files_has_positions_and_any_other_asks_for_a_key(
    kind: str, spark_kind: SparkSession, tmp_path: Path
) -> None:
    write_table(numbers(0, 20), tmp_path / f"a.{kind}")
    write_table(numbers(20, 30), tmp_path / f"b.{kind}")
    spark_format = {"jsonl": "json"}.get(kind, kind)
    frame = spark_kind.read.format(spark_format).options(header=True).load(str(tmp_path))
    renamed = frame.withColumnRenamed("n", "number").withColumn("twice", F.col("number") * 2)
    for scan in (frame, renamed):
        source = open_source(scan)
        assert source.has_identity
        rows = by_position(source.identified())
        assert [int(n) for n in rows.column(rows.column_names.index("text") ^ 1).to_pylist()] == list(range(30))
    for other in (frame.where("n > 3"), frame.orderBy("n"), frame.union(frame), frame.distinct(), frame.limit(3)):
        source = open_source(other)
        assert not source.has_identity
        with pytest.raises(DataError, match=r"needs row ids, .* key="):
            source.identified()


def test_a_cut_into_other_tasks_than_before_is_an_error_and_never_a_wrong_position(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_table(numbers(0, 400), tmp_path / "a.jsonl")
    source = open_source(tmp_path / "a.jsonl", session=spark)
    assert by_position(source.identified()).num_rows == 400
    rows = source.identified()
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1000")
    try:
        with pytest.raises(EngineError, match=r"split the input.* differently than before"), plain_failures():
            rows.collect()
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def test_a_catalog_table_is_read_by_its_name(spark_kind: SparkSession) -> None:
    spark_kind.range(10).write.mode("overwrite").saveAsTable("default.ten")
    source = open_source("default.ten", session=spark_kind)
    assert source.n_rows() == 10
    assert source.has_identity
    assert sorted(row[0] for row in source.identified().select("__row").collect()) == list(range(10))
    with pytest.raises(DataError, match=r"There is no file, folder or table 'nowhere\.ten'"):
        open_source("nowhere.ten", session=spark_kind)
    with pytest.raises(DataError, match="There is no file, folder or table 'some words'"):
        open_source("some words", session=spark_kind)


def test_a_table_may_be_called_as_a_format_is(spark: SparkSession) -> None:
    spark.range(3).write.mode("overwrite").saveAsTable("default.csv")
    try:
        assert open_source("default.csv", session=spark).n_rows() == 3
        assert open_source("spark_catalog.default.csv", session=spark).n_rows() == 3
    finally:
        spark.sql("drop table default.csv")
    for name in ("default.csv", "some words.csv"):
        with pytest.raises(DataError, match=f"'{name}'"):
            open_source(name, session=spark)


def test_keys_are_the_ids_of_rows_alone_or_together(spark_kind: SparkSession) -> None:
    frame = spark_kind.createDataFrame([(1, "a"), (1, "b"), (2, "a")], "id int, `o.d``d` string")
    both = open_source(frame, key=["id", "o.d`d"])
    assert both.has_identity
    both.check_key()
    assert sorted(tuple(row["__row"]) for row in both.identified().collect()) == [(1, "a"), (1, "b"), (2, "a")]
    with pytest.raises(DataError, match=r"The key id is not unique: 2 rows have id = 1"):
        open_source(frame, key=["id"]).check_key()
    nulls = spark_kind.createDataFrame([(1.0, 1), (None, 2), (float("nan"), 3)], "id double, n int")
    with pytest.raises(DataError, match=r"The key column 'id' is null in 2 rows"):
        open_source(nulls, key=["id"]).check_key()
    open_source(nulls, key=["n"]).check_key()
    with pytest.raises(SchemaError, match=r"There is no key column 'iid'\. Did you mean 'id'\?"):
        open_source(frame, key=["iid"])
    nested = frame.select(F.array("id").alias("a"))
    with pytest.raises(SchemaError, match=r"'a' has a type that cannot be compared"):
        open_source(nested, key=["a"])


def test_columns_that_spark_cannot_tell_apart_are_named(spark: SparkSession) -> None:
    with pytest.raises(DataError, match="Spark cannot distinguish the columns 'id' and 'ID'"):
        open_source(spark.range(1).select("id", F.col("id").alias("ID")))
    with pytest.raises(DataError, match=r"'__row' of .* has a name that Refute reserves"):
        open_source(spark.range(1).select(F.col("id").alias("__row")))


BAD_FILES = {  # through Connect this process does not see the files, and so finds no line
    "cells.csv": (
        "a,b\n1,2\n1,2,3\n",
        "cells.csv(:3: This row has 3 cells.*|' has a row with .* cells): '1,2,3'",
    ),
    "short.csv": ("a,b\n1\n", "short.csv(:2: This row has 1 cell.*|' has a row with .* cells): '1'"),
    "empty.csv": ("", "empty.csv' is empty"),
    "empty.json": ("", "empty.json' is empty"),
    "twice.csv": ("a,a\n1,2\n", "more than one column 'a'"),
    "broken.json": ('{"a": 1}\n{"a":\n', "A row of '.*broken.json' does not fit"),
    "broken.parquet": ("PAR1 and nothing else", "Cannot read '.*broken.parquet'"),
    "broken.orc": ("ORC and nothing else", "Cannot read '.*broken.orc'"),
    "broken.csv.gz": ("not packed", "Cannot read '.*broken.csv.gz'"),
    "table.feather": ("x", "Spark does not read Arrow files"),
    "notes.txt": ("x", "Cannot tell the format of '.*notes.txt'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_read_is_one_sentence(name: str, spark_kind: SparkSession, tmp_path: Path) -> None:
    text, told = BAD_FILES[name]
    file = write(tmp_path / name, text)
    with pytest.raises(DataError, match=told) as raised:
        open_source(file, session=spark_kind).frame.collect()
    assert "\n" not in str(raised.value)
    assert "\tat " not in str(raised.value)


def test_paths_without_files_and_folders_of_several_formats_are_one_sentence(
    spark_kind: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path / "mixed" / "a.csv", "a\n1\n")
    write(tmp_path / "mixed" / "b.json", '{"a": 1}\n')
    (tmp_path / "empty").mkdir()
    write(tmp_path / "headers" / "a.csv", "a,b\n1,2\n")
    write(tmp_path / "headers" / "b.csv", "b,a\n1,2\n")
    for path, told in {
        "mixed": "mixes formats: .* is CSV, .* is JSON lines",
        "empty": "empty'",
        "missing.csv": "There is no file or folder '.*missing.csv'",
        "missing/*.csv": r"(No file matches|There is no file or folder) '.*missing/\*.csv'",
        "headers": "header|columns of",
    }.items():
        with pytest.raises(DataError, match=told) as raised:
            open_source(tmp_path / path, session=spark_kind).frame.collect()
        assert "\n" not in str(raised.value)


def test_a_given_schema_finds_rows_that_do_not_fit_it(spark_kind: SparkSession, tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "a,b\n1,2\nx,3\n")
    with pytest.raises(DataError, match=r"Column 'a' of '.*a.csv' has a cell 'x', which is not a valid int"):
        open_source(file, session=spark_kind, schema="a int, b int")


def test_globs_odd_names_and_folders_that_carry_columns_are_understood(
    spark_kind: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path / "year=2023" / "a [1].csv", ",v\n1,x\n")
    write(tmp_path / "year=2024" / "b%20.csv", ",v\n2,y\n3,z\n")
    write(tmp_path / "year=2024" / "_hidden.csv", "w\n2\n")
    write(tmp_path / "year=2024" / "none.csv", "")
    whole = open_source(str(tmp_path), session=spark_kind)
    assert whole.frame.columns == ["_c0", "v", "year"]
    rows = by_position(whole.identified())
    assert rows.to_pylist() == read_local(tmp_path).to_pylist()
    assert rows.column("year").to_pylist() == [2023, 2024, 2024]
    some = open_source(f"{tmp_path}/year=*/b*.csv", session=spark_kind)
    assert by_position(some.identified()).to_pylist() == [{"_c0": 2, "v": "y"}, {"_c0": 3, "v": "z"}]
    one = open_source(tmp_path / "year=2023" / "a [1].csv", session=spark_kind)
    assert one.n_rows() == 1


def test_files_of_other_columns_are_read_together_as_the_local_reader_does(spark: SparkSession, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"a": [3], "b": ["x"]}), tmp_path / "2.parquet")
    same(by_position(open_source(tmp_path, session=spark).identified()), read_local(tmp_path))
    parquet.write_table(pa.table({"a": ["text"]}), tmp_path / "3.parquet")
    with pytest.raises(DataError, match="do not fit together"):
        open_source(tmp_path, session=spark)


def test_json_text_of_the_shape_of_a_time_is_text_for_every_reader(spark: SparkSession, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", '{"at": "2024-01-01 00:00:00", "n": 1, "x": {"y": [1]}}\n{"n": 2.5}\n')
    source = open_source(file, session=spark)
    assert dict(source.frame.dtypes)["x"] == "struct<y:array<bigint>>"
    assert json.read_json(io.BytesIO(file.read_bytes())).schema.field("at").type == pa.timestamp("s")
    same(by_position(source.identified()), read_local(file))


def test_an_arrow_table_becomes_a_dataframe_of_the_session_that_is_asked_for(spark_kind: SparkSession) -> None:
    table = pa.table({"s": pa.array([1, 2]), "t": pa.array(["a", "b"]).dictionary_encode()})
    frame = frame_of(table, spark_kind)
    assert [tuple(row) for row in frame.collect()] == [(1, "a"), (2, "b")]
    assert frame_of(table).count() == 2


def test_failures_of_spark_are_told_in_one_sentence(
    spark_kind: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    def raised(frame: object) -> RefuteError:
        with pytest.raises(RefuteError) as caught, plain_failures("the data"):
            frame().collect()  # type: ignore[operator]
        assert "\n" not in str(caught.value)
        return caught.value

    column = raised(lambda: spark_kind.range(3).select("idd"))
    assert isinstance(column, SchemaError)
    assert str(column) == "There is no column 'idd'. Did you mean 'id'?"

    def boom(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Fails in Spark's worker, which cannot import this module."""
        for batch in batches:
            if batch.num_rows:
                raise DataError("the worker says so")
            yield batch

    worker = raised(lambda: spark_kind.range(3).mapInArrow(boom, "id long"))
    assert isinstance(worker, DataError)
    assert str(worker) == "the worker says so"
    memory = raised(lambda: spark_kind.range(1).select(F.raise_error(F.lit("java.lang.OutOfMemoryError: heap"))))
    assert isinstance(memory, EngineError)
    assert "spark.executor.memory" in str(memory)
    other = raised(lambda: spark_kind.sql("select cast('x' as int)"))
    assert str(other).startswith("Spark failed on 'the data': The value 'x'")
    assert "Stack trace" not in capfd.readouterr().err


def test_a_file_that_is_named_twice_has_no_positions(spark_kind: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"g": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("g\n1\n2\n3\n", encoding="utf-8")
    twice = [
        spark_kind.read.parquet(*[str(tmp_path / "a.parquet")] * 2),
        spark_kind.read.csv([str(tmp_path / "a.csv")] * 2, header=True, inferSchema=True),
    ]
    for frame in twice:
        assert rf.count(frame, "unique(g)") == 6
        with pytest.raises(DataError, match="read more than once"):
            list(rf.violations(frame, "unique(g)"))
        assert (
            len(set(rf.violations(frame.withColumn("k", F.monotonically_increasing_id()), "unique(g)", key="k"))) == 6
        )


@pytest.mark.parametrize("name", ["late.csv", "late.jsonl"])
def test_bytes_that_are_not_utf8_are_refused_wherever_they_stand(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    written = '{{"g": "{}"}}\n' if name.endswith("jsonl") else "{}\n"
    rows = "".join(written.format(f"value {i}") for i in range(60_000)).encode()
    wrong = [written.format("%").encode().replace(b"%", bytes([byte])) for byte in (0xFE, 0xFF)]
    file = tmp_path / name
    file.write_bytes((b"" if name.endswith("jsonl") else b"g\n") + rows + b"".join(wrong))
    for engine in ("spark", "local"):
        with pytest.raises(DataError, match=r"(?i)utf.?8"):
            rf.count(str(file), "unique(g)", engine=engine)
    with pytest.raises(DataError, match=r"(?i)utf.?8"):
        rf.count(str(file), "unique(g)", schema="g string", engine="spark")
