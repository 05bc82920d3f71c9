"""Files read in this process: formats, nulls, globs and clear errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest

from refute.errors import DataError
from refute.relation import read_local

TABLE = pa.table({"a": [1, None, 3], "b": ["x", None, "NA"]})


def write_json(table: pa.Table, path: str) -> None:
    Path(path).write_text('{"a": 1, "b": "x"}\n{"a": null, "b": null}\n{"a": 3, "b": "NA"}\n', encoding="utf-8")


WRITERS: dict[str, Callable[[pa.Table, str], object]] = {
    "t.csv": pyarrow.csv.write_csv,
    "t.parquet": pyarrow.parquet.write_table,
    "t.jsonl": write_json,
    "t.orc": pyarrow.orc.write_table,
    "t.feather": pyarrow.feather.write_feather,
    "t.arrow": pyarrow.feather.write_feather,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_comes_back_from_every_format(name: str, tmp_path: Path) -> None:
    WRITERS[name](TABLE, str(tmp_path / name))
    assert read_local(tmp_path / name).to_pydict() == TABLE.to_pydict()
    assert read_local(str(tmp_path)).to_pydict() == TABLE.to_pydict()


def test_an_empty_cell_is_null_and_words_for_nothing_are_text(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('n,word,quoted\n1,NA,""\n,,x\n2,null,"a\nb"\n', encoding="utf-8")
    assert read_local(file).to_pydict() == {
        "n": [1, None, 2],
        "word": ["NA", None, "null"],
        "quoted": ["", "x", "a\nb"],
    }


def test_a_glob_reads_files_in_order_of_name_and_widens_types(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("a\n1.5\n", encoding="utf-8")
    (tmp_path / "a.csv").write_text("a\n1\n", encoding="utf-8")
    assert read_local(tmp_path / "*.csv").to_pydict() == {"a": [1.0, 1.5]}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("none.csv", None, "There is no file"),
        ("*.csv", None, "No file matches"),
        ("t.csv", "a,b\n1\n", "t.csv:2: This row has 1 cell instead of 2: '1'"),
        ("empty.csv", "", "is empty"),
        ("t.parquet", "no parquet", "Cannot read"),
        ("t.json", "{no json", "Cannot read"),
        ("t.orc", "no orc", "Cannot read"),
        ("t.arrow", "no arrow", "Cannot read"),
        ("t.xlsx", "?", "Cannot tell the format"),
        ("t", "?", "Cannot tell the format"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name: str, content: str | None, expected: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=expected) as error:
        read_local(tmp_path / name)
    assert name in str(error.value)


def test_an_empty_folder_and_files_that_clash_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no file"):
        read_local(tmp_path)
    pyarrow.parquet.write_table(pa.table({"a": ["x"]}), str(tmp_path / "a.parquet"))
    pyarrow.parquet.write_table(pa.table({"a": [1]}), str(tmp_path / "b.parquet"))
    with pytest.raises(DataError, match="do not fit together"):
        read_local(tmp_path)


def test_a_csv_column_has_one_type_over_all_files_and_headers_must_agree(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\nx\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("a\n1\n", encoding="utf-8")
    assert read_local(tmp_path).to_pydict() == {"a": ["x", "1"]}
    (tmp_path / "c.csv").write_text("b\n1\n", encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_local(tmp_path)
    assert "c.csv" in str(error.value)
