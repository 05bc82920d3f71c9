"""Plain columns: Spark reads dots and back-quotes in names as syntax, so rules run on columns c0, c1 and so on, and on
texts without a collation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructType

from refute.language.arithmetic import renamed_column
from refute.language.conditions import And, Compare, Condition, InTable, IsNull, Matches, Not, Or
from refute.language.constraint import DenialConstraint
from refute.language.predicate import Column, Predicate
from refute.language.rulebook import Rule
from refute.spark.expressions import quoted


def plain_names(names: list[str]) -> dict[str, str]:
    """A plain name for each column."""
    return {name: f"c{i}" for i, name in enumerate(names)}


def by_place(frame: DataFrame) -> DataFrame:
    """The frame with columns c0, c1 and so on, as tasks over odd names fail through Connect."""
    return frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


def by_code_point(frame: DataFrame, schema: StructType) -> DataFrame:
    """The frame with plain strings in those columns of the schema whose texts a collation would compare."""
    names = [field.name for field in schema.fields if is_collated(field.dataType)]
    collated = {name: F.col(quoted(name)).cast(StringType()) for name in names}
    return frame.withColumns(collated) if collated else frame


def is_collated(kind: DataType) -> bool:
    """Whether Spark compares values of this type by anything but their code points."""
    return isinstance(kind, StringType) and not kind.isUTF8BinaryCollation()


def renamed(rule: Rule, names: Mapping[str, str]) -> Rule:
    """The rule over columns of other names."""
    predicates = tuple(_predicate(predicate, names) for predicate in rule.constraint.predicates)
    where = None if rule.where is None else renamed_condition(rule.where, names)
    return replace(rule, constraint=DenialConstraint(predicates), where=where)


def _predicate(predicate: Predicate, names: Mapping[str, str]) -> Predicate:
    left = Column(predicate.left.row, _column(predicate.left.name, names))
    right = predicate.right
    return Predicate.of(
        left, predicate.op, Column(right.row, _column(right.name, names)) if isinstance(right, Column) else right
    )


def _column(name: str, names: Mapping[str, str]) -> str:
    """The other name of a column; that of a formula without one of its own reads its columns by their other names."""
    return names[name] if name in names else renamed_column(name, names.__getitem__)


def renamed_condition(condition: Condition, names: Mapping[str, str]) -> Condition:
    """The condition over columns of other names."""
    match condition:
        case Compare(predicate):
            return Compare(_predicate(predicate, names))
        case IsNull(name, negated):
            return IsNull(_column(name, names), negated)
        case Matches(name):
            return replace(condition, name=_column(name, names))
        case InTable(own):
            return replace(condition, names=tuple(names[name] for name in own))
        case Not(part):
            return Not(renamed_condition(part, names))
        case And(parts):
            return And(tuple(renamed_condition(part, names) for part in parts))
        case Or(parts):
            return Or(tuple(renamed_condition(part, names) for part in parts))
