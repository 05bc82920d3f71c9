"""What a Spark table says about the cells of its suspects: rows that stay are asked where they are.

Suspects are here, with all that rules read of them. What the others say comes as sums for the values that are asked
for, and the ids of rows to take values from; cells are codes, given to values as they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.blame.cells.dependencies import dependency_of
from refute.blame.cells.testimony import UNKNOWN, Consensus, GroupSayings, Testimony
from refute.blame.contest import Flags, Longs
from refute.language.form import Form
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.plan.compile import admitted_rows
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.relation.shown import shown_values
from refute.spark.answer.pairing import own_operand
from refute.spark.blame.cells.staying import StayingRows
from refute.spark.source.frames import frame_of
from refute.spark.source.renaming import renamed
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_NUMBER, _COUNT, _VALUE, _FIRST = (RESERVED + name for name in ("number", "count", "value", "first"))
_TOP, _ALL, _MINE, _PAIR = (RESERVED + name for name in ("top", "all", "mine", "pair"))
_SMALL = 100_000  # rows that are sent to every executor
_Key = tuple[int, ...]


class ValueCodes:
    """The values of a column, each with a code from 1 on; null and NaN are 0."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._codes: dict[Any, int] = {}
        self._values = [pa.nulls(1, kind)]

    def coded(self, column: pa.Array | pa.ChunkedArray) -> Longs:
        """The code of each value."""
        found = np.zeros(len(column), np.int64)
        new: list[int] = []
        for at, value in enumerate(shown_values(column)):
            if value is None or value != value:
                continue
            code = self._codes.get(value)
            if code is None:
                new.append(at)
                code = self._codes[value] = len(self._codes) + 1
            found[at] = code
        if new:
            taken = column.take(row_numbers(np.array(new)))
            chunks = taken.chunks if isinstance(taken, pa.ChunkedArray) else [taken]
            self._values += [chunk.cast(self._kind) for chunk in chunks]
        return found

    def values(self, codes: Longs) -> pa.Array:
        """The values of some codes."""
        return pa.concat_arrays(self._values).take(row_numbers(codes))


