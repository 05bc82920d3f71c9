"""A stream that is watched for ten minutes at full speed, and one that goes on after a restart.

Every batch of the long run brings rows and takes as many old ones away, so there are always as many: memory and files
must stay bounded. They are sampled, and the last third of the run is held against the third before it. The table of
violations keeps resolved ones, up to four million, in pieces, and its last states; ten minutes do not fill that.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from pyarrow import parquet

import refute as rf
from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.cases.live_monitor import DIRTY, FOUR
from benchmarks.measure import Measurement, Told
from benchmarks.rules import RULES
from benchmarks.tables import DATA, MILLION, read, tax
from benchmarks.worker import Worker
from refute.watching.records import read_history

WINDOW, STEP = 200_000, 2_000  # rows that there are; rows that come and rows that go with a batch
AHEAD = 4  # files that wait for their batch
MINUTES = 10
MOST_FEEDS = 2 * 1002  # files of the two feeds: a thousand each, one that comes, and one that goes
MOST_STATES = 64 + 8  # of the table of violations, for its readers
LIMIT = 3000.0


def cases() -> Iterator[Case]:
    """Ten minutes at full speed, and a restart beside a million rows."""
    yield Case(
        "watch.long",
        f"{MINUTES} minutes at full speed, with Spark: {STEP:,} rows come and as many go in each batch",
        lambda: [_worker("endless", str(MINUTES * 60))],
        [
            Claim("memory stops growing", lambda of: _grows(of, "memory_mb") <= 1.1),
            Claim("files are few for each state", lambda of: of[US].facts["files_most"] <= of[US].facts["files_bound"]),
            Claim("feeds have their newest files alone", lambda of: of[US].facts["feed_files_most"] <= MOST_FEEDS),
            Claim("batches stay as fast", lambda of: _grows(of, "batch_s") <= 1.25),
            Claim("as a check finds", lambda of: of[US].facts["exact"] == 1),
        ],
        once=True,
    )
    yield Case(
        "watch.restart",
        "a million rows on disk: from Spark's start to the first batch, in a new process",
        lambda: [_worker("restarted", str(MILLION))],
        [Claim("at most 10 seconds beyond Spark's own start", lambda of: of[US].facts["first_batch_s"] <= 10.0)],
        once=True,
    )


def _worker(factory: str, argument: str) -> Contestant:
    made = Worker(f"benchmarks.cases.watch_long:{factory}", [argument], limit=LIMIT, memory_gb=256)
    return Contestant(US, worker=made)


def _grows(of: Mapping[str, Measurement], fact: str) -> float:
    return of[US].facts[f"{fact}_late"] / of[US].facts[f"{fact}_before"]


def endless(seconds: str) -> Callable[[], Told]:
    """A worker's job: a window that moves over the rows, round and round, as fast as batches are taken."""
    table = read(tax(MILLION, DIRTY))
    running = _session()

    def run() -> Told:
        folder = Path(tempfile.mkdtemp(dir=DATA))
        try:
            return _endless(running, table, folder, float(seconds))
        finally:
            shutil.rmtree(folder)

    return run


def _endless(running: Any, table: pa.Table, folder: Path, seconds: float) -> Told:
    source, state = folder / "in", folder / "w"
    source.mkdir()
    parquet.write_table(_step(table, 0), folder / "first.parquet")
    reader = running.readStream.schema(running.read.parquet(str(folder / "first.parquet")).schema)
    stream = reader.option("maxFilesPerTrigger", 1).parquet(str(source))
    first = table.slice(0, WINDOW)
    watch = rf.watch(stream, texts(), state=state, key="id", op="op", bootstrap=first, every=0)
    feeding = _Feeding(watch, table, source)
    samples: list[tuple[float, ...]] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert watch.is_active
        batches = [one.seconds for one in read_history(state / "batches.jsonl", 10)]
        samples.append((_memory_mb(), statistics.median(batches), *_files(state)))
        time.sleep(max(0.0, min(5.0, end - time.monotonic())))
    feeding.stop()
    taken, counts = watch.batches[-1].batch + 1, watch.counts
    watch.stop()
    third = len(samples) // 3
    facts = {"batches": float(taken), "rows": float(len(rf.Watch(state).table()))}
    names = ("memory_mb", "batch_s", "files", "feed_files", "spark_files")
    for name, column in zip(names, zip(*samples, strict=True), strict=True):
        facts[f"{name}_before"] = round(statistics.median(column[third : 2 * third]), 3)
        facts[f"{name}_late"] = round(statistics.median(column[2 * third :]), 3)
        facts[f"{name}_most"] = round(max(column), 3)
    facts["files_bound"] = _files_bound(state)
    report = rf.check(rf.Watch(state).table(), texts(), engine="local")
    facts["exact"] = float({one.name: one.finding.violations or 0 for one in report.results} == counts)
    return Told(None, facts)


