"""Rows whose values another table lacks: a native anti-join, of operands that Spark compares exactly."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from refute.errors import EngineError, InferredTypesWarning, RefuteError, SchemaError
from refute.faults import in_references
from refute.language.conditions import InTable
from refute.language.parsing.parser import RuleKind
from refute.language.rulebook import Rule
from refute.relation import Relation
from refute.relation.masks.listed import check_listed
from refute.relation.types import ColumnType, Family
from refute.spark.expressions import all_of, column, operand, quoted
from refute.spark.source.opening import open_source
from refute.spark.source.renaming import by_code_point
from refute.spark.source.types import empty_relation
from refute.spark.workers.worker import RESERVED

_OTHER = RESERVED + "other"
_LONGS = 2.0**63  # whole numbers of 64 bits are below it, and not below its opposite


class OtherTables:
    """The tables that rules refer to, each opened once."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._opened: dict[tuple[str, tuple[str, ...]], DataFrame] = {}

    def keys(self, listed: InTable) -> DataFrame:
        """The columns of the table that a rule refers to."""
        place = listed.path, listed.columns
        if place not in self._opened:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InferredTypesWarning)  # no schema can be passed for it
                try:
                    source = open_source(listed.path, session=self._session)
                except RefuteError as error:
                    raise in_references(error, listed.names) from error
            names = [source.spelled(name) for name in listed.columns]
            missing = [name for name in names if name not in source.frame.columns]
            frame = source.frame if missing else source.frame.select(*map(quoted, dict.fromkeys(names)))
            self._opened[place] = by_code_point(frame, frame.schema)
        return self._opened[place]

    def check(self, listed: InTable, own: Relation) -> None:
        """Raises SchemaError unless the other table has the columns, and they compare with those of this one."""
        others = {name: kind.arrow_type for name, kind in empty_relation(self.keys(listed)).schema.items()}
        check_listed(listed, own.schema, others)

    def lacking(self, rows: DataFrame, types: Relation, listed: InTable) -> DataFrame:
        """Those of some rows, none of them null in these columns, whose values the other table does not have."""
        keys = self.keys(listed)
        theirs = empty_relation(keys)
        matches, chosen = [], []
        found = dict(zip(dict.fromkeys(listed.columns), keys.columns, strict=True))
        for place, name in enumerate(listed.names):
            key = found[listed.columns[place]]
            own, other = types.type_of(name), theirs.type_of(key)
            mine, given = _side(own, other), _side(other, own)
            if mine is None or given is None:
                raise SchemaError(
                    f"Spark cannot compare {own.arrow_type} with {other} of {listed.path} exactly. Cast one of them to "
                    "the type of the other.",
                    column=key,
                    path=listed.path,
                )
            chosen.append(given.alias(f"{_OTHER}{place}"))
            matches.append(mine == F.col(f"{_OTHER}{place}"))
        return rows.join(keys.select(*chosen), all_of(matches), "left_anti")


def _side(kind: ColumnType, other: ColumnType) -> Column | None:
    """A column as a side of an equality; None where Spark would round. A float equals a whole number only where it is
    one itself, and is then exact as a long."""
    if {kind.family, other.family} != {Family.FLOAT, Family.INTEGER}:
        return operand(kind, other)
    plain = column(kind)
    if kind.family is Family.INTEGER:
        return plain.cast("bigint")
    return F.when((plain >= -_LONGS) & (plain < _LONGS) & (plain % 1 == 0), plain.cast("bigint"))


def reads_another(rule: Rule) -> bool:
    """Whether a rule refers to another table."""
    return isinstance(rule.added, InTable)


def within_the_table(rule: Rule) -> Rule:
    """What a rule that refers to another table asks of its own: that the columns have values."""
    return replace(rule, kind=RuleKind.DC, where=rule.scope)


def refuse_references(rules: Sequence[Rule]) -> None:
    """Raises EngineError for a rule that refers to another table, whose suspects are not found on Spark."""
    for rule in rules:
        if reads_another(rule):
            raise EngineError(
                f"Rule {rule.name!r} refers to another table, and suspects of such rules are found in process "
                "only (engine='local'). On Spark, list its violations instead: every row in them is to blame.",
                rule=rule.name,
            )
