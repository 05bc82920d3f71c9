"""The columns of integers that rules compare, and which rows they admit, for every batch of rows alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refute.language.nulls import Nulls
from refute.language.predicate import Predicate, Row
from refute.language.rulebook import Rule
from refute.live.index import Batch, Compared, Longs, Mask, Watched
from refute.plan.form import Form, operands
from refute.relation import Relation
from refute.relation.arrays import Bytes
from refute.relation.encode.encoding import Encoding


class Reading(NamedTuple):
    """A column of the table as integers: in order or not, with null as a value or not."""

    name: str
    ordered: bool
    nulls: bool


@dataclass(frozen=True, slots=True)
class Followed:
    """A two-row rule as a monitor reads it: what is compared, and what admits rows on either side."""

    rule: Rule
    compared: tuple[Compared, ...]
    one_row: tuple[frozenset[Predicate], frozenset[Predicate]]  # written of s, whichever side they are for
    read: tuple[frozenset[int], frozenset[int]]  # columns of integers that must not be null

    def filter(self, side: int, nullable: set[int]) -> object:
        """What admits rows on a side, as long as no other column has had a null."""
        return self.one_row[side], self.rule.where, self.rule.nulls, self.read[side] & nullable


class Columns:
    """The columns that rules and the key read, and the integers that stand for their values as long as rows come."""

    def __init__(self, types: Mapping[str, pa.DataType], rules: Sequence[Rule], key: Sequence[str]) -> None:
        self.key = tuple(key)
        self.rules = list(rules)
        self._numbers: dict[Reading, int] = {}
        self.nullable: set[int] = set()
        groups = _compared_groups(rules, key)
        self.encodings: dict[tuple[str, ...], Encoding] = {
            names: Encoding(types[name] for name in names) for names in dict.fromkeys(groups.values())
        }
        self._groups = groups
        self._key = [self._number(Reading(name, False, False)) for name in key]
        self.numbers = [number for number, rule in enumerate(rules) if _pairs_up(rule)]  # of rules about two rows
        self.followed = [self._followed(rules[number]) for number in self.numbers]

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The columns of integers, by their numbers."""
        return tuple(self._numbers)

    @property
    def generations(self) -> tuple[int, ...]:
        """How often the integers of each encoding have been replaced, all at once."""
        return tuple(encoding.generation for encoding in self.encodings.values())

    def watched(self) -> list[Watched]:
        """The two-row rules, as an index takes them. Rules over columns without null share what they can."""
        return [
            Watched(one.rule.name, one.compared, (one.filter(0, self.nullable), one.filter(1, self.nullable)))
            for one in self.followed
        ]

    def key_cells(self, relation: Relation, *, extend: bool) -> tuple[list[Longs], list[Bytes]]:
        """The integers of the key of each row, and which rows have one; unknown ones are equal to none."""
        found = [self._keys(relation, self.readings[number], extend) for number in self._key]
        return [cells for cells, _ in found], [valid for _, valid in found]

    def batch(self, relation: Relation, slots: Longs, *, extend: bool) -> tuple[Batch, set[int]]:
        """The rows as integers, and the numbers of columns in which some are null."""
        cells, valid = [], []
        for reading in self._numbers:
            integers, present = self._keys(relation, reading, extend)
            cells.append(integers)
            valid.append(present)
        masks: dict[object, Mask | None] = {}
        admitted = tuple(
            (self._admitted(relation, one, 0, valid, masks), self._admitted(relation, one, 1, valid, masks))
            for one in self.followed
        )
        return Batch(slots, tuple(cells), admitted), {number for number, one in enumerate(valid) if len(one)}

    def _number(self, reading: Reading) -> int:
        return self._numbers.setdefault(reading, len(self._numbers))

    def _followed(self, rule: Rule) -> Followed:
        form = Form.of(rule)
        compared = []
        read: tuple[set[int], set[int]] = (set(), set())
        for predicate in form.predicates:
            as_value = rule.nulls is Nulls.EQUAL and not predicate.op.is_order
            numbers = [self._number(Reading(name, predicate.op.is_order, as_value)) for name in operands(predicate)]
            compared.append(Compared(predicate.op, *numbers))
            if not as_value:
                for side, number in zip(read, numbers, strict=True):
                    side.add(number)
        one_row: dict[Row, set[Predicate]] = {row: set() for row in Row}
        for predicate in rule.constraint.predicates:
            if not predicate.is_two_row:
                (row,) = predicate.rows
                one_row[row].add(predicate if row is Row.S else predicate.swapped())
        sides = frozenset(one_row[Row.S]), frozenset(one_row[Row.T])
        return Followed(rule, tuple(compared), sides, (frozenset(read[0]), frozenset(read[1])))

    def _keys(self, relation: Relation, reading: Reading, extend: bool) -> tuple[Longs, Bytes]:
        encoding = self.encodings[self._groups[reading.name]]
        keys = encoding.codes(
            relation.column(reading.name), ordered=reading.ordered, extend=extend, nulls_as_value=reading.nulls
        )
        return keys.values, keys.valid

    def _admitted(
        self, relation: Relation, one: Followed, side: int, valid: list[Bytes], known: dict[object, Mask | None]
    ) -> Mask | None:
        """Which rows may stand on a side of a rule; None if all may."""
        what = one.filter(side, set(one.read[side]))
        if what not in known:
            masks = [relation.mask(predicate, one.rule.nulls) for predicate in one.one_row[side]]
            if one.rule.where is not None:
                masks.append(relation.condition_mask(one.rule.where))
            masks += [valid[number].view(np.bool_) for number in one.read[side] if len(valid[number])]
            known[what] = np.logical_and.reduce(masks) if masks else None
        return known[what]


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
