"""Which rows of a table are in a violation of a rule, marked where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.language.form import Form
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.spark.answer.pairing import Pairing
from refute.spark.answer.single import violates
from refute.spark.expressions import all_of
from refute.spark.source.keeping import Kept
from refute.spark.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_ID, _COMMON = RESERVED + "id", RESERVED + "common"


@dataclass(frozen=True, slots=True)
class BlameShape:
    """What a rule asks of rows that are alike."""

    rule: Rule
    form: Form

    @classmethod
    def of(cls, rule: Rule) -> BlameShape:
        """The shape of a rule."""
        return cls(rule, Form.of(rule))

    @property
    def says_alike(self) -> bool:
        """Whether alike rows never clash, and what the rule keeps is found by what they weigh: a dependency, or two
        orders one of which is strict."""
        form = self.form
        if self.rule.constraint.is_single_row or not form.aligned or form.self_pairs:
            return False
        return (len(form.order), len(form.differ)) in ((0, 1), (1, 0), (2, 0))

    @property
    def is_key(self) -> bool:
        """Whether all rows with one key clash."""
        form = self.form
        return form.aligned and bool(form.equal) and not form.order and not form.differ

    @property
    def is_dependency(self) -> bool:
        """Whether one column must be the same where one other is."""
        form = self.form
        return self.says_alike and len(form.equal) == 1 and len(form.differ) == 1

    @property
    def is_order(self) -> bool:
        """Whether two orders must agree."""
        return self.says_alike and len(self.form.order) == 2


class MarkedTable:
    """A table with a flag for each rule that marks rows; what marks them is kept meanwhile."""

    def __init__(self, engine: SparkEngine, names: list[str], place: Kept) -> None:
        self._engine = engine
        self._place = place
        self.frame = engine.with_rows().select(*names, ROW_COLUMN)

    def add(self, rule: Rule, plain: Rule, flag: str, common: str | None) -> None:
        """Flag the rows that are in a violation of a rule; with `common` and the number of rows that have the value of
        such a row on the right of a dependency."""
        shape = BlameShape.of(plain)
        if rule.constraint.is_single_row:
            broken = violates(self._engine.plain_types, plain)
            if broken is not None:
                self.frame = self.frame.withColumn(flag, F.coalesce(broken, F.lit(False)))
                return
        elif shape.is_key or common is not None:
            pairing = Pairing.of(plain, self._engine.plain_types)
            if pairing.exact:
                self._add_groups(pairing, flag, common)
                return
        partners = self._engine.prepared(rule).partners()
        rows = partners.where((F.col("as_s") > 0) | (F.col("as_t") > 0)).select(F.col(ROW_COLUMN).alias(_ID))
        kept = self._kept(rows)
        marked = self.frame.join(kept, F.col(ROW_COLUMN) == F.col(_ID), "left")
        self.frame = marked.withColumn(flag, F.col(_ID).isNotNull()).drop(_ID)

    def _add_groups(self, pairing: Pairing, flag: str, common: str | None) -> None:
        """Flag the rows of groups with several rows, or, under a dependency, with several values."""
        side = pairing.side(self.frame, Row.S)
        keys = {f"{flag}_{i}": _operand(pairing, i) for i in range(len(pairing.equal))}
        if common is None:
            groups = side.groupBy(*_named(keys)).agg(F.count("*").alias(_ID))
            broken = self._kept(groups.where(F.col(_ID) > 1))
        else:
            sides = pairing.operands(pairing.differ[0])
            assert sides is not None
            value = {f"{flag}_value": sides[0]}
            pairs = side.select(*_named(keys), *_named(value)).distinct()
            groups = pairs.groupBy(*keys).agg(F.count("*").alias(_ID)).where(F.col(_ID) > 1)
            found = self._kept(_joined(pairs, groups, list(keys)))
            wanted = found.select(*value).distinct()
            counts = side.select(*_named(value)).groupBy(*value).agg(F.count("*").alias(_COMMON))
            broken = self._kept(_joined(found.drop(_ID), _joined(counts, wanted, list(value)), list(value)))
            keys |= value
        matches = all_of([pairing.admits(Row.S), *(own.eqNullSafe(F.col(name)) for name, own in keys.items())])
        matched = _ID if common is None else _COMMON
        marked = self.frame.join(broken, matches, "left").withColumn(flag, F.col(matched).isNotNull()).drop(*keys)
        self.frame = marked.drop(_ID) if common is None else marked.withColumnRenamed(_COMMON, common)

    def _kept(self, frame: DataFrame) -> DataFrame:
        """The frame, evaluated and kept: Spark then knows how small it is, and sends it to where the table is."""
        kept = self._place.keep(frame)
        kept.count()
        return kept


def _operand(pairing: Pairing, number: int) -> SparkColumn:
    sides = pairing.operands(pairing.equal[number])
    assert sides is not None
    return sides[0]


def _named(columns: dict[str, SparkColumn]) -> list[SparkColumn]:
    return [value.alias(name) for name, value in columns.items()]


def _joined(frame: DataFrame, other: DataFrame, keys: list[str]) -> DataFrame:
    """The rows of a frame with what the other has for their keys, of which null is one."""
    renamed = other.toDF(*(f"{name}_other" if name in keys else name for name in other.columns))
    matches = all_of([F.col(name).eqNullSafe(F.col(f"{name}_other")) for name in keys])
    return frame.join(renamed, matches, "inner").drop(*(f"{name}_other" for name in keys))
