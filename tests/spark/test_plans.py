"""The plans of rules on Spark are those in `plans.txt`.

It has blocks of a shape (rows, and the distinct values of each column), where the rows are, with what may come to this
process, a rule, and the plan. `PYTHONPATH=tests python tests/spark/test_plans.py` writes it again; what changes is to
be read before it is committed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import refute as rf
from shapes import table_of

pytestmark = pytest.mark.spark

FILE = Path(__file__).parent / "plans.txt"
PLACES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "Parquet files": lambda frame: frame,
    "a shuffled frame": lambda frame: frame.repartition(3, "a"),
}


@dataclass(frozen=True)
class Planned:
    """One block of the file."""

    shape: str
    place: str
    driver_bytes: int | None
    rule: str
    plan: str

    @classmethod
    def of(cls, block: str) -> Planned:
        """The block as written."""
        shape, where, rule, *plan = block.strip().splitlines()
        place, _, bytes_ = where.partition(", driver_bytes=")
        return cls(shape, place, int(bytes_.replace(",", "")) if bytes_ else None, rule, "\n".join(plan))

    def planned(self, session: SparkSession, folder: Path) -> str:
        """What is printed for it, without who answers and the rule."""
        file = folder / f"{self.shape.replace(':', '')}.parquet"
        if not file.exists():
            pq.write_table(table_of(self.shape), file)
        frame = PLACES[self.place](session.read.parquet(str(file)))
        _, _, printed = str(rf.explain(frame, self.rule, driver_bytes=self.driver_bytes)).partition("\n\n")
        return "\n".join(line for line in printed.splitlines()[1:] if line)

    def __str__(self) -> str:
        limit = "" if self.driver_bytes is None else f", driver_bytes={self.driver_bytes:,}"
        return "\n".join((self.shape, self.place + limit, self.rule, self.plan))


@cache
def blocks() -> list[Planned]:
    """All blocks of the file."""
    return [Planned.of(block) for block in FILE.read_text(encoding="utf-8").split("\n\n")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tables are, each written once."""
    return tmp_path_factory.mktemp("shapes")


@pytest.mark.parametrize("block", blocks(), ids=lambda block: f"{block.place}, {block.driver_bytes}: {block.rule}")
def test_a_rule_over_a_table_on_spark_has_the_plan_that_is_written_down(
    block: Planned, spark: SparkSession, folder: Path
) -> None:
    assert block.planned(spark, folder).splitlines() == block.plan.splitlines()


def test_every_way_to_answer_a_rule_is_written_down() -> None:
    from refute.spark.answer.choice import WAYS

    assert {way.name for way in WAYS} == {
        line.split()[1] for block in blocks() for line in block.plan.splitlines() if line.startswith("  method")
    }


if __name__ == "__main__":
    from refute.spark.session.java import find_java
    from refute.spark.session.session import start

    session = start("local[2]", find_java(), [], settings={"spark.driver.memory": "1g"})
    with tempfile.TemporaryDirectory() as place:
        written = [
            Planned(one.shape, one.place, one.driver_bytes, one.rule, one.planned(session, Path(place)))
            for one in blocks()
        ]
    FILE.write_text("\n\n".join(map(str, written)) + "\n", encoding="utf-8")
    session.stop()
