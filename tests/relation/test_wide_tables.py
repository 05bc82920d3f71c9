"""Tables of very many columns: every step from the header to a rule looks at each name a few times, not n times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import refute as rf
from refute.errors import DataError, did_you_mean
from refute.language.parsing.parser import parse
from refute.relation import Relation, read_local
from refute.relation.read.csv.header import column_names
from refute.relation.read.schema import Schema
from refute.relation.sources.frames import PandasSource

WIDE = 20_000


class Counted(str):
    """A name that counts how often such names are compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.fixture
def names() -> list[Counted]:
    Counted.compared = 0
    return [Counted(f"column_{i}") for i in range(WIDE)]


def test_a_header_is_checked_with_few_comparisons(names: list[Counted]) -> None:
    assert len(column_names(names, "f")) == WIDE
    with pytest.raises(DataError, match="more than one column 'column_7'"):
        column_names([*names, Counted("column_7")], "f")
    assert Counted.compared <= 4 * WIDE


def test_a_schema_is_held_against_a_header_with_few_comparisons(names: list[Counted]) -> None:
    schema = Schema.of(dict.fromkeys(names, "bigint"))
    assert schema is not None
    schema.require(names, "f")
    assert Counted.compared <= 4 * WIDE


def test_a_rule_is_bound_with_few_comparisons(names: list[Counted]) -> None:
    class Ones:
        def __init__(self) -> None:
            self.n_rows = 1
            self.names: tuple[str, ...] = tuple(names)

        def column(self, position: int) -> pa.ChunkedArray:
            return pa.chunked_array([[1]])

        def row(self, place: int) -> list[Any]:
            return [1] * WIDE

        def slice(self, start: int, n: int) -> Ones:
            return self

        def filter(self, mask: Any) -> Ones:
            return self

    relation = Relation(Ones())
    Counted.compared = 0
    for name in names[::20]:
        relation.bind(parse(f"not (s.{name} = t.{name})"))
    assert len(relation.row(0)) == WIDE
    assert Counted.compared <= 8 * WIDE


def test_a_row_of_a_frame_asks_for_its_types_once() -> None:
    class Frame(pd.DataFrame):  # type: ignore[misc]
        asked = 0

        @property
        def dtypes(self) -> Any:
            Frame.asked += 1
            return super().dtypes

    source = PandasSource(Frame([[1, "x", None]] * 2))
    assert source.row(1) == [1, "x", None]
    assert Frame.asked <= 4


def test_the_nearest_name_is_the_one_that_measuring_all_would_find() -> None:
    known = [f"column_{i}" for i in range(500)] + ["Salary", "salaries", "SALARY"]
    assert did_you_mean("salery", known) == " Did you mean 'SALARY'?"
    assert did_you_mean("zzz", known) == did_you_mean("zzz", [""]) == ""


def test_a_wide_file_has_the_same_values_and_types_as_a_narrow_one(tmp_path: Path) -> None:
    kinds = ["1", "a", "1.5", "true", "2020-01-01", "", '"x\r\ny"', "0123", "12345678901234567890", "2020-02-30"]
    file = tmp_path / "t.csv"
    lines = [",".join(f"c{i}" for i in range(len(kinds) * 3)), *[",".join(kinds * 3)] * 3]
    file.write_text("\n".join(lines), newline="")
    few = read_local(file)
    file.write_text("\n".join(lines[:1] + lines[1:2] * 100), newline="")
    many = read_local(file)
    assert few.schema == many.schema
    assert few.slice(0, 1).to_pylist() == many.slice(99, 1).to_pylist()
    assert few.column("c6").to_pylist() == ["x\ny"] * 3
    types = ", ".join(f"c{i} {kind}" for i, kind in enumerate(("int", "string", "double", "boolean", "date", "int")))
    assert (
        read_local(file, Schema.of(types)).slice(0, 1).to_pylist()
        == few.slice(0, 1).select(range(5)).append_column("c5", pa.nulls(1, pa.int32())).to_pylist()
    )
    assert rf.count(str(file), "unique(c0)", engine="local") == 9900


def test_a_check_of_a_file_loads_no_pandas(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b,c,d\n1,x,2020-01-01,\n2,y,2020-02-30,3.5\n", encoding="utf-8")
    script = f"""
import sys, refute
assert refute.count({str(file)!r}, "unique(b)", engine="local") == 0
print("pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