class SparkTestimony(Testimony):
    """Dependencies over a Spark table; rows by number are those of a table here, of which some are suspects."""

    def __init__(
        self, engine: SparkEngine, rules: Sequence[Rule], rows: pa.Table, suspects: Flags, staying: StayingRows
    ) -> None:
        """`rules` are the dependencies; `rows` has all columns that they read, under the table's names."""
        self._staying = staying
        self._suspects = np.flatnonzero(suspects)
        self.names = tuple(sorted({name for rule in rules for name in rule.constraint.columns}))
        places = {name: at for at, name in enumerate(self.names)}
        self.rules = tuple(dependency_of(number, Form.of(rule), places) for number, rule in enumerate(rules))
        self._flags = [staying.about(renamed(rule, engine.names), Row.S) for rule in rules]
        kinds = [engine.plain_types.type_of(engine.names[name]) for name in self.names]
        self._plain = [kind.name for kind in kinds]
        self._own = [own_operand(kind) for kind in kinds]
        self._values = [ValueCodes(rows.column(name).type) for name in self.names]
        self._codes = [self._values[at].coded(rows.column(name)) for at, name in enumerate(self.names)]
        relation = Relation.of(rows)
        self._admitted = [admitted_rows(relation, Form.of(rule), Row.S) for rule in rules]
        self._base = rows.num_rows
        self._donors: list[pa.Array] = []
        self._n_donors = 0
        sums = [F.count_if(F.col(flag)) for flag in self._flags]
        total, *members = staying.frame.agg(F.count("*"), *sums).collect()[0] if rules else (0,)
        self.n_rows = int(total) + len(self._suspects)
        self._members = [int(number) for number in members]  # that stay, of each rule
        self._said: list[dict[_Key, tuple[int, int, int]]] = [{} for _ in rules]
        self._stays: list[dict[int, int]] = [{} for _ in self.names]
        self._rivals: dict[int, int] = {}
        own = [self._of_suspects(number) for number in range(len(rules))]
        self._left = [left for left, _ in own]
        self._both = [both for _, both in own]
        self._counts = [Counter(codes[self._suspects].tolist()) for codes in self._codes]
        self._agreeing = [self._all_agreeing(number) for number in range(len(rules))]

    def learn(self, donors: pa.Table) -> None:
        """Have more rows behind those of the table."""
        for at, name in enumerate(self.names):
            codes = self._values[at].coded(donors.column(name))
            self._codes[at] = np.concatenate([self._codes[at], codes])

    def ids(self, donors: Longs) -> pa.Array:
        """The ids of rows to take values from, which were given numbers after those of the table."""
        every = pa.concat_arrays(self._donors)
        return every.take(row_numbers(donors - self._base))

    def codes_of(self, place: int, rows: Longs) -> Longs:
        """The codes of some rows in a column."""
        return self._codes[place][rows]

    def admitted(self, rule: int, rows: Longs) -> Flags:
        """Which rows a dependency is about."""
        return self._admitted[rule][rows]

    def said(self, rule: int, cells: Longs, admitted: Flags) -> GroupSayings:
        """What the group of each row says: of rows that stay as Spark counts them, and suspects beside."""
        left = cells[list(self.rules[rule].left)]
        asked = np.flatnonzero(admitted & (left >= 0).all(axis=0))
        keys, which = np.unique(left[:, asked], axis=1, return_inverse=True)
        found = self._groups(rule, keys)
        groups = np.zeros((5, keys.shape[1]), np.int64)
        for at, key in enumerate(map(tuple, keys.T.tolist())):
            code, count, donor = found[key]
            same = count + self._both[rule][*key, code] if count else 0
            groups[:, at] = code, count, donor, same, count + self._left[rule][key]
        sayings = np.zeros((5, cells.shape[1]), np.int64)
        sayings[0] = UNKNOWN
        sayings[:, asked] = groups[:, which.ravel()]
        value, support, donors, agreeing, members = sayings
        others = self._members[rule] + self._left[rule].total() - members
        doubt = (others - self._agreeing[rule] + agreeing) / np.maximum(others, 1)
        return GroupSayings(value, support, donors, agreeing, members, doubt)

    def common(self, place: int, codes: Longs) -> Longs:
        """How many rows have each code."""
        own = self._counts[place]
        return self.staying(place, codes) + np.array([own[code] for code in codes.tolist()], np.int64)

    def staying(self, place: int, codes: Longs) -> Longs:
        """How many rows that stay have each code."""
        known = self._stays[place]
        asked = np.array(sorted(set(codes.tolist()) - known.keys()), np.int64)
        if len(asked):
            matched = self._matched(self._staying.frame, [place], asked[None])
            counts = matched.groupBy(_NUMBER).agg(F.count("*").alias(_COUNT)).toArrow()
            known.update(dict.fromkeys(asked.tolist(), 0))
            known.update(zip(asked[_numbers(counts, _NUMBER)].tolist(), _numbers(counts, _COUNT).tolist(), strict=True))
        return np.array([known[code] for code in codes.tolist()], np.int64)

    def agreement(self, place: int, others: Sequence[int], cells: Longs, *, nulls: bool) -> Consensus:
        """What most of these rows say."""
        keys, which = np.unique(cells[list(others)], axis=1, return_inverse=True)
        pairs, pair = np.unique(np.stack([which.ravel(), cells[place]]), axis=1, return_inverse=True)
        said = F.lit(True) if nulls else self._own[place].isNotNull()
        asked = self._matched(self._staying.frame.where(said), others, keys)
        first = (F.count("*").alias(_COUNT), F.min(ROW_COLUMN).alias(_FIRST))
        raw = F.min_by(F.col(self._plain[place]), F.col(ROW_COLUMN)).alias(_VALUE)
        counted = asked.groupBy(_NUMBER, self._own[place].alias(_MINE)).agg(*first, raw)
        mine = self._asked([place], pairs[1:], pairs[0]).toDF(_PAIR, _ALL, _TOP)
        matches = (F.col(_NUMBER) == F.col(_ALL)) & F.col(_MINE).eqNullSafe(F.col(_TOP))
        counted = counted.join(mine, matches, "left").drop(_ALL, _TOP)
        best = F.max(F.struct(_COUNT, _FIRST, _VALUE)).alias(_TOP)
        same = F.collect_list(F.when(F.col(_PAIR).isNotNull(), F.struct(_PAIR, _COUNT))).alias(_PAIR)
        table = counted.groupBy(_NUMBER).agg(best, F.sum(_COUNT).alias(_ALL), same).toArrow()
        number, top = _numbers(table, _NUMBER), table.column(_TOP).combine_chunks()
        found = np.zeros((4, keys.shape[1]), np.int64)  # value, donor, agree, among
        found[0, number] = self._values[place].coded(top.field(_VALUE))
        found[1, number] = self._numbered(top.field(_FIRST))
        found[2, number], found[3, number] = top.field(_COUNT).to_numpy(), _numbers(table, _ALL)
        own = np.zeros(pairs.shape[1], np.int64)
        listed = table.column(_PAIR).combine_chunks().flatten()
        own[listed.field(_PAIR).to_numpy()] = listed.field(_COUNT).to_numpy()
        value, donors, agree, among = found[:, which.ravel()]
        return Consensus(among > 0, value, own[pair.ravel()] < agree, donors, agree, among)

    def rivals(self, place: int, others: Sequence[int], cells: Longs) -> Longs:
        """How many values there are."""
        said = self._staying.frame.where(self._own[place].isNotNull())
        count = F.count_distinct(self._own[place]).alias(_COUNT)
        if not others:
            if place not in self._rivals:
                self._rivals[place] = int(said.agg(count).collect()[0][0])
            return np.full(cells.shape[1], self._rivals[place], np.int64)
        keys, which = np.unique(cells[list(others)], axis=1, return_inverse=True)
        table = self._matched(said, others, keys).groupBy(_NUMBER).agg(count).toArrow()
        found = np.zeros(keys.shape[1], np.int64)
        found[_numbers(table, _NUMBER)] = _numbers(table, _COUNT)
        return found[which.ravel()]

    def _groups(self, rule: int, keys: Longs) -> dict[_Key, tuple[int, int, int]]:
        """By left-hand side: the code that rows say that stay, how many do, and the number of the first."""
        known = self._said[rule]
        asked = [key for key in map(tuple, keys.T.tolist()) if key not in known]
        if asked:
            one = self.rules[rule]
            about = self._staying.frame.where(self._flags[rule])
            raw = F.min_by(F.col(self._plain[one.right]), F.col(ROW_COLUMN)).alias(_VALUE)
            first = (F.count("*").alias(_COUNT), F.min(ROW_COLUMN).alias(_FIRST))
            matched = self._matched(about, one.left, np.array(asked, np.int64).T)
            table = matched.groupBy(_NUMBER).agg(raw, *first).toArrow()
            codes = self._values[one.right].coded(table.column(_VALUE))
            donors = self._numbered(table.column(_FIRST).combine_chunks())
            known.update(dict.fromkeys(asked, (UNKNOWN, 0, -1)))
            told = zip(_numbers(table, _NUMBER), codes.tolist(), _numbers(table, _COUNT), donors.tolist(), strict=True)
            known.update((asked[number], (code, int(count), donor)) for number, code, count, donor in told)
        return known

    def _of_suspects(self, rule: int) -> tuple[Counter[_Key], Counter[_Key]]:
        """How many suspects have each left-hand side, and each with its value."""
        rows = self._suspects[self._admitted[rule][self._suspects]]
        one = self.rules[rule]
        left = list(zip(*(self._codes[at][rows].tolist() for at in one.left), strict=True))
        right = self._codes[one.right][rows].tolist()
        return Counter(left), Counter((*key, value) for key, value in zip(left, right, strict=True))

    def _all_agreeing(self, rule: int) -> int:
        """How many rows say what those of their group say that stay."""
        keys = np.array(sorted(self._left[rule]), np.int64).reshape(-1, len(self.rules[rule].left)).T
        said = self._groups(rule, keys)
        agreeing = (number for (*key, value), number in self._both[rule].items() if said[*key][0] == value)
        return self._members[rule] + sum(agreeing)

    def _matched(self, frame: DataFrame, places: Sequence[int], codes: Longs) -> DataFrame:
        """The rows whose values are asked for, with the number of these; codes are (columns, asked)."""
        asked = self._asked(places, codes, np.arange(codes.shape[1])).drop(_PAIR)
        matches = [self._own[place].eqNullSafe(F.col(f"{_NUMBER}_{at}")) for at, place in enumerate(places)]
        return frame.join(asked, reduce(and_, matches, F.lit(True)))

    def _asked(self, places: Sequence[int], codes: Longs, numbers: Longs) -> DataFrame:
        """Values as a frame: their places, the number of each, and what they are compared by."""
        columns = [self._values[place].values(own) for place, own in zip(places, codes, strict=True)]
        beside = [row_numbers(np.arange(len(numbers))), row_numbers(numbers)]
        table = pa.table([*beside, *columns], names=[_PAIR, _NUMBER, *(self._plain[place] for place in places)])
        compared: list[SparkColumn] = [self._own[place].alias(f"{_NUMBER}_{at}") for at, place in enumerate(places)]
        frame = frame_of(table, self._staying.frame.sparkSession).select(_PAIR, _NUMBER, *compared)
        return F.broadcast(frame) if len(numbers) <= _SMALL else frame

    def _numbered(self, ids: pa.Array) -> Longs:
        """Numbers of rows to take values from, behind those of the table."""
        first = self._base + self._n_donors
        self._donors.append(ids)
        self._n_donors += len(ids)
        return np.arange(first, first + len(ids))


def _numbers(table: pa.Table, name: str) -> Longs:
    found: Longs = table.column(name).to_numpy().astype(np.int64)
    return found
