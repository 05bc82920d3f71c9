"""What a way to answer a rule on Spark can do, and the way that every rule can go: tasks that run the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.spark.answer.bound import BoundRule
from refute.spark.answer.witness import Clash
from refute.spark.grid.answers import Answers


class Extent(NamedTuple):
    """How far a rule is violated, how many rows a null keeps out, and a clash if it is violated."""

    violations: int | None
    rows: int | None
    skipped: int
    clash: Clash | None


class Way:
    """A way to answer a rule. What it cannot do better is left to tasks, which can answer every rule."""

    name: ClassVar[str]
    steps: ClassVar[tuple[str, ...]]
    worst: ClassVar[str]

    def __init__(self, bound: BoundRule) -> None:
        self._bound = bound

    def suits(self, rows: int) -> bool:
        """Whether the rule would go this way over a table of so many rows; none is looked at for that but a sample."""
        return True

    @property
    def is_open(self) -> bool:
        """Whether what was expected of the table is so."""
        return True

    @property
    def is_quick(self) -> bool:
        """Whether a verdict on all rows costs so little that a look at some of them would save nothing."""
        return False

    def count(self) -> int:
        """The exact number of violations."""
        with self._answers(named=False) as answers:
            return answers.count()

    def clash(self, *, counted: bool) -> Clash | None:
        """The rows of some violation, or None where the rule holds; with `counted` rows that are looked up are counted
        by the same pass."""
        with self._answers(named=True) as answers:
            return self._bound.rows.found_by_tasks(answers)

    def extent(self, *, counts: bool) -> Extent:
        """How far the rule is violated; without `counts` perhaps only whether it is."""
        rows = self._bound.rows
        with self._answers(named=True) as answers:
            counted = answers.partners().agg(F.sum(F.col("as_s").cast("decimal(38,0)")), F.count("*")).first()
            assert counted is not None
            clash = rows.found_by_tasks(answers) if counted[0] else None
            rows.learn(answers.surveyed.totals)
            return Extent(int(counted[0] or 0), int(counted[1]), rows.skipped(), clash)

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`."""
        return self._lazy_answers().partners()

    def pairs(self, limit: int | None) -> DataFrame:
        """The violations by row id, in columns `s` and `t`; only `s` for a rule about one row."""
        return self._lazy_answers().pairs(limit)

    def task_rows(self) -> list[int]:
        """How many rows each task gets: how even they are."""
        with self._answers(named=False) as answers:
            return answers.task_rows()

    @contextmanager
    def _answers(self, *, named: bool) -> Iterator[Answers]:
        """The answers of tasks, whose rows are kept meanwhile: the table is read once for all of them."""
        engine, pairing = self._bound.engine, self._bound.pairing
        assert pairing is not None
        if self._bound.shared.blocks is not None:
            yield engine.answers(pairing.form, self._bound.shared.blocks)
            return
        with engine.kept_blocks([self._bound], named=named) as blocks:
            yield engine.answers(pairing.form, blocks)

    def _lazy_answers(self) -> Answers:
        """The answers of tasks that read the table when they are evaluated."""
        engine, pairing = self._bound.engine, self._bound.pairing
        assert pairing is not None
        return engine.answers(pairing.form, engine.blocks([self._bound], named=True))


class Distribute(Way):
    """Tasks answer with the in-process kernels."""

    name = "distribute"
    steps = (
        "pack the columns into blocks, kept on the executors; a sample of them decides how to divide the work",
        "send small groups to tasks whole, and large ones tile by tile",
        "answer each task's rows with the in-process kernels; add the pairs that whole tiles settle",
    )
    worst = "one scan, one shuffle of a copy for each order, no task with much more than its share"
