"""Patterns, allowed values, missing values and references: Spark finds the rows that one process finds."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import refute as rf
from refute.errors import DataError, EngineError, SchemaError
from thorough import THOROUGH, examples

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::refute.errors.InferredTypesWarning")]

PATTERNS = ("[0-9]{2,3}", "(?i)a.*", r"\w+", r"[^\d]*", "a|bb|", r"(a|b)*1?", r".\d", r"\s*\S+\s*")
TEXT = st.none() | st.text("aAb19_ \t\né\U0001f600", max_size=5)
COUNTED = {"driver_bytes": 0}  # so that nothing is answered from rows that came to this process


def rule(**kind: Any) -> dict[str, Any]:
    """A book of one rule."""
    return {"rules": [{"name": "r", **kind}]}


def found(table: Any, rules: Any, **options: Any) -> tuple[list[int], int, int]:
    """The rows that break a rule, how many there are by a count, and how many nulls keep out."""
    rows = rf.violations(table, rules, **options).to_arrow().column("s").to_pylist()
    (result,) = rf.check(table, rules, **options).results
    return sorted(rows), result.finding.violations or 0, result.finding.skipped_nulls


@examples(4, deadline=None)
@given(
    values=st.lists(TEXT, min_size=1, max_size=12),
    kind=st.one_of(
        st.sampled_from(PATTERNS).map(lambda pattern: {"matches": {"a": pattern}}),
        st.lists(st.text("aAb1\né", max_size=3), min_size=1, max_size=4).map(lambda some: {"one_of": {"a": some}}),
        st.just({"not_null": "a"}),
    ),
    where=st.sampled_from((None, "n > 2", "a matches '[ab].*'", "a not matches '.*1'")),
    nulls=st.sampled_from(("sql", "equal")),
)
def test_spark_finds_what_one_process_finds(
    spark: SparkSession, values: list[str | None], kind: dict[str, Any], where: str | None, nulls: str
) -> None:
    table = pa.table({"id": range(len(values)), "n": range(len(values)), "a": pa.array(values, pa.string())})
    asked = rule(**kind, **({} if where is None else {"where": where}))
    frame = spark.createDataFrame(table)
    here = found(table, asked, key="id", nulls=nulls)
    assert found(frame, asked, key="id", nulls=nulls, **COUNTED) == here
    assert here[1] == len(here[0])


VALUES: dict[str, tuple[list[Any], tuple[pa.DataType, ...]]] = {
    "numbers": (
        [-1, 0, 1, 2, Decimal("0.5"), Decimal("1.25"), 2**31, 2**53 + 1, 2**63 - 1, -(2**63)],
        (pa.int32(), pa.int64(), pa.decimal128(21, 2), pa.decimal128(38, 0)),
    ),
    "floats": ([-0.0, 0.5, 1.0, 2.0**53, 0.1, float("inf"), float("nan")], (pa.float32(), pa.float64())),
    "texts": (["", "a", "A", " a", "a\n", "é", "e\u0301", "\U0001f600"], (pa.string(), pa.large_string())),
    "days": ([dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(9999, 12, 31)], (pa.date32(),)),
    "truths": ([True, False], (pa.bool_(),)),
}


def column_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    """The values, with null in place of those that the type does not have."""

    def held(value: Any) -> Any:
        try:
            return pa.array([value]).cast(kind)[0].as_py()
        except pa.ArrowInvalid:
            return None

    return pa.array([None if value is None else held(value) for value in values], kind)


@examples(6, deadline=None)
@given(data=st.data())
def test_values_of_every_type_are_found_in_lists_and_in_other_tables(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    values, kinds = VALUES[data.draw(st.sampled_from(sorted(VALUES)))]
    some = st.lists(st.none() | st.sampled_from(values), max_size=8)
    own, other = (column_of(data.draw(some), data.draw(st.sampled_from(kinds))) for _ in range(2))
    table = pa.table({"id": pa.array(range(len(own)), pa.int64()), "a": own})
    folder = tmp_path_factory.mktemp("other")
    pq.write_table(pa.table({"x": other}), folder / "other.parquet")
    listed = [one for one in values if one == one and data.draw(st.booleans())] or values[:1]
    present = {one for one in other.to_pylist() if one is not None and one == one}
    for kind, allowed in (
        ({"one_of": {"a": listed}}, set(listed)),
        ({"references": f"a -> {folder}/other.parquet(x)"}, present),
    ):
        here = found(table, rule(**kind), key="id")
        assert found(spark.createDataFrame(table), rule(**kind), key="id", **COUNTED) == here
        given = [(row, one) for row, one in enumerate(own.to_pylist()) if one is not None and one == one]
        assert here[0] == [row for row, one in given if one not in allowed]


KEYS: dict[str, tuple[pa.Array, pa.Array]] = {
    "whole numbers": (pa.array([1, 2, None, 2**60 + 1, 7]), pa.array([2**60 + 1, 1, None], pa.int64())),
    "decimals": (pa.array([1, 2, None, 3]), pa.array([1, 3, None, 2]).cast(pa.decimal128(21, 2))),
    "texts": (pa.array(["a", "A", None, "a ", "é"]), pa.array(["a", "é"])),
    "dates": (pa.array([1, 2, None], pa.date32()), pa.array([2 * 86_400_000_000], pa.timestamp("us"))),
    "floats": (pa.array([0.0, 1.5, float("nan"), 2.0]), pa.array([-0.0, float("nan"), 2.0], pa.float32())),
    "floats and whole numbers": (
        pa.array([1.0, 1.5, -0.0, 2.0**53, 2.0**63, -(2.0**63), float("inf"), float("nan"), None]),
        pa.array([0, 1, 2**53 + 1, 2**63 - 1, -(2**63), None]),
    ),
    "nobody": (pa.array([1, None]), pa.array([None, None], pa.int64())),
}


@pytest.mark.parametrize("name", KEYS)
def test_references_are_an_anti_join(spark: SparkSession, tmp_path: Path, name: str) -> None:
    own, other = KEYS[name]
    pq.write_table(pa.table({"x": other, "y": ["k"] * len(other)}), tmp_path / "other.parquet")
    table = pa.table({"id": range(len(own)), "a": own, "y": ["k"] * (len(own) - 1) + ["z"]})
    asked = [f"a -> {tmp_path}/other.parquet(x)", f"a, y -> {tmp_path}/other.parquet(x, y)"]
    asked += [f"a, a -> {tmp_path}/other.parquet(x, x)"] if name == "texts" else []
    for reference in asked if THOROUGH or name in ("texts", "decimals") else asked[:1]:
        here = found(table, rule(references=reference), key="id")
        assert found(spark.createDataFrame(table), rule(references=reference), key="id") == here


def test_files_on_spark_refer_to_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text("id,name\n1,Ulm\n3,Bonn\n")
    (tmp_path / "people.csv").write_text("city,k\n1,a\n2,a\n,a\n3,a\n4,a\n")
    (tmp_path / "rules.yaml").write_text("rules: [{name: known, references: city -> cities.csv(id)}]")
    data, book = str(tmp_path / "people.csv"), rf.load_rules(tmp_path / "rules.yaml")
    assert found(data, book, engine="spark") == found(data, book, engine="local") == ([1, 4], 2, 1)
    assert "filter on Spark" in str(rf.explain(data, book, engine="spark"))
    with pytest.raises(EngineError, match="'known' refers to another table, and suspects"):
        _ = rf.suspects(data, book, engine="spark").rows
    for wrong in ("city -> cities.csv(idd)", "city -> cities.csv(name)", "city -> towns.csv(id)"):
        (tmp_path / "rules.yaml").write_text(f"rules: [{{name: known, references: {wrong}}}]")
        said = []
        for engine in ("local", "spark"):
            with pytest.raises((SchemaError, DataError), match=r"^Rule 'known': ") as caught:
                rf.check(data, rf.load_rules(tmp_path / "rules.yaml"), engine=engine)
            said.append(str(caught.value))
        assert said[0].replace("int64", "long") == said[1].replace("int64", "long").replace("int32", "long")
