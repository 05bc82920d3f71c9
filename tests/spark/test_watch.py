"""A stream of Spark is watched: after every batch its violations are those of a check of all rows so far."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

import refute as rf
from refute.errors import DataError, EngineError, OptionError, SchemaError
from refute.spark.session import is_connect

RULES = ["zip -> city", "not(s.zip == t.zip and s.pay < t.pay and s.tax > t.tax)", "row(pay >= 0)"]
COLUMNS = "id bigint, zip string, city string, pay double, tax int, seen timestamp, note struct<by: string>"
Row = dict[str, Any]


def rows_of(batch: int, count: int = 6) -> list[Row]:
    """The rows of a batch."""
    return [
        {
            "id": batch * 100 + n,
            "zip": None if n == 4 else str((batch + n) % 3),
            "city": f"c{n % 2}",
            "pay": float(n - 1),
            "tax": (n * 7 + batch) % 5,
            "seen": f"2024-01-0{n + 1}T00:00:00Z",
            "note": {"by": f"w{n % 2}"},
        }
        for n in range(count)
    ]


def put(folder: Path, batch: int, rows: Sequence[Row]) -> None:
    """A file of rows that arrives whole."""
    folder.mkdir(exist_ok=True)
    draft = folder / f".{batch}"
    draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(draft, (batch, 1_700_000_000 + batch))  # by which Spark orders files
    draft.rename(folder / f"{batch:04}.json")


def stream_of(session: SparkSession, folder: Path, columns: str = COLUMNS) -> DataFrame:
    """The files of a folder, one in each batch."""
    reader = session.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    return reader.json(str(folder))


def check_all(watch: rf.Watch, rows: Sequence[Row], rules: Sequence[str] = RULES) -> None:
    """Holds a watch, and the tables that it writes, against a check of these rows."""
    plain = [{name: value for name, value in row.items() if name != "note"} for row in rows]
    plain = [{**row, "note.by": (one["note"] or {}).get("by")} for row, one in zip(plain, rows, strict=True)]
    table = pa.Table.from_pylist(plain)
    report = rf.check(table, list(rules), key="id")
    lines = parquet.read_table(watch.folder / "violations").to_pylist()
    for result in report.results:
        wanted = sorted(rf.violations(table, result.rule, key="id"))
        assert watch.counts[result.name] == len(wanted)
        assert sorted(watch.violations(result.name)) == wanted
        still = [line for line in lines if line["rule"] == result.name and line["until"] is None]
        assert sorted((one["s"],) if one["t"] is None else (one["s"], one["t"]) for one in still) == wanted
    assert watch.report().exit_code == report.exit_code


def test_a_stream_is_watched_across_runs(spark_kind: SparkSession, tmp_path: Path) -> None:
    source, state = tmp_path / "in", tmp_path / "state"
    for batch in (0, 1):
        put(source, batch, rows_of(batch))
    rules = [*RULES, "`note.by` -> tax"]
    with rf.watch(stream_of(spark_kind, source), rules, state=state, key="id", once=True) as watch:
        assert watch.await_termination()
        assert [one.rows for one in watch.batches] == [6, 6]
        check_all(watch, [*rows_of(0), *rows_of(1)], rules)
    put(source, 2, rows_of(2))
    with rf.watch(stream_of(spark_kind, source), [*RULES, "city -> tax"], state=state, once=True) as watch:
        assert [one.instant for one in watch.follow()] == [(1, 1), (2, 0)]
        check_all(watch, [row for batch in range(3) for row in rows_of(batch)], [*RULES, "city -> tax"])
    seen = spark_kind.read.parquet(str(state / "violations")).where("until is null").groupBy("rule").count().collect()
    assert {row["rule"]: row["count"] for row in seen} == {k: v for k, v in rf.Watch(state).counts.items() if v}
    assert spark_kind.read.parquet(str(state / "feed" / "pairs")).select("batch").distinct().count() == 3


def test_rows_on_the_executors_give_the_same(spark_kind: SparkSession, tmp_path: Path) -> None:
    source, state = tmp_path / "in", tmp_path / "state"
    rules = [*RULES, "`note.by` -> tax", "not(s.pay < t.pay and s.tax > t.tax)"]
    rows = rows_of(0) + rows_of(1)
    for batch in (0, 1):
        put(source, batch, rows_of(batch))
    stream = stream_of(spark_kind, source)
    with rf.watch(stream, rules, state=state, key="id", once=True, driver_bytes=0) as watch:
        assert watch.await_termination()
        assert [one.where for one in watch.batches] == ["executors"] * 2
        check_all(watch, rows, rules)
    put(source, 2, rows_of(2))
    with rf.watch(stream, rules[:2], state=state, once=True) as watch:  # few enough to come back
        assert watch.await_termination()
        assert watch.batches[-1].where == "driver"
        check_all(watch, rows + rows_of(2), rules[:2])
    put(source, 3, [*rows_of(3), rows_of(1)[0]])
    with pytest.raises(DataError, match="Rows with these keys already exist: id = 100"):
        rf.watch(stream, state=state, once=True, driver_bytes=0).await_termination()
    check_all(rf.Watch(state), rows + rows_of(2), rules[:2])


def test_what_a_batch_raises_ends_the_stream_and_is_raised(spark_kind: SparkSession, tmp_path: Path) -> None:
    source, state = tmp_path / "in", tmp_path / "state"
    put(source, 0, rows_of(0))
    put(source, 1, rows_of(0))
    first = rf.watch(stream_of(spark_kind, source), RULES, state=state, key="id", once=True)
    with pytest.raises(DataError, match="Rows with these keys already exist: id = 0"):
        first.await_termination()
    assert [one.batch for one in first.batches] == [0]
    with pytest.raises(SchemaError, match="There is no column 'city'"):
        rf.watch(stream_of(spark_kind, source, "id bigint, zip string"), RULES, state=state, key="id")
    with pytest.raises(OptionError, match=r"has the key id. Leave key= out"):
        rf.watch(stream_of(spark_kind, source), RULES, state=state, key="zip")
    elsewhere = {"rules": [{"name": "known", "references": "city -> none.csv(id)"}]}
    with pytest.raises(OptionError, match=r"'known' refers to another table, .* so a watch cannot keep it current"):
        rf.watch(stream_of(spark_kind, source), elsewhere, state=tmp_path / "other")
    with pytest.raises(OptionError, match="order= needs op="):
        rf.watch(stream_of(spark_kind, source), RULES, state=tmp_path / "other", key="id", order="tax")
    with pytest.raises(OptionError, match="A feed of changes needs a key"):
        rf.watch(stream_of(spark_kind, source), RULES, state=tmp_path / "other", op="city")
    with pytest.raises(DataError, match=r"is not a stream. Use spark\.readStream"):
        rf.watch(spark_kind.range(3), "unique(id)", state=tmp_path / "other")
    shutil.rmtree(state / "checkpoint")
    with pytest.raises(DataError, match="checkpoint is gone"):
        rf.watch(stream_of(spark_kind, source), state=state, once=True)


def test_a_stream_ends_when_a_rule_breaks_if_that_is_asked_for(spark_kind: SparkSession, tmp_path: Path) -> None:
    source, state = tmp_path / "in", tmp_path / "state"
    for batch in range(3):
        put(source, batch, rows_of(batch)[batch + 1 : batch + 2] if batch < 1 else rows_of(batch))
    watch = rf.watch(
        stream_of(spark_kind, source),
        RULES,
        state=state,
        key="id",
        once=True,
        fail_on="error",
        bootstrap=table_before(),
    )
    if not is_connect(spark_kind):  # whose server takes the folder when the first batch comes
        with pytest.raises(EngineError, match="already open"):
            rf.watch(stream_of(spark_kind, source), state=state)
    assert watch.await_termination()
    assert [one.batch for one in watch.batches] == [-1, 0, 1]
    assert watch.report().exit_code == 1
    for change, rules in enumerate((["city -> zip"], RULES), 1):  # which the rows that are there break
        ended = rf.watch(stream_of(spark_kind, source), rules, state=state, fail_on="error")
        assert [one.instant for one in ended.follow()] == [(1, change)]
        assert (ended.await_termination(), ended.query, ended.is_active) == (True, None, False)
    with rf.watch(stream_of(spark_kind, source), state=state, once=True) as again:
        assert again.await_termination()
        assert [one.instant for one in again.batches][-1] == (2, 0)


def table_before() -> pa.Table:
    """A row that was there before the stream."""
    return pa.table({"id": [-1], "zip": ["9"], "city": ["c"], "pay": [1.0], "tax": pa.array([1], pa.int32())})
