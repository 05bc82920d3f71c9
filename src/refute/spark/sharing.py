"""Rules with the same equality key over one shuffle: each task answers all of them about the groups that it gets."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.language.constraint import DenialConstraint
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.spark.aggregates import Extent
from refute.spark.emission import TASK, Emitter
from refute.spark.expressions import column_operands, constants
from refute.spark.pairing import Pairing
from refute.spark.placement import SAMPLE_ROWS, Placement, pack
from refute.spark.worker import extents_task

_ANSWER = "rule int, violations string, rows bigint, skipped bigint, task_rows bigint"


def shared_key(pairing: Pairing | None) -> Hashable | None:
    """What rules must have in common to share a shuffle; None for a rule that cannot share one.

    Such a rule compares each column with itself, and its conditions are all about both rows, so that a group is whole
    in one task and each row is there once.
    """
    if pairing is None or not (pairing.possible and pairing.equal and pairing.order):
        return None
    if any(one.is_cross_column for one in pairing.predicates):
        return None
    if not all(one.is_two_row for one in pairing.rule.constraint.predicates):
        return None
    columns = frozenset(column_operands(one)[0] for one in pairing.equal)
    return columns, pairing.rule.where, pairing.rule.nulls


class SharedShuffle:
    """Rules over one frame that have the same `shared_key`."""

    def __init__(
        self, pairings: Sequence[Pairing], frame: DataFrame, *, rows: int, tasks: int, method: MethodName
    ) -> None:
        self._pairings = pairings
        first = pairings[0]
        by_key = Pairing.of(replace(first.rule, constraint=DenialConstraint(first.equal)), first.relation)
        self._emitter = Emitter(by_key, frame)
        self._rows = rows
        self._tasks = tasks
        self._method = method

    def extents(self) -> list[Extent] | None:
        """The extent of each rule, with the rows that no null keeps out; None where a group is too large for a task."""
        sample = self._emitter.sample(SAMPLE_ROWS, self._rows)
        placement = Placement.of_sample(sample, len(self._pairings[0].equal), self._tasks)
        if placement.heavy:
            return None
        answers = self.placed(placement).mapInArrow(extents_task(self._rules, self._method), _ANSWER).collect()
        found = []
        for number in range(len(self._pairings)):
            mine = [answer for answer in answers if answer["rule"] == number]
            violations = sum(int(answer["violations"]) for answer in mine)
            admitted = sum(answer["task_rows"] - answer["skipped"] for answer in mine)
            found.append(Extent(violations, sum(answer["rows"] for answer in mine), admitted))
        return found

    def placed(self, placement: Placement) -> DataFrame:
        """The columns that any of the rules reads, with each group in one task."""
        read = [name for pairing in self._pairings for one in pairing.predicates for name in column_operands(one)]
        columns = self._emitter.columns(Row.S, list(dict.fromkeys(read)))
        tasks = constants(pack(np.asarray(placement.buckets), self._tasks), "int")
        place = F.get(tasks, self._emitter.bucket(Row.S)).alias(TASK)
        rows = self._emitter.rows(Row.S).select(*columns, place)
        return rows.repartitionById(self._tasks, F.col(TASK)).drop(TASK)

    @property
    def _rules(self) -> list[Rule]:
        return [replace(one.rule, constraint=DenialConstraint(one.predicates), where=None) for one in self._pairings]
