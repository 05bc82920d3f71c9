"""Rows of a Spark table marked with the rules that they break."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.shown.marking import MARKS
from refute.language.rulebook import Rule
from refute.spark.expressions import quoted
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_BROKEN, _MARKS = RESERVED + "broken", RESERVED + "marks"


def marked(engine: SparkEngine, rules: Sequence[Rule]) -> DataFrame:
    """The table with one more column, the last: per row, the rules it breaks, in which role, with how many partners."""
    engine.require_identity("Marking the rows that break rules")
    parts = []
    for number, rule in enumerate(rules):
        partners = engine.prepared(rule).partners()
        for role, name in (("s", "as_s"), ("t", "as_t")):
            mark = _struct(n=F.lit(number), rule=F.lit(rule.name), role=F.lit(role), partners=F.col(name))
            broken = partners.where(F.col(name) > 0)
            parts.append(broken.select(F.col(ROW_COLUMN).alias(_BROKEN), mark.alias("mark")))
    everything = reduce(DataFrame.unionByName, parts)
    marks = everything.groupBy(_BROKEN).agg(F.sort_array(F.collect_list("mark")).alias(_MARKS))
    shown = F.transform(_MARKS, lambda mark: _struct(rule=mark["rule"], role=mark["role"], partners=mark["partners"]))
    joined = engine.source.identified().join(marks, F.col(ROW_COLUMN) == F.col(_BROKEN), "left")
    none = F.array().cast("array<struct<rule:string,role:string,partners:bigint>>")
    columns = [F.col(quoted(name)) for name in engine.own_columns]
    return joined.select(*columns, F.coalesce(shown, none).alias(name_beside(engine.columns)))


def split_by_marks(marked: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Marked rows split into those that break no rule and those that break one, without the added column, the last."""
    marks = marked.columns[-1]
    broken = F.size(marks) > 0
    return marked.where(~broken).drop(marks), marked.where(broken).drop(marks)


def _struct(**fields: SparkColumn) -> SparkColumn:
    return F.struct(*(value.alias(name) for name, value in fields.items()))


def name_beside(columns: Sequence[str]) -> str:
    """A name for the added column that no other has, also where case does not distinguish names."""
    name, taken = MARKS, {column.lower() for column in columns}
    while name in taken:
        name += "_"
    return name
