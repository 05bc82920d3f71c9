"""A stream that is watched beside a million rows: what a batch costs in all, Spark and the disk included.

Figures are CPU seconds of the driver, Java and all Python workers together, by batch, in the mean of a few. Small
batches come first that are not measured, as Java compiles most of what it runs in the first minute. `exact`
says that the violations are as many as a check of all rows finds.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

import refute as rf
from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.cases.live_monitor import DIRTY, FOUR
from benchmarks.measure import Measurement, Told
from benchmarks.rules import RULES
from benchmarks.tables import DATA, MILLION, read, tax
from benchmarks.worker import Worker

LARGE, SMALL = 100_000, 10_000
BATCHES = 3  # of each kind that are measured, after one that is not
FIRST = 30  # small ones before them
COMING, CHANGING, GOING = 60_000, 20_000, 20_000  # rows of a batch with all operations; a row that changes is all new
LOOKS = 50  # for a batch before Spark is asked whether the stream still runs, which takes CPU time in two processes
LIMIT = 3000.0
HISTORIES = (MILLION, 5 * MILLION)


def cases() -> Iterator[Case]:
    """Batches beside a million rows, with Spark and without, and beside five million."""
    yield Case(
        "watch.driver",
        "100k rows beside a million, without Spark's part: all four rules",
        lambda: [_worker("taken", MILLION)],
        [
            Claim("at least 250k rows for a CPU second", lambda of: _speed(of, "large_s") >= 250_000),
            Claim("as a check finds", _is_exact),
        ],
        once=True,
    )
    yield Case(
        "watch.stream",
        "100k and 10k rows beside a million, with Spark: all four rules",
        lambda: [_worker("streamed", MILLION)],
        [
            Claim("at least 60k rows for a CPU second", lambda of: _speed(of, "large_s") >= 60_000),
            Claim("with operations at least 40k", lambda of: _speed(of, "mixed_s") >= 40_000),
            Claim("10k rows take at most a CPU second", lambda of: of[US].facts["small_s"] <= 1.0),
            Claim("as a check finds", _is_exact),
        ],
        once=True,
    )
    yield Case(
        "watch.executors",
        "100k and 10k rows beside a million, with rows on the executors: all four rules",
        lambda: [_worker("streamed", MILLION, US, "0")],
        [
            Claim("at least 60k rows for a CPU second", lambda of: _speed(of, "large_s") >= 60_000),
            Claim("with operations at least 40k", lambda of: _speed(of, "mixed_s") >= 40_000),
            Claim("10k rows take at most a CPU second", lambda of: of[US].facts["small_s"] <= 1.0),
            Claim("as a check finds", _is_exact),
        ],
        once=True,
    )
    yield Case(
        "watch.executors_growth",
        "100k rows beside five million and beside one, with rows on the executors: all four rules",
        lambda: [
            _worker("streamed", size, name, "0") for name, size in zip((US, "a million"), HISTORIES[::-1], strict=True)
        ],
        [Claim("at most 1.5 times as much", _grows_little)],
        same_answer=False,
        once=True,
    )
    yield Case(
        "watch.growth",
        "100k rows beside five million and beside one, without Spark's part: all four rules",
        lambda: [_worker("taken", size, name) for name, size in zip((US, "a million"), HISTORIES[::-1], strict=True)],
        [Claim("at most 1.5 times as much", _grows_little)],
        same_answer=False,
        once=True,
    )


def _worker(factory: str, rows: int, name: str = US, *more: str) -> Contestant:
    made = Worker(f"benchmarks.cases.watch:{factory}", [str(rows), *more], limit=LIMIT, memory_gb=256)
    return Contestant(name, worker=made)


def _speed(of: Mapping[str, Measurement], fact: str) -> float:
    return LARGE / of[US].facts[fact]


def _grows_little(of: Mapping[str, Measurement]) -> bool:
    return of[US].facts["large_s"] <= 1.5 * of["a million"].facts["large_s"]


def _is_exact(of: Mapping[str, Measurement]) -> bool:
    return of[US].facts["exact"] == 1


def taken(rows: str) -> Callable[[], Told]:
    """A worker's job: batches as Spark would give them, into a folder, each of them committed."""
    from refute.language.rulebook import RuleBook
    from refute.watching.watcher import Watcher, WatchOptions

    size = int(rows)
    table = read(tax(size + (BATCHES + 1) * LARGE, DIRTY))

    def run() -> Told:
        with tempfile.TemporaryDirectory(dir=DATA) as folder:
            watcher = Watcher.open(Path(folder, "w"), WatchOptions(tuple(RuleBook.of(_texts())), ("id",)))
            watcher.bootstrap(table.slice(0, size))
            spent, walls, changed = [], [], 0
            for number in range(BATCHES + 1):
                batch = table.slice(size + number * LARGE, LARGE).combine_chunks()
                cpu, wall = _cpu(), time.perf_counter()
                record = watcher.take(number, None, batch)
                spent.append(_cpu() - cpu)
                walls.append(time.perf_counter() - wall)
                assert record is not None
                changed += record.added
            counts = {
                rule.name: store.count for rule, store in zip(watcher.state.rules, watcher.state.stores, strict=True)
            }
            watcher.close()
            started = time.perf_counter()
            Watcher.open(Path(folder, "w"), WatchOptions(None)).close()
            again = time.perf_counter() - started
        facts = {
            "large_s": _mean(spent),
            "large_wall_s": _mean(walls),
            "changes": changed / (BATCHES + 1),
            "reopen_s": round(again, 3),
            "exact": float(size > MILLION or _checked(table) == counts),
        }
        return Told(None, facts)

    return run


