"""Discovery on Spark finds what discovery in process finds, however the rows are spread and whoever asks."""

from __future__ import annotations

import datetime as dt
import signal
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import refute as rf
from refute.cli.app import run
from refute.cli.exits import Exit
from refute.discovery import CompleteDiscovery, Progress
from refute.discovery.evidence.agreements import equal_masks
from refute.discovery.evidence.counted import merged, violating_pairs
from refute.discovery.inversion.inverted import inverted
from refute.discovery.local import LocalPairs
from refute.discovery.options import options_of
from refute.discovery.search import discover
from refute.discovery.space.predicates import space_for
from refute.discovery.table import LocalTable
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.errors import OptionError
from refute.relation import Relation
from refute.spark.discovery import discover_on_spark, pairs
from refute.spark.discovery import search as discover_search
from refute.spark.discovery.table import SparkTable
from refute.spark.discovery.tuning import SPARK_STANDARD, SparkTuning
from refute.spark.source.frames import frame_of
from refute.spark.source.keeping import kept
from strategies import KINDS, tables
from thorough import examples

pytestmark = pytest.mark.spark

SPARK_KINDS = tuple(
    kind
    for kind in KINDS
    if kind.arrow not in (pa.uint64(), pa.timestamp("ms")) and not pa.types.is_dictionary(kind.arrow)
)
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
Rules = set[tuple[str, int]]


def rules(found: CompleteDiscovery) -> Rules:
    assert found.complete
    return {(rule.text, rule.violations) for rule in found.rules}


# Small tables are cut into blocks, parts and buckets, and every step is taken.
SMALL = SparkTuning(block_rows=16, sample_rows=12, bucket_rows=40, part_rows=14, points=6, job_cost=0.0)


def spread(table: Any, spark_tuning: SparkTuning = SPARK_STANDARD, **options: Any) -> CompleteDiscovery:
    """Discovery where the rows are, however few, in small steps."""
    steps = Tuning(many_open=2, wave=40)
    return discover_on_spark(table, options_of(**options), gather=0, tuning=steps, spark_tuning=spark_tuning)


