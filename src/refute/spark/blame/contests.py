"""Rules as contests between the rows of a Spark table, each answered where the rows are: what `blame.contest` is for
arrays, with the same sums of whole numbers and the same choices between equals.

Every question takes a frame of rows and gives it back with one more column. Rows that a rule does not mark stand in the
frame for other rules; to this one they are nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from refute.language.rulebook import Rule
from refute.spark.answer.pairing import Pairing
from refute.spark.blame.alike import TIMES
from refute.spark.blame.shapes import BlameShape
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

_GROUP, _PAIR = RESERVED + "group", RESERVED + "pair"
_TWIN, _ALL = RESERVED + "same", RESERVED + "all"
_SUM, _FIRST, _RANK, _BEST = (RESERVED + name for name in ("sum", "first", "rank", "best"))
_NEEDED, _TOTAL = RESERVED + "needed", RESERVED + "total"
_LAST = RESERVED + "latest"
_BEFORE = (Window.unboundedPreceding, -1)


@dataclass(frozen=True, slots=True, eq=False)
class SparkContest(ABC):
    """A rule about two rows over the rows that it marks with a flag; columns are given by name."""

    rule: Rule
    flag: str

    @property
    def exact(self) -> bool:
        """Whether `keep` is best possible."""
        return True

    @abstractmethod
    def keep(self, frame: DataFrame, weights: str, into: str) -> DataFrame:
        """Tells whether a row is among the heaviest that can stay together, or is not marked; those that weigh nothing
        may be said to stay."""

    def settled(self, frame: DataFrame, weights: str, into: str) -> DataFrame:
        """The same without those that others could stay for that weigh the same, as far as groups decide it."""
        return self.keep(frame, weights, into)

    @abstractmethod
    def vote(self, frame: DataFrame, weights: str, share: str) -> DataFrame | None:
        """Lowers the share of rows, in 1/65536, to what the rule says of them; None where it only keeps rows or not."""

    @abstractmethod
    def violations(self, frame: DataFrame, among: str, into: str) -> DataFrame:
        """In how many violations each row meets a row among some, in either role."""

    def everywhere(self, frame: DataFrame, into: str) -> DataFrame:
        """The same with all rows."""
        return self.violations(frame.withColumn(_ALL, F.lit(True)), _ALL, into).drop(_ALL)

    @abstractmethod
    def fewest(self, frame: DataFrame, free: str, busy: str, into: str, needed: str) -> tuple[int, DataFrame]:
        """How many of the free rows at least must go, and how many of each row prove it: where the fewest are found
        exactly, the number is that of the sum of a column `needed`, and 0 is given for it."""


@dataclass(frozen=True, slots=True, eq=False)
class SparkOneValue(SparkContest):
    """A key or a dependency, by windows over its groups and over the values in them; one shuffle for each question."""

    shape: BlameShape
    pairing: Pairing
    common: str | None

    @property
    def is_key(self) -> bool:
        """Whether all rows of a group clash, so each is a value of its own."""
        return self.shape.is_key

    def keep(self, frame: DataFrame, weights: str, into: str) -> DataFrame:
        """The heaviest value of each group; of equals the one more common in its column, then the one that is first."""
        ranked = self._ranked(frame, weights)
        found = ranked.withColumn(into, ~F.col(self.flag) | (F.col(_RANK) == F.col(_BEST)))
        return self._plain(found).drop(_SUM, _FIRST, _RANK, _BEST)

    def settled(self, frame: DataFrame, weights: str, into: str) -> DataFrame:
        """The same, but no value of a group in which two are equals."""
        ranked = self._ranked(frame, weights)
        is_best = _level(_RANK) == _level(_BEST)
        ranked = ranked.withColumn(_LAST, F.max(F.when(is_best, F.col(_FIRST))).over(self._group))
        alone = is_best & (F.col(_LAST) == F.col(_BEST).getField("first"))
        found = ranked.withColumn(into, ~F.col(self.flag) | alone)
        return self._plain(found).drop(_SUM, _FIRST, _RANK, _BEST, _LAST)

    def vote(self, frame: DataFrame, weights: str, share: str) -> DataFrame:
        """The share of its group, tipped to common values, that says what a row says."""
        summed = self._summed(self._keyed(frame), weights)
        if not self.is_key:
            assert self.common is not None
            summed = summed.withColumn(_SUM, _leaning(F.col(_SUM), F.col(self.common)))
        once = F.when(F.col(ROW_COLUMN) == F.col(_FIRST), F.col(_SUM))
        totals = summed.withColumn(_TOTAL, F.sum(once).over(self._group))
        own = F.expr(f"shiftleft({_SUM}, 16) div nullif({_TOTAL}, 0)")
        voted = F.when(F.col(self.flag), F.least(F.col(share), own)).otherwise(F.col(share))
        return self._plain(totals.withColumn(share, voted)).drop(_SUM, _FIRST, _TOTAL)

    def violations(self, frame: DataFrame, among: str, into: str) -> DataFrame:
        """From the sizes of groups and values alone."""
        one = F.when(F.col(among), F.col(TIMES)).otherwise(F.lit(0))
        counted = self._keyed(frame).withColumn(_SUM, one)
        whole, own = F.sum(_SUM).over(self._group), F.sum(_SUM).over(self._pair)
        times = 2 if self.shape.is_mutual else 1
        found = times * (whole - own)
        if self.is_key and not self.shape.is_mutual:  # equal values clash in both directions
            value = self.shape.value(self.pairing)
            assert value is not None
            counted = counted.withColumn(_TWIN, F.when(F.col(self.flag), value))
            found = found + F.sum(_SUM).over(Window.partitionBy(_GROUP, _TWIN)) - own
        counted = counted.withColumn(into, F.when(F.col(self.flag), found).otherwise(F.lit(0)).cast("bigint"))
        return self._plain(counted).drop(_SUM, _TWIN)

    def fewest(self, frame: DataFrame, free: str, busy: str, into: str, needed: str) -> tuple[int, DataFrame]:
        """All but the largest value of each group; where it has more than half, as many of its rows prove it."""
        ranked = self._ranked(frame, free)
        whole = F.sum(F.when(F.col(self.flag), F.col(free)).otherwise(F.lit(0))).over(self._group)
        ranked = ranked.withColumn(_NEEDED, whole + F.col(_BEST).getField("sum"))  # which is turned
        before = F.sum(free).over(self._pair.orderBy(busy, ROW_COLUMN).rowsBetween(*_BEFORE))
        left = F.col(_NEEDED) - F.coalesce(before, F.lit(0))
        matched = F.greatest(F.lit(0), F.least(F.col(free), left))
        proving = F.when(F.col(_RANK) == F.col(_BEST), matched).otherwise(F.col(free))
        used = F.when(F.col(self.flag) & (F.col(_NEEDED) > 0), proving).otherwise(F.lit(0)).cast("bigint")
        is_first = F.col(self.flag) & (F.min(ROW_COLUMN).over(self._group) == F.col(ROW_COLUMN))
        found = ranked.withColumn(into, used).withColumn(needed, F.when(is_first, F.col(_NEEDED)))
        return 0, self._plain(found).drop(_SUM, _FIRST, _RANK, _BEST, _NEEDED)

    def near(self, frame: DataFrame, flags: SparkColumn) -> DataFrame:
        """Tells of each row, in a column `NEAR`, whether some row of its group has a flag."""
        asked = self._keyed(frame).withColumn(NEAR, F.max(F.col(self.flag) & flags).over(self._group))
        return self._plain(asked.withColumn(NEAR, F.col(self.flag) & F.col(NEAR)))

    def _ranked(self, frame: DataFrame, weights: str) -> DataFrame:
        """Rows with the rank of their value in its group, and the best one there."""
        common = F.lit(0) if self.common is None else F.coalesce(F.col(self.common), F.lit(0))
        rank = F.struct((-F.col(_SUM)).alias("sum"), (-common).alias("common"), F.col(_FIRST).alias("first"))
        ranked = self._summed(self._keyed(frame), weights).withColumn(_RANK, rank)
        return ranked.withColumn(_BEST, F.min(_RANK).over(self._group))

    def _summed(self, keyed: DataFrame, weights: str) -> DataFrame:
        """What each value of a group weighs, and its first row."""
        summed = keyed.withColumn(_SUM, F.sum(weights).over(self._pair))
        return summed.withColumn(_FIRST, F.min(ROW_COLUMN).over(self._pair))

    def _keyed(self, frame: DataFrame) -> DataFrame:
        """The rows of one group in one place; those that are not marked are groups of their own."""
        marked = F.col(self.flag)
        apart = F.when(~marked, F.xxhash64(ROW_COLUMN)).alias("apart")
        keys = [F.when(marked, own).alias(f"k{at}") for at, own in enumerate(self.shape.keys(self.pairing))]
        value = F.col(ROW_COLUMN) if self.is_key else self.shape.value(self.pairing)
        assert value is not None
        return frame.withColumns({_GROUP: F.struct(apart, *keys), _PAIR: F.when(marked, value)}).repartition(_GROUP)

    @property
    def _group(self) -> WindowSpec:
        return Window.partitionBy(_GROUP)

    @property
    def _pair(self) -> WindowSpec:
        return Window.partitionBy(_GROUP, _PAIR)

    def _plain(self, keyed: DataFrame) -> DataFrame:
        return keyed.drop(_GROUP, _PAIR)


NEAR = RESERVED + "near"


def _level(rank: str) -> SparkColumn:
    """A rank but for what is first: values with one level are equals."""
    return F.struct(F.col(rank).getField("sum"), F.col(rank).getField("common"))


def _leaning(sums: SparkColumn, common: SparkColumn) -> SparkColumn:
    """What `kernels.blame.groups.lean` makes of sums."""
    number = F.coalesce(common, F.lit(0)) + F.lit(1)
    high = F.length(F.bin(number)) - 1
    sixteenths = high * 16 + F.call_function("shiftright", F.shiftleft(number, 4), high) - 16
    return sums + F.shiftright(sums * sixteenths, 14)
