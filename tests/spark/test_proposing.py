"""Proposals for rows that stay on Spark: the same list as in process, from sums and answers alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.discovery.options import Progress, options_of
from refute.errors import RefuteError
from refute.proposing.candidates import RuleShape
from refute.proposing.search import Heads, search_heads
from refute.relation import Relation
from refute.spark import frame_of
from refute.spark.proposing.proposing import propose_on_spark
from refute.spark.proposing.table import ProposingTuning
from speaking_tables import odd, people, repeated

# several blocks and parts, and groups that are too large for a task, even of small tables
PARTS = ProposingTuning(block_rows=150, part_cells=1500, large_cells=1000)


def same(here: Heads, there: Heads) -> None:
    assert [head.candidate for head in there.rules] == [head.candidate for head in here.rules]
    assert [head.candidate for head in there.tendencies] == [head.candidate for head in here.tendencies]
    assert [head.members for head in there.rules] == [head.members for head in here.rules]
    assert (there.notes, there.n_rows, there.complete) == (here.notes, here.n_rows, here.complete)


def one_group() -> pa.Table:
    """An order that the rows of one group obey, those of no group do not, and a group that is drawn says nothing of."""
    rng = np.random.default_rng(1)
    team = rng.permutation(["a"] * 200 + [None] * 100)
    x = rng.integers(0, 1000, 300)
    y = np.where(team == "a", 3 * x, rng.integers(0, 3000, 300))
    z = np.where(rng.random(300) < 0.115, rng.integers(0, 3000, 300), x * 3)
    return pa.table({"x": x, "y": y, "z": z, "team": team, "drawn": rng.permutation(team)})


def tables() -> Iterator[tuple[str, pa.Table, int]]:
    """A table by name, and how many columns there may be on the left."""
    yield "people", people(500, 3), 2
    yield "odd", odd(400, 1), 3
    yield "repeated", repeated(400, 40), 1
    yield "one row", people(1), 2
    yield "one group", one_group(), 1


@pytest.mark.parametrize(("table", "max_left"), [pytest.param(t, m, id=name) for name, t, m in tables()])
def test_the_list_is_the_same_as_in_process(spark_kind: SparkSession, table: pa.Table, max_left: int) -> None:
    options = options_of(seed=4)
    frame = frame_of(table, spark_kind).repartition(3)  # behind a shuffle, and without a key
    common: dict[str, Any] = {"max_left": max_left, "shapes": tuple(RuleShape)}
    there, rows = propose_on_spark(frame, options, gather=0, tuning=PARTS, **common)
    assert not isinstance(rows, Relation)
    same(search_heads(Relation.of(table), options, **common), there)


def test_what_is_found_on_spark_is_written_and_passes(spark_kind: SparkSession) -> None:
    table = people(300).select(["id", "zip", "city", "state"])
    frame = frame_of(table, spark_kind).repartition(3)
    found = rf.propose(frame, driver_bytes=0, where="state < 4", key="id", kinds=["functional dependency"])
    here = rf.propose(table, where="state < 4", key="id", kinds=["functional dependency"])
    assert "zip -> city" in {one.text for one in found.rules}
    assert found.to_arrow().equals(here.to_arrow())
    assert found.book() == here.book()


def test_a_search_on_spark_that_is_stopped_gives_what_it_found(spark: SparkSession) -> None:
    frame = frame_of(people(100), spark)
    seen: list[str] = []
    found = rf.propose(frame, driver_bytes=0, time_limit=1e-6, progress=lambda step: seen.append(step.phase))
    assert found.partial
    assert found.notes == ("The search was stopped. There may be more rules in what it had not examined.",)
    assert seen == [*["reading columns"] * (len(seen) - 1), "done"]


@pytest.mark.parametrize("options", [{"columns": ["zap"]}, {"max_left": 4}, {"kinds": ["keys"]}], ids=str)
def test_both_engines_refuse_in_the_same_words(spark: SparkSession, options: dict[str, Any]) -> None:
    said = []
    for table in (people(20), frame_of(people(20), spark)):
        with pytest.raises(RefuteError) as error:
            rf.propose(table, driver_bytes=0, **options)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_a_search_on_spark_that_is_stopped_early_knows_keys_nulls_and_values(spark: SparkSession) -> None:
    table = people(300)
    phases: list[str] = []

    def stop(step: Progress) -> None:
        phases.append(step.phase)
        if step.phase == "dependencies":
            raise KeyboardInterrupt

    found = rf.propose(frame_of(table, spark), driver_bytes=0, time_limit=600, progress=stop)
    here = rf.propose(table, kinds=["key", "not null", "domain"], max_left=1)
    assert found.partial
    assert {rule.text for rule in here.rules} <= {rule.text for rule in found.rules}
    assert {rule.kind for rule in found.rules} == {"key", "not null", "domain"}
    assert phases.index("values") < phases.index("dependencies")


def test_a_search_on_spark_that_is_stopped_at_values_knows_nulls(spark: SparkSession) -> None:
    def stop(step: Progress) -> None:
        if step.phase == "values":
            raise KeyboardInterrupt

    found = rf.propose(frame_of(people(300), spark), driver_bytes=0, time_limit=600, progress=stop)
    assert "not null" in {rule.kind for rule in found.rules}
    assert found.partial
