"""Rows on their way to the kernels: narrow, filtered, and placed so that every task gets about the same number."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType

from refute.language.predicate import Predicate, Row
from refute.relation import Relation
from refute.relation.types import ColumnType
from refute.spark.expressions import column, column_operands, literal, monotone, operand, quoted, unscaled
from refute.spark.pairing import Pairing
from refute.spark.placement import LIGHT_BUCKETS, Placement

AS_S, AS_T, SELF, TASK, TILE = "__as_s", "__as_t", "__self", "__task", "__tile"


class Emitter:
    """Sends the rows of a frame that can take part in a rule: once for both roles, or once for each."""

    def __init__(self, pairing: Pairing, frame: DataFrame) -> None:
        self.pairing = pairing
        self.merged = not any(one.is_cross_column for one in pairing.predicates)
        s_admits, t_admits = pairing.filters(Row.S), pairing.filters(Row.T)
        if s_admits is None or t_admits is None:
            frame = _with_roles(pairing, frame)
            s_admits, t_admits = F.col("__may_be_s"), F.col("__may_be_t")
        self._admits = {Row.S: s_admits, Row.T: t_admits}
        self.frame = frame
        self._key_types = {
            row: [one.dataType.simpleString() for one in frame.select(*self.key(row)).schema] for row in Row
        }

    @property
    def roles(self) -> tuple[Row, ...]:
        """The roles that need rows of their own: one where a row is placed alike as `s` and as `t`."""
        return (Row.S,) if self.merged else (Row.S, Row.T)

    @property
    def exact_keys(self) -> bool:
        """Whether different keys stay different in the form in which they are shipped and compared."""
        return all(self._exact_operands(*column_operands(one)) is not None for one in self.pairing.equal)

    def key(self, row: Row) -> list[SparkColumn]:
        """The equality values of one side, in a type that both sides share."""
        found = []
        for predicate in self.pairing.equal:
            names = column_operands(predicate)
            sides = self._exact_operands(*names)
            mine = 0 if row is Row.S else 1
            found.append(self._mapped(predicate, row) if sides is None else sides[mine])
        return found

    def value(self, i: int, row: Row) -> SparkColumn:
        """The value of order predicate i on one side, mapped as tiles compare it."""
        return self._mapped(self.pairing.order[i], row)

    def rows(self, row: Row) -> DataFrame:
        """The rows of one role; of either where one copy serves both."""
        if not self.merged:
            return self.frame.where(self._admits[row])
        return self.frame.where(
            self._admits[Row.S] if self.pairing.aligned else self._admits[Row.S] | self._admits[Row.T]
        )

    def admitted(self, row: Row) -> DataFrame:
        """The rows that may stand in this role."""
        return self.frame.where(self._admits[row])

    def admits_both(self) -> SparkColumn:
        """Whether a row may stand in either role."""
        return self._admits[Row.S] & self._admits[Row.T]

    def bucket(self, row: Row) -> SparkColumn:
        """The hash bucket of a row's group."""
        key = self.key(row)
        return F.pmod(F.xxhash64(*key), F.lit(LIGHT_BUCKETS)).cast("int") if key else F.lit(0)

    def group(self, placement: Placement, row: Row) -> SparkColumn:
        """The number of a row's large group; -1 for all other rows."""
        found = F.lit(-1)
        for number, values in enumerate(placement.heavy):
            same = [
                key.eqNullSafe(literal(value, kind))
                for key, value, kind in zip(self.key(row), values, self._key_types[row], strict=True)
            ]
            found = F.when(reduce(lambda a, b: a & b, same, F.lit(True)), F.lit(number)).otherwise(found)
        return found

    def sample(self, rows: int, total: int, seed: int = 7) -> pa.Table:
        """About that many of the rows of both roles: keys k0.., order values v0.. and the hash bucket."""
        parts = []
        for row in self.roles:
            columns = [key.alias(f"k{i}") for i, key in enumerate(self.key(row))]
            columns += [self.value(i, row).alias(f"v{i}") for i in range(len(self.pairing.order))]
            some = self.rows(row).sample(fraction=min(1.0, rows / max(total, 1)), seed=seed)
            parts.append(some.select(*columns, self.bucket(row).alias("bucket")))
        return reduce(DataFrame.unionByName, parts).toArrow()

    def columns(self, row: Row, names: list[str]) -> list[SparkColumn]:
        """The columns that the kernels read, and the roles of the row where they are not the same for all."""
        found = [unscaled(self._kind(name)) if self.merged else F.col(quoted(name)) for name in names]
        if self.pairing.aligned:
            return found
        if self.merged:
            return [*found, self._admits[Row.S].alias(AS_S), self._admits[Row.T].alias(AS_T)]
        return [*found, F.lit(row is Row.S).alias(AS_S), F.lit(row is Row.T).alias(AS_T), F.col(SELF)]

    def numbered(self) -> Emitter:
        """The same with a number for each row, by which its two copies know each other."""
        if self.merged:
            return self
        twin = object.__new__(Emitter)
        twin.pairing, twin.merged = self.pairing, self.merged
        twin._admits, twin._key_types = self._admits, self._key_types
        twin.frame = self.frame.withColumn(SELF, F.monotonically_increasing_id())
        return twin

    def _mapped(self, predicate: Predicate, row: Row) -> SparkColumn:
        s_kind, t_kind = (self._kind(name) for name in column_operands(predicate))
        return monotone(s_kind, t_kind) if row is Row.S else monotone(t_kind, s_kind)

    def _kind(self, name: str) -> ColumnType:
        return self.pairing.relation.type_of(name)

    def _exact_operands(self, s_name: str, t_name: str) -> tuple[SparkColumn, SparkColumn] | None:
        s_kind, t_kind = self._kind(s_name), self._kind(t_name)
        if s_name == t_name:
            return column(s_kind), column(t_kind)
        first, second = operand(s_kind, t_kind), operand(t_kind, s_kind)
        return None if first is None or second is None else (first, second)


def _with_roles(pairing: Pairing, frame: DataFrame) -> DataFrame:
    """The frame with two flags, told by the in-process comparisons where Spark's would round."""
    rule = pairing.rule

    def flag(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from refute.plan.compile import admitted_rows

        for batch in batches:
            table = pa.Table.from_batches([batch])
            masks = [admitted_rows(Relation.of(table), rule, row) for row in Row]
            for name, mask in zip(("__may_be_s", "__may_be_t"), masks, strict=True):
                table = table.append_column(name, pa.array(mask))
            yield from table.to_batches()

    flags = [StructField("__may_be_s", BooleanType()), StructField("__may_be_t", BooleanType())]
    return frame.mapInArrow(flag, StructType([*frame.schema.fields, *flags]))
