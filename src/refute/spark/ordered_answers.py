"""Answers to rules that need the kernels: the classes found by tasks, and the pairs that cells alone settle."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StructField, StructType

from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Predicate, Row
from refute.plan.method import MethodName
from refute.spark.expressions import column, column_operands
from refute.spark.frames import frame_of
from refute.spark.grid import CUTS_TO_COUNT, CUTS_TO_LIST, across
from refute.spark.ordered import OrderedRule
from refute.spark.pairing import Pairing
from refute.spark.schema import empty_relation
from refute.spark.worker import ROW_COLUMN, Question

_PARTS = 16
_COUNTED = "violations string, task_rows bigint"


class OrderedAnswers:
    """Counts, partners and pairs of one rule over one frame."""

    def __init__(
        self, pairing: Pairing, frame: DataFrame, *, rows: int, tasks: int, method: MethodName = MethodName.AUTO
    ) -> None:
        self._pairing, self._frame = _with_null_flags(pairing, frame)
        self._rows = rows
        self._tasks = tasks
        self._method = method

    def count(self) -> int:
        """The exact number of violations."""
        if not self._pairing.possible:
            return 0
        whole = self._ordered(self._pairing)
        if not (self._pairing.differ and whole.placement.heavy):
            return self._count(whole)
        # A `!=` over large groups: the count without it minus the count with `=`.
        return sum(sign * self._count(self._ordered(part)) for sign, part in _inclusion_exclusion(self._pairing))

    def task_rows(self) -> list[int]:
        """How many rows each task gets in the class of pairs that ships most: how even the placement is."""
        answers = self._ordered(self._pairing).ask(Question.COUNT, _COUNTED, [])
        return max(([row["task_rows"] for row in answer.collect()] for answer in answers), key=sum)

    def witness(self) -> tuple[Any, Any] | None:
        """The ids of the rows of some violation, or None where the rule holds."""
        if not self._pairing.possible:
            return None
        for part in self._parts():
            if part.placement.heavy and self._settled_count(part) > 0:
                found = self._settled_pairs(part, 1).limit(1).collect()
                if found:
                    return found[0]["s"], found[0]["t"]
            for answer in part.ask(Question.EXISTS, self._pair_schema, [ROW_COLUMN]):
                found = answer.limit(1).collect()
                if found:
                    return found[0]["s"], found[0]["t"]
        return None

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, and how many partners each has `as_s` and `as_t`."""
        if not self._pairing.possible:
            zero = F.lit(0).cast("bigint")
            return self._frame.limit(0).select(ROW_COLUMN, zero.alias("as_s"), zero.alias("as_t"))
        found = []
        counts = [StructField(name, LongType()) for name in ("as_s", "as_t")]
        schema = StructType([StructField(ROW_COLUMN, self._row_type), *counts])
        for part in self._parts():
            found += part.ask(Question.PARTNERS, schema, [ROW_COLUMN])
            if part.placement.heavy:
                found.append(self._settled_partners(part))
        summed = reduce(DataFrame.unionByName, found).groupBy(ROW_COLUMN)
        marked = summed.agg(F.sum("as_s").alias("as_s"), F.sum("as_t").alias("as_t"))
        return marked.where((F.col("as_s") > 0) | (F.col("as_t") > 0))

    def pairs(self, limit: int | None = None) -> DataFrame:
        """The violations: columns `s` and `t` of row ids."""
        if not self._pairing.possible:
            return self._frame.limit(0).select(F.col(ROW_COLUMN).alias("s"), F.col(ROW_COLUMN).alias("t"))
        found = []
        for part in self._parts():
            found += part.ask(Question.PAIRS, self._pair_schema, [ROW_COLUMN], limit)
            if part.placement.heavy:
                found.append(self._settled_pairs(part, limit))
        listed = reduce(DataFrame.unionByName, found)
        return listed if limit is None else listed.limit(limit)

    @property
    def _row_type(self) -> DataType:
        return self._frame.schema[ROW_COLUMN].dataType

    @property
    def _pair_schema(self) -> StructType:
        return StructType([StructField(side, self._row_type) for side in ("s", "t")])

    def _ordered(self, pairing: Pairing, cuts: dict[int, int] = CUTS_TO_COUNT) -> OrderedRule:
        return OrderedRule(pairing, self._frame, rows=self._rows, tasks=self._tasks, method=self._method, cuts=cuts)

    def _parts(self) -> list[OrderedRule]:
        """The rule as rules whose pairs add up to its own: a `!=` over large groups becomes `<` or `>`."""
        whole = self._ordered(self._pairing, CUTS_TO_LIST)
        if not (self._pairing.differ and whole.placement.heavy):
            return [whole]
        return [self._ordered(part, CUTS_TO_LIST) for part in _expansion(self._pairing)]

    def _count(self, rule: OrderedRule) -> int:
        answers = rule.ask(Question.COUNT, _COUNTED, [])
        total = (
            sum(int(row["violations"]) for row in reduce(DataFrame.unionByName, answers).collect()) if answers else 0
        )
        return total + (self._settled_count(rule) if rule.placement.heavy else 0)

    def _settled_count(self, rule: OrderedRule) -> int:
        s_cells, s_counts = rule.cells(Row.S)
        t_cells, t_counts = rule.cells(Row.T)
        below = rule.grid.settled_below(s_cells, s_counts, t_cells)
        total = sum(int(count) * int(times) for count, times in zip(below, t_counts, strict=True))
        own = rule.emitter.frame.where(rule.own_settled()).count() if rule.pairing.self_pairs else 0
        return total - own

    def _settled_partners(self, rule: OrderedRule) -> DataFrame:
        s_cells, s_counts = rule.cells(Row.S)
        t_cells, t_counts = rule.cells(Row.T)
        by_role = {
            Row.S: (s_cells, rule.grid.settled_above(t_cells, t_counts, s_cells), "as_s"),
            Row.T: (t_cells, rule.grid.settled_below(s_cells, s_counts, t_cells), "as_t"),
        }
        own = F.when(rule.own_settled(), 1).otherwise(0)
        found = []
        for row, (cells, partners, name) in by_role.items():
            other = "as_t" if name == "as_s" else "as_s"
            table = self._small({"cell": cells[partners > 0], name: partners[partners > 0]})
            rows = rule.emitter.admitted(row).select(ROW_COLUMN, rule.cell(row).alias("cell"), own.alias("own"))
            joined = rows.join(F.broadcast(table), "cell")
            found.append(
                joined.select(
                    ROW_COLUMN, (F.col(name) - F.col("own")).alias(name), F.lit(0).cast("bigint").alias(other)
                )
            )
        return found[0].unionByName(found[1])

    def _settled_pairs(self, rule: OrderedRule, limit: int | None) -> DataFrame:
        s_cells, s_counts = rule.cells(Row.S)
        t_cells, t_counts = rule.cells(Row.T)
        s_at, t_at = rule.grid.settled_pairs(s_cells, t_cells)
        if limit is not None:
            # Enough cells for the limit, though each row of a cell may have to be left out for itself.
            gained = s_counts[s_at] * t_counts[t_at]
            if rule.pairing.self_pairs:
                gained = np.maximum(gained - np.minimum(s_counts[s_at], t_counts[t_at]), 0)
            needed = int(np.searchsorted(np.cumsum(gained), limit)) + 1
            s_at, t_at = s_at[:needed], t_at[:needed]
        # Without tiles a group is one cell; parts of it by hash let several tasks list its pairs.
        parts = 1 if rule.grid.dimensions else _PARTS
        s_part, t_part = (part.ravel() for part in np.indices((parts, parts)))
        cells = self._small(
            {
                "s_cell": (s_cells[s_at][:, None] * parts + s_part).ravel(),
                "t_cell": (t_cells[t_at][:, None] * parts + t_part).ravel(),
            }
        )
        sides = []
        for side, row in (("s", Row.S), ("t", Row.T)):
            part = F.pmod(F.xxhash64(ROW_COLUMN), F.lit(parts)) if parts > 1 else F.lit(0)
            cell = rule.cell(row) * parts + part
            sides.append(rule.emitter.admitted(row).select(F.col(ROW_COLUMN).alias(side), cell.alias(f"{side}_cell")))
        found = sides[0].join(F.broadcast(cells), "s_cell").join(sides[1], "t_cell")
        return found.where(F.col("s") != F.col("t")).select("s", "t")

    def _small(self, columns: dict[str, Any]) -> DataFrame:
        table = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
        return frame_of(table, self._frame.sparkSession)


