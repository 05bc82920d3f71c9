"""Rules about one row: two columns that compare the same way in nearly every row, and what a column may hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from refute.language.conditions import And, Condition, Or
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.proposing.candidates import Candidate, RuleShape, against, comparison
from refute.proposing.columns import CodedColumn, fresh
from refute.proposing.scores import Figures, Limits
from refute.relation import Family, Relation
from refute.runtime.arrays import give_back

Task = Callable[[], list[Candidate]]
_MOST_VALUES = 12  # of a domain that people would list
_ROWS_PER_VALUE = 30  # without which a list of values is an accident
_OFTEN = 5  # rows that make a value one of a domain
_RARE = 10  # times as common is the value that another is a slip of
_LETTERS_PER_SLIP, _SHORTEST, _LONGEST = 8, 4, 200
_MANY_ROWS, _FIRST = 1 << 12, 6  # rows from which a sixth of them is looked at first
_SPANS = ((0, 1), (0, 100))  # what shares and percentages lie between


@dataclass(frozen=True, slots=True, eq=False)
class WithinRows:
    """What is needed to search rules about one row."""

    relation: Relation
    columns: Sequence[CodedColumn]
    n_rows: int
    limits: Limits

    def comparisons(self) -> Iterator[Task]:
        """What compares two columns of which one may be equal to, or at most, the other in nearly every row."""
        for places, _ in realms_of(self.columns):
            for left, right in itertools.combinations(places, 2):
                yield partial(self.compared, self.columns[left], self.columns[right])

    def compared(self, left: CodedColumn, right: CodedColumn) -> list[Candidate]:
        """The comparisons of two columns that are good enough."""
        found = list(self._comparison(left, right))
        give_back(self.n_rows)
        return found

    @staticmethod
    def is_possible(left: CodedColumn, n: int, equal: int, lower: int, n_rows: int, limits: Limits) -> bool:
        """Whether a column may be equal to another, or compare one way, given how it does in n of all rows."""
        if n < max(limits.chance, limits.support * n_rows):
            return False
        most = limits.row_error * n
        return n - equal <= most or (left.ordered and (lower <= most or n - equal - lower <= most))

    def _comparison(self, left: CodedColumn, right: CodedColumn) -> Iterator[Candidate]:
        ordered, names = left.ordered and right.ordered, (left.name, right.name)
        if self.n_rows >= _MANY_ROWS and not self._may_compare(names, ordered):
            return
        joint = fresh(self.relation, *names).encode_joint(names, ordered=ordered, dense=True)
        a, b = (one.values for one in joint)
        both = (a >= 0) & (b >= 0)
        a, b = a[both], b[both]
        n = len(a)
        if n < max(self.limits.chance, self.limits.support * self.n_rows):
            return
        size = joint[0].size
        of_a, of_b = (np.bincount(values, minlength=size).astype(np.float64) for values in (a, b))
        equal_by_chance = float((of_a * of_b).sum() / n)
        equal = int(np.count_nonzero(a == b))
        found = self._judged(left, Operator.EQ, right, Figures(n, n, n - equal, n - equal_by_chance))
        if found is not None:
            yield found
            return
        if not (left.ordered and right.ordered):
            return
        below = int(np.count_nonzero(a < b))
        below_by_chance = float((of_a * (n - np.cumsum(of_b))).sum() / n)
        above, above_by_chance = n - equal - below, n - equal_by_chance - below_by_chance
        strict = equal == 0 and equal_by_chance >= self.limits.chance
        for op, blame, chance in (
            (Operator.LT if strict else Operator.LE, above, above_by_chance),
            (Operator.GT if strict else Operator.GE, below, below_by_chance),
        ):
            found = self._judged(left, op, right, Figures(n, n, blame, chance))
            if found is not None:
                yield found

    def _may_compare(self, names: tuple[str, str], ordered: bool) -> bool:
        """Whether the first rows leave open that two columns compare the same way in nearly every row: what is wrong in
        them is wrong in all rows, and far fewer are read."""
        most = self.limits.row_error * self.n_rows
        first = self.relation.head(self.n_rows // _FIRST, names)
        a, b = (one.values for one in first.encode_joint(names, ordered=ordered))
        both = (a >= 0) & (b >= 0)
        lower, higher = (int(np.count_nonzero(both & way)) for way in (a < b, a > b))
        if not ordered:
            return lower + higher <= most
        return min(lower, higher) <= most

    def _judged(self, left: CodedColumn, op: Operator, right: CodedColumn, figures: Figures) -> Candidate | None:
        least = max(self.limits.chance, self.limits.order_chance * figures.rows)
        fits = (figures.chance or 0.0) >= least and figures.error <= self.limits.row_error
        if not fits or figures.score < self.limits.rule:
            return None
        names, condition = (left.name, right.name), comparison(left.name, op, right.name)
        return Candidate(RuleShape.COMPARISON, (), names, figures, op.symbol, condition)

    def domains(self, keys: Collection[str]) -> Iterator[Task]:
        """What looks at what each column may hold; which numbers a key has says nothing."""
        for column in self.columns:
            yield partial(self.held, column, is_key=column.name in keys)

    def held(self, column: CodedColumn, *, is_key: bool) -> list[Candidate]:
        """What a column may hold: no nulls, a few values, numbers that are never negative, a span that people know."""
        found = list(never_null(column, self.n_rows, self.limits))
        if column.size > 1 and column.present >= self.limits.chance * 10 and not is_key:
            found += [*self._values(column), *self._span(column)]
        return found

    def _values(self, column: CodedColumn) -> Iterator[Candidate]:
        if column.family is not Family.STRING or column.size > column.present // 2:
            return
        counts = np.bincount(column.values[column.values >= 0], minlength=column.size)
        known = self._apart(column, np.flatnonzero(counts >= _OFTEN), counts)
        if not 2 <= len(known) <= _MOST_VALUES or column.present < _ROWS_PER_VALUE * len(known):
            return
        figures = Figures(column.present, len(known), int(column.present - counts[known].sum()), None)
        if figures.error <= self.limits.row_error:
            yield Candidate(RuleShape.DOMAIN, (), (column.name,), figures, "one of", self._one_of(column, known))

    def _apart(self, column: CodedColumn, known: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The values without those that look like another one written wrong: a few letters off, and far less common."""
        if len(known) > 4 * _MOST_VALUES or column.family is not Family.STRING:
            return known
        common = list(zip(known, self._texts(column, known), strict=True))
        kept = [
            not any(_RARE * counts[code] <= counts[other] and _is_slip(text, like) for other, like in common)
            for code, text in common
        ]
        return known[np.array(kept, np.bool_)]

    def _texts(self, column: CodedColumn, codes: np.ndarray) -> list[str]:
        """The values that some codes stand for."""
        firsts = (int(np.argmax(column.values == code)) for code in codes)
        return [self.relation.column(column.name)[row].as_py() for row in firsts]

    def _one_of(self, column: CodedColumn, known: np.ndarray) -> Condition:
        return Or(tuple(against(column.name, Operator.EQ, value) for value in sorted(self._texts(column, known))))

    def _span(self, column: CodedColumn) -> Iterator[Candidate]:
        if not column.family.is_number:
            return
        missed = self._outside(column)
        most = self.limits.key_error * column.present
        negative = missed(Operator.LT, 0)
        if negative > most or column.size < 3:
            return
        for low, high in _SPANS:
            if missed(Operator.GT, high) <= most and missed(Operator.GT, high / 2) > most and column.size > high:
                figures = Figures(column.present, column.size, negative + missed(Operator.GT, high), None)
                parts = (against(column.name, Operator.GE, low), against(column.name, Operator.LE, high))
                yield Candidate(RuleShape.DOMAIN, (), (column.name,), figures, "between", And(parts))
                return
        figures = Figures(column.present, column.size, negative, None)
        condition = against(column.name, Operator.GE, 0)
        yield Candidate(RuleShape.DOMAIN, (), (column.name,), figures, "not negative", condition)

    def _outside(self, column: CodedColumn) -> Callable[[Operator, float], int]:
        def missed(op: Operator, bound: float) -> int:
            value = int(bound) if float(bound).is_integer() else bound
            predicate = Predicate.of(Column(Row.S, column.name), op, Constant(value))
            return int(np.count_nonzero(fresh(self.relation, column.name).mask(predicate)))

        return missed


