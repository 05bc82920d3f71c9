"""A table as rows that stand for all that are alike, few enough to come to this process.

Rows are alike that have the same values in all columns that rules compare. Of a rule that marks rows, such as a key,
the columns matter only in rows that it marks; in others they are left blank, and the rule is then about marked rows
alone. Rows that would clash with what is like them come one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from refute.blame.contest import Longs
from refute.language.conditions import And, Compare, columns_of
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.rulebook import Rule
from refute.relation.arrays import row_numbers
from refute.relation.types import Family
from refute.spark.answer.narrowing import narrowed, widened
from refute.spark.answer.pairing import Pairing
from refute.spark.blame.marks import BlameShape, MarkedTable
from refute.spark.expressions import column
from refute.spark.source.frames import frame_of
from refute.spark.source.keeping import Kept
from refute.spark.source.renaming import renamed
from refute.spark.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_TIMES, _ALONE, _NUMBER = RESERVED + "times", RESERVED + "alone", RESERVED + "number"
_BLANK = {
    Family.STRING: "",
    Family.INTEGER: "0",
    Family.FLOAT: "0",
    Family.DECIMAL: "0",
    Family.BOOLEAN: "false",
    Family.DATE: "1970-01-01",
    Family.TIMESTAMP: "1970-01-01 00:00:00",
}


@dataclass(frozen=True, slots=True, eq=False)
class AlikeRows:
    """Rows that came here, by the id of the first of those that each stands for, and how many these are."""

    table: pa.Table
    ids: pa.ChunkedArray
    times: Longs
    rules: tuple[Rule, ...]
    common: dict[str, Longs]  # by rule: how many rows of the table have the right-hand value of each


class Representatives:
    """The rows of a table for some rules; with `apart`, orders and dependencies of one column on another mark rows,
    too."""

    def __init__(self, engine: SparkEngine, rules: Sequence[Rule], place: Kept, *, apart: bool) -> None:
        self._engine = engine
        self._plain = {rule.name: renamed(rule, engine.names) for rule in rules}
        self._rules = rules
        self._flags: dict[str, str] = {}
        self._common: dict[str, str] = {}
        names = [engine.names[name] for name in dict.fromkeys(name for rule in rules for name in columns_read(rule))]
        self._names = names
        marks = MarkedTable(engine, names, place)
        alone: list[SparkColumn] = []
        seen: dict[str, list[SparkColumn]] = {name: [] for name in names}  # by column: the flags that show it
        shown: set[str] = set()
        for number, rule in enumerate(rules):
            plain = self._plain[rule.name]
            shape = BlameShape.of(plain)
            is_counted = shape.is_dependency and Pairing.of(plain, engine.plain_types).exact
            if shape.says_alike and not (apart and (is_counted or shape.is_order)):
                shown.update(columns_read(plain))
                continue
            flag = f"{RESERVED}in_{number}"
            if is_counted:
                self._common[rule.name] = f"{RESERVED}common_{number}"
            marks.add(rule, plain, flag, self._common.get(rule.name))
            self._flags[rule.name] = flag
            if not shape.says_alike:
                alone.append(F.col(flag))
            for name in columns_read(plain):
                seen[name].append(F.col(flag))
        values = [self._shown(name, None if name in shown else seen[name]).alias(name) for name in names]
        single = F.when(reduce(or_, alone, F.lit(False)), F.col(ROW_COLUMN)).alias(_ALONE)
        beside = [F.col(name) for name in (*self._flags.values(), *self._common.values())]
        self._frame = marks.frame.select(*values, *beside, single, ROW_COLUMN)
        self._keys = [*names, *self._flags.values(), *self._common.values(), _ALONE]
        counted = self._frame.groupBy(*self._keys)
        self._groups = place.keep(counted.agg(F.count("*").alias(_TIMES), F.min(ROW_COLUMN).alias(ROW_COLUMN)))

    def _shown(self, name: str, flags: list[SparkColumn] | None) -> SparkColumn:
        """A column, blank in rows that no flag marks; a null is seen everywhere, as it speaks against a row."""
        own = F.col(name)
        kind = self._engine.plain_types.type_of(name)
        if flags is None or kind.family not in _BLANK:
            return own
        blank = F.lit(_BLANK[kind.family]).cast(self._engine.plain.schema[name].dataType)
        return F.when(reduce(or_, flags) | column(kind).isNull(), own).otherwise(blank)

    @property
    def n_groups(self) -> int:
        """How many rows would come."""
        return self._groups.count()

    def fetched(self) -> AlikeRows:
        """The rows, sorted by their ids."""
        engine = self._engine
        own = {plain: name for name, plain in engine.names.items()}
        exact = {name: engine.plain_types.type_of(name).arrow_type for name in self._names}
        beside = [*self._flags.values(), *self._common.values(), _TIMES, ROW_COLUMN]
        sent = self._groups.selectExpr(*(narrowed(name, kind) for name, kind in exact.items()), *beside)
        table = in_order(widened(sent.toArrow(), exact))
        ids, times = table.column(ROW_COLUMN), table.column(_TIMES).to_numpy()
        common = {name: table.column(place).fill_null(0).to_numpy() for name, place in self._common.items()}
        table = table.drop_columns([ROW_COLUMN, _TIMES, *self._common.values()])
        table = table.rename_columns([own.get(name, name) for name in table.column_names])
        engine.source.learn_rows(int(times.sum()))
        return AlikeRows(table, ids, times.astype(np.int64), tuple(map(self._marked, self._rules)), common)

    def _marked(self, rule: Rule) -> Rule:
        """The rule over the rows that came: one that marks rows is about these alone."""
        flag = self._flags.get(rule.name)
        if flag is None:
            return rule
        chosen = Compare(Predicate.of(Column(Row.S, flag), Operator.EQ, Constant(True)))
        return replace(rule, where=chosen if rule.where is None else And((rule.where, chosen)))

    def members(self, rows: AlikeRows, asked: Longs) -> tuple[Longs, pa.ChunkedArray]:
        """All rows that some stand for: the number of the one that came, and the id of each."""
        several = asked[rows.times[asked] > 1]
        ids = rows.ids.take(row_numbers(asked))
        if len(several) == 0:
            return asked, ids
        firsts = pa.table([row_numbers(several), rows.ids.take(row_numbers(several))], names=[_NUMBER, "first"])
        chosen = frame_of(firsts, self._frame.sparkSession)
        groups = self._groups.join(F.broadcast(chosen), F.col(ROW_COLUMN) == F.col("first"))
        keys = {name: f"{name}_of" for name in self._keys}
        groups = groups.select(_NUMBER, *(F.col(name).alias(of) for name, of in keys.items()))
        matches = reduce(lambda a, b: a & b, (F.col(name).eqNullSafe(F.col(of)) for name, of in keys.items()))
        found = self._frame.join(F.broadcast(groups), matches).select(_NUMBER, ROW_COLUMN).toArrow()
        single = asked[rows.times[asked] == 1]
        numbers = np.concatenate([single, found.column(_NUMBER).to_numpy()])
        every = [rows.ids.take(row_numbers(single)), found.column(ROW_COLUMN).cast(ids.type)]
        return numbers, pa.chunked_array([chunk for part in every for chunk in part.chunks], ids.type)


def columns_read(rule: Rule) -> tuple[str, ...]:
    """The columns that a rule and its `where` read."""
    chosen = () if rule.where is None else columns_of(rule.where)
    return tuple(dict.fromkeys((*rule.constraint.columns, *chosen)))


def in_order(table: pa.Table) -> pa.Table:
    """The rows by their ids, so that the first of equal rows is the same each time: that of the file, by positions."""
    order = id_order(table.column(ROW_COLUMN))
    return table if np.array_equal(order, np.arange(len(order))) else table.take(row_numbers(order))


def id_order(ids: pa.ChunkedArray) -> Longs:
    """The places of ids in ascending order, those of one id as they come; parts of a key in the order of the key."""
    parts = ids.combine_chunks().flatten() if pa.types.is_struct(ids.type) else [ids]
    table = pa.table({**{str(at): part for at, part in enumerate(parts)}, "place": np.arange(len(ids))})
    found = table.sort_by([(name, "ascending") for name in table.column_names]).column("place")
    places: Longs = found.to_numpy()
    return places
