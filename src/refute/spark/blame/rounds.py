"""Rules of any shape as contests on Spark: the rounds of partner counts of `blame.rounds`, where the rows are.
So what goes is not always the fewest."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.spark.blame.contests import SparkContest
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_DEGREE, _OTHER = RESERVED + "degree", RESERVED + "other"


@dataclass(frozen=True, slots=True, eq=False)
class SparkRounds(SparkContest):
    """A rule whose marked rows stand for themselves alone."""

    engine: SparkEngine
    # the degrees of all rows, counted once, and how many rows there are
    _whole: list[tuple[DataFrame, int]] = field(init=False, repr=False, default_factory=list)

    @property
    def exact(self) -> bool:
        """What goes may be more than must."""
        return False

    def keep(self, frame: DataFrame, weights: str, into: str) -> DataFrame:
        """What is left after the rounds; partners are counted, not weighed. Rows with equally many go together."""
        active = frame.where(F.col(self.flag) & (F.col(weights) > 0)).select(ROW_COLUMN)
        gone: list[DataFrame] = []
        while True:
            degrees = self._among(frame, active)
            needed, least = _covering(degrees)
            if needed == 0:
                break
            gone.append(degrees.where(F.col(_DEGREE) >= least).select(ROW_COLUMN))
            active = degrees.where(F.col(_DEGREE) < least).select(ROW_COLUMN)
        if not gone:
            return frame.withColumn(into, F.lit(True))
        every = reduce(DataFrame.union, gone).select(F.col(ROW_COLUMN).alias(_OTHER))
        joined = frame.join(every, F.col(ROW_COLUMN) == F.col(_OTHER), "left")
        return joined.withColumn(into, F.col(_OTHER).isNull()).drop(_OTHER)

    def vote(self, frame: DataFrame, weights: str, share: str) -> DataFrame | None:
        """The rounds only keep rows or do not."""
        return None

    def violations(self, frame: DataFrame, among: str, into: str) -> DataFrame:
        """With all rows less those with rows that are not among these; of the latter, counted among themselves."""
        marked = frame.where(self.flag)
        chosen, others = marked.where(among), marked.where(~F.col(among))
        whole, of_others, of_chosen = (f"{_DEGREE}_{at}" for at in range(3))
        found = self._with(frame, self._all(frame), whole)
        found = self._with(found, self._among(frame, others.select(ROW_COLUMN)), of_others)
        found = self._with(found, self._among(frame, chosen.select(ROW_COLUMN)), of_chosen)
        counts = F.when(F.col(among), F.col(of_chosen)).otherwise(F.col(whole) - F.col(of_others))
        return found.withColumn(into, counts.cast("bigint")).drop(whole, of_others, of_chosen)

    def everywhere(self, frame: DataFrame, into: str) -> DataFrame:
        """The same with all rows."""
        return self._with(frame, self._all(frame), into)

    def _all(self, frame: DataFrame) -> DataFrame:
        if not self._whole:
            marked = frame.where(self.flag).select(ROW_COLUMN)
            number = marked.count()
            self._whole.append((self._degrees(marked, number), number))
        return self._whole[0][0]

    def _among(self, frame: DataFrame, rows: DataFrame) -> DataFrame:
        """The degrees of some rows of a frame among themselves; those of all rows are known."""
        whole, number = self._all(frame), rows.count()
        if number == self._whole[0][1]:
            return whole
        return whole.where(F.lit(False)) if number < 2 else self._degrees(rows, number)

    def _with(self, frame: DataFrame, degrees: DataFrame, into: str) -> DataFrame:
        """A frame with the degree of each row, 0 where there is none."""
        other = degrees.select(F.col(ROW_COLUMN).alias(_OTHER), F.col(_DEGREE))
        joined = frame.join(other, F.col(ROW_COLUMN) == F.col(_OTHER), "left")
        return joined.withColumn(into, F.coalesce(F.col(_DEGREE), F.lit(0)).cast("bigint")).drop(_OTHER, _DEGREE)

    def fewest(self, frame: DataFrame, free: str, busy: str, into: str, needed: str) -> tuple[int, DataFrame]:
        """So many that the rows with the most violations could cover all of them."""
        degrees = self._among(frame, frame.where(F.col(self.flag) & (F.col(free) > 0)).select(ROW_COLUMN))
        proving = degrees.select(F.col(ROW_COLUMN).alias(_OTHER))
        joined = frame.join(proving, F.col(ROW_COLUMN) == F.col(_OTHER), "left")
        used = F.when(F.col(_OTHER).isNotNull(), F.col(free)).otherwise(F.lit(0)).cast("bigint")
        return _covering(degrees)[0], joined.withColumn(into, used).drop(_OTHER)

    def _degrees(self, rows: DataFrame, number: int) -> DataFrame:
        """Those of so many rows that clash among themselves, and in how many violations each is; evaluated once and for
        all, as plans that hold those of earlier rounds would double each time."""
        source = self.engine.source.chosen(rows, there=True)
        source.learn_rows(number)
        engine = self.engine.over(source)
        degree = (F.col("as_s") + F.col("as_t")).cast("bigint").alias(_DEGREE)
        counted = engine.prepared(self.rule).partners().select(ROW_COLUMN, degree).where(F.col(_DEGREE) > 0)
        return counted.localCheckpoint()


def _covering(degrees: DataFrame) -> tuple[int, int]:
    """What `blame.rounds.covering` says of degrees, which are above 0."""
    sizes = (
        degrees.groupBy(_DEGREE)
        .agg(F.count("*").alias("rows"))
        .agg(F.sort_array(F.collect_list(F.struct(_DEGREE, "rows")), asc=False).alias("sizes"))
    )
    half = F.expr(f"(aggregate(sizes, 0L, (sum, one) -> sum + one.{_DEGREE} * one.rows) + 1) div 2")
    start = "named_struct('left', half, 'needed', 0L, 'least', 0L)"
    step = (  # as many rows of each size as it takes, the largest first
        f"named_struct('left', greatest(0L, state.left - one.{_DEGREE} * one.rows), 'needed', state.needed + "
        f"least(one.rows, (state.left + one.{_DEGREE} - 1) div one.{_DEGREE}), "
        f"'least', if(state.left > 0, one.{_DEGREE}, state.least))"
    )
    summed = sizes.withColumn("half", half)
    ((found,),) = summed.select(F.expr(f"aggregate(sizes, {start}, (state, one) -> {step})")).collect()
    return int(found["needed"]), int(found["least"])
