"""Suspects that were found where the rows are, as lines: what is said of each row under each rule that blames it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from refute.blame.contest import Flags, Longs
from refute.blame.lines import REASON, by_severity, listed_reasons
from refute.blame.sayings import CellParts
from refute.language.form import Form, operands
from refute.language.rulebook import Rule
from refute.relation.arrays import row_numbers
from refute.relation.shown import shown_values
from refute.spark.answer.pairing import Pairing
from refute.spark.blame.alike import TIMES, Representatives, any_of, in_order
from refute.spark.blame.contests import SparkContest, SparkOneValue
from refute.spark.blame.orders import SparkInOrder
from refute.spark.blame.rounds import SparkRounds
from refute.spark.blame.voting import SUSPECT, Verdicts, Voting
from refute.spark.worker import ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine


class VotedFinding:
    """The rows to blame in a table that stays where it is; suspects alone came, with their cells."""

    def __init__(self, engine: SparkEngine, alike: Representatives, rules: Sequence[Rule]) -> None:
        contests, self.in_rounds = _contests(engine, alike, rules)
        voting = Voting(alike, rules, contests)
        verdicts = voting.verdicts()
        self._engine = engine
        self._rules = rules
        self._alike = alike
        self._numbers = {contest.rule.name: number for number, contest in enumerate(contests)}
        twins = any_of(F.col(Verdicts.twin(number)) for number in range(len(contests)))
        self._table = in_order(verdicts.frame.where(F.col(SUSPECT) | twins).toArrow())
        self.ids = self._table.column(ROW_COLUMN)
        self.times = self._column(TIMES).astype(np.int64)
        self.suspects: Flags = self._column(SUSPECT).astype(np.bool_)
        self.bound = verdicts.bound
        self.n_rows = verdicts.n_rows
        self.n_suspects = int(self.times[self.suspects].sum())
        self._blames = [(rule, *self._blame(rule)) for rule in rules]
        found = {rule.name: int(self.times[rows[~twin]].sum()) for rule, rows, twin in self._blames}
        self.blamed = {rule.name: found[rule.name] for rule in by_severity(rules)}

    def lines(self) -> tuple[Longs, pa.StructArray]:
        """The row number of each line, and what it says."""
        parts = [self._said(rule, rows, twin) for rule, rows, twin in self._blames]
        rows = np.concatenate([np.zeros(0, np.int64), *(rows for _, rows, _ in self._blames)])
        rules = np.repeat(np.arange(len(self._blames)), [len(rows) for _, rows, _ in self._blames])
        order = np.lexsort((rules, rows))
        said = pa.chunked_array(parts, REASON).take(row_numbers(order))
        whole = said.combine_chunks() if said.num_chunks else pa.array([], REASON)
        return rows[order], whole

    def reasons(self) -> tuple[Longs, pa.ListArray]:
        """The row numbers of all suspects, ascending, and a list for each of why it is one."""
        return listed_reasons(self.suspects, *self.lines())

    def _blame(self, rule: Rule) -> tuple[Longs, Flags]:
        """The rows that a rule blames, and beside them those that stay although one with their key goes."""
        if rule.constraint.is_single_row:
            rows = np.flatnonzero(self._column(self._alike.flags[rule.name]))
            return rows, np.zeros(len(rows), np.bool_)
        number = self._numbers.get(rule.name)
        if number is None:
            return np.zeros(0, np.int64), np.zeros(0, np.bool_)
        twins = self._column(Verdicts.twin(number)).astype(np.bool_)
        rows = np.flatnonzero((self.suspects & (self._column(Verdicts.clears(number)) > 0)) | twins)
        return rows, twins[rows]

    def _said(self, rule: Rule, rows: Longs, twin: Flags) -> pa.StructArray:
        n = len(rows)
        number = self._numbers.get(rule.name)
        violations: Longs = np.ones(n, np.int64)
        clears, either = violations, twin
        if number is not None:
            violations = self._column(Verdicts.violations(number))[rows].astype(np.int64)
            clears = np.where(twin, 0, self._column(Verdicts.clears(number))[rows])
            either = twin | self._column(Verdicts.either(number))[rows].astype(np.bool_)
        parts = {
            "rule": pa.array([rule.name] * n, pa.string()),
            "severity": pa.array([rule.severity.value] * n, pa.string()),
            "either": pa.array(either.tolist(), pa.bool_()),
            "removed": pa.array((~twin).tolist(), pa.bool_()),
            "violations": row_numbers(violations),
            "clears": row_numbers(clears.astype(np.int64)),
            "cells": self._cells(rule, rows),
        }
        return pa.StructArray.from_arrays([parts[field.name] for field in REASON], fields=list(REASON))

    def _cells(self, rule: Rule, rows: Longs) -> pa.ListArray:
        """The cells that a rule names, with what they say: on the right of a dependency, both of an order."""
        shape = self._alike.shapes[rule.name]
        names = rule.constraint.columns
        own = Form.of(rule)
        if rule.constraint.computes:  # no cell holds what it compares: all that it reads are in question
            names = () if rule.name in self.in_rounds else names
        elif shape.is_dependency:
            names = (operands(own.differ[0])[0],)
        elif shape.is_chain and rule.name not in self.in_rounds:
            names = tuple(operands(one.predicate)[0] for one in own.order)
        elif rule.name in self.in_rounds:
            names = ()
        parts = CellParts()
        nothing: list[str | None] = [None] * len(rows)
        for name in names:
            values = shown_values(self._table.column(self._engine.names[name]).take(row_numbers(rows)))
            parts.add(
                np.arange(len(rows)), name, [None if one is None else str(one) for one in values], nothing, nothing
            )
        return parts.arrow(len(rows))

    def _column(self, name: str) -> Longs | Flags:
        found: Longs = self._table.column(name).to_numpy(zero_copy_only=False)
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
