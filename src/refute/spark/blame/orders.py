"""Orders and spans as contests on Spark: the rows of a group meet in one task, which asks the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from refute.blame.contest import Flags, Longs
from refute.blame.shapes import contest_of
from refute.detect.sweep import partners
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.relation import Relation
from refute.spark.answer.pairing import Pairing
from refute.spark.blame.alike import TIMES, in_order
from refute.spark.blame.contests import SparkContest
from refute.spark.blame.shapes import BlameShape
from refute.spark.workers.blocks import Batches
from refute.spark.workers.worker import RESERVED, ROW_COLUMN, settle

_APART = RESERVED + "apart"
_FEWEST = RESERVED + "needed"


class OrderQuestion(Enum):
    """What a task says of each row."""

    KEPT = "kept"
    VIOLATIONS = "violations"
    FEWEST = "fewest"


@dataclass(frozen=True, slots=True, eq=False)
class SparkInOrder(SparkContest):
    """Two orders, or spans, within groups that each fit one task."""

    shape: BlameShape
    pairing: Pairing
    plain: Rule  # the rule under plain names

    def keep(self, frame: DataFrame, weights: str, into: str) -> DataFrame:
        """The heaviest rows of each group."""
        return self._asked(frame, OrderQuestion.KEPT, (weights,), into)

    def vote(self, frame: DataFrame, weights: str, share: str) -> DataFrame | None:
        """An order only keeps rows or does not."""
        return None

    def violations(self, frame: DataFrame, among: str, into: str) -> DataFrame:
        """Counted group by group."""
        return self._asked(frame, OrderQuestion.VIOLATIONS, (among,), into)

    def fewest(self, frame: DataFrame, free: str, busy: str, into: str, needed: str) -> tuple[int, DataFrame]:
        """All but the most that can stay; the groups in which some must go prove it."""
        return 0, self._asked(frame, OrderQuestion.FEWEST, (free, busy), into).withColumnRenamed(_FEWEST, needed)

    def largest(self, frame: DataFrame) -> int:
        """How many rows the largest group has."""
        sizes = frame.where(self.flag).groupBy(*self.shape.keys(self.pairing)).agg(F.count("*").alias(_FEWEST))
        ((most,),) = sizes.agg(F.max(_FEWEST)).collect()
        return int(most or 0)

    def _asked(self, frame: DataFrame, asked: OrderQuestion, given: tuple[str, ...], into: str) -> DataFrame:
        marked = F.col(self.flag)
        apart = F.when(~marked, F.xxhash64(ROW_COLUMN)).alias("apart")
        keys = [F.when(marked, own).alias(f"k{at}") for at, own in enumerate(self.shape.keys(self.pairing))]
        sent = frame.withColumn(_APART, F.struct(apart, *keys)).repartition(_APART).drop(_APART)
        added = [StructField(into, BooleanType() if asked is OrderQuestion.KEPT else LongType())]
        if asked is OrderQuestion.FEWEST:
            added.append(StructField(_FEWEST, LongType()))
        schema = StructType([*frame.schema.fields, *added])
        return sent.mapInArrow(OrderTask(self.plain, self.flag, asked, given, into), schema)


@dataclass(frozen=True, slots=True)
class OrderTask:
    """Answers for the marked rows of a task, all groups of which are whole; ships by name."""

    rule: Rule
    flag: str
    asked: OrderQuestion
    given: tuple[str, ...]
    into: str

    def __call__(self, batches: Batches) -> Batches:
        """The rows with what is said of each."""
        held = list(batches)
        if not held:
            return
        table = pa.Table.from_batches(held)
        held.clear()
        mask = np.array(table.column(self.flag).to_numpy(zero_copy_only=False), np.bool_)
        marked, others = table.filter(pa.array(mask)), table.filter(pa.array(~mask))
        for part, columns in (
            (others, self._nothing(others.num_rows)),
            ((ordered := in_order(marked)), self._answers(ordered)),
        ):
            for column in columns:
                part = part.append_column(*column)
            yield from part.combine_chunks().to_batches()
        settle()

    def _nothing(self, n: int) -> list[tuple[str, pa.Array]]:
        value = np.ones(n, np.bool_) if self.asked is OrderQuestion.KEPT else np.zeros(n, np.int64)
        return self._named(value, 0)

    def _named(self, found: Flags | Longs, needed: int) -> list[tuple[str, pa.Array]]:
        columns = [(self.into, pa.array(found))]
        if self.asked is OrderQuestion.FEWEST:
            said = np.zeros(len(found), np.int64)
            said[:1] = needed  # of all groups of this task, said once
            columns.append((_FEWEST, pa.array(said)))
        return columns

    def _answers(self, table: pa.Table) -> list[tuple[str, pa.Array]]:
        n = table.num_rows
        problem = compile_rule(Relation.of(table.select(self.rule.read)), self.rule).problem if n else None
        if problem is None:
            return self._nothing(n)
        given = [np.array(table.column(name).to_numpy(zero_copy_only=False)) for name in self.given]
        # what rows weigh, and how many are free, is said of all that each stands for
        times = table.column(TIMES).to_numpy().astype(np.int64) if self.asked is OrderQuestion.VIOLATIONS else None
        contest = contest_of(self.rule, problem, partners, n, times)
        if self.asked is OrderQuestion.KEPT:
            return self._named(contest.keep(given[0].astype(np.int64), np.ones(n, np.bool_)), 0)
        if self.asked is OrderQuestion.VIOLATIONS:
            return self._named(contest.violations(np.arange(n), given[0].astype(np.bool_)), 0)
        needed, used = contest.fewest(given[0].astype(np.int64), given[1].astype(np.int64))
        return self._named(used, needed)
