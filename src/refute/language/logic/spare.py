"""The comparisons of a rule as facts that can be taken out one by one, to see whether the rest still entails them.

`Closure` answers any question about one set of facts; asked for each of m sets that lack one fact, it would close them
all from scratch. Here a question walks along the facts that bear on it, and no further.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from refute.language.logic.closure import Term, constant_facts
from refute.language.logic.ordering import Ordering
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row

_WEAK, _STRICT = 0, 1
_Neighbours = dict[int, list[int]]  # of a term: how many facts say at most, and how many say below


class FactGraph:
    """Predicates that do not exclude each other. They entail what `Closure` of them does."""

    def __init__(self, predicates: Iterable[Predicate], nulls: Nulls) -> None:
        self._nulls = nulls
        given = tuple(predicates)
        terms = dict.fromkeys(term for item in given for term in (item.left, item.right))
        self._index: dict[Term, int] = {term: number for number, term in enumerate(terms)}
        self._after: list[_Neighbours] = [{} for _ in terms]
        self._before: list[_Neighbours] = [{} for _ in terms]
        self._apart: list[Counter[int]] = [Counter() for _ in terms]
        self._differences = 0
        self._uses = [0] * len(terms)
        self._values = [int(isinstance(term, Constant)) for term in terms]  # facts that say: this is not null
        self._rows: Counter[Row] = Counter()
        for predicate in given:
            self.add(predicate)
        for first, op, second in constant_facts(term for term in terms if isinstance(term, Constant)):
            self._note(self._index[first], op, self._index[second], 1)  # true whatever is taken out
        edges = [(low, high) for low, above in enumerate(self._after) for high in above]
        # What all facts together say bounds what some of them do, and so how far a walk has to go.
        order = Ordering.of(len(terms), edges, ())
        self._most = order.at_most
        self._classes = order.classes
        self._sizes = Counter(order.classes)

    def add(self, predicate: Predicate, times: int = 1) -> None:
        """One more fact; with `times=-1`, one fact less."""
        left, right = self._index[predicate.left], self._index[predicate.right]
        self._note(left, predicate.op, right, times)
        for term in {left, right}:
            self._uses[term] += times
            self._values[term] += times * predicate.op.is_order
        for row in predicate.rows:
            self._rows[row] += times

    @property
    def rows(self) -> frozenset[Row]:
        """The row variables that the facts mention."""
        return frozenset(row for row, uses in self._rows.items() if uses)

    def entail(self, predicate: Predicate) -> bool:
        """Whether the predicate is true whenever the facts are. It is one of those that were given at first."""
        left, op, right = self._index[predicate.left], predicate.op, self._index[predicate.right]
        if not self._uses[left]:
            return self._nulls.holds(op, both=True) and left == right
        if isinstance(predicate.right, Column) and not self._uses[right]:
            return False
        match op:
            case Operator.EQ:
                return self._at_most(left, right) and self._at_most(right, left)
            case Operator.NE:
                return self._differ(left, right) or self._is_below(left, right) or self._is_below(right, left)
            case Operator.LT:
                return self._is_below(left, right)
            case Operator.GT:
                return self._is_below(right, left)
            case Operator.LE:
                return self._at_most(left, right) and self._has_value(left) and self._has_value(right)
            case Operator.GE:
                return self._at_most(right, left) and self._has_value(left) and self._has_value(right)

    def _note(self, left: int, op: Operator, right: int, times: int) -> None:
        if op is Operator.NE:
            self._differences += times
            self._apart[left][right] += times
            self._apart[right][left] += times
            return
        kind = _STRICT if op.is_strict else _WEAK
        if op in (Operator.EQ, Operator.LT, Operator.LE):
            self._link(left, right, kind, times)
        if op in (Operator.EQ, Operator.GT, Operator.GE):
            self._link(right, left, kind, times)

    def _link(self, low: int, high: int, kind: int, times: int) -> None:
        facts = self._after[low].setdefault(high, [0, 0])
        facts[kind] += times
        if any(facts):
            self._before[high][low] = facts
        else:
            del self._after[low][high], self._before[high][low]

    def _at_most(self, low: int, high: int) -> bool:
        return low == high or self._path(low, high, strict=False)

    def _path(self, low: int, high: int, *, strict: bool) -> bool:
        """Whether facts lead from one term up to another; with `strict`, one of them says below."""
        if not self._most[low] >> high & 1:
            return False
        pending = [(low, not strict)]
        seen = {(low, not strict)}
        while pending:
            term, strictly = pending.pop()
            for other, facts in self._after[term].items():
                state = other, strictly or facts[_STRICT] > 0
                if state == (high, True):
                    return True
                if state not in seen and (other, True) not in seen and self._most[other] >> high & 1:
                    seen.add(state)
                    pending.append(state)
        return False

    def _is_below(self, low: int, high: int) -> bool:
        """Below on some path, or at most with two terms between that differ: else all between were equal."""
        if self._path(low, high, strict=True):
            return True
        if not self._differences or not self._at_most(low, high):
            return False
        between = self._reached(low, self._after) & self._reached(high, self._before)
        return any(count and v in between for u in between for v, count in self._apart[u].items())

    def _differ(self, left: int, right: int) -> bool:
        """Whether some fact says that two terms differ that are equal to these."""
        if self._apart[left][right]:
            return True
        others = self._equals(right)
        for term in self._equals(left):
            apart = self._apart[term]
            few, many = (others, apart) if len(others) < len(apart) else (apart, others)
            if any(other in many and apart[other] for other in few):
                return True
        return False

    def _has_value(self, term: int) -> bool:
        if self._nulls is Nulls.SQL:
            return True
        return any(self._values[other] for other in self._equals(term))

    def _equals(self, term: int) -> set[int]:
        if self._sizes[self._classes[term]] == 1:
            return {term}
        return self._reached(term, self._after, within=term) & self._reached(term, self._before, within=term)

    def _reached(self, term: int, along: list[_Neighbours], *, within: int | None = None) -> set[int]:
        """The terms that facts lead to; with `within`, among those that all facts together make equal to that term."""
        seen = {term}
        pending = [term]
        while pending:
            for other in along[pending.pop()]:
                if other not in seen and (within is None or self._classes[other] == self._classes[within]):
                    seen.add(other)
                    pending.append(other)
        return seen
