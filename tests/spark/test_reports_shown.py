"""What reports show of tables on Spark: the same values, groups and pages as in process."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.detect.local import LocalEngine
from refute.detect.scenes import ValueTally
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.report.as_json import shipped_schema
from refute.report.baseline import Baseline
from refute.report.violations import Violations
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of

pytestmark = pytest.mark.spark

TABLE = pa.table(
    {
        "id": range(12),
        "part": [str(i % 2) for i in range(12)],
        "a.b": [1, 1, 1, 2, 2, None, None, 3, 3, 3, 3, 4],
        "city": ["x", "y", "x", "z", "z", "q", "r", "u", "v", "w", None, "<b>"],
        "pay": [float(i * 7 % 5) for i in range(12)],
        "rate": [i * 5 % 7 for i in range(12)],
    }
)
FD, KEY, ORDER = "`a.b` -> city", "unique(`a.b`)", "not (s.part = t.part and s.pay > t.pay and s.rate < t.rate)"
BUDGETS = {"here": SparkBudget(), "there": SparkBudget(driver_bytes=0, sample_rows=2)}


def plain(tally: ValueTally | None) -> Any:
    """A tally without the order of values that as many rows have."""
    assert tally is not None
    groups = {
        group.key: (group.rows, group.distinct, {(v.values, v.rows) for v in group.values}) for group in tally.groups
    }
    return groups, tally.n_groups, tally.left, tally.right


@pytest.mark.parametrize("place", BUDGETS)
def test_groups_scenes_and_values_are_those_of_the_table_in_memory(
    spark_kind: SparkSession, place: str, tmp_path: Path
) -> None:
    engine = SparkEngine(frame_of(TABLE, spark_kind), key=["id", "part"], budget=BUDGETS[place])
    local = LocalEngine(TABLE, key=["id", "part"])
    nulls = Nulls.EQUAL if place == "there" else Nulls.SQL
    for text in (FD, KEY):
        rule = Rule(name="r", constraint=Rule.of(text).constraint, nulls=nulls)
        assert plain(engine.tally(rule, 9)) == plain(local.tally(rule, 9))
    one = engine.tally(Rule(name="r", constraint=Rule.of(FD).constraint, nulls=nulls), 1)
    assert one is not None
    assert len(one.groups) == 1
    order = Rule.of(ORDER)
    assert engine.tally(order, 3) is None
    scene = engine.scene(order, 50)
    assert scene is not None
    s, t = scene.pair
    assert s["part"] == t["part"]
    assert s["pay"] > t["pay"]
    assert s["rate"] < t["rate"]
    rows = TABLE.select(["part", "pay", "rate"]).to_pylist()
    assert sorted(map(str, (*scene.pair, *scene.others))) == sorted(
        str(row) for row in rows if row["part"] == s["part"]
    )
    listed = Violations(engine, order)
    expected = rf.violations(TABLE, ORDER, key=["id", "part"]).to_arrow()
    found = listed.to_arrow()
    assert found.column_names == expected.column_names
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))
    listed.write_csv(f"file://{tmp_path}/out")
    texts = [file.read_text(encoding="utf-8") for file in (tmp_path / "out").glob("*.csv")]
    lines = [line for text in texts for line in csv.DictReader(text.splitlines())]
    assert sorted(line["s"] for line in lines) == sorted(
        f"{row['s']['id']}/{row['s']['part']}" for row in expected.to_pylist()
    )


def test_reports_of_spark_have_pages_masks_and_baselines(spark: SparkSession) -> None:
    frame = frame_of(TABLE, spark)
    there = rf.check(frame, FD, key="id", driver_bytes=0)
    assert "<svg" not in there.to_html(), "rows are not looked for unasked"
    assert "<svg" in there.to_html(clashes=2)
    report = rf.check(frame, [FD, KEY, ORDER], key="id")
    assert report.data.engine == "spark"
    page = report.to_html(clashes=4)
    assert page.count("<svg") == 3
    assert "checked on Spark" in str(report)
    assert "1: x 2 rows, y 1 row" in "\n".join("".join(text for text, _ in line) for line in _lines(report))
    found = json.loads(report.to_json(clashes=4))
    jsonschema.validate(found, json.loads(shipped_schema()), jsonschema.Draft202012Validator)
    assert (found["engine"], len(found["rules"][0]["clashes"])) == ("spark", 4)
    assert set(found["rules"][0]["witness"]["s"]) == {"id", "a.b", "city"}
    hidden = report.hiding("city", "rate")
    for text in (hidden.to_html(), hidden.to_json(clashes=4), hidden.to_junit(), str(hidden)):
        assert not any(f'"{value}"' in text or f">{value}<" in text for value in "xyuvw")
    known = Baseline.of(report)
    assert report.against(known).ok
    assert Baseline.of(rf.check(TABLE, [FD, KEY, ORDER], key="id")).text() == known.text(), "whichever engine wrote it"
    nameless = rf.check(frame, FD)
    assert "<svg" in nameless.to_html(), "groups need no ids, and small tables are here"
    assert nameless.to_pandas()["violations"].tolist() == [report.results[0].finding.violations]


def _lines(report: rf.Report) -> Any:
    from refute.report.as_text import lines

    return lines(report, 4)