def never_null(column: CodedColumn, n_rows: int, limits: Limits) -> Iterator[Candidate]:
    """That a column is never null, where few rows are."""
    missing = n_rows - column.present
    if column.size and limits.can_tell(n_rows) and missing <= limits.key_error * n_rows:
        yield Candidate(RuleShape.NOT_NULL, (), (column.name,), Figures(n_rows, n_rows, missing, None))


def realms_of(columns: Sequence[CodedColumn]) -> list[tuple[list[int], bool]]:
    """The places of columns that can be compared with each other, and whether by order."""
    realms: dict[str, list[int]] = {}
    for place, column in enumerate(columns):
        if column.family is not Family.BOOLEAN and column.size > 1:
            realms.setdefault(column.family.realm, []).append(place)
    return [(places, columns[places[0]].ordered) for places in realms.values() if len(places) > 1]


def _is_slip(text: str, like: str) -> bool:
    """Whether a text is another with a few letters wrong: one in eight, and at least one.

    One letter of a short code makes another code, so of those only case and spaces can be wrong.
    """
    if min(len(text), len(like)) < _SHORTEST:
        return text != like and text.strip().casefold() == like.strip().casefold()
    most = max(1, len(like) // _LETTERS_PER_SLIP)
    if text == like or abs(len(text) - len(like)) > most or len(like) > _LONGEST:
        return False
    above = list(range(len(like) + 1))  # letters to change, up to each letter
    for row, letter in enumerate(text, start=1):
        line = [row]
        for place, other in enumerate(like, start=1):
            line.append(min(above[place] + 1, line[-1] + 1, above[place - 1] + (letter != other)))
        above = line
    return above[-1] <= most
