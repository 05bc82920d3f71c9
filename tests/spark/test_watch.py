"""A stream of Spark is watched: after every batch its violations are those of a check of all rows so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import refute as rf

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
    draft.rename(folder / f"{batch:04}.json")


def stream_of(session: SparkSession, folder: Path, columns: str = COLUMNS) -> DataFrame:
    """The files of a folder, one in each batch."""
    reader = session.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    return reader.json(str(folder))


def check_all(watch: rf.Watch, rows: Sequence[Row], rules: Sequence[str] = RULES) -> None:
    """Holds a watch, and the tables that it writes, against a check of these rows."""
    import pyarrow as pa
    from pyarrow import parquet

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
        assert [one.batch for one in watch.follow()] == [2]
        check_all(watch, [row for batch in range(3) for row in rows_of(batch)], [*RULES, "city -> tax"])
    seen = spark_kind.read.parquet(str(state / "violations")).where("until is null").groupBy("rule").count().collect()
    assert {row["rule"]: row["count"] for row in seen} == {k: v for k, v in rf.Watch(state).counts.items() if v}
    assert spark_kind.read.parquet(str(state / "feed" / "pairs")).select("batch").distinct().count() == 3
