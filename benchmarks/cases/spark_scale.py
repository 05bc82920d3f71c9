"""One rule by tasks over ever larger tables: what it costs the driver, Java and Python workers as rows grow."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.measure import Measurement, Told
from benchmarks.tables import MILLION, pay, tax
from benchmarks.tax import COLUMNS
from benchmarks.worker import Worker

RULE = "not (s.state = t.state and s.salary > t.salary and s.rate < t.rate)"
SIZES = (5, 20, 50)  # million rows
MEMORY = "2g"
_NOTED = 0.25  # seconds between two looks at memory
_SLACK = 1.1
_WARM_ROWS = SIZES[0] * MILLION
FETCHED = "in process"
_SHARE = 0.5
_SPACE = 40.0


def cases() -> Iterator[Case]:
    """The rule at each size, each in a process of its own."""

    def contestants() -> Sequence[Contestant]:
        made = partial(Worker, "benchmarks.cases.spark_scale:counting", limit=3000, memory_gb=256)
        names = [US, *(_name(size) for size in SIZES[1:])]
        return [
            Contestant(name, worker=made([str(pay(size * MILLION))])) for name, size in zip(names, SIZES, strict=True)
        ]

    claims = [
        Claim(f"{_name(size)} rows take at most {_SLACK:g} times as long a row as {_name(SIZES[0])}", _linear(size))
        for size in SIZES[1:]
    ]
    title = f"count by tasks on {_name(SIZES[0])} rows and more, driver heap {MEMORY}: {RULE}"
    yield Case("spark.scale.tax", title, contestants, claims, same_answer=False)

    def addresses() -> Sequence[Contestant]:
        made = partial(Worker, "benchmarks.cases.spark_scale:wide", limit=600, memory_gb=256)
        asked = {US: ("count", ""), "check": ("check", ""), "count, shuffled": ("count", "shuffled")}
        return [Contestant(name, worker=made(list(words))) for name, words in asked.items()]

    yield Case("spark.scale.urls", "unique(url) of 2M addresses of 576 characters, driver heap 1g", addresses, [])

    def discoverers() -> Sequence[Contestant]:
        made = partial(Worker, "benchmarks.cases.spark_scale:discovering", limit=1000, memory_gb=256)
        path = str(tax(MILLION))
        return [Contestant(US, worker=made([path, "spark"])), Contestant(FETCHED, worker=made([path, "local"]))]

    yield Case(
        "spark.scale.discover",
        "all rules of a million rows of the generated tax table on Spark, nothing fetched, against this process",
        discoverers,
        [
            Claim(f"this process holds at most {_SHARE:g} of what it holds with all rows", _holds_less),
            Claim(f"the predicate space is there after {_SPACE:g} s", _space_in_time),
        ],
    )


def wide(question: str, shuffled: str) -> Callable[[], object]:
    """`unique(url)` over two million addresses of 576 characters with a heap of 1 GB: for a process of its own."""
    from pyspark.sql import functions as F

    import refute
    from refute.spark.session import session

    running = session("local[2]", settings={"spark.driver.memory": "1g"})
    number = F.lpad(F.col("id").cast("string"), 8, "0")
    made = running.range(0, 2 * MILLION, 1, 8).select(F.concat(F.repeat(F.lit("abcdefgh"), 71), number).alias("url"))
    path = str(Path(tempfile.mkdtemp(prefix="refute-urls-")) / "urls.parquet")
    made.write.parquet(path)
    frame = running.read.parquet(path)
    chosen = frame.repartition(6) if shuffled else frame
    if question == "count":
        return lambda: refute.count(chosen, "unique(url)")
    return lambda: refute.check(chosen, "unique(url)").results[0].finding.violations


def counting(path: str) -> Callable[[], Told]:
    """The count of the rule with nothing fetched, and what it took: for a process of its own."""
    from refute.language.rulebook import RuleBook
    from refute.spark import SparkBudget, SparkEngine
    from refute.spark.session import session

    log = Path(tempfile.mkdtemp(prefix="refute-events-"))
    settings = {
        "spark.driver.memory": MEMORY,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    running = session("local[2]", settings=settings)
    (rule,) = RuleBook.of(RULE)
    frame = running.read.parquet(path)
    rows = frame.count()
    # The first answer of a session pays for compiling and for starting workers, whatever the size of the table.
    SparkEngine(frame.limit(_WARM_ROWS), budget=SparkBudget(driver_bytes=0)).count(rule)

    def call() -> Told:
        before = _events(log)
        with Watched() as watched:
            answer = SparkEngine(frame, budget=SparkBudget(driver_bytes=0)).count(rule)
        read, shuffled = (now - then for now, then in zip(_events(log), before, strict=True))
        facts = {"passes": read / rows, "shuffle_mb": shuffled / 2**20, **watched.peaks}
        return Told(answer, {name: round(value, 2) for name, value in facts.items()})

    return call


def discovering(path: str, engine: str) -> Callable[[], Told]:
    """All rules of a table with nothing fetched, or with its rows here: for a process of its own."""
    import refute
    from refute.discovery.options import Progress

    options: dict[str, Any] = {"engine": "local"}
    if engine == "spark":
        from refute.spark.session import session

        session("local[2]", settings={"spark.driver.memory": MEMORY})
        options = {"driver_bytes": 0}

    def call() -> Told:
        started = time.perf_counter()
        until: list[float] = []

        def note(progress: Progress) -> None:
            if progress.phase != "predicate space" and not until:
                until.append(time.perf_counter() - started)

        with Watched() as watched:
            found = refute.discover(
                path, cross_columns=True, columns=COLUMNS, max_predicates=3, progress=note, **options
            )
        facts = {"space_s": until[0], **watched.peaks}
        return Told(len(found), {name: round(value, 2) for name, value in facts.items()})

    return call


class Watched:
    """The largest memory of this process, of Java and of all Python workers together, while a block runs."""

    def __init__(self) -> None:
        self.peaks = {"driver_mb": 0.0, "java_mb": 0.0, "workers_mb": 0.0}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._done.wait(_NOTED):
            held = {"driver_mb": _held(me), "java_mb": 0.0, "workers_mb": 0.0}
            for child in me.children(recursive=True):
                held["java_mb" if _is_java(child) else "workers_mb"] += _held(child)
            for name, size in held.items():
                self.peaks[name] = max(self.peaks[name], size)


def _is_java(process: psutil.Process) -> bool:
    try:
        return "java" in process.name()
    except psutil.Error:
        return False


def _held(process: psutil.Process) -> float:
    """The memory of a process; pages that forked workers share count once for all of them."""
    try:
        return float(process.memory_full_info().pss) / 2**20 if sys.platform == "linux" else 0.0
    except psutil.Error:
        return 0.0


def _events(log: Path) -> tuple[int, int]:
    """The records that tasks have read, and the bytes that they have written for shuffles."""
    read = shuffled = 0
    for file in log.iterdir():
        for line in file.read_text(encoding="utf-8").splitlines():
            if '"SparkListenerTaskEnd"' in line:
                metrics = json.loads(line).get("Task Metrics") or {}
                read += metrics.get("Input Metrics", {}).get("Records Read", 0)
                shuffled += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return read, shuffled


def _name(size: int) -> str:
    return f"{size}M"


def _holds_less(results: Mapping[str, Measurement]) -> bool:
    return results[US].facts["driver_mb"] <= _SHARE * results[FETCHED].facts["driver_mb"]


def _space_in_time(results: Mapping[str, Measurement]) -> bool:
    return results[US].facts["space_s"] <= _SPACE


def _linear(size: int) -> Callable[[Mapping[str, Measurement]], bool]:
    def holds(results: Mapping[str, Measurement]) -> bool:
        if results[_name(size)].stopped:
            return False
        return results[_name(size)].cpu_seconds <= _SLACK * size / SIZES[0] * results[US].cpu_seconds

    return holds