def mixed(rows: int, seed: int, nulls: bool = True) -> pa.Table:
    """A table of all kinds of columns, with dependencies, an error or two, and nulls."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 6, rows)
    label = np.array(["", "a", "b", "ab", "aa", "ba"])[group]
    label[random.integers(0, rows)] = "wrong"
    other = np.array(["", "a", "b", "c"])[random.integers(0, 4, rows)]
    whole = group.astype(np.int64) * 3 + random.integers(0, 2, rows)
    wide = random.integers(-3, 3, rows) * (2**61) + group
    float_ = np.round(whole / 4, 2) * np.where(random.random(rows) < 0.1, -0.0, 1.0)
    money = [Decimal(int(v)).scaleb(-2) for v in random.integers(0, 12, rows)]
    days = [dt.date(2020, 1, 1) + dt.timedelta(int(v)) for v in group]
    flag = random.random(rows) < 0.5

    def holes(values: Any, kind: pa.DataType) -> pa.Array:
        gone = random.random(rows) < 0.15 if nulls else np.zeros(rows, np.bool_)
        return pa.array([None if lost else value for value, lost in zip(list(values), gone, strict=True)], kind)

    return pa.table(
        {
            "label": holes(label.tolist(), pa.string()),
            "other": pa.array(other.tolist()),
            "whole": holes(whole.tolist(), pa.int64()),
            "group": pa.array(group.astype(np.int32)),
            "wide": holes(wide.tolist(), pa.int64()),
            "float.y": holes(float_.tolist(), pa.float64()),
            "money": holes(money, pa.decimal128(12, 2)),
            "day": holes(days, pa.date32()),
            "flag": holes(flag.tolist(), pa.bool_()),
        }
    )


@pytest.mark.parametrize(("partitions", "nulls"), [(1, "sql"), (5, "equal")])
def test_tiles_see_every_pair_once(spark: SparkSession, partitions: int, nulls: str) -> None:
    table = mixed(45, partitions).drop_columns(
        ["wide", "day", "flag"] if nulls == "equal" else ["other", "money", "day"]
    )
    options: dict[str, Any] = {"nulls": nulls, "method": "tiles", "one_row": True, "constants": 1, "max_predicates": 2}
    options |= {"shared_values": 0.0, "average_ratio": 0.0, "error": 0.01}
    frame = frame_of(table, spark).repartition(partitions)
    assert rules(spread(frame, SMALL, **options)) == rules(discover(table, **options))


@pytest.mark.parametrize(("partitions", "nulls"), [(1, "equal"), (3, "sql")])
def test_guided_finds_the_same_rules(spark: SparkSession, partitions: int, nulls: str) -> None:
    table = mixed(60, 10 + partitions).select(["label", "other", "whole"])
    options: dict[str, Any] = {"nulls": nulls, "shared_values": 0.0, "average_ratio": 0.0, "max_predicates": 3}
    found = spread(frame_of(table, spark).repartition(partitions), SMALL, method="guided", **options)
    assert found.method == "guided"
    assert rules(found) == rules(discover(table, method="tiles", **options))


@examples(2, phases=[Phase.generate])  # shrinking would take minutes
@given(tables(max_rows=12, kinds=SPARK_KINDS), st.sampled_from(("sql", "equal")), st.sampled_from(("tiles", "guided")))
def test_any_table_has_the_rules_it_has_in_process(
    spark: SparkSession, drawn: tuple[pa.Table, object], nulls: str, method: str
) -> None:
    table = drawn[0].select(drawn[0].column_names[:3])
    options: dict[str, Any] = {
        "nulls": nulls,
        "shared_values": 0.0,
        "average_ratio": 0.0,
        "max_predicates": 3,
        "one_row": True,
    }
    frame = frame_of(table, spark)
    found = spread(frame.repartition(2), SMALL, method=method, **options)
    assert rules(found) == rules(discover(frame.toArrow(), method="tiles", **options))


@pytest.mark.parametrize("points", [5, 1_000])
def test_looks_and_hunts_are_those_of_one_process(spark: SparkSession, points: int) -> None:
    table = mixed(70, 21).select(["label", "other", "whole", "group", "float.y"])
    options = options_of(shared_values=0.0, average_ratio=0.0, seed=points)
    sizes = SparkTuning(block_rows=16, sample_rows=10, bucket_rows=40, part_rows=20, points=points)
    here = LocalTable(Relation.of(table))
    space, _ = space_for(here, options)
    local, budget = here.pairs(space, options), Budget(options)
    all_pairs, _ = local.everything(budget)
    with kept() as place:
        held = SparkTable(frame_of(table, spark).repartition(2), place, tuning=sizes)
        there = pairs.pairs_of(held, space, options, place)
        seen, complete = there.everything(budget)
        assert complete
        assert np.array_equal(seen.points, all_pairs.points)
        assert np.array_equal(seen.counts, all_pairs.counts)
        equal = np.flatnonzero(equal_masks(space)).tolist()
        for chosen in (frozenset(equal[:1]), frozenset(equal[2:4]), frozenset(equal[-1:])):
            wanted = {point.tobytes() for point in local.agreeing(chosen, budget)[0].points}
            found = {point.tobytes() for point in there.agreeing(chosen, budget)[0].points}
            assert wanted <= found <= {point.tobytes() for point in all_pairs.points}
        relation, coded = there.here()
        rows = np.array([3, 4, 50, 69])
        given_rows = pa.table({name: relation.column(name) for name in relation.names}).take(pa.array(rows))
        gained, complete = there.against(given_rows, budget)
        assert complete
        expected = LocalPairs(relation, coded, options).against(rows, budget)[0]
        assert np.array_equal(gained.points, expected.points)
        assert np.array_equal(gained.counts, expected.counts)
        boxes = inverted(space, all_pairs.states[::3], budget, 3)[0][::7][:40]
        inside = violating_pairs(boxes, all_pairs) > 0
        assert 0 < np.count_nonzero(inside) < len(boxes)
        while True:  # the rows that are here are searched first
            hunt = there.hunt(space.masks(boxes), budget)
            broken = violating_pairs(boxes, merged(space, hunt.evidence)) > 0
            assert hunt.complete
            assert not (broken & ~inside).any()
            if hunt.held or not broken.any():
                break
            boxes, inside = boxes[~broken], inside[~broken]
        assert sorted(hunt.held) == np.flatnonzero(~inside).tolist()
        assert broken.tolist() == inside.tolist()


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_nothing_need_come_here_whatever_shuffles_came_before(spark: SparkSession, adaptive: str) -> None:
    numbers = np.arange(10_000)
    table = pa.table(
        {
            "key": pa.array(numbers),
            "zip": pa.array([f"{number // 2:05}" for number in numbers]),  # 5,000 groups
            "city": pa.array([f"city {number // 40}" for number in numbers]),
            "begin": pa.array(numbers * 10),
            "end": pa.array(numbers * 10 + 5),
        }
    )
    options: dict[str, Any] = {"max_predicates": 3, "columns": ["zip", "city", "begin", "end"]}
    before = str(spark.conf.get("spark.sql.adaptive.enabled"))
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        base = frame_of(table, spark)
        once_more = frame_of(table.select(["key"]), spark).withColumnRenamed("key", "other")
        shuffled = base.join(once_more, F.col("key") == F.col("other")).drop("other").repartition(5)
        frame = shuffled if adaptive == "true" else shuffled.orderBy(F.rand(7)).limit(20_000)
        found = rf.discover(frame, driver_bytes=0, **options)
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)
    assert rules(found) == rules(rf.discover(table, **options))
    assert any("zip" in rule.text for rule in found.rules)


def test_rows_come_here_by_the_bytes_that_they_have(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(frame: DataFrame, most: int) -> bool:
        asked = []

        def noted(*arguments: Any, **more: Any) -> SparkTable:
            asked.append(True)
            return SparkTable(*arguments, **more)

        monkeypatch.setattr(discover_search, "SparkTable", noted)
        found = discover_on_spark(frame, options_of(max_predicates=1, columns=["url"]), gather=most)
        assert rules(found) == {("not (s.url = t.url)", 0)}
        return bool(asked)

    frame = spark.range(6_000).selectExpr("concat(repeat('x', 300), id) url", "repeat('y', 4000) unread")
    assert not searched(frame, 6_000 * 400)
    assert searched(frame, 6_000 * 250)


def test_connect_gives_the_same(connect: SparkSession) -> None:
    table = mixed(40, 5).select(["label", "money"])
    frame = frame_of(table, connect).repartition(2)
    expected = rules(discover(table, cross_columns=False))
    assert rules(spread(frame, SMALL, method="guided", cross_columns=False)) == expected
    assert rules(spread(frame, SMALL, method="tiles", cross_columns=False)) == expected


def test_scores_and_support_are_those_of_the_table(spark: SparkSession) -> None:
    table = mixed(80, 3).select(["label", "whole", "group", "day"])
    here = {rule.text: rule for rule in discover(table, cross_columns=False).rules}
    for rule in spread(frame_of(table, spark).repartition(3), cross_columns=False).top(6):
        other = here[rule.text]
        assert rule.support == other.support
        assert (rule.succinctness, rule.surprise) == pytest.approx((other.succinctness, other.surprise))


@pytest.mark.parametrize("measure", ["g2", "g3"])
def test_errors_in_rows_are_measured_alike(spark: SparkSession, measure: str) -> None:
    table = mixed(50, 8, nulls=False).select(["label", "group"])
    options: dict[str, Any] = {"error": 0.05, "measure": measure, "cross_columns": False}
    assert rules(spread(frame_of(table, spark), **options)) == rules(discover(table, **options))


def test_rules_that_few_pairs_break_are_found(spark: SparkSession) -> None:
    table = mixed(50, 8, nulls=False).select(["label", "group"])
    found = spread(frame_of(table, spark).coalesce(1), almost=20, cross_columns=False)
    expected = discover(table, almost=20, cross_columns=False)
    assert [(r.text, r.violations, len(r.pairs)) for r in found.almost] == [
        (r.text, r.violations, len(r.pairs)) for r in expected.almost
    ]


def test_a_path_a_catalog_table_and_a_frame_are_taken(spark: SparkSession, tmp_path: Path) -> None:
    table = mixed(60, 2).select(["label", "whole", "group", "day"])
    expected = rules(discover(table, cross_columns=False))
    file = tmp_path / "rows.parquet"
    pq.write_table(table, file)
    frame_of(table, spark).createOrReplaceTempView("rows_to_discover")
    for held in (file, str(tmp_path / "*.parquet"), "rows_to_discover", frame_of(table, spark)):
        assert rules(rf.discover(held, cross_columns=False)) == expected
    spark.catalog.dropTempView("rows_to_discover")
    assert rules(rf.discover(str(file), cross_columns=False, engine="local")) == expected
    assert rules(spread(str(file), cross_columns=False)) == expected


@pytest.mark.parametrize("where", ["GROUP < 3 and not (label is null)", "`st.p` > 1 or group = 0", "whole < 9.5e40"])
def test_a_condition_chooses_the_same_rows_on_both_engines(spark: SparkSession, where: str) -> None:
    table = mixed(60, 2).select(["label", "whole", "group"])
    here = table.append_column("st.p", table["group"])
    expected = rules(
        rf.discover(here, columns=table.column_names, cross_columns=False, where=where.replace("GROUP", "group"))
    )
    assert expected
    inside = frame_of(table, spark).withColumn("st", F.struct(F.col("group").alias("p")))
    for gather in (0, 1 << 20):
        found = discover_on_spark(
            inside.coalesce(1), options_of(columns=table.column_names, cross_columns=False), where=where, gather=gather
        )
        assert rules(found) == expected


@pytest.mark.filterwarnings("ignore::refute.errors.InferredTypesWarning")
def test_the_command_searches_files_with_spark(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, book = tmp_path / "rows.csv", tmp_path / "proposed.yaml"
    file.write_text("id,zip,city\n" + "".join(f"{i},{i % 5},c{i % 5 % 3}\n" for i in range(20)), encoding="utf-8")
    common = ["discover", str(file), "--engine", "spark", "--where", "id < 15", "--out", str(book)]
    assert run([*common, "--complete", "--no-cross-columns"]) == Exit.HOLDS
    assert "Two rows with the same zip have the same city." in capsys.readouterr().out
    assert "zip" in book.read_text(encoding="utf-8")


def test_a_column_that_is_never_null_is_one_on_spark_too(spark_kind: SparkSession) -> None:
    table = pa.table({"id": [1, 2, 3], "zip": ["a", None, "b"], "rate": [1.0, float("nan"), 2.0]})
    rules = {"version": 1, "rules": [{"name": "present", "not_null": ["id", "zip", "rate"]}]}
    for report in (rf.check(table, rules, key="id"), rf.check(frame_of(table, spark_kind), rules, key="id")):
        found = {one.name: (one.finding.violations, one.finding.rows) for one in report}
        assert found == {"present[id]": (0, 0), "present[zip]": (1, 1), "present[rate]": (1, 1)}
        assert list(report.violations("present[zip]")) == [(2,)]


def test_no_frame_stays_kept(spark: SparkSession) -> None:
    table = mixed(30, 4).select(["label", "group"])
    spread(frame_of(table, spark), cross_columns=False)
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


def test_tables_that_teach_nothing(spark: SparkSession) -> None:
    one = pa.table({"a": pa.array([1], pa.int64())})
    assert rules(spread(frame_of(one, spark))) == set()
    nothing = pa.table({"a": pa.array([None, None], pa.int64())})
    assert rules(spread(frame_of(nothing, spark))) == set()
    with pytest.raises(OptionError, match="hydra"):
        spread(frame_of(one, spark), method="hydra")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Searches that wait for witnesses, and an event that tells when one began."""
    began = threading.Event()
    hunt = pairs.SparkPairs._look

    def waiting(self: pairs.SparkPairs, *arguments: Any) -> Any:
        began.set()
        time.sleep(0.3)
        return hunt(self, *arguments)

    monkeypatch.setattr(pairs.SparkPairs, "_look", waiting)
    return began


