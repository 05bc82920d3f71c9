"""A table as rows that stand for all that are alike, few enough to come to this process.

Rows are alike that have the same values in all columns that rules compare. Of a rule that marks rows, such as a key,
the columns matter only in rows that it marks; in others they are left blank, and the rule is then about marked rows
alone. Rows that would clash with what is like them come one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.blame.contest import Longs
from refute.blame.rows import Blame
from refute.blame.trust import FULL
from refute.detect.local import LocalEngine
from refute.language.conditions import And, Compare
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.rulebook import Rule
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.relation.types import Family
from refute.spark.answer.fetching.narrowing import narrowed, widened
from refute.spark.blame.marks import LIFT, MarkedTable
from refute.spark.blame.shapes import BlameShape
from refute.spark.expressions import column
from refute.spark.source.frames import frame_of
from refute.spark.source.keeping import Kept
from refute.spark.source.renaming import renamed
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

TIMES = RESERVED + "times"
_ALONE, _NUMBER, _LAST = (RESERVED + name for name in ("alone", "number", "last"))
_FIRST = RESERVED + "first"
_BLANK = {
    Family.STRING: "",
    Family.INTEGER: "0",
    Family.FLOAT: "0",
    Family.DECIMAL: "0",
    Family.BOOLEAN: "false",
    Family.DATE: "1970-01-01",
    Family.TIMESTAMP: "1970-01-01 00:00:00",
    Family.ZONED: "1970-01-01 00:00:00",
}


@dataclass(frozen=True, slots=True, eq=False)
class AlikeRows:
    """Rows that came here, by the id of the first of those that each stands for, and how many these are."""

    table: pa.Table
    ids: pa.ChunkedArray
    times: Longs
    rules: tuple[Rule, ...]
    common: dict[str, Longs]  # by rule: how many rows of the table have the right-hand value of each
    lifts: Longs | None  # what rare combinations of its values say of each, where only some rows came

    def blame(self, threads: int | None = None) -> Blame:
        """The rows to blame, without their cells."""
        known = {"times": self.times, "common": self.common, "lifts": self.lifts}
        return LocalEngine(self.table, threads=threads).blame(self.rules, **known)


@dataclass(frozen=True, slots=True)
class AlikeArrival:
    """How the rows that stand for all arrive where they are decided on, here or in a task; it ships by name."""

    rules: tuple[Rule, ...]  # over the rows that come
    own: Mapping[str, str]  # the table's names of columns, by the plain ones
    exact: Mapping[str, pa.DataType]  # by plain name, the types of columns
    common: Mapping[str, str]  # by rule, the column that tells how common right-hand values are
    lifts: tuple[str, ...]

    def rows(self, sent: pa.Table) -> AlikeRows:
        """The rows, sorted by their ids."""
        table = in_order(widened(sent, self.exact))
        ids, times = table.column(ROW_COLUMN), table.column(TIMES).to_numpy()
        common = {name: table.column(place).fill_null(0).to_numpy() for name, place in self.common.items()}
        known = table.column(LIFT).to_numpy().astype(np.int64) if self.lifts else None
        table = table.drop_columns([ROW_COLUMN, TIMES, *self.lifts, *self.common.values()])
        table = table.rename_columns([self.own.get(name, name) for name in table.column_names])
        return AlikeRows(table, ids, times.astype(np.int64), self.rules, common, known)


class Representatives:
    """The rows of a table for some rules; with `apart`, all rules mark rows, and what no rule marks is blank."""

    def __init__(self, engine: SparkEngine, rules: Sequence[Rule], place: Kept, *, apart: bool) -> None:
        self.engine = engine
        self._place = place
        self._rules = rules
        self._apart = apart
        self.plain = {rule.name: renamed(rule, engine.names) for rule in rules}
        self.shapes = {name: BlameShape.of(plain) for name, plain in self.plain.items()}
        self.flags: dict[str, str] = {}
        self.common: dict[str, str] = {}
        self._read = {rule.name: [engine.names[name] for name in rule.read] for rule in rules}
        self.names = list(dict.fromkeys(name for names in self._read.values() for name in names))
        marks = MarkedTable(engine, self.names)
        if apart:
            two_rows = [plain for plain in self.plain.values() if not plain.constraint.is_single_row]
            marks.add_lifts(two_rows if len(two_rows) > 1 else [])  # one rule alone weighs no rows
        for number, rule in enumerate(rules):
            shape = self.shapes[rule.name]
            if shape.says_alike and not apart:
                continue
            if shape.is_one_value and not shape.is_key:
                self.common[rule.name] = f"{RESERVED}common_{number}"
            self.flags[rule.name] = f"{RESERVED}in_{number}"
            marks.add(rule, self.plain[rule.name], self.flags[rule.name], self.common.get(rule.name))
        self._marked = marks.marked()
        self._group({name for name, shape in self.shapes.items() if not shape.says_alike})

    def _group(self, alone: set[str]) -> None:
        """Put rows together that are alike; those that some of these rules mark stay alone."""
        shown = {name for rule in self._rules if rule.name not in self.flags for name in self._read[rule.name]}
        seen: dict[str, list[SparkColumn]] = {name: [] for name in self.names}  # by column: the flags that show it
        for rule, flag in self.flags.items():
            for name in self._read[rule]:
                seen[name].append(F.col(flag))
        values = [self._shown(name, None if name in shown else seen[name]).alias(name) for name in self.names]
        beside = [F.col(name) for name in (*self.flags.values(), *self.common.values())]
        self.keys = [*self.names, *self.flags.values(), *self.common.values()]
        if self._apart:
            marked = any_of(map(F.col, self.flags.values()))
            beside.append(F.when(marked, F.col(LIFT)).otherwise(F.lit(FULL).cast("bigint")).alias(LIFT))
            self.keys.append(LIFT)
        single = any_of(F.col(flag) for rule, flag in self.flags.items() if rule in alone)
        self._frame = self._marked.select(*values, *beside, F.when(single, F.col(ROW_COLUMN)).alias(_ALONE), ROW_COLUMN)
        self.keys.append(_ALONE)
        ids = (F.min(ROW_COLUMN).alias(ROW_COLUMN), F.max(ROW_COLUMN).alias(_LAST))
        self._counted = self._place.keep(self._frame.groupBy(*self.keys).agg(F.count("*").alias(TIMES), *ids))
        self.groups = self._counted.drop(_LAST)

    def left_alone(self, rules: Sequence[str]) -> None:
        """Have the rows that these rules mark stand for themselves alone."""
        alone = {name for name, shape in self.shapes.items() if not shape.says_alike}
        if not alone.issuperset(rules):
            self._group(alone.union(rules))

    @property
    def types(self) -> Relation:
        """The types of columns, under plain names."""
        return self.engine.plain_types

    def plain_name(self, name: str) -> str:
        """The plain name of a column of the table."""
        return self.engine.names[name]

    def _shown(self, name: str, flags: list[SparkColumn] | None) -> SparkColumn:
        """A column, blank in rows that no flag marks; a null is seen everywhere, as it speaks against a row."""
        own = F.col(name)
        kind = self.engine.plain_types.type_of(name)
        if flags is None or kind.family not in _BLANK:
            return own
        blank = F.lit(_BLANK[kind.family]).cast(self.engine.plain.schema[name].dataType)
        return F.when(any_of(flags) | column(kind).isNull(), own).otherwise(blank)

    @property
    def n_groups(self) -> int:
        """How many rows would come."""
        return self.groups.count()

    def fetched(self) -> AlikeRows:
        """The rows, which come here."""
        found = self.arrival.rows(self.sent.toArrow())
        self.engine.source.learn_rows(int(found.times.sum()))
        return found

    @property
    def sent(self) -> DataFrame:
        """The rows as Spark sends them with least work."""
        beside = [*self.flags.values(), *self.common.values(), *self.arrival.lifts, TIMES, ROW_COLUMN]
        return self.groups.selectExpr(*(narrowed(name, kind) for name, kind in self.arrival.exact.items()), *beside)

    @property
    def arrival(self) -> AlikeArrival:
        """How the rows arrive."""
        return AlikeArrival(
            tuple(map(self.marked, self._rules)),
            {plain: name for name, plain in self.engine.names.items()},
            {name: self.engine.plain_types.type_of(name).arrow_type for name in self.names},
            dict(self.common),
            (LIFT,) if self._apart else (),
        )

    def marked(self, rule: Rule) -> Rule:
        """The rule over the rows that came: one that marks rows is about these alone."""
        flag = self.flags.get(rule.name)
        if flag is None:
            return rule
        chosen = Compare(Predicate.of(Column(Row.S, flag), Operator.EQ, Constant(True)))
        return replace(rule, where=chosen if rule.where is None else And((rule.where, chosen)))

    def members(self, ids: pa.ChunkedArray, times: Longs, asked: Longs) -> tuple[Longs, pa.ChunkedArray]:
        """All rows that some of these stand for: the number of the one that came, and the id of each.

        Of two rows that are alike the first and the last are known; more than two are looked for in the table.
        """
        parts = [(asked, ids.take(row_numbers(asked)))]
        for chosen, members in ((times[asked] == 2, self._last), (times[asked] > 2, self._all_but_first)):
            if chosen.any():
                numbers = row_numbers(asked[chosen])
                found = members(pa.table([numbers, ids.take(numbers)], names=[_NUMBER, _FIRST]))
                parts.append((found.column(_NUMBER).to_numpy(), found.column(ROW_COLUMN).cast(ids.type)))
        every = pa.chunked_array([chunk for _, part in parts for chunk in part.chunks], ids.type)
        return np.concatenate([numbers for numbers, _ in parts]), every

    def _last(self, firsts: pa.Table) -> pa.Table:
        """The last of the rows that each stands for."""
        known = self._counted.join(self._sent_out(firsts), F.col(ROW_COLUMN) == F.col(_FIRST))
        return known.select(_NUMBER, F.col(_LAST).alias(ROW_COLUMN)).toArrow()

    def _all_but_first(self, firsts: pa.Table) -> pa.Table:
        """The rows that each stands for, without the first of them."""
        groups = self.groups.join(self._sent_out(firsts), F.col(ROW_COLUMN) == F.col(_FIRST))
        keys = {name: f"{name}_of" for name in self.keys}
        groups = groups.select(_NUMBER, _FIRST, *(F.col(name).alias(of) for name, of in keys.items()))
        matches = reduce(lambda a, b: a & b, (F.col(name).eqNullSafe(F.col(of)) for name, of in keys.items()))
        found = self._frame.join(F.broadcast(groups), matches & (F.col(ROW_COLUMN) != F.col(_FIRST)))
        return found.select(_NUMBER, ROW_COLUMN).toArrow()

    def _sent_out(self, firsts: pa.Table) -> DataFrame:
        return F.broadcast(frame_of(firsts, self._frame.sparkSession))


def any_of(flags: Iterable[SparkColumn]) -> SparkColumn:
    """True where some flag is."""
    return reduce(or_, flags, F.lit(False))


def all_columns_read(rules: Sequence[Rule]) -> tuple[str, ...]:
    """What some of the rules compare, and the columns behind that."""
    return tuple(dict.fromkeys(name for rule in rules for name in rule.read))


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
