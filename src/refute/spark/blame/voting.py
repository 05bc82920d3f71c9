"""The rows to blame, decided where the rows are: the way of `blame.rows`, step by step, over a Spark frame.

Rules vote by native sums and windows, orders by group in tasks, other rules by rounds of partner counts. What comes to
this process are sums, and rows that might be given back, which are suspects: these are held against each other here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.blame.giving_back import spared
from refute.blame.shapes import contest_of
from refute.blame.trust import FULL, HALF, LITTLE, MOST_DOUBTS, ROUNDS, STILL
from refute.detect.sweep import partners
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.spark.blame.alike import TIMES, Representatives, any_of, in_order
from refute.spark.blame.contests import NEAR, SparkContest, SparkOneValue
from refute.spark.blame.marks import LIFT
from refute.spark.expressions import all_of, column
from refute.spark.source.frames import frame_of
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

SUSPECT = RESERVED + "suspect"
_ALIVE, _PRIOR, _WEIGHT, _SHARE, _TRUST = (RESERVED + name for name in ("alive", "prior", "weight", "share", "trust"))
_KEPT, _NOW, _OTHER = RESERVED + "kept", RESERVED + "now", RESERVED + "other"
_FREE, _USED, _NEEDED = (RESERVED + name for name in ("free", "used", "fewest"))
_BUSY, _DOUBTS = RESERVED + "busy", RESERVED + "doubts"


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """The rows in question, each with the column `SUSPECT`, and by the number of a contest what it says of them."""

    frame: DataFrame  # evaluated
    bound: int
    n_rows: int  # of the whole table

    @classmethod
    def columns(cls, number: int) -> tuple[str, ...]:
        """All that is said of rows under a rule."""
        return cls.violations(number), cls.clears(number), cls.twin(number), cls.either(number)

    @staticmethod
    def violations(number: int) -> str:
        """The column with the violations of a row under a rule."""
        return f"{RESERVED}violations_{number}"

    @staticmethod
    def clears(number: int) -> str:
        """The column with those of them with rows that stay."""
        return f"{RESERVED}clears_{number}"

    @staticmethod
    def twin(number: int) -> str:
        """The column that says that a row stays although one with its key, no better or worse, goes."""
        return f"{RESERVED}twin_{number}"

    @staticmethod
    def either(number: int) -> str:
        """The column that says that no rule shows which of the rows with its key is wrong."""
        return f"{RESERVED}either_{number}"


class Voting:
    """A vote of some contests, one for each rule about two rows, over the rows of a table that they mark."""

    def __init__(self, alike: Representatives, rules: Sequence[Rule], contests: Sequence[SparkContest]) -> None:
        self._alike = alike
        self._rules = rules
        self._contests = contests
        self._forced = [alike.flags[rule.name] for rule in rules if rule.constraint.is_single_row]
        self._frame, self._n_rows = self._opened()

    def verdicts(self) -> Verdicts:
        """The suspects and what is said of each."""
        gone = self._keep_evenly()
        broken = [(number, contest) for number, contest in enumerate(self._contests) if gone[number]]
        if broken:
            self._add_busy(broken)
        if len(broken) > 1:
            self._weigh(broken)
        kept = [F.col(f"{_KEPT}_{number}") for number, _ in broken]
        self._set({_NOW: all_of([F.col(_ALIVE), *kept])})
        if len(broken) > 1:
            self._spare(broken, F.col(_TRUST))
        elif broken and not broken[0][1].exact:
            self._spare(broken, F.lit(FULL))
        self._count()
        found = self._frame.withColumn(SUSPECT, ~F.col(_NOW)).localCheckpoint()
        return Verdicts(found, self._bound(broken, gone), self._n_rows)

    def _opened(self) -> tuple[DataFrame, int]:
        """The marked rows with what they weigh before any rule has spoken, and the number of all rows."""
        types = self._alike.types
        names = {name for rule in self._rules if rule.nulls is Nulls.SQL for name in rule.constraint.columns}
        plain = sorted(self._alike.plain_name(name) for name in names)
        is_null = {name: column(types.type_of(name)).isNull() for name in plain}
        counts = [F.sum(F.when(null, F.col(TIMES)).otherwise(F.lit(0))) for null in is_null.values()]
        ((total, *missing),) = self._alike.groups.agg(F.coalesce(F.sum(TIMES), F.lit(0)), *counts).collect()
        lacking = [is_null[name] for name, number in zip(plain, missing, strict=True) if 0 < 2 * (number or 0) < total]
        marked = self._alike.groups.where(any_of(map(F.col, self._alike.flags.values())))
        prior = F.least(F.col(LIFT), F.when(any_of(lacking), F.lit(HALF)).otherwise(F.lit(FULL)))
        alive = ~any_of(map(F.col, self._forced))
        frame = marked.withColumns({_ALIVE: alive, _PRIOR: prior.cast("bigint"), TIMES: F.col(TIMES).cast("bigint")})
        return frame.localCheckpoint(), int(total)

    def _set(self, columns: dict[str, SparkColumn]) -> None:
        self._frame = self._frame.withColumns(columns)
        self._evaluate()

    def _evaluate(self) -> None:
        """Have the frame evaluated once and for all, so plans do not grow."""
        self._frame = self._frame.localCheckpoint()

    def _weighed(self, weight: SparkColumn) -> SparkColumn:
        return F.when(F.col(_ALIVE), weight * F.col(TIMES)).otherwise(F.lit(0)).cast("bigint")

    def _keep_evenly(self) -> list[int]:
        """Have each contest keep the most rows; how many go by each."""
        frame = self._frame.withColumn(_WEIGHT, self._weighed(F.lit(FULL)))
        for at, (number, contest) in enumerate(_counting_first(list(enumerate(self._contests)))):
            frame = _settled(contest.keep(frame, _WEIGHT, f"{_KEPT}_{number}"), at, contest)
        self._frame = frame.localCheckpoint()
        if not self._contests:
            return []
        gone = [
            F.sum(F.when(F.col(_ALIVE) & ~F.col(f"{_KEPT}_{number}"), F.col(TIMES)).otherwise(F.lit(0)))
            for number in range(len(self._contests))
        ]
        (found,) = self._frame.agg(*gone).collect()
        return [int(number or 0) for number in found]

    def _weigh(self, broken: Sequence[tuple[int, SparkContest]]) -> None:
        """Rounds of votes on the trust in each row, then what each contest keeps by it."""
        doubts = F.least(F.col(_DOUBTS), F.lit(MOST_DOUBTS))
        self._frame = self._frame.withColumn(_TRUST, F.greatest(F.col(_PRIOR) - doubts, F.lit(1)).cast("bigint"))
        for _ in range(ROUNDS):
            frame = self._frame.withColumn(_WEIGHT, self._weighed(F.col(_TRUST)))
            frame = frame.withColumn(_SHARE, F.lit(FULL).cast("bigint"))
            for at, (number, contest) in enumerate(broken):
                voted = contest.vote(frame, _WEIGHT, _SHARE)
                if voted is None:
                    kept = f"{_KEPT}_{number}"
                    if contest.exact:
                        kept = _NOW
                        frame = contest.keep(frame, _WEIGHT, kept)
                    stays = F.col(_ALIVE) & F.col(kept)
                    voted = frame.withColumn(
                        _SHARE, F.when(stays, F.col(_SHARE)).otherwise(F.least(_SHARE, F.lit(LITTLE)))
                    )
                    voted = voted.drop(_NOW)
                frame = _settled(voted, at)
            weight = F.greatest(F.expr(f"shiftright({_PRIOR} * {_SHARE}, 16)"), F.lit(1))
            frame = frame.withColumn(_SHARE, weight.cast("bigint")).localCheckpoint()
            ((change,),) = frame.agg(F.max(F.abs(F.col(_SHARE) - F.col(_TRUST)))).collect()
            self._frame = frame.withColumn(_TRUST, F.col(_SHARE)).drop(_SHARE)
            if int(change or 0) <= STILL:
                break
        frame = self._frame.withColumn(_WEIGHT, self._weighed(F.col(_TRUST)))
        for at, (number, contest) in enumerate(broken):
            if contest.exact:
                kept = f"{_KEPT}_{number}"
                frame = _settled(contest.settled(frame.drop(kept), _WEIGHT, kept), at)
        self._frame = frame

    def _add_busy(self, broken: Sequence[tuple[int, SparkContest]]) -> None:
        """Count the violations of each row under all contests together, and the contests that it is in one of."""
        none = F.lit(0).cast("bigint")
        frame = self._frame.withColumns({_BUSY: none, _DOUBTS: none})
        for at, (_, contest) in enumerate(_counting_first(broken)):
            frame = contest.violations(frame, _ALIVE, _OTHER)
            found = F.when(F.col(_ALIVE), F.col(_OTHER)).otherwise(0)
            counted = {_BUSY: F.col(_BUSY) + found, _DOUBTS: F.col(_DOUBTS) + (found > 0).cast("bigint")}
            frame = _settled(frame.withColumns(counted).drop(_OTHER), at, contest)
        self._frame = frame.localCheckpoint()

    def _spare(self, broken: Sequence[tuple[int, SparkContest]], trust: SparkColumn) -> None:
        """Give rows back that clash with none that stays, in the order of `blame.giving_back`.

        They are suspects, which come here in any case, and clash with nothing but each other.
        """
        frame, clashes = self._frame, [f"{_OTHER}_{number}" for number, _ in broken]
        for at, (number, contest) in enumerate(_counting_first(broken)):
            frame = _settled(contest.violations(frame, _NOW, f"{_OTHER}_{number}"), at, contest)
        free = all_of([F.col(_ALIVE), ~F.col(_NOW), *(F.col(name) == 0 for name in clashes)])
        names, flags = self._alike.names, [contest.flag for _, contest in broken]
        asked = frame.where(free).select(*names, *flags, trust.alias(_TRUST), _BUSY, TIMES, ROW_COLUMN)
        table = in_order(asked.toArrow())
        if table.num_rows == 0:
            return
        relation = Relation.of(table.select([*names, *flags]))
        weights, busy, times = (table.column(name).to_numpy().astype(np.int64) for name in (_TRUST, _BUSY, TIMES))
        contests = []
        for _, contest in broken:
            rule = self._alike.marked(self._alike.plain[contest.rule.name])
            problem = compile_rule(relation, rule).problem
            if problem is not None:
                contests.append(contest_of(rule, problem, partners, table.num_rows, times))
        everyone = np.ones(table.num_rows, np.bool_)
        back = np.flatnonzero(spared(contests, ~everyone, everyone, weights, busy))
        ids = table.column(ROW_COLUMN).take(row_numbers(back))
        given = frame_of(pa.table([ids], names=[_OTHER]), self._frame.sparkSession)
        joined = self._frame.join(given, F.col(ROW_COLUMN) == F.col(_OTHER), "left")
        self._frame = joined.withColumn(_NOW, F.col(_NOW) | F.col(_OTHER).isNotNull()).drop(_OTHER)
        self._evaluate()

    def _count(self) -> None:
        """Count violations, all and with rows that stay, and say which rows with one key are no better than others."""
        frame = self._frame
        numbers = range(len(self._contests))
        for at, (number, contest) in enumerate(_counting_first(list(enumerate(self._contests)))):
            frame = _settled(contest.everywhere(frame, Verdicts.violations(number)), 0, contest)
            frame = _settled(contest.violations(frame, _NOW, Verdicts.clears(number)), at, contest)
        self._frame = frame.localCheckpoint()
        if self._contests:
            counts = [F.max(F.when(F.col(_NOW), F.col(Verdicts.clears(number)))) for number in numbers]
            (left,) = self._frame.agg(*counts).collect()
            for contest, number in zip(self._contests, left, strict=True):
                assert not number, f"rows that stay still break {contest.rule.name}"
        reasons = [any_of(map(F.col, self._forced)), *(F.col(Verdicts.clears(number)) > 0 for number in numbers)]
        one = reduce(lambda a, b: a + b, (reason.cast("int") for reason in reasons)) == 1
        frame = self._frame
        for number, contest in enumerate(self._contests):
            either = ~F.col(_NOW) & (F.col(Verdicts.clears(number)) > 0) & one
            if not (isinstance(contest, SparkOneValue) and contest.is_key):
                frame = frame.withColumns({Verdicts.either(number): F.lit(False), Verdicts.twin(number): F.lit(False)})
                continue
            frame = frame.withColumn(Verdicts.either(number), either)
            frame = contest.near(frame, F.col(Verdicts.either(number)))
            frame = frame.withColumn(Verdicts.twin(number), F.col(_NOW) & F.col(NEAR)).drop(NEAR)
        self._frame = frame

    def _bound(self, broken: Sequence[tuple[int, SparkContest]], gone: Sequence[int]) -> int:
        """A number of rows that no choice can do with less than, by pieces of the table that share no row."""
        forced = F.when(~F.col(_ALIVE), F.col(TIMES)).otherwise(F.lit(0))
        ((must,),) = self._frame.agg(F.coalesce(F.sum(forced), F.lit(0))).collect()
        if not broken:
            return int(must)
        frame = self._frame.withColumn(_FREE, F.when(F.col(_ALIVE), F.col(TIMES)).otherwise(F.lit(0)).cast("bigint"))
        whole = frame = frame.localCheckpoint()
        total, most, sums = 0, 0, []
        for at, (number, contest) in enumerate(sorted(broken, key=lambda one: not isinstance(one[1], SparkOneValue))):
            counted, used = contest.fewest(frame, _FREE, _BUSY, _USED, f"{_NEEDED}_{number}")
            if contest.exact:
                alone = gone[number]
                sums.append(F.sum(f"{_NEEDED}_{number}"))
            else:
                alone = counted if whole is frame else contest.fewest(whole, _FREE, _BUSY, _USED, _NEEDED)[0]
            most, total = max(most, alone), total + counted
            frame = _settled(used.withColumn(_FREE, F.col(_FREE) - F.col(_USED)).drop(_USED), at, contest)
        needed = frame.agg(*sums).collect()[0] if sums else ()
        total += sum(int(number or 0) for number in needed)
        return int(must) + max(total, most)


_PLANS = 3  # contests that one plan may ask: Connect takes plans of limited depth


def _settled(frame: DataFrame, at: int, contest: SparkContest | None = None) -> DataFrame:
    """The frame after one more contest; evaluated after some of them, and after one that counts its rows at once."""
    counts = contest is not None and not contest.exact
    return frame.localCheckpoint() if counts or at % _PLANS == _PLANS - 1 else frame


def _counting_first(contests: Sequence[tuple[int, SparkContest]]) -> list[tuple[int, SparkContest]]:
    """The contests that evaluate the frame at once before those that add to its plan."""
    return sorted(contests, key=lambda one: one[1].exact)
