"""A tracker whose rows stay on Spark tells, change by change, what one in this process tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import refute as rf
from refute.errors import DataError, OptionError
from refute.spark.source.frames import frame_of
from refute.spark.tracking.searching import SparkSearching
from refute.tracking.changes import RuleChanges
from refute.tracking.ways import Ways
from thorough import THOROUGH

pytestmark = pytest.mark.spark

FREE: dict[str, Any] = {"shared_values": 0.0, "average_ratio": 0.0}


class Both:
    """The same rows in this process and on Spark, changed alike."""

    def __init__(self, spark: SparkSession, seed: int, rows: int, ways: Ways, **options: Any) -> None:
        self.spark = spark
        self.random = np.random.default_rng(seed)
        self.keys = list(range(rows))
        self.next = rows
        table = self.rows(self.keys)
        self.near = rf.Tracker(table, key="id", ways=ways, **options)
        frame = frame_of(table, spark).repartition(3)
        self.far = rf.Tracker(frame, key="id", ways=ways, driver_bytes=0, **options)
        assert any("stay on Spark" in note for note in self.far.notes)
        self.alike()

    def rows(self, keys: list[int]) -> pa.Table:
        size = len(keys)
        draw = self.random.integers
        missing = draw(0, 8, size) == 0
        return pa.table(
            {
                "id": pa.array(keys, pa.int64()),
                "a.b": pa.array(draw(0, 5, size), mask=missing),
                "few": pa.array([f"v{number}" for number in draw(0, 3, size)]),
                "many": pa.array(draw(0, 25, size) * 1.5),
                "whole": pa.array(draw(0, 6, size).astype(np.int32)),
            }
        )

    def fresh(self, count: int) -> pa.Table:
        keys = list(range(self.next, self.next + count))
        self.next += count
        self.keys += keys
        return self.rows(keys)

    def some(self, count: int) -> list[int]:
        return [int(key) for key in self.random.choice(self.keys, count, replace=False)]

    def go(self, count: int) -> list[int]:
        gone = self.some(count)
        self.keys = [key for key in self.keys if key not in gone]
        return gone

    def alike(self) -> None:
        assert self.near.n_rows == self.far.n_rows == len(self.keys)
        assert sorted(map(tuple, self.near.boxes.tolist())) == sorted(map(tuple, self.far.boxes.tolist()))
        assert len(self.near) == len(self.far)
        assert self.near.held == self.far.held

    def told(self, near: RuleChanges, far: RuleChanges) -> None:
        self.alike()
        assert {rule.text for rule in near.added} == {rule.text for rule in far.added}
        assert {rule.text for rule in near.removed} == {rule.text for rule in far.removed}
        assert {rule.text for rule in near.broken} == {rule.text for rule in far.broken}
        rows = {row["id"]: row for row in self.near.table().to_pylist()}
        for rule in far.broken[:4]:
            assert rule.pair is not None
            pair = pa.Table.from_pylist([rows[key] for key in rule.pair], self.near.schema)
            assert not rf.verify(pair, rule.constraint, nulls=self.near.space.slots[0].kind.nulls).holds


@pytest.mark.parametrize(
    ("nulls", "counted"), [("sql", False), ("equal", True), *([("equal", False)] if THOROUGH else [])]
)
def test_rules_are_those_of_one_process_after_every_change(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, nulls: str, counted: bool
) -> None:
    searched: list[Any] = []
    find = SparkSearching.find

    def noted(self: SparkSearching, box: Any) -> Any:
        searched.append(box)
        return find(self, box)

    monkeypatch.setattr(SparkSearching, "find", noted)
    ways = Ways(counted=counted, witnesses=1, came=9)
    both = Both(spark, 3 + counted, 70, ways, nulls=nulls, cross_columns=counted, **(FREE if counted else {}))
    for step in range(2 if THOROUGH else 1):
        batch = both.fresh(6)
        both.told(both.near.insert(batch), both.far.insert(batch if step else frame_of(batch, spark)))
        gone = both.go(9)
        both.told(both.near.delete(gone), both.far.delete(gone))
        batch = both.rows(both.some(3))
        both.told(both.near.update(batch), both.far.update(batch))
    feed = pa.concat_tables([both.fresh(2), both.rows(both.some(2)), both.rows(both.go(2))])
    feed = feed.append_column("op", pa.array(["insert"] * 2 + ["update"] * 2 + ["delete"] * 2))
    both.told(both.near.apply(feed), both.far.apply(feed))
    known = both.rows(both.some(1))
    with pytest.raises(DataError, match="already exist"):
        both.far.insert(known)
    with pytest.raises(DataError, match="no rows with these keys"):
        both.far.delete([10**9])
    with pytest.raises(DataError, match="more than once"):
        both.far.update(pa.concat_tables([known, known]))
    both.alike()
    assert both.far.table().toArrow().sort_by("id").equals(both.near.table().sort_by("id").cast(both.far.schema))
    assert bool(searched) is not counted
    if not counted:
        assert {rule.text for rule in both.far.rules} == {rule.text for rule in both.near.rules}


@pytest.mark.parametrize("options", [{"error": 0.1, "measure": "g3"}, {"almost": 6}, *([{"error": 0.03}] * THOROUGH)])
def test_rules_that_few_pairs_break_are_those_of_one_process(spark: SparkSession, options: dict[str, Any]) -> None:
    both = Both(spark, 6, 24, Ways(came=4), cross_columns=False, max_predicates=2, **options)
    batch = both.fresh(6)
    both.told(both.near.insert(batch), both.far.insert(batch))
    feed = pa.concat_tables([both.fresh(1), both.rows(both.some(2)), both.rows(both.go(4))])
    feed = feed.append_column("op", pa.array(["insert"] + ["update"] * 2 + ["delete"] * 4))
    both.told(both.near.apply(feed), both.far.apply(feed))
    assert both.near.boxes.size
    rules = [{rule.text: (rule.error, rule.violations) for rule in one.rules} for one in (both.near, both.far)]
    assert rules[0] == rules[1]
    almost = [{rule.text: rule.violations for rule in one.almost} for one in (both.near, both.far)]
    assert almost[0] == almost[1]
    assert bool(almost[0]) is bool(options.get("almost"))


def test_rows_may_all_go_and_come_back(spark: SparkSession) -> None:
    both = Both(spark, 8, 12, Ways(counted=False))
    gone = both.go(12)
    both.told(both.near.delete(gone), both.far.delete(gone))
    assert len(both.far) == 0
    batch = both.fresh(9)
    both.told(both.near.insert(batch), both.far.insert(batch))
    both.far.refit()
    both.near.refit()
    both.alike()


def test_few_rows_come_to_this_process(spark: SparkSession) -> None:
    table = pa.table({"id": [1, 2, 3], "x": [1, 1, 2]})
    found = rf.Tracker(frame_of(table, spark), key="id")
    assert isinstance(found.table(), pa.Table)
    assert not any("stay on Spark" in note for note in found.notes)
    assert found.insert(frame_of(pa.table({"id": [4], "x": [3]}), spark)).n_removed == 0
    with pytest.raises(OptionError, match="Give key="):
        rf.Tracker(frame_of(table, spark))


def test_a_frame_that_comes_to_this_process_is_kept_in_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2, 3], "x": [1, 1, 2]})
    with rf.Tracker.open(tmp_path / "kept", frame_of(table, spark), key="id") as tracker:
        tracker.become(frame_of(pa.table({"id": [1, 2, 4], "x": [1, 2, 3]}), spark))
        held = tracker.held
    with rf.Tracker.open(tmp_path / "kept") as tracker:
        assert (tracker.held, tracker.batches) == (held, 2)
        assert tracker.table().sort_by("id").to_pydict() == {"id": [1, 2, 4], "x": [1, 2, 3]}


def test_rows_that_stay_on_spark_are_in_no_folder(spark: SparkSession, tmp_path: Path) -> None:
    frame = frame_of(pa.table({"id": [1, 2, 3], "x": [1, 1, 2]}), spark)
    with pytest.raises(OptionError, match="Raise driver_bytes") as refused:
        rf.Tracker.open(tmp_path / "kept", frame, key="id", driver_bytes=0)
    assert refused.value.facts == {"option": "driver_bytes", "value": 0}
    assert not (tmp_path / "kept").exists()
    with rf.Tracker(frame, key="id", driver_bytes=0) as far:
        with pytest.raises(OptionError, match="stay on Spark"):
            far.commit()
        with pytest.raises(OptionError, match=r"Use apply\(changes\)"):
            far.become(frame)
        assert far.n_rows == 3
    with pytest.raises(OptionError, match="closed"):
        far.delete([1])


def test_an_input_that_differs_each_time_is_evaluated_once(spark: SparkSession) -> None:
    drawn = spark.range(40).select("id", (F.rand() * 4).cast("int").alias("x"), (F.rand() * 3).cast("int").alias("y"))
    far = rf.Tracker(drawn, key="id", driver_bytes=0)
    near = rf.Tracker(far.table().toArrow(), key="id")
    for gone in ([1, 2], [3]):
        near.delete(gone)
        far.delete(gone)
        assert sorted(map(tuple, near.boxes.tolist())) == sorted(map(tuple, far.boxes.tolist()))


def test_connect_tracks_too(connect: SparkSession) -> None:
    both = Both(connect, 5, 30, Ways(counted=False, came=2), cross_columns=False, max_predicates=3)
    batch = both.fresh(4)
    both.told(both.near.insert(batch), both.far.insert(batch))
    gone = both.go(6)
    both.told(both.near.delete(gone), both.far.delete(gone))
