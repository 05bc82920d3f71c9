"""The columns of integers that rules compare, and which rows they admit, for every batch of rows alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refute.kernels.runs.rows import Lines
from refute.language.arithmetic import formula_of
from refute.language.form import Form, RowFilter, operands
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.live.indexes.index import Batch, Compared, Longs, Mask, Watched
from refute.relation import Relation
from refute.relation.arrays import ALL_VALID, Bytes
from refute.relation.keys.encoding import Encoding, is_told_alone
from refute.relation.keys.keys import NULL_KEY, Keys


class KeyColumn(NamedTuple):
    """A column of the table as integers: in order or not, with null as a value or not."""

    name: str
    ordered: bool
    nulls: bool


@dataclass(frozen=True, slots=True)
class Followed:
    """A two-row rule as a monitor reads it: what is compared, and which rows it admits on either side."""

    rule: Rule
    compared: tuple[Compared, ...]
    sides: tuple[RowFilter, RowFilter]

    def filter(self, side: int, nullable: Set[str]) -> object:
        """What admits rows on a side, as long as no other column has had a null."""
        return replace(self.sides[side], barred=self.sides[side].barred & nullable), self.rule.nulls


class ReadRows:
    """A table of the types that a monitor has, whose columns are read as integers once, for all questions."""

    __slots__ = ("_relation", "alone", "is_whole", "keys", "made", "table")

    def __init__(self, table: pa.Table, *, is_whole: bool = False) -> None:
        """The rows of a table, which is whole if it has all columns of the monitor, in their order."""
        self.table = table
        self.is_whole = is_whole
        self.made: dict[KeyColumn, Keys] = {}
        self.alone: Longs | None = None  # of a table of one row, the integers that its values tell, by their numbers
        self.keys: tuple[Lines, list[Bytes]] | None = None  # as `Columns.key_lines` gives them
        self._relation: Relation | None = None

    @property
    def relation(self) -> Relation:
        """The table as all others have it, for questions about few: conditions, and rows that are looked at."""
        if self._relation is None:
            self._relation = Relation.of(self.table)
        return self._relation

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of the table, or a formula over such, of the same type for every batch."""
        return self.table.column(name) if formula_of(name) is None else self.relation.computed(name)

    def __len__(self) -> int:
        return int(self.table.num_rows)