def streamed(rows: str, driver_bytes: str | None = None) -> Callable[[], Told]:
    """A worker's job: the same through a stream of Parquet files, then small batches, then some of all operations."""
    from refute.spark.session import session

    size = int(rows)
    rows_of_each = LARGE + SMALL + COMING + CHANGING
    table = read(tax(size + (BATCHES + 1) * rows_of_each + FIRST * SMALL, DIRTY))
    running = session("local[2]", settings={"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "4"})

    def run() -> Told:
        folder = Path(tempfile.mkdtemp(dir=DATA))
        try:
            facts: dict[str, float] = {}
            place, number = size, 0
            source = folder / "in"
            source.mkdir()
            feed = table.append_column("op", pa.repeat("insert", len(table)))
            stream = running.readStream.schema(_spark_schema(running, feed, folder)).parquet(str(source))
            watch = rf.watch(
                stream,
                _texts(),
                state=folder / "w",
                key="id",
                op="op",
                bootstrap=table.slice(0, size),
                every=0,
                driver_bytes=None if driver_bytes is None else int(driver_bytes),
            )
            for what, step, batches in (
                ("first_s", SMALL, FIRST),
                ("large_s", LARGE, BATCHES + 1),
                ("small_s", SMALL, BATCHES + 1),
            ):
                spent = []
                for _ in range(batches):
                    spent.append(_batch(watch, source, number, feed.slice(place, step)))
                    place, number = place + step, number + 1
                facts[what] = _mean(spent)
            spent, chosen = [], np.random.default_rng(3).permutation(size)
            left = [table.slice(0, place)]
            gone: list[int] = []
            for turn in range(BATCHES + 1):
                ids = pa.array(chosen[turn * (CHANGING + GOING) : (turn + 1) * (CHANGING + GOING)])
                new, place = table.slice(place, COMING), place + COMING
                changed, place = _renamed(table.slice(place, CHANGING), ids[:CHANGING]), place + CHANGING
                parts = {"insert": new, "update": changed, "delete": table.take(ids[CHANGING:])}
                changes = [rows.append_column("op", pa.repeat(op, len(rows))) for op, rows in parts.items()]
                spent.append(_batch(watch, source, number, pa.concat_tables(changes)))
                left, gone, number = [*left, new, changed], gone + ids.to_pylist(), number + 1
            facts["mixed_s"] = _mean(spent)
            counts = watch.counts
            watch.stop()
            stays = left[0].filter(pc.invert(pc.is_in(left[0].column("id"), pa.array(gone))))
            facts["exact"] = float(_checked(pa.concat_tables([stays, *left[1:]])) == counts)
            facts["files"] = float(sum(path.is_file() for path in (folder / "w").rglob("*")))
            return Told(None, facts)
        finally:
            shutil.rmtree(folder)

    return run


def _renamed(rows: pa.Table, ids: pa.Array) -> pa.Table:
    return rows.set_column(rows.column_names.index("id"), "id", ids)


def _spark_schema(running: Any, feed: pa.Table, folder: Path) -> Any:
    path = folder / "schema.parquet"
    parquet.write_table(feed.slice(0, 1), path)
    return running.read.parquet(str(path)).schema


def _batch(watch: rf.Watch, source: Path, number: int, rows: pa.Table) -> float:
    """The CPU seconds from the arrival of a file until its batch is committed."""
    draft = source / f".{number}"
    parquet.write_table(rows, draft)
    cpu = _cpu()
    draft.rename(source / f"{number:06}.parquet")
    looks = 0
    while watch.batches[-1].batch < number:
        looks += 1
        assert looks % LOOKS or watch.is_active
        time.sleep(0.02)
    return _cpu() - cpu


def _checked(table: pa.Table) -> dict[str, int]:
    return {one.name: one.finding.violations or 0 for one in rf.check(table, _texts(), engine="local").results}


def _texts() -> list[str]:
    return [RULES[name].text for name in FOUR]


def _mean(spent: Sequence[float]) -> float:
    return round(float(np.mean(spent[1:])), 3)


def _cpu() -> float:
    """CPU seconds of this process and of all that it started."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + (times.children_user + times.children_system if process == me else 0)
    return total
