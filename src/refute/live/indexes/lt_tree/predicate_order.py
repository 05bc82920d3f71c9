"""The order of predicates: six classes, and within each by the number of distinct values (section 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from refute.language.operators import Operator
from refute.live.indexes.index import Compared
from refute.live.indexes.lt_tree.tuning import PredicateOrder

Rank = tuple[int, int]


def class_of(predicate: Compared) -> int:
    """1 and 2: equality of one column and of two; 3 and 4: the same with `!=`; 5 and 6: with `<`, `<=`, `>`, `>=`."""
    first = {Operator.EQ: 1, Operator.NE: 3}.get(predicate.op, 5)
    return first + predicate.is_cross_column


class PredicateOrdering:
    """Predicates in the order in which they refine best, kept right while distinct values come and go.

    A row changes the number of distinct values of a column by at most one, and all columns in the same direction, so
    two predicates can change places only after more rows than their numbers lie apart. Until then nothing is looked at;
    then the order is checked, and sorted only if it is wrong.
    """

    def __init__(
        self, predicates: Sequence[Compared], cardinality: Callable[[Compared], int], order: PredicateOrder
    ) -> None:
        self.predicates = tuple(predicates)
        self.by_rank = list(range(len(predicates)))  # numbers of predicates
        self.sorts = 0  # how often they were sorted
        self.looks = 0  # how often they were looked at
        self._cardinality = cardinality
        self._order = order
        self._classes = [class_of(one) for one in predicates]
        self._slack = 0
        if order is not PredicateOrder.GIVEN:
            self._sort()

    def changed(self) -> bool:
        """Whether the order is another one, after one row came or went."""
        if self._order is PredicateOrder.GIVEN:
            return False
        self._slack -= 1
        if self._slack >= 0:
            return False
        self.looks += 1
        ranks = [self._rank(number) for number in self.by_rank]
        if self._order is PredicateOrder.WORST:
            ranks.reverse()
        if all(one <= other for one, other in pairwise(ranks)):
            self._measure()
            return False
        self._sort()
        return True

    def _sort(self) -> None:
        is_worst = self._order is PredicateOrder.WORST
        self.by_rank.sort(key=self._rank, reverse=is_worst)
        self.sorts += 1
        self._measure()

    def _rank(self, number: int) -> Rank:
        """Classes first; equalities by falling numbers of values, as then most are selective, all others by rising."""
        size = self._cardinality(self.predicates[number])
        return self._classes[number], -size if self._classes[number] <= 2 else size

    def _measure(self) -> None:
        """Learns how many rows leave the order as it is: the least distance of neighbours that can change places."""
        distances = [
            abs(self._rank(one)[1] - self._rank(other)[1])
            for one, other in pairwise(self.by_rank)
            if self._classes[one] == self._classes[other] and self._can_differ(one, other)
        ]
        self._slack = min(distances, default=_NEVER)

    def _can_differ(self, one: int, other: int) -> bool:
        """Whether the two read different columns: `<` and `>` of the same ones are always level."""
        return {*self.predicates[one][1:]} != {*self.predicates[other][1:]}


_NEVER = 1 << 62
