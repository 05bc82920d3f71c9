"""`refute check` where Spark reads the data: exit codes, and one message for whatever is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from refute.cli import app as frame
from refute.cli.exits import Exit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("always::refute.errors.InferredTypesWarning"),
]

TABLE = pa.table(
    {
        "id": [1, 2, 3, 4],
        "zip": ["10115", "10115", "10115", "04109"],
        "city": ["Berlin", "Berlin", "Bernau", "Leipzig"],
    }
)
CLASH = "zip -> city"


def run(arguments: Sequence[str]) -> int:
    """The exit code of a command whose data Spark reads, small as it is, unless the arguments name another engine."""
    return frame.run([arguments[0], "--engine", "spark", *arguments[1:]])


@pytest.fixture(autouse=True)
def _running(spark: SparkSession) -> None:
    """The session that the command finds."""


def as_csv(table: pa.Table, path: str) -> None:
    lines = [",".join(table.column_names), *(",".join(map(str, row.values())) for row in table.to_pylist())]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def as_json(table: pa.Table, path: str) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")


WRITERS: dict[str, Callable[[pa.Table, str], object]] = {
    "csv": as_csv,
    "json": as_json,
    "parquet": pyarrow.parquet.write_table,
    "orc": pyarrow.orc.write_table,
}


def written(folder: Path, kind: str, table: pa.Table = TABLE) -> str:
    """The path of a file with this table."""
    path = str(folder / f"rows.{kind}")
    WRITERS[kind](table, path)
    return path


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one message of a check that could not be done, after what was said of types."""
    assert run(["check", *arguments]) == Exit.FAILED
    told = capsys.readouterr()
    assert told.out == ""
    assert "Traceback" not in told.err
    lines = [line for line in told.err.splitlines() if "were inferred" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("refute: ")
    return lines[0]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_of_every_format_is_checked(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path, kind)
    report = tmp_path / "report.json"
    assert run(["check", data, CLASH, "--json", str(report)]) == Exit.ERROR
    told = capsys.readouterr()
    assert "4 violations in 3 rows" in told.out
    assert ("The column types of" in told.err) == (kind in ("csv", "json"))
    found = json.loads(report.read_text(encoding="utf-8"))
    assert [(rule["violations"], rule["rows"]) for rule in found["rules"]] == [(4, 3)]
    assert found["data"]["rows"] == 4
    assert run(["check", data, "unique(id)", "--verify", "--quiet"]) == Exit.HOLDS
    assert capsys.readouterr() == ("", "")


def test_types_are_announced_once_however_often_the_file_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, folder = written(tmp_path, "csv"), tmp_path / "clashes"
    assert run(["check", data, CLASH, "--list", "2", "--violations", str(folder)]) == Exit.ERROR
    told = capsys.readouterr()
    assert told.err.count("The column types of") == 1
    assert "10115: Berlin 2 rows, Bernau 1 row" in told.out
    found = pyarrow.parquet.read_table(folder)
    assert (found.num_rows, found.column_names) == (4, ["s", "t", "s_zip", "s_city", "t_zip", "t_city"])
    assert {row["s_city"] + row["t_city"] for row in found.to_pylist()} == {"BerlinBernau", "BernauBerlin"}


def test_a_schema_is_taken_by_every_command_that_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bare.csv"
    file.write_text("1,05401,a\n2,5401,b\n", encoding="utf-8")
    how = ["--schema", "id int, zip bigint, city string", "--no-header"]
    for engine in ("spark", "local"):
        assert run(["check", str(file), CLASH, "--list", "1", "--engine", engine, *how]) == Exit.ERROR
        told = capsys.readouterr()
        assert "5401: a 1 row, b 1 row" in told.out
        assert told.err == ""
        assert run(["explain", str(file), CLASH, "--engine", engine, *how]) == Exit.HOLDS
        assert run(["discover", str(file), "--columns", "zip,city", "--engine", engine, *how]) == Exit.HOLDS
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("engine", ["spark", "local"])
def test_a_schema_that_does_not_fit_is_one_message(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = written(tmp_path, "csv")
    for how, told in (
        (("--schema", "id bigin"), "'bigin' is not a type for the column 'id'"),
        (("--schema", "zip bigint, town string"), "a column 'town', which '.*' lacks"),
        (("--schema", "zip string, city bigint"), "has a cell 'Ber.*', which is not a valid bigint"),
        (("--no-header",), "A file without a header needs a schema"),
    ):
        assert re.search(told, failure(capsys, data, CLASH, "--engine", engine, *how))


def test_whatever_is_wrong_with_the_data_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path, "parquet")
    bad = tmp_path / "bad.csv"
    bad.write_text("zip,city\n1,a\n2,b,c\n", encoding="utf-8")
    nested = written(tmp_path, "orc", pa.table({"zip": [{"a": 1}], "city": ["x"]}))
    pyarrow.parquet.write_table(
        pa.table({"zip": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "city": ["x"]}),
        tmp_path / "map.parquet",
    )
    for arguments, told in (
        ((data, "zipp -> city"), "no column 'zipp'"),
        ((str(tmp_path / "none.csv"), CLASH), "There is no file or folder"),
        ((str(tmp_path / "*.tsv"), CLASH), "No file matches"),
        ((str(bad), CLASH), "bad.csv:3: This row has 3 cells instead of 2: '2,b,c'"),
        ((nested, CLASH), "struct"),
        ((str(tmp_path / "map.parquet"), CLASH), "map"),
        ((data, CLASH, "--key", "zip"), "is not unique: 3 rows have zip = '10115'"),
        ((data, CLASH, "--key", "idd"), "no key column 'idd'"),
        ((data, CLASH, "--schema", "zip string"), "is Parquet, which has its own schema"),
        ((" ", CLASH), "The path is empty"),
        (("no_such_table", CLASH), "There is no file, folder or table 'no_such_table'"),
    ):
        assert told in failure(capsys, *arguments)


def test_a_wrong_place_for_spark_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path, "csv")
    for place, told in (
        (("--master", "sparc://host:7077"), "'sparc://host:7077' is not a Spark master"),
        (("--master", "spark://127.0.0.1:1"), "Spark master 'spark://127.0.0.1:1' does not answer"),
        (("--remote", "sc://127.0.0.1:1"), "Spark Connect server 'sc://127.0.0.1:1' does not answer"),
        (("--remote", "host:1"), "'host:1' is not the address of a Spark Connect server"),
    ):
        assert told in failure(capsys, data, CLASH, *place)
