"""Tables of few distinct values: Spark counts them natively, and the counts alone answer the rule."""

from __future__ import annotations

import datetime as dt
import threading
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.detector import Detector
from refute.detect.weighted import MOST_DIFFERENCES, MOST_ORDERS, WeightedPartners, weighted_partners
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.relation import Family, Relation
from refute.spark.answer.pairing import Pairing
from refute.spark.answer.witness import Conditions
from refute.spark.expressions import all_of, as_number, column, literal
from refute.spark.source.frames import frame_of
from refute.spark.workers.worker import ROW_COLUMN

MOST_DISTINCT = 500_000
LEAST_REPEATS = 8  # rows per distinct value below which a summary saves nothing
MOST_SHARED = 20_000  # distinct values of the columns of several rules that are counted together
_COUNT = "__count"
_NUMBERED = (Family.DATE, Family.TIMESTAMP, Family.ZONED)  # of which Spark has values that Python has not


class DistinctRows:
    """The distinct values of some columns with how many rows have each: counted once, for all rules that read them."""

    def __init__(self, names: tuple[str, ...], types: Relation, frame: DataFrame) -> None:
        self._frame = frame
        self._types = types
        self.columns = {name: _own_type(types, frame, name) for name in names}
        self.kinds = {name: frame.schema[name].dataType.simpleString() for name in names}
        self._lock = threading.Lock()
        self._found: list[pa.Table | None] = []

    @property
    def table(self) -> pa.Table | None:
        """The distinct values and their counts; None where they are too many."""
        with self._lock:
            if not self._found:
                keyed = self._frame.select(*(value.alias(name) for name, value in self.columns.items()))
                counted = keyed.groupBy(*self.columns).agg(F.count(F.lit(1)).alias(_COUNT))
                found = counted.limit(MOST_DISTINCT + 1).toArrow()
                self._found.append(None if found.num_rows > MOST_DISTINCT else found)
            return self._found[0]

    def is_value(self, name: str, value: pa.ChunkedArray) -> SparkColumn:
        """Whether a row has a value, that of an array of one, in a column."""
        family = self._types.type_of(name).family
        if family not in _NUMBERED:
            return self.columns[name].eqNullSafe(literal(value[0].as_py(), self.kinds[name]))
        number = value.cast(pa.int32() if family is Family.DATE else pa.int64())[0].as_py()
        since = F.lit(None if number is None or family is not Family.TIMESTAMP else dt.timedelta(microseconds=number))
        return as_number(self.columns[name], family).eqNullSafe(since if family is Family.TIMESTAMP else F.lit(number))

    @property
    def n_rows(self) -> int | None:
        """How many rows there are; None where the values are too many."""
        return None if self.table is None else int(pc.sum(self.table.column(_COUNT)).as_py() or 0)


class RuleSummary:
    """What the distinct values that a rule reads say about it; there may be values of other columns beside them."""

    def __init__(self, rule: Rule, names: tuple[str, ...], distinct: DistinctRows) -> None:
        self._rule = rule
        self._names = names
        self._distinct = distinct

    @property
    def table(self) -> pa.Table | None:
        """The distinct values and their counts; None where they are too many."""
        return self._distinct.table

    @property
    def n_rows(self) -> int | None:
        """How many rows the table has; None where the values are too many."""
        return self._distinct.n_rows

    @cached_property
    def partners(self) -> WeightedPartners:
        """Each distinct value's partners."""
        assert self.table is not None
        weights = self.table.column(_COUNT).to_numpy().astype(np.int64)
        compiled = compile_rule(Relation.of(self.table.drop_columns([_COUNT])), self._rule)
        if compiled.problem is None:
            none = np.zeros(len(weights), np.int64)
            return WeightedPartners(none, none, weights)
        return weighted_partners(compiled.problem, weights)

    def conditions(self) -> Conditions | None:
        """What is true of the rows of some violation, of `s` and of `t`; None where the rule holds."""
        assert self.table is not None
        if not self.partners.violations:
            return None
        # Two rows of equal values show as much as any number of them.
        times = np.minimum(self.table.column(_COUNT).to_numpy(), 2)
        rows = self.table.drop_columns([_COUNT]).take(pa.array(np.repeat(np.arange(len(times)), times)))
        witness = Detector(Relation.of(rows)).verify(self._rule).witness
        assert witness is not None
        s_rows, t_rows = (self._has(rows.slice(row, 1)) for row in witness)
        return s_rows, t_rows

    def _has(self, row: pa.Table) -> SparkColumn:
        """Whether a row of the frame has the values of this one."""
        same = []
        for name in self._names:
            same.append(self._distinct.is_value(name, row.column(name)))
        return all_of(same)

    def skipped(self, names: list[str]) -> int:
        """How many of the rows that the rule is about have a null in one of these columns."""
        assert self.table is not None
        skipped = np.zeros(self.table.num_rows, np.bool_)
        for name in names:
            skipped |= pc.is_null(self.table.column(name), nan_is_null=True).to_numpy()
        if self._rule.scope is not None:
            skipped &= Relation.of(self.table.drop_columns([_COUNT])).condition_mask(self._rule.scope)
        return int(self.table.column(_COUNT).to_numpy()[skipped].sum())

    def annotated(self, frame: DataFrame) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`; the frame is the summarised one with `__row`."""
        assert self.table is not None
        broken = (self.partners.as_s > 0) | (self.partners.as_t > 0)
        counts = self.table.select(list(self._names)).append_column("as_s", pa.array(self.partners.as_s))
        counts = counts.append_column("as_t", pa.array(self.partners.as_t)).filter(pa.array(broken))
        # Where there are values of other columns too, those of the rule come more than once, with the same partners.
        counts = counts.group_by(list(self._names)).aggregate([("as_s", "max"), ("as_t", "max")])
        renamed = counts.rename_columns([*(f"__{name}" for name in self._names), "as_s", "as_t"])
        small = F.broadcast(frame_of(renamed, frame.sparkSession))
        same = F.lit(True)
        for name in self._names:
            same = same & self._distinct.columns[name].eqNullSafe(F.col(f"__{name}"))
        return frame.join(small, same).select(ROW_COLUMN, "as_s", "as_t")


def _own_type(types: Relation, frame: DataFrame, name: str) -> SparkColumn:
    """The column with one null and one zero, of the type that it has in the frame."""
    found = column(types.type_of(name))
    return found.cast(frame.schema[name].dataType) if types.type_of(name).family is Family.FLOAT else found


def suits(pairing: Pairing | None) -> bool:
    """Whether a rule can be answered from distinct values."""
    return (
        pairing is not None
        and pairing.possible
        and len(pairing.order) <= MOST_ORDERS
        and len(pairing.differ) <= MOST_DIFFERENCES
    )