def test_a_time_limit_ends_the_search_with_what_is_verified(spark: SparkSession, slow: threading.Event) -> None:
    table = mixed(40, 6, nulls=False).select(["label", "whole"])
    told: list[Progress] = []
    found = spread(frame_of(table, spark), method="guided", cross_columns=False, time_limit=0.2, progress=told.append)
    assert found.partial
    assert told
    assert rules_of(found) <= rules_of(discover(table, cross_columns=False))


def test_a_time_limit_ends_the_count_of_values_too(spark: SparkSession) -> None:
    found = spread(frame_of(mixed(40, 6), spark), method="guided", time_limit=1e-6)
    assert found.partial
    assert not found.rules
    assert found.notes


def test_an_interrupt_ends_the_search(spark: SparkSession, slow: threading.Event) -> None:
    def interrupt() -> None:
        slow.wait()
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        found = spread(frame_of(mixed(40, 6).select(["label", "whole"]), spark), method="guided", cross_columns=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert found.partial


def rules_of(found: CompleteDiscovery) -> set[str]:
    return {rule.text for rule in found.rules}


@pytest.mark.skipif(not DATA.exists(), reason="the papers' tables are not here")
def test_the_airport_rules_are_those_in_process(spark: SparkSession) -> None:
    from benchmarks.cases.discover import papers_table

    table = papers_table("airport_30k_original.csv", 3_000)
    frame: DataFrame = frame_of(table, spark).repartition(4)
    assert rules(spread(frame)) == rules(discover(table))
