"""Rules about one row on Spark: a filter, native wherever Spark compares exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from refute.language.conditions import Condition
from refute.language.form import Form
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.relation import Relation
from refute.spark.expressions import all_of, condition_expression, filter_expressions
from refute.spark.workers.blocks import Batches
from refute.spark.workers.worker import Task


def violates(relation: Relation, rule: Rule) -> SparkColumn | None:
    """The condition under which a row violates the rule; None where Spark cannot tell exactly."""
    form = Form.of(rule)
    conditions = filter_expressions(relation, form.side(Row.S), form.nulls)
    return None if conditions is None else all_of(conditions)


def violating_rows(frame: DataFrame, relation: Relation, rule: Rule) -> DataFrame:
    """The rows of the frame that violate the rule."""
    condition = violates(relation, rule)
    return frame.mapInArrow(_keep(_violates(rule)), frame.schema) if condition is None else frame.where(condition)


def chosen_rows(frame: DataFrame, relation: Relation, where: Condition) -> DataFrame:
    """The rows of the frame that a condition selects."""
    exact = condition_expression(relation, where)
    return (
        frame.mapInArrow(_keep(lambda table: table.condition_mask(where)), frame.schema)
        if exact is None
        else frame.where(exact)
    )


def _violates(rule: Rule) -> Callable[[Relation], NDArray[np.bool_]]:
    def mask(table: Relation) -> NDArray[np.bool_]:
        rows = compile_rule(table, rule).rows
        assert rows is not None
        found = np.zeros(table.n_rows, dtype=np.bool_)
        found[rows] = True
        return found

    return mask


def _keep(mask: Callable[[Relation], NDArray[np.bool_]]) -> Task:
    """The function for `mapInArrow` that keeps the rows of a mask."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            yield batch.filter(pa.array(mask(Relation.of(batch))))

    return run
