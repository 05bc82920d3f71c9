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
from refute.detect.engine import ClashingRow, Engine
from refute.detect.local import LocalEngine
from refute.detect.shown.excerpts import Excerpt
from refute.detect.shown.scenes import ValueTally
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.report.baseline import Baseline
from refute.report.forms.as_json import shipped_schema
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


def around(checked: Engine, rule: Rule, engine: SparkEngine) -> Excerpt:
    """What one job brings of the clash that a check finds."""
    (timed,) = checked.measure([rule], counts=True)
    witness, values = timed.finding.witness, timed.values
    assert witness is not None
    assert values is not None
    clash = [ClashingRow(role, row_id, values[role] or {}) for role, row_id in zip("st", witness, strict=True)]
    found = engine.excerpt(rule, clash[: 1 if rule.constraint.is_single_row else 2], 50, 500)
    assert found is not None
    return found


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
    if place == "here":
        engine.measure([order], counts=True)
    scene = engine.scene(order, 50)
    assert (scene is None) == (place == "there"), "where no rows are here to draw"
    scene = scene or around(local, order, engine).scene
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
    from refute.report.forms.as_text import lines

    return lines(report, 4)


def test_one_job_brings_clashes_and_a_scene_of_rows_that_stay_on_spark(spark_kind: SparkSession) -> None:
    frame, row = frame_of(TABLE, spark_kind).repartition(3), {one["id"]: one for one in TABLE.to_pylist()}
    engine = SparkEngine(frame, key=["id"], budget=BUDGETS["there"])
    spans = "not (s.part = t.part and s.pay < t.rate and t.pay < s.rate)"
    for text in (ORDER, spans, "row(rate <= 4)", "not (s.part = t.part and s.pay + 1 > t.rate + 2)"):
        rule = Rule.of(text)
        found = around(LocalEngine(TABLE, key=["id"]), rule, engine)
        assert (found.scene is None) == (rule.constraint.is_single_row or rule.constraint.computes)
        listed = {(*ids, None)[:2] for ids in rf.violations(TABLE, rule, key="id")}
        parts = {row[clash[0].row_id]["part"] for clash in found.clashes}
        assert len(parts) == (2 if rule.constraint.is_single_row else 1), "the group of the clash"
        within = {pair for pair in listed if row[pair[0]]["part"] in parts}
        assert {(*(one.row_id for one in clash), None)[:2] for clash in found.clashes} == within
        told = [one for clash in found.clashes for one in clash]
        assert all(one.values == {name: row[one.row_id][name] for name in rule.constraint.columns} for one in told)
    nameless = SparkEngine(frame, budget=BUDGETS["there"])
    found = around(LocalEngine(TABLE), Rule.of(ORDER), nameless)
    assert found.clashes == ()
    assert found.scene is not None


def test_tables_that_stay_on_spark_show_pictures_and_clashes_too(spark: SparkSession) -> None:
    shown = []
    for part in (TABLE, TABLE.take(list(range(11, -1, -1)))):
        report = rf.check(frame_of(part, spark).repartition(3), [FD, KEY], key="id", driver_bytes=0)
        assert report.to_html().count("<svg") == 2
        assert "1: x 2 rows, y 1 row" in str(report)
        shown.append([report.exhibits().tally(result.name) for result in report])
        for result in report:
            listed = set(rf.violations(TABLE, result.rule, key="id"))
            found = [tuple(one.row_id for one in clash) for clash in report.exhibits().clashes(result.name)]
            assert len(found) > 1
            assert listed.issuperset(found)
    assert shown[0] == shown[1], "however the rows come"
    hidden = report.hiding("city").to_html()
    assert not any(f">{value}<" in hidden for value in "xyuvw")


def test_an_excerpt_is_small_and_the_same_for_any_cut(spark: SparkSession) -> None:
    table = pa.table({"id": range(900), "a": [i % 2 for i in range(900)], "x": range(900), "y": range(900, 0, -1)})
    rule = Rule.of("not (s.a = t.a and s.x > t.x and s.y < t.y)")
    clash = [
        ClashingRow(role, row_id, {"a": 0, "x": row_id, "y": 900 - row_id}) for role, row_id in (("s", 8), ("t", 2))
    ]
    found = []
    for cut in (1, 4):
        frame = frame_of(table, spark).repartition(cut, "x")
        engine = SparkEngine(frame, key=["id"], budget=SparkBudget(driver_bytes=0, sample_rows=2))
        excerpt = engine.excerpt(rule, clash, 30, 40)
        assert excerpt is not None
        assert excerpt.scene is not None
        assert len(excerpt.clashes) == 40
        assert 25 <= len(excerpt.scene.others) <= 31
        found.append(excerpt)
    assert found[0] == found[1]
