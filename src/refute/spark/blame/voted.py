"""The rows to blame, found where the rows are: what was voted, as a blame over the rows that came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from refute.blame.contest import Flags, Longs
from refute.blame.rows import Blame, RuleBlame
from refute.language.rulebook import Rule
from refute.relation.arrays import row_numbers
from refute.spark.answer.pairing import Pairing
from refute.spark.blame.alike import TIMES, AlikeArrival, Representatives, any_of, in_order
from refute.spark.blame.contests import SparkContest, SparkOneValue
from refute.spark.blame.deciding import DecidingTask, decide, types_of
from refute.spark.blame.orders import SparkInOrder
from refute.spark.blame.rounds import SparkRounds
from refute.spark.blame.voting import SUSPECT, Verdicts, Voting
from refute.spark.workers.worker import ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine


@dataclass(frozen=True, slots=True)
class BlameTask(DecidingTask):
    """Finds the rows to blame among those in question, all of which come to one task."""

    arrival: AlikeArrival

    def decided(self, rows: pa.Table) -> tuple[pa.Table, int, int]:
        """The rows that are listed, with what each rule says of them, as `Verdicts` names it."""
        came = self.arrival.rows(rows)
        blame = came.blame(threads=1)
        listed = np.unique(np.concatenate([blame.rows, *(one.twins for one in blame.by_rule)]))
        columns = {
            ROW_COLUMN: came.ids.take(row_numbers(listed)),
            SUSPECT: pa.array(blame.suspects[listed].tolist(), pa.bool_()),
            TIMES: row_numbers(came.times[listed]),
        }
        known = {one.rule.name: one for one in blame.by_rule}
        for number, rule in enumerate(self.arrival.rules):
            columns |= _said(known.get(rule.name), number, listed)
        return pa.table(columns), blame.bound, int(came.times.sum())


def _said(one: RuleBlame | None, number: int, listed: Longs) -> dict[str, pa.Array]:
    """What a rule says of the rows that are listed; nothing where it blames none."""
    counts = np.zeros((4, len(listed)), np.int64)  # in the order of `Verdicts.columns`
    if one is not None:
        rows, twins = np.searchsorted(listed, one.rows), np.searchsorted(listed, one.twins)
        counts[0, rows], counts[1, rows], counts[3, rows] = one.violations, one.clears, one.either
        counts[0, twins], counts[2, twins] = one.twin_violations, 1
    return dict(zip(Verdicts.columns(number), map(row_numbers, counts), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class VotedBlame:
    """The rows to blame in a table that stays where it is, by the ids of those that stand for them."""

    blame: Blame
    ids: pa.ChunkedArray
    n_rows: int
    in_rounds: dict[str, bool]  # rules that rounds decided, with whether their shape would be exact

    @classmethod
    def of(cls, engine: SparkEngine, alike: Representatives, rules: Sequence[Rule]) -> VotedBlame:
        """What is voted: suspects alone come, and rows that stay although one with their key goes."""
        contests, in_rounds = _contests(engine, alike, rules)
        verdicts = Voting(alike, rules, contests).verdicts()
        numbers = {contest.rule.name: number for number, contest in enumerate(contests)}
        twins = any_of(F.col(Verdicts.twin(number)) for number in range(len(contests)))
        told = [name for number in numbers.values() for name in Verdicts.columns(number)]
        flags = [alike.flags[rule.name] for rule in rules if rule.constraint.is_single_row]
        came = verdicts.frame.where(F.col(SUSPECT) | twins)
        table = in_order(came.select(SUSPECT, TIMES, *told, *flags, ROW_COLUMN).toArrow())
        suspects = _flags(table, SUSPECT)
        blames = [_rule_blame(rule, numbers.get(rule.name), alike, table, suspects) for rule in rules]
        blame = Blame(suspects, verdicts.bound, tuple(blames), (), _longs(table, TIMES))
        return cls(blame, table.column(ROW_COLUMN), verdicts.n_rows, in_rounds)

    @classmethod
    def in_one_task(cls, alike: Representatives, rules: Sequence[Rule]) -> VotedBlame:
        """What a task says that all rows in question come to."""
        sent = alike.sent
        table, bound, n_rows = decide(sent, BlameTask(types_of(sent), alike.arrival))
        suspects = _flags(table, SUSPECT)
        blames = tuple(_counted(rule, number, table, suspects) for number, rule in enumerate(rules))
        return cls(Blame(suspects, bound, blames, (), _longs(table, TIMES)), table.column(ROW_COLUMN), n_rows, {})


def _rule_blame(rule: Rule, number: int | None, alike: Representatives, table: pa.Table, suspects: Flags) -> RuleBlame:
    """The rows that a rule blames, and beside them those that stay although one with their key goes."""
    none = np.zeros(0, np.int64)
    if number is None:
        rows = np.flatnonzero(_flags(table, alike.flags[rule.name])) if rule.constraint.is_single_row else none
        ones = np.ones(len(rows), np.int64)
        return RuleBlame(rule, rows, ones, ones, np.zeros(len(rows), np.bool_), none, none)
    return _counted(rule, number, table, suspects)


def _counted(rule: Rule, number: int, table: pa.Table, suspects: Flags) -> RuleBlame:
    """The same from what is said of rows under the rule with a number."""
    violations, clears = (_longs(table, name) for name in (Verdicts.violations(number), Verdicts.clears(number)))
    rows, twins = np.flatnonzero(suspects & (clears > 0)), np.flatnonzero(_flags(table, Verdicts.twin(number)))
    either = _flags(table, Verdicts.either(number))[rows]
    return RuleBlame(rule, rows, violations[rows], clears[rows], either, twins, violations[twins])


def _longs(table: pa.Table, name: str) -> Longs:
    found: Longs = table.column(name).to_numpy().astype(np.int64)
    return found


def _flags(table: pa.Table, name: str) -> Flags:
    found: Flags = table.column(name).to_numpy(zero_copy_only=False).astype(np.bool_)
    return found


def _contests(
    engine: SparkEngine, alike: Representatives, rules: Sequence[Rule]
) -> tuple[list[SparkContest], dict[str, bool]]:
    """A contest for each rule about two rows, and those that rounds decide, with whether its shape would be exact."""
    contests: list[SparkContest] = []
    in_rounds: dict[str, bool] = {}
    for rule in rules:
        shape, flag = alike.shapes[rule.name], alike.flags[rule.name]
        if rule.constraint.is_single_row or not shape.form.possible:
            continue
        pairing = Pairing.of(alike.plain[rule.name], alike.types)
        if shape.is_one_value:
            contests.append(SparkOneValue(rule, flag, shape, pairing, alike.common.get(rule.name)))
            continue
        if shape.is_chain or shape.is_spans:
            contest = SparkInOrder(rule, flag, shape, pairing, alike.plain[rule.name])
            if contest.largest(alike.groups) <= engine.budget.task_rows:
                contests.append(contest)
                continue
        in_rounds[rule.name] = shape.is_chain or shape.is_spans
        contests.append(SparkRounds(rule, flag, engine))
    alike.left_alone(list(in_rounds))
    return contests, in_rounds
