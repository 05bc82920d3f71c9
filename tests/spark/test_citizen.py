"""Jobs are the caller's, end when he says so, and leave nothing behind: on classic sessions and through Connect."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import refute as rf
from refute.cli.app import run
from refute.cli.exits import Exit
from refute.discovery.options import options_of
from refute.discovery.work import Budget as Time
from refute.errors import DataError
from refute.language.rulebook import Rule, RuleBook
from refute.spark import SparkEngine
from refute.spark.budget import SparkBudget
from refute.spark.discovery.jobs import unless_expired
from refute.spark.session import is_connect
from refute.spark.session.failures import JobsCancelledError
from refute.spark.session.jobs import JobCrew, stoppable

pytestmark = pytest.mark.spark

Rows = Iterator[pa.RecordBatch]
RULES = ["a -> b", "unique(a, b)", "unique(b)", "b -> a", "id -> a", "unique(id, b)"]


def _slowly(batches: Rows) -> Rows:
    time.sleep(60)
    yield from batches


def _rows(session: SparkSession) -> DataFrame:
    return session.range(0, 40, 1, 2).selectExpr("id", "id % 7 as a", "id % 5 as b")


def _slow(session: SparkSession) -> DataFrame:
    rows = _rows(session)
    return rows.mapInArrow(_slowly, rows.schema)


def _is_kept(frame: DataFrame) -> bool:
    return frame.storageLevel.useMemory or frame.storageLevel.useDisk


def _active(spark: SparkSession) -> list[int]:
    """The jobs that run once those that were cancelled had a moment to end."""
    tracker = spark.sparkContext.statusTracker()
    for _ in range(100):
        if not tracker.getActiveJobsIds():
            return []
        time.sleep(0.1)
    return list(tracker.getActiveJobsIds())


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if re.fullmatch(r"refute-\d+", thread.name)]


@pytest.fixture
def mine(spark: SparkSession) -> Iterator[None]:
    """A job group, a pool, a tag and a description, which the caller has set."""
    context = spark.sparkContext
    context.setJobGroup("mine", "nightly")
    context.setLocalProperty("spark.scheduler.pool", "night")
    context.addJobTag("cost")
    try:
        yield
    finally:
        nothing: Any = None  # what takes a property away, though its type does not say so
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.scheduler.pool"):
            context.setLocalProperty(name, nothing)
        context.clearJobTags()


def _later(spark: SparkSession, act: Callable[[], object]) -> threading.Thread:
    """A thread that acts as soon as a job runs."""

    def wait() -> None:
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            time.sleep(0.05)
        time.sleep(0.5)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


@pytest.mark.usefixtures("mine")
def test_all_jobs_are_in_the_group_of_the_caller_and_name_the_rule(spark: SparkSession) -> None:
    context, tracker = spark.sparkContext, spark.sparkContext.statusTracker()
    names = ("spark.jobGroup.id", "spark.job.description", "spark.scheduler.pool", "spark.job.tags")
    before = [context.getLocalProperty(name) for name in names]
    outside, inside = set(tracker.getJobIdsForGroup(None)), set(tracker.getJobIdsForGroup("mine"))
    told: dict[str, list[str | None]] = {}

    def tell(rule: Rule) -> None:
        told[rule.name] = [context.getLocalProperty(name) for name in names]

    engine = SparkEngine(_rows(spark), key=["id"], budget=SparkBudget(driver_bytes=0))
    rules = RuleBook.of(RULES)
    engine.measure(list(rules), counts=True, progress=tell)
    assert set(tracker.getJobIdsForGroup(None)) <= outside  # old ones are forgotten
    assert len(set(tracker.getJobIdsForGroup("mine")) - inside) > len(rules)
    for rule in rules:
        group, description, pool, tags = told[rule.name]
        assert (group, description, pool) == ("mine", f"nightly (refute: {rule.name})", "night")
        assert tags is not None
        assert "cost" in tags.split(",")
    assert [context.getLocalProperty(name) for name in names] == before
    assert _threads() == []


def test_through_connect_all_jobs_have_the_tags_of_the_caller_and_name_the_rule(connect: SparkSession) -> None:
    told: dict[str, set[str]] = {}

    def tell(rule: Rule) -> None:
        told[rule.name] = connect.getTags()

    connect.addTag("mine")
    try:
        rf.check(_rows(connect), RULES, key="id", progress=tell)
        assert connect.getTags() == {"mine"}
    finally:
        connect.clearTags()
    assert told
    for name, tags in told.items():
        assert {"mine", "refute: " + name.replace(",", ";")} <= tags


def _end_jobs_of_caller(session: SparkSession, spark: SparkSession) -> None:
    if is_connect(session):
        session.interruptTag("mine")
    else:
        spark.sparkContext.cancelJobGroup("mine")


@pytest.mark.usefixtures("mine")
def test_a_cancelled_group_ends_all_rules(spark: SparkSession, spark_kind: SparkSession) -> None:
    begun: list[Rule] = []
    if is_connect(spark_kind):
        spark_kind.addTag("mine")
    canceller = _later(spark, lambda: _end_jobs_of_caller(spark_kind, spark))
    try:
        with pytest.raises(JobsCancelledError, match="were cancelled"):
            rf.check(_slow(spark_kind), RULES, progress=begun.append)
    finally:
        canceller.join()
        spark_kind.clearTags()
    assert _active(spark) == []
    assert _threads() == []
    assert begun == []


def test_an_interrupt_ends_all_rules_at_once(spark: SparkSession, spark_kind: SparkSession) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for ask in (
            lambda: rf.check(_slow(spark_kind), RULES),
            lambda: rf.verify(_slow(spark_kind), "a -> b", key="id"),
            lambda: rf.discover(_slow(spark_kind)),
        ):
            _later(spark, lambda: signal.raise_signal(signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                ask()
            assert _active(spark) == []
            assert _threads() == []
    finally:
        signal.signal(signal.SIGINT, before)


def test_after_a_failure_nothing_more_is_begun(spark_kind: SparkSession) -> None:
    begun: list[int] = []

    def fail() -> None:
        raise ValueError("first")

    def wait(number: int) -> None:
        begun.append(number)
        time.sleep(0.3)

    with pytest.raises(ValueError, match="first"), JobCrew(spark_kind, 2) as crew:
        crew.results([crew.submit("fail", fail), *(crew.submit("wait", wait, i) for i in range(50))])
    assert len(begun) <= 3
    assert stoppable(spark_kind, "ask", lambda: 7) == 7
    assert _threads() == []


def test_a_search_that_ends_cancels_its_own_jobs_alone(spark: SparkSession, spark_kind: SparkSession) -> None:
    others: list[int] = []

    def nap(batches: Rows) -> Rows:
        time.sleep(4)
        yield from batches

    rows = _rows(spark_kind)
    theirs = threading.Thread(target=lambda: others.append(rows.mapInArrow(nap, rows.schema).count()))
    theirs.start()
    budget = Time(options_of(time_limit=1.5))
    assert unless_expired(spark_kind, budget, _slow(spark_kind).count) is None
    theirs.join()
    assert others == [40]
    assert _active(spark) == []


def test_a_command_that_is_interrupted_says_so_in_one_line_and_ends(tmp_path: Path) -> None:
    rows = np.arange(4_000_000)
    columns = {"a": rows} | {name: rows % step for name, step in zip("bcdef", (7, 11, 13, 17, 19), strict=True)}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    keys = ["a, " + ", ".join(two) for two in combinations("bcdef", 2)]
    rules = "".join(f'  - {{name: "{key}", unique: "{key}"}}\n' for key in keys)
    (tmp_path / "rules.yaml").write_text(f"version: 1\nrules:\n{rules}", encoding="utf-8")
    command = [sys.executable, "-m", "refute", "check", "rows.parquet", "rules.yaml", "--engine", "spark"]
    source = str(Path(rf.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "SPARK_LOCAL_DIRS": str(tmp_path / "local")}
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while not list((tmp_path / "local").rglob("shuffle_*.data")):  # it has come to checking
            assert process.poll() is None, process.communicate()
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)  # as the terminal does
        out, said = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert (process.returncode, out, said) == (Exit.FAILED, "", "refute: Interrupted.\n")


def test_one_command_opens_its_data_and_checks_the_key_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from refute.spark.source import source

    opened: list[object] = []
    checked: list[object] = []
    real, group = source.SparkSource.check_key, source.SparkSource._key_columns

    def counted(self: source.SparkSource) -> None:
        opened.append(self)
        real(self)
        before = len(checked)
        real(self)  # known by then
        assert len(checked) == before

    def grouped(self: source.SparkSource) -> object:
        checked.append(self)
        return group(self)

    monkeypatch.setattr(source.SparkSource, "check_key", counted)
    monkeypatch.setattr(source.SparkSource, "_key_columns", grouped)
    pq.write_table(_rows(spark).toArrow(), tmp_path / "rows.parquet")
    (tmp_path / "rules.yaml").write_text(
        'version: 1\nrules:\n  - {name: one, fd: "a -> b"}\n  - {name: two, unique: "b"}\n', encoding="utf-8"
    )
    asked = [
        "check",
        str(tmp_path / "rows.parquet"),
        str(tmp_path / "rules.yaml"),
        "--key",
        "id",
        "--list",
        "2",
        "--engine",
        "spark",
    ]
    assert run([*asked, "--violations", str(tmp_path / "out")]) == Exit.ERROR
    assert len(opened) == 1
    assert len([file for file in (tmp_path / "out").iterdir() if file.name != "_SUCCESS"]) == 2


def test_a_table_is_kept_while_it_is_checked_and_let_go_in_the_end(spark_kind: SparkSession) -> None:
    rows = _rows(spark_kind).where("id >= 0")
    during: list[bool] = []

    def tell(_: Rule) -> None:
        during.append(_is_kept(rows.select("id", "a", "b")))

    report = rf.check(rows, RULES, key="id", persist=True, progress=tell)
    assert during == [True] * len(report)
    assert not _is_kept(rows.select("id", "a", "b"))
    assert report.rows.count() == 40

    def fail(_: Rule) -> None:
        raise ValueError("told")

    with pytest.raises(ValueError, match="told"):
        rf.check(rows, RULES, persist=True, progress=fail)
    assert not _is_kept(rows.select("id", "a", "b"))
    with pytest.raises(DataError, match="not unique"):
        rf.verify(rows, "a -> b", key="a", persist=True)
    assert not _is_kept(rows.select("a", "b"))


def test_only_the_columns_that_are_read_are_kept(spark_kind: SparkSession) -> None:
    rows = _rows(spark_kind).where("id >= 0").selectExpr("*", "repeat('x', 100) as x")
    with SparkEngine(rows, key=["id"], persist=True, reads=list(RuleBook.of("a -> b"))) as engine:
        assert _is_kept(rows.select("id", "a", "b"))
        assert engine.count(RuleBook.of("a -> b")[0]) == rf.count(rows, "a -> b")
    assert not _is_kept(rows.select("id", "a", "b"))
    assert rf.count(rows, "a -> b", persist=True) == rf.count(rows, "a -> b")
    assert rf.verify(rows, "id -> b", persist=True).holds
    assert not _is_kept(rows.select("a", "b"))


def test_listed_violations_keep_the_table_until_they_are_closed(spark_kind: SparkSession) -> None:
    rows = _rows(spark_kind).where("id >= 0")
    narrow = rows.select("id", "a", "b")
    with rf.violations(rows, "a -> b", key="id", persist=True) as found:
        assert _is_kept(narrow)
        number = found.to_arrow().num_rows
    assert number == rf.count(rows, "a -> b")
    assert not _is_kept(narrow)
    left = rf.violations(rows, "a -> b", key="id", persist=True)
    assert _is_kept(narrow)
    del left
    gc.collect()
    assert not _is_kept(narrow)


def test_what_the_caller_keeps_stays_kept(spark_kind: SparkSession) -> None:
    rows = _rows(spark_kind).where("id >= 0")
    narrow = rows.select("a", "b").persist()
    try:
        rf.count(rows, "a -> b", persist=True)
        rf.discover(narrow, persist=True)
        assert _is_kept(narrow)
    finally:
        narrow.unpersist()


def test_rows_that_may_be_others_next_time_are_evaluated_once(spark_kind: SparkSession, tmp_path: Path) -> None:
    marks = str(tmp_path)

    def marked(batches: Rows) -> Rows:
        import uuid
        from pathlib import Path

        Path(marks, uuid.uuid4().hex).touch()
        yield from batches

    rows = _rows(spark_kind)
    counted = rows.mapInArrow(marked, rows.schema)
    report = rf.check(counted, RULES, key="id", persist=True)
    assert {result.name: result.finding.violations for result in report} == {
        result.name: result.finding.violations for result in rf.check(rows, RULES, key="id")
    }
    assert len(list(tmp_path.iterdir())) == 2  # one for each of its tasks


def test_discovery_keeps_a_table_and_lets_it_go(spark_kind: SparkSession) -> None:
    rows = _rows(spark_kind).where("id >= 0")
    narrow = rows.select("a", "b")
    during: list[bool] = []
    found = rf.discover(rows, columns=["a", "b"], persist=True, progress=lambda _: during.append(_is_kept(narrow)))
    assert {rule.text for rule in found.rules} == {rule.text for rule in rf.discover(narrow).rules}
    assert set(during) == {True}
    assert not _is_kept(narrow)


@pytest.mark.parametrize("file", sorted(Path(rf.__file__).parent.rglob("*.py")), ids=lambda file: file.name)
def test_no_private_name_of_spark_is_used_and_the_output_is_left_alone(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"\._j(vm|sc|df|sparkSession)\b|redirect_stdout", text)