class Columns:
    """The columns that rules and the key read, and the integers that stand for their values as long as rows come."""

    def __init__(
        self,
        types: Mapping[str, pa.DataType],
        rules: Sequence[Rule],
        key: Sequence[str],
        *,
        nullable: Iterable[str] = (),
        encodings: Mapping[tuple[str, ...], Encoding] | None = None,
    ) -> None:
        """The columns of a table of these types; `nullable` and `encodings` are those that were saved, if some were."""
        self.key = tuple(key)
        self.rules = list(rules)
        self._numbers: dict[KeyColumn, int] = {}
        self.nullable = set(nullable)  # columns that have had a null
        groups = _compared_groups(rules, key)
        type_of = types_of(types)
        self.encodings: dict[tuple[str, ...], Encoding] = {
            names: (encodings or {}).get(names) or Encoding(map(type_of, names))
            for names in dict.fromkeys(groups.values())
        }
        self._encoding_of = {name: self.encodings[group] for name, group in groups.items()}
        self._key = [KeyColumn(name, False, False) for name in key]
        self._all_valid = [ALL_VALID for _ in key]
        for reading in self._key:
            self._number(reading)
        self._n_key = len(self._numbers)  # the columns of the key are the first
        assert self._n_key == len(self._key)
        self.numbers = [number for number, rule in enumerate(rules) if _pairs_up(rule)]  # of rules about two rows
        self.followed = [self._followed(rules[number]) for number in self.numbers]
        ordered = {id(self._encoding_of[reading.name]) for reading in self._numbers if reading.ordered}
        self._replaceable = [one for one in self.encodings.values() if id(one) in ordered and not one.is_fixed]
        places = {name: place for place, name in enumerate(types)}

        def is_told(name: str) -> bool:
            return name in types and is_told_alone(types[name])

        self._told_alone = [
            (name, places.get(name, -1), self._encoding_of[name].key_of if is_told(name) else None, ordered, nulls)
            for name, ordered, nulls in self._numbers
        ]
        read = {reading.name for reading in self._numbers if not reading.nulls}
        self._barred = {name for one in self.followed for side in one.sides for name in side.barred} - read
        self._conditional = any(side.filters or side.where is not None for one in self.followed for side in one.sides)
        self._everybody = tuple((None, None) for _ in self.followed)

    @cached_property
    def names(self) -> list[str]:
        """The columns that rules and the key read."""
        read = dict.fromkeys(self.key)
        for rule in self.rules:
            read |= dict.fromkeys(rule.columns)
        return list(read)

    @property
    def generations(self) -> tuple[int, ...]:
        """How often the integers of each encoding that can do so have been replaced, all at once.

        Only those that are compared in order ever are.
        """
        return tuple([encoding.generation for encoding in self._replaceable]) if self._replaceable else ()

    def watched(self) -> list[Watched]:
        """The two-row rules, as an index takes them. Rules over columns without null share what they can."""
        return [
            Watched(one.rule.name, one.compared, (one.filter(0, self.nullable), one.filter(1, self.nullable)))
            for one in self.followed
        ]

    def key_lines(self, rows: ReadRows, *, extend: bool) -> tuple[Lines, list[Bytes]]:
        """The keys of rows, a line of integers each, and which rows have one by column; unknown ones are equal to none.

        They are the same each time, so they are made once where `extend` makes all of them known.
        """
        if rows.keys is not None:
            return rows.keys
        alone = self._alone(rows, self._n_key)
        if alone is not None:
            found = alone[: self._n_key].reshape(1, -1), self._all_valid
        else:
            keys = [self._keys(rows, reading, extend) for reading in self._key]
            lines = np.empty((len(rows), len(keys)), np.int64)
            for place, one in enumerate(keys):
                lines[:, place] = one.values
            found = lines, [one.valid for one in keys]
        if extend:
            rows.keys = found
        return found

    def batch(self, rows: ReadRows, slots: Longs, *, extend: bool) -> tuple[Batch, set[str]]:
        """The rows as integers, and the columns in which some of them are null and that matters."""
        alone = self._alone(rows, len(self._numbers))
        cells: Sequence[Longs] | Lines
        if alone is None:
            cells, present = self._cells(rows, extend)
        else:
            cells, present = alone.reshape(-1, 1), {}
        for name in self._barred:
            valid = _valid(rows.relation, name)
            if len(valid):
                present[name] = valid
        if not present and not self._conditional:
            return Batch(slots, tuple(cells), self._everybody), set()
        masks: dict[object, Mask | None] = {}
        admitted = tuple(
            (self._admitted(rows, one, 0, present, masks), self._admitted(rows, one, 1, present, masks))
            for one in self.followed
        )
        return Batch(slots, tuple(cells), admitted), set(present)

    def _number(self, reading: KeyColumn) -> int:
        return self._numbers.setdefault(reading, len(self._numbers))

    def _followed(self, rule: Rule) -> Followed:
        form = Form.of(rule)
        compared = []
        for predicate in form.predicates:
            as_value = rule.nulls.reads(predicate.op)
            numbers = [self._number(KeyColumn(name, predicate.op.is_order, as_value)) for name in operands(predicate)]
            compared.append(Compared(predicate.op, *numbers))
        return Followed(rule, tuple(compared), (form.side(Row.S), form.side(Row.T)))

    def _cells(self, rows: ReadRows, extend: bool) -> tuple[list[Longs], dict[str, Bytes]]:
        """The rows by columns of integers, and which have a value where some have none that is compared."""
        before = self.generations
        found = [self._keys(rows, reading, extend) for reading in self._numbers]
        if before and self.generations != before:  # integers have been replaced meanwhile
            found = [self._keys(rows, reading, False) for reading in self._numbers]
        present = {
            reading.name: keys.valid
            for reading, keys in zip(self._numbers, found, strict=True)
            if len(keys.valid) and not reading.nulls
        }
        return [keys.values for keys in found], present

    def _alone(self, rows: ReadRows, wanted: int) -> Longs | None:
        """The integers of a row that comes alone, so many at least, if its values tell them.

        None is null or not known yet. A row with all columns is read once, for its key and for what rules compare.
        """
        found = rows.alone
        if found is not None and len(found) >= wanted:
            return found
        table = rows.table
        if table.num_rows != 1:
            return None
        cells, column, is_whole = [], table.column, rows.is_whole
        for name, place, key_of, ordered, nulls in self._told_alone if is_whole else self._told_alone[:wanted]:
            key = None if key_of is None else key_of(column(place if is_whole else name)[0].as_py(), ordered=ordered)
            if key is None or (nulls and key == NULL_KEY):
                break
            cells.append(key)
        if len(cells) < wanted:
            return None
        rows.alone = np.array(cells, np.int64)
        return rows.alone

    def _keys(self, rows: ReadRows, reading: KeyColumn, extend: bool) -> Keys:
        """The integers of a column, and which rows have one; made once."""
        encoding = self._encoding_of[reading.name]
        keys = rows.made.get(reading)
        if keys is None or keys.generation != encoding.generation or (extend and len(keys.unknown)):
            keys = encoding.codes(
                rows.column(reading.name), ordered=reading.ordered, extend=extend, nulls_as_value=reading.nulls
            )
            if len(keys.valid):  # what stands for null is the same each time, though nothing is compared with it
                keys = replace(keys, values=np.where(keys.valid, keys.values, 0))
            rows.made[reading] = keys
        return keys

    def _admitted(
        self, rows: ReadRows, one: Followed, side: int, present: dict[str, Bytes], known: dict[object, Mask | None]
    ) -> Mask | None:
        """Which rows may stand on a side of a rule; None if all may. `present` has the columns with nulls alone."""
        what, nulls = one.sides[side], one.rule.nulls
        if (what, nulls) not in known:
            masks = [rows.relation.mask(predicate, nulls) for predicate in what.filters]
            if what.where is not None:
                masks.append(rows.relation.condition_mask(what.where))
            masks += [present[name].view(np.bool_) for name in what.barred if name in present]
            known[what, nulls] = np.logical_and.reduce(masks) if masks else None
        return known[what, nulls]


def types_of(types: Mapping[str, pa.DataType]) -> Callable[[str], pa.DataType]:
    """What gives the type of a column, or of a formula over such."""
    relation = Relation.of(pa.schema(list(types.items())).empty_table())
    return lambda name: relation.type_of(name).arrow_type


def _valid(relation: Relation, name: str) -> Bytes:
    """One byte per row, 0 for null; empty when no row is null."""
    missing = relation.is_null(name)
    return (~missing).view(np.uint8) if missing.any() else ALL_VALID


def _compared_groups(rules: Iterable[Rule], key: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each column that two rows are compared by, those that it is compared with, over any number of steps."""
    together: dict[str, set[str]] = {name: {name} for name in key}
    for rule in rules:
        if not _pairs_up(rule):
            continue
        for predicate in Form.of(rule).predicates:
            left, right = operands(predicate)
            whole = together.get(left, {left}) | together.get(right, {right})
            for name in whole:
                together[name] = whole
    return {name: tuple(sorted(group)) for name, group in together.items()}


def _pairs_up(rule: Rule) -> bool:
    """Whether pairs of rows can violate a rule: no two of its predicates exclude each other."""
    return not rule.constraint.is_single_row and Form.of(rule).possible