def _inclusion_exclusion(pairing: Pairing) -> list[tuple[int, Pairing]]:
    """The rule without its `!=`, and with some of them as `=`, each with its sign."""
    found = []
    for size in range(len(pairing.differ) + 1):
        for chosen in combinations(pairing.differ, size):
            same = tuple(Predicate(one.left, Operator.EQ, one.right) for one in chosen)
            found.append(((-1) ** size, pairing.with_predicates(pairing.equal + same, pairing.order, ())))
    return found


def _expansion(pairing: Pairing) -> list[Pairing]:
    """The rule with each `!=` as `<` or as `>`, and where nulls are values as either being null: never two at once."""
    choices = []
    for predicate in pairing.differ:
        compared = [predicate]
        if pairing.rule.nulls is Nulls.EQUAL:
            s_name, t_name = column_operands(predicate)
            compared.append(across(null_flag(s_name), Operator.NE, null_flag(t_name)))
        choices.append([Predicate(one.left, op, one.right) for one in compared for op in (Operator.LT, Operator.GT)])
    return [pairing.with_predicates(pairing.equal, pairing.order + chosen, ()) for chosen in product(*choices)]


def _with_null_flags(pairing: Pairing, frame: DataFrame) -> tuple[Pairing, DataFrame]:
    """Both with a flag for each column under `!=` that tells its nulls, where these count as values."""
    if pairing.rule.nulls is not Nulls.EQUAL or not pairing.differ:
        return pairing, frame
    names = sorted({name for predicate in pairing.differ for name in column_operands(predicate)})
    flags = {null_flag(name): column(pairing.relation.type_of(name)).isNull().cast("int") for name in names}
    flagged = frame.withColumns(flags)
    return replace(pairing, relation=empty_relation(flagged)), flagged


def null_flag(name: str) -> str:
    """The name of the column that tells whether another is null."""
    return f"__null_{name}"
