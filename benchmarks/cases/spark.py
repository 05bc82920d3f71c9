"""Detection on Spark: against hand-written aggregates, the cost of one shuffle through Python, and self-joins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.measure import Measurement
from benchmarks.rules import RULES
from benchmarks.tables import MILLION, planes, tax
from refute import check, count, parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL = 100_000
LARGE = {"tax": 10 * MILLION, "lineitem": 6 * MILLION}
FLOOR = "floor"
TASKS = 8
WARMING = 12
JOINED = tuple(f"c{i}" for i in range(1, 12))
ONE_TASK = (("c2", MILLION), ("c4", MILLION), ("c7", MILLION), ("c10", SMALL))
MOST_SKEW = 1.3
FAR_AHEAD = ("c4", "c6", "c7", "c10")
TOGETHER = ("c1", "c2", "c3", "c4")
PLANES = {
    "two": "not (s.x < t.x and s.y > t.y)",
    "skewed": "not (s.g = t.g and s.x < t.x and s.y > t.y)",
}


def cases() -> Iterator[Case]:
    """One case for each rule and claim; all contestants of a case share one session."""
    for name in ("c1", "c2", "c3", "c5", "c9"):
        yield _by_hand(name)
    for name, most in (("c4", 0.5), ("c7", 1.5), ("c8", 1.5), ("c10", 1.5)):
        yield from _against_floor(name, RULES[name].text, partial(_large, name), most)
    for name, text in PLANES.items():
        yield from _against_floor(name, text, lambda: planes(LARGE["lineitem"]), 2.5)
    for name in JOINED:
        yield _against_join(name)
    for name, rows in ONE_TASK:
        yield _one_task(name, rows)
    yield _skew()
    yield _together()
    for name in ("c4", "c7"):
        yield _cores(name)
        yield _growth(name)


def _by_hand(name: str) -> Case:
    def contestants() -> Sequence[Contestant]:
        path = _large(name)
        return [
            _counted(path, RULES[name].text),
            Contestant("by hand", call=lambda: _BY_HAND[name](_frame(path))),
        ]

    title = f"count by native aggregates: {RULES[name].text}"
    return Case(f"spark.aggregate.{name}", title, contestants, [_at_most(1.2, "by hand")])


def _against_floor(name: str, text: str, table: Callable[[], Path], most: float) -> Iterator[Case]:
    """The count as it is asked for, and by tasks alone, as tables take it that are too large to be fetched."""

    def contestants(ours: Callable[[Path, str], Contestant]) -> Sequence[Contestant]:
        path, columns = table(), parse(text).columns
        floor = Contestant(FLOOR, call=lambda: _through_python(_frame(path).select(*columns)))
        return [ours(path, text), floor]

    for kind, ours in (("floor", _counted), ("tasks", _counted_by_tasks)):
        title = f"count{' by tasks' if kind == 'tasks' else ''}, against reading, one shuffle and Arrow through Python"
        made = partial(contestants, ours)
        yield Case(f"spark.{kind}.{name}", f"{title}: {text}", made, [_at_most(most, FLOOR)], same_answer=False)


def _against_join(name: str) -> Case:
    def contestants() -> Sequence[Contestant]:
        path = RULES[name].table(SMALL)
        return [
            _counted(path, RULES[name].text),
            Contestant("self-join", call=lambda: _joined(_frame(path), name)),
        ]

    claim = _at_most(1 / 20 if name in FAR_AHEAD else 1.0, "self-join")
    return Case(f"spark.join.{name}", f"count on {SMALL:,} rows: {RULES[name].text}", contestants, [claim])


def _one_task(name: str, rows: int) -> Case:
    """Data that fits one task, against bringing the table, or the columns of the rule, to this process by hand."""
    text = RULES[name].text

    def contestants() -> Sequence[Contestant]:
        path, columns = RULES[name].table(rows), parse(text).columns
        return [
            _counted(path, text),
            Contestant("toArrow", call=lambda: count(_frame(path).toArrow(), text)),
            Contestant("toArrow of the columns", call=lambda: count(_frame(path).select(*columns).toArrow(), text)),
        ]

    return Case(f"spark.one_task.{name}", f"count on {rows:,} rows: {text}", contestants, [_at_most(1.0, "toArrow")])


def _skew() -> Case:
    """How even tasks are where one group has nine tenths of the rows; the time is that of all tasks."""
    shares: list[float] = []

    def spread() -> None:
        from refute.language.rulebook import RuleBook
        from refute.spark.engine import SparkEngine

        engine = SparkEngine(_frame(planes(LARGE["lineitem"])))
        rows = engine.task_rows(RuleBook.of(PLANES["skewed"])[0])
        shares.append(max(rows) * len(rows) / sum(rows))

    claim = Claim(f"the largest task has at most {MOST_SKEW} times the mean", lambda _: max(shares) <= MOST_SKEW)
    title = f"rows of tasks, nine tenths in one group: {PLANES['skewed']}"
    return Case("spark.skew", title, lambda: [Contestant(US, call=spread)], [claim], same_answer=False)


def _together() -> Case:
    """Four rules in one call. Reading their columns and no more says what sharing the passes over the table gains."""
    texts = [RULES[name].text for name in TOGETHER]

    def contestants() -> Sequence[Contestant]:
        path = tax(LARGE["tax"])
        columns = [parse(text).columns for text in texts]
        return [
            Contestant(US, call=lambda: check(_frame(path), texts).ok),
            Contestant("one by one", call=lambda: _all_hold(path, texts)),
            Contestant("reading alone", call=lambda: _read(path, [name for names in columns for name in names])),
            Contestant("reading one by one", call=lambda: [_read(path, names) for names in columns]),
        ]

    claim = _at_most(0.6, "one by one")
    return Case("spark.together", "check c1 to c4 in one call", contestants, [claim], same_answer=False)


def _cores(name: str) -> Case:
    """The same count by processes, Java's and Python's, that may use one core and two of this machine."""

    def contestants() -> Sequence[Contestant]:
        from benchmarks.worker import Worker

        arguments = [str(RULES[name].table(10 * MILLION)), RULES[name].text]
        made = partial(Worker, "benchmarks.cases.spark:counting", limit=300, memory_gb=256)  # Java reserves a lot
        return [Contestant(who, worker=made([str(cores), *arguments])) for who, cores in ((US, 2), ("one core", 1))]

    title = f"two cores against one, ten million rows: {name}"
    return Case(f"spark.cores.{name}", title, contestants, [_at_most(1 / 1.6, "one core")])


def _growth(name: str) -> Case:
    def contestants() -> Sequence[Contestant]:
        large, small = (RULES[name].table(rows) for rows in (10 * MILLION, MILLION))
        return [
            _counted(large, RULES[name].text),
            Contestant("a tenth", call=lambda: count(_frame(small), RULES[name].text)),
        ]

    title = f"ten million rows against one: {name}"
    return Case(f"spark.growth.{name}", title, contestants, [_at_most(12, "a tenth")], same_answer=False)


def counting(cores: str, path: str, text: str) -> Callable[[], Any]:
    """The count of a rule in a session that has this many cores: for a process of its own.

    It is run a few times already: Java compiles meanwhile, and on one core does nothing else then.
    """
    from refute.spark.session import session

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
    running = session(f"local[{cores}]")

    def call() -> int:
        return count(running.read.parquet(path), text)

    for _ in range(WARMING):
        call()
    return call


def _counted(path: Path, text: str) -> Contestant:
    """Our count, run once already: the first run compiles for a while, and a slow run would be the only one."""
    count(_frame(path), text)
    return Contestant(US, call=lambda: count(_frame(path), text))


def _counted_by_tasks(path: Path, text: str) -> Contestant:
    from refute.language.rulebook import RuleBook
    from refute.spark.budget import SparkBudget
    from refute.spark.engine import SparkEngine

    (rule,) = RuleBook.of(text)

    def call() -> int:
        return SparkEngine(_frame(path), budget=SparkBudget(driver_bytes=0)).count(rule)

    call()
    return Contestant(US, call=call)


def _all_hold(path: Path, texts: Sequence[str]) -> bool:
    """Whether all rules hold, each checked by itself, whatever the others give."""
    found = [check(_frame(path), [text]).ok for text in texts]
    return all(found)


def _read(path: Path, names: Sequence[str]) -> int:
    """Read these columns, to no more use than a number."""
    from pyspark.sql import functions as F

    (row,) = _frame(path).select(F.sum(F.hash(*dict.fromkeys(names)))).collect()
    return int(row[0])


def _at_most(times: float, peer: str) -> Claim:
    def holds(results: Mapping[str, Measurement]) -> bool:
        return results[US].seconds <= times * results[peer].seconds

    return Claim(f"at most {times:.3g} times as long as {peer}", holds)


def _large(name: str) -> Path:
    made = RULES[name].table
    return made(LARGE[made.__name__])


@cache
def _session() -> SparkSession:
    from refute.spark.session import session

    return session()


def _frame(path: Path) -> DataFrame:
    return _session().read.parquet(str(path))


def _through_python(frame: DataFrame) -> int:
    def consume(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"n": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})

    return sum(row["n"] for row in frame.repartition(TASKS).mapInArrow(consume, "n bigint").collect())


def _joined(frame: DataFrame, name: str) -> int:
    """The rule as the condition of a self-join."""
    condition = RULES[name].text.removeprefix("not (").removesuffix(")")
    frame.createOrReplaceTempView("benched")
    query = f"select count(*) as n from benched s join benched t on {condition} and s.id != t.id"
    (row,) = frame.sparkSession.sql(query).collect()
    return int(row["n"])


def _key(frame: DataFrame) -> int:
    groups = frame.groupBy("areacode", "phone").agg({"*": "count"}).toDF("a", "p", "n")
    return _sum(groups.where("n > 1"), "n * (n - 1)")


def _dependency(frame: DataFrame, keys: list[str], value: str) -> int:
    values = frame.groupBy(*keys, value).count()
    groups = values.selectExpr(*keys, "count as n", "count * count as squared").groupBy(*keys).sum("n", "squared")
    return _sum(groups.toDF(*keys, "n", "squared"), "n * n - squared")


def _swapped(frame: DataFrame) -> int:
    pairs = frame.groupBy("customer", "supplier").count()
    turned = pairs.selectExpr("supplier as customer", "customer as supplier", "count as other")
    itself = frame.where("customer = supplier").count()
    return _sum(pairs.join(turned, ["customer", "supplier"]), "count * other") - itself


def _both_differ(frame: DataFrame) -> int:
    def same(*keys: str) -> int:
        return _sum(frame.groupBy(*keys).count(), "count * count")

    rows = frame.count()
    return rows * rows - same("tax") - same("extprice") + same("tax", "extprice")


def _sum(frame: DataFrame, expression: str) -> int:
    (row,) = frame.selectExpr(f"sum({expression}) as n").collect()
    return int(row["n"] or 0)


_BY_HAND: dict[str, Callable[[DataFrame], int]] = {
    "c1": _key,
    "c2": lambda frame: _dependency(frame, ["zip"], "city"),
    "c3": lambda frame: _dependency(frame, ["state", "haschild"], "childexemp"),
    "c5": _swapped,
    "c9": _both_differ,
}
