"""Which rows of a table are in a violation of a rule, marked where they are, and what is known of them beside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType

from refute.blame.trust import FULL
from refute.kernels.blame.groups import EXPECTED, KNOWN, RARE, UNLIKELY
from refute.language.form import Form
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.plan.compile import admitted_rows
from refute.relation import Relation
from refute.spark.answer.native.single import violates
from refute.spark.answer.pairing import Pairing
from refute.spark.blame.shapes import BlameShape
from refute.spark.expressions import all_of
from refute.spark.workers.blocks import Batches
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_ID, _COMMON, _LIFT = RESERVED + "id", RESERVED + "common", RESERVED + "lift"
LIFT = RESERVED + "lifted"  # what a row weighs, as far as rare combinations of its values say
_WHOLE = "decimal(19,0)"  # whose products hold the pairs of any table
_SMALL = 100_000  # rows that are sent to every executor


class MarkedTable:
    """A table with a flag for each rule that marks rows."""

    def __init__(self, engine: SparkEngine, names: list[str]) -> None:
        self._engine = engine
        self._joins: list[_Join] = []
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
        elif shape.is_one_value:
            self._add_groups(shape, flag, common)
            return
        partners = self._engine.prepared(rule).partners()
        rows = partners.where((F.col("as_s") > 0) | (F.col("as_t") > 0)).select(F.col(ROW_COLUMN).alias(_ID))
        found = {flag: F.col(_ID).isNotNull()}
        self._joins.append(_Join(rows.localCheckpoint(), F.col(ROW_COLUMN) == F.col(_ID), found))

    def _add_groups(self, shape: BlameShape, flag: str, common: str | None) -> None:
        """Flag the rows of groups with several rows, or, under a dependency, with several values."""
        pairing = Pairing.of(shape.rule, self._engine.plain_types)
        admitted = self._admitted(pairing, flag)
        side = self.frame.where(admitted)
        keys = {f"{flag}_{i}": own for i, own in enumerate(shape.keys(pairing))}
        own_value = None if shape.is_key else shape.value(pairing)
        if own_value is None:
            broken = side.groupBy(*_named(keys)).agg(F.count("*").alias(_COMMON)).where(F.col(_COMMON) > 1)
        else:
            value = {f"{flag}_value": own_value}
            pairs = side.select(*_named(keys), *_named(value)).distinct()
            groups = pairs.groupBy(*keys).agg(F.count("*").alias(_ID)).where(F.col(_ID) > 1)
            counts = side.select(*_named(value)).groupBy(*value).agg(F.count("*").alias(_COMMON))
            broken = joined_by(joined_by(pairs, groups, list(keys)).drop(_ID), counts, list(value))
            keys |= value
        matches = all_of([admitted, *(own.eqNullSafe(F.col(name)) for name, own in keys.items())])
        found = {flag: F.col(_COMMON).isNotNull()} | ({} if common is None else {common: F.col(_COMMON)})
        self._joins.append(_Join(broken.localCheckpoint(), matches, found))

    def add_lifts(self, rules: list[Rule]) -> None:
        """Add the column `LIFT`: less than `FULL` in rows with two values, one on the left and the one on the right of
        a dependency with several columns on the left, that meet far less often than by chance (`lower_to_lift`)."""
        self.frame = self.frame.withColumn(LIFT, F.lit(FULL).cast("bigint"))
        asked = []
        for number, plain in enumerate(rules):
            shape = BlameShape.of(plain)
            if shape.is_dependency and len(shape.form.equal) > 1:
                pairing = Pairing.of(plain, self._engine.plain_types)
                asked.append((shape, pairing, self._admitted(pairing, f"{RESERVED}lift_{number}")))
        if not asked:
            return
        (sizes,) = self.frame.agg(*(F.count_if(admitted) for _, _, admitted in asked)).collect()
        lifts: list[tuple[int, DataFrame, SparkColumn]] = []
        for (shape, pairing, admitted), n in zip(asked, sizes, strict=True):
            right = shape.value(pairing)
            assert right is not None
            for left in shape.keys(pairing) if n else ():
                matches = all_of([admitted, left.eqNullSafe(F.col(_ID)), right.eqNullSafe(F.col(_COMMON))])
                side = self.frame.where(admitted).select(left.alias(_ID), right.alias(_COMMON))
                lifts.append((n, _counted(side, n), matches))
        self._add_lowered(lifts)

    def _add_lowered(self, lifts: list[tuple[int, DataFrame, SparkColumn]]) -> None:
        """Lower the trust in rows by values that meet: in how many rows all do, these values, and where they are."""
        if not lifts:
            return
        totals = [counted.select(F.lit(at).alias(_ID), "both", "met") for at, (_, counted, _) in enumerate(lifts)]
        total = F.sum(F.col("both") * F.col("met")).cast("decimal(38,0)")
        known = {row[0]: int(row[1]) for row in reduce(DataFrame.union, totals).groupBy(_ID).agg(total).collect()}
        for at, (n, counted, matches) in enumerate(lifts):
            expected = F.col("lefts") * F.col("rights")  # times n
            seen = F.col("both") * F.lit(n).cast(_WHOLE)
            rare = F.lit(RARE if known[at] >= KNOWN * n else FULL)
            lift = F.when(expected >= EXPECTED * n, F.when(2 * seen < expected, F.lit(UNLIKELY)).otherwise(F.lit(FULL)))
            lift = lift.otherwise(F.when(F.col("both") < EXPECTED, rare).otherwise(F.lit(FULL))).cast("bigint")
            lowered = counted.select(_ID, _COMMON, lift.alias(_LIFT)).where(F.col(_LIFT) < FULL)
            self._joins.append(_Join(lowered, matches, {LIFT: F.least(LIFT, _LIFT)}))

    def marked(self) -> DataFrame:
        """The table with what was added: joined with what is known, of which small parts are sent to where it is."""
        if not self._joins:
            return self.frame
        parts = [join.known.select(F.lit(at).alias(_ID)) for at, join in enumerate(self._joins)]
        counts = reduce(DataFrame.union, parts).groupBy(_ID).agg(F.count("*")).collect()
        sizes = {int(at): int(size) for at, size in counts}
        for at, join in enumerate(self._joins):
            if at in sizes:
                known = F.broadcast(join.known) if sizes[at] <= _SMALL else join.known
                joined = self.frame.join(known, join.matches, "left")
            else:
                nothing = {field.name: F.lit(None).cast(field.dataType) for field in join.known.schema.fields}
                joined = self.frame.withColumns(nothing)
            self.frame = joined.withColumns(join.found).drop(*join.known.columns)
        self._joins.clear()
        return self.frame

    def _admitted(self, pairing: Pairing, name: str) -> SparkColumn:
        """The condition under which a rule is about a row."""
        self.frame, condition = admission(self.frame, pairing, Row.S, f"{name}_chosen")
        return condition


@dataclass(frozen=True, slots=True, eq=False)
class _Join:
    """What is known of some rows of a table: evaluated, so it has no plan, as with the plans of all before it, those of
    several rules would take Spark for ever to read."""

    known: DataFrame
    matches: SparkColumn
    found: dict[str, SparkColumn]  # the columns to add


def _counted(side: DataFrame, n: int) -> DataFrame:
    """The pairs of values in two columns, evaluated: how many rows of all n have both, each, and by chance both."""
    both = side.groupBy(_ID, _COMMON).agg(F.count("*").cast(_WHOLE).alias("both")).localCheckpoint()
    counted = both
    for name, count in ((_ID, "lefts"), (_COMMON, "rights")):
        counted = joined_by(counted, both.groupBy(name).agg(F.sum("both").cast(_WHOLE).alias(count)), [name])
    return counted.withColumn("met", F.expr(f"(lefts * rights) div {n}")).localCheckpoint()


def admission(frame: DataFrame, pairing: Pairing, row: Row, name: str) -> tuple[DataFrame, SparkColumn]:
    """The frame, and the condition under which its rows may stand on one side of a rule; a column `name` of it, made by
    workers, where Spark cannot tell."""
    condition = pairing.filters(row)
    if condition is not None:
        return frame, condition
    schema = StructType([*frame.schema.fields, StructField(name, BooleanType())])
    return frame.mapInArrow(_Admit(pairing.rule, row, name), schema), F.col(name)


@dataclass(frozen=True, slots=True)
class _Admit:
    """Adds a column that says which rows may stand on one side of a rule; ships by name, as all tasks do."""

    rule: Rule
    row: Row
    name: str

    def __call__(self, batches: Batches) -> Batches:
        form = Form.of(self.rule)
        for batch in batches:
            mask = admitted_rows(Relation.of(pa.Table.from_batches([batch])), form, self.row)
            yield batch.append_column(self.name, pa.array(mask))


def _named(columns: dict[str, SparkColumn]) -> list[SparkColumn]:
    return [value.alias(name) for name, value in columns.items()]


def joined_by(frame: DataFrame, other: DataFrame, keys: list[str]) -> DataFrame:
    """The rows of a frame with what the other has for their keys, of which null is one."""
    renamed = other.toDF(*(f"{name}_other" if name in keys else name for name in other.columns))
    matches = reduce(and_, [F.col(name).eqNullSafe(F.col(f"{name}_other")) for name in keys], F.lit(True))
    return frame.join(renamed, matches, "inner").drop(*(f"{name}_other" for name in keys))
