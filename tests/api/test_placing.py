"""Which engine answers for files: by their size, and by where they are."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import refute as rf
from refute.api.placing import FileSize, SizeLimits, answers_on_spark
from refute.api.tables import on_spark
from refute.errors import DataError, EngineError, OptionError

SMALL = SizeLimits(text=28, packed=2000)
needs_spark = pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files of 28 and 29 bytes."""
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 6, encoding="ascii")
    (tmp_path / "b.csv").write_text("a,b\n" + "1,2\n" * 5 + "1,23\n", encoding="ascii")
    monkeypatch.chdir(tmp_path)
    for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)


@needs_spark
def test_small_files_are_answered_here_and_large_ones_on_spark(folder: Path) -> None:
    assert not answers_on_spark("a.csv", SMALL)
    assert answers_on_spark("b.csv", SMALL)
    assert answers_on_spark("*.csv", SMALL)  # together they are large
    assert answers_on_spark(folder, SMALL)
    assert not answers_on_spark("[ab].csv")


@needs_spark
def test_packed_files_are_large_sooner_and_arrow_files_are_for_this_process_alone(folder: Path) -> None:
    table = pa.table({"a": list(range(2000))})
    pyarrow.parquet.write_table(table, "a.parquet")
    pyarrow.feather.write_feather(table, "a.arrow")
    assert answers_on_spark("a.parquet", SMALL)
    assert not answers_on_spark("a.arrow", SMALL)
    assert FileSize.of([Path("a.csv"), Path("a.parquet")]) == FileSize(28, Path("a.parquet").stat().st_size)


@needs_spark
def test_whatever_only_spark_can_know_is_for_spark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers_on_spark("s3://bucket/a.csv")
    assert answers_on_spark("sales.orders")
    with pytest.raises(DataError, match="The path is empty"):
        answers_on_spark(" ")
    monkeypatch.delitem(sys.modules, "pyspark.sql", raising=False)  # a session of other tests may have other files
    assert not answers_on_spark("none.csv", SMALL)  # said at once, without a Spark that starts
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert answers_on_spark("none.csv", SMALL)


def test_without_spark_what_fits_is_answered_here(folder: Path, without_spark: None) -> None:
    assert not answers_on_spark("b.csv", SMALL)
    with pytest.raises(
        EngineError, match=r"'b.csv' has 0\.0 GB, which is too much for this process. Run `pip"
    ) as error:
        answers_on_spark("b.csv", SizeLimits(text=28, packed=2000, growth=1 << 60))
    assert error.value.facts == {"path": "b.csv", "package": "pyspark", "extra": "spark"}
    with pytest.raises(EngineError, match=r"There is no file or folder 'orders'\. If it is a catalog table"):
        answers_on_spark("orders")
    with pytest.raises(DataError, match=r"There is no file or folder 'none\.csv'"):
        rf.count("none.csv", "a -> b")


def test_a_named_engine_and_options_of_spark_decide(folder: Path) -> None:
    assert on_spark("a.csv", "spark")
    assert on_spark("a.csv", "auto", wanted=True)
    assert not on_spark("a.csv", "local", wanted=True)
    assert not on_spark("a.csv", None)
    with pytest.raises(OptionError, match=r"engine must be 'auto', 'spark' or 'local', not 'sprak'\. Did you mean"):
        rf.count("a.csv", "a -> b", engine="sprak")


def test_a_plan_says_where_rules_are_answered(folder: Path) -> None:
    assert str(rf.explain("[ab].csv", "unique(a)")).startswith("answered in this process\n\n")