class _Feeding:
    """A thread that keeps some files waiting, and takes those away whose batches are over."""

    def __init__(self, watch: rf.Watch, table: pa.Table, source: Path) -> None:
        self._watch, self._table, self._source = watch, table, source
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it, once all that waits has come."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        number = gone = 0
        while True:
            taken = self._taken()
            for old in range(gone, taken - 2):
                (self._source / f"{old:08}.parquet").unlink(missing_ok=True)
                gone = old + 1
            if self._over.is_set():
                if taken >= number or not self._watch.is_active:
                    return
            elif number - taken < AHEAD:
                draft = self._source / f".{number}"
                parquet.write_table(_step(self._table, number), draft)
                draft.rename(self._source / f"{number:08}.parquet")
                number += 1
                continue
            time.sleep(0.02)

    def _taken(self) -> int:
        return read_history(self._watch.folder / "batches.jsonl", 1)[-1].batch + 1


def _step(table: pa.Table, number: int) -> pa.Table:
    """The rows that a batch brings and those that it takes away, by their numbers in a table without end."""
    coming, going = (_rows(table, place + number * STEP) for place in (WINDOW, 0))
    changes = pa.concat_tables([coming, going])
    return changes.append_column("op", pa.array(["insert"] * STEP + ["delete"] * STEP))


def _rows(table: pa.Table, first: int) -> pa.Table:
    turn, place = divmod(first, len(table))
    part = table.slice(place, STEP)
    ids = pa.array(range(turn * len(table) + place, turn * len(table) + place + len(part)), pa.int64())
    return part.set_column(part.column_names.index("id"), "id", ids)


def restarted(rows: str) -> Callable[[], Told]:
    """A worker's job: the session, then a watch that another process has left, until its first batch is committed."""
    DATA.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=DATA))
    script = f"from benchmarks.cases.watch_long import leave; leave({str(folder)!r}, {int(rows)})"
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, stdout=subprocess.DEVNULL)

    def run() -> Told:
        try:
            started = time.perf_counter()
            running = _session()
            session_s = time.perf_counter() - started
            started = time.perf_counter()
            watch = rf.watch(_stream(running, folder), state=folder / "w", every=0)
            record = next(watch.follow())
            took = time.perf_counter() - started
            assert record.batch == 1
            watch.stop()
            return Told(None, {"session_s": round(session_s, 3), "first_batch_s": round(took, 3)})
        finally:
            shutil.rmtree(folder)

    return run


def leave(folder: str, rows: int) -> None:
    """Leaves a watch with a table and one batch, and a file that no batch has had."""
    place, table = Path(folder), read(tax(rows + 2 * STEP, DIRTY))
    (place / "in").mkdir()
    parquet.write_table(table.slice(rows, STEP), place / "in" / "0.parquet")
    running = _session()
    bootstrap = table.slice(0, rows)
    stream = _stream(running, place)
    rf.watch(stream, texts(), state=place / "w", key="id", bootstrap=bootstrap, once=True).await_termination()
    parquet.write_table(table.slice(rows + STEP, STEP), place / "in" / "1.parquet")
    running.stop()


def texts() -> list[str]:
    """The rules."""
    return [RULES[name].text for name in FOUR]


def _stream(running: Any, folder: Path) -> Any:
    schema = running.read.parquet(str(folder / "in" / "0.parquet")).schema
    return running.readStream.schema(schema).parquet(str(folder / "in"))


def _session() -> Any:
    from refute.spark.session import session

    return session("local[2]", settings={"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "4"})


def _memory_mb() -> float:
    """Memory of this process and of all that it started, shared pages counted in part."""
    me = psutil.Process()
    total = 0
    for process in (me, *me.children(recursive=True)):
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total / 1e6


def _files_bound(state: Path) -> float:
    """How many files there may be: those of rows, and for each state of the table its pieces."""
    until = parquet.read_table(state / "violations", columns=["until"]).column("until")
    pieces = 16 + 8 * (until.null_count >> 16) + 16 + 8 * ((len(until) - until.null_count) >> 18)
    return float(MOST_STATES * pieces + 100)


def _files(state: Path) -> tuple[float, float, float]:
    """How many files there are: of rows and the table of violations, of feeds, and of Spark."""
    whole, feeds, spark = (
        float(sum(len(names) for _, _, names in os.walk(place)))
        for place in (state, state / "feed", state / "checkpoint")
    )
    return whole - feeds - spark, feeds, spark
