"""What a conjunction of predicates entails: an order graph over columns and constants, closed under transitivity.

The closure rules of Hydra (section 6.4: transitivity, antisymmetry, `<=` with `!=`, substitution of equals) across
columns and constants, made complete. Values are taken from a dense order without ends. Every real domain (integers,
dates, booleans, ...) is a part of one, so whatever is entailed here holds there as well; that nothing lies between 1
and 2 among integers is not used.

Nulls: under `sql` a true predicate means that its columns have values. Under `equal`, `=` and `!=` treat null as one
more value, which keeps their inferences (map null to a value that occurs nowhere else); order comparisons are entailed
only between columns that are known to have values.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

from refute.language.logic.ordering import Ordering
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Value

Term = Column | Constant


class Closure:
    """Everything that follows when all of the predicates are true.

    Terms are numbered; row i of a relation is a bit mask of the terms that term i stands in that relation to.
    """

    __slots__ = (
        "_apart",
        "_below",
        "_classes",
        "_constants",
        "_differ",
        "_index",
        "_known",
        "_nulls",
        "_predicates",
        "_strictly",
        "contradictory",
    )

    def __init__(
        self, predicates: Iterable[Predicate], nulls: Nulls = Nulls.SQL, constants: Iterable[Constant] = ()
    ) -> None:
        self._predicates = tuple(predicates)
        self._nulls = nulls
        self._index: dict[Term, int] = {}
        for predicate in self._predicates:
            self._index.setdefault(predicate.left, len(self._index))
            self._index.setdefault(predicate.right, len(self._index))
        for constant in constants:
            self._index.setdefault(constant, len(self._index))
        self._constants = tuple(term for term in self._index if isinstance(term, Constant))
        weak, strict, differ = self._edges()
        order = Ordering.of(len(self._index), weak, strict)
        self._below, self._strictly, self._classes = order.at_most, order.below, order.classes
        self._differ = differ
        self._apart = {(self._classes[u], self._classes[v]) for u, v in (*differ, *((v, u) for u, v in differ))}
        self._known = self._having_values()
        self.contradictory: bool = any(mask >> i & 1 for i, mask in enumerate(self._strictly)) or any(
            first == second for first, second in self._apart
        )

    def entails(self, predicate: Predicate) -> bool:
        """Whether the predicate is true whenever all of the closed ones are."""
        if self.contradictory:
            return True
        left, right = self._index.get(predicate.left), self._index.get(predicate.right)
        if left is None:
            return self._is_empty_truth(predicate)
        if right is None:
            return isinstance(predicate.right, Constant) and any(
                self._entails(left, needed, self._index[known])
                for known in self._constants
                for needed in _NEEDED[predicate.op, relation_between(known.value, predicate.right.value)]
            )
        return self._entails(left, predicate.op, right)

    def decides(self, predicate: Predicate) -> bool:
        """Whether the predicate is surely true or false as on values, rather than false for a null alone."""
        if self._nulls.reads(predicate.op):
            return True
        return all(self._has_value(term) for term in (predicate.left, predicate.right))

    def _has_value(self, term: Term) -> bool:
        if isinstance(term, Constant):
            return True
        number = self._index.get(term)
        return number is not None and bool(self._known >> number & 1)

    def _entails(self, x: int, op: Operator, y: int) -> bool:
        match op:
            case Operator.EQ:
                return self._equal(x, y)
            case Operator.NE:
                return self._different(x, y)
            case Operator.LT:
                return self._less(x, y)
            case Operator.GT:
                return self._less(y, x)
            case Operator.LE:
                return self._at_most(x, y)
            case Operator.GE:
                return self._at_most(y, x)

    def _at_most(self, x: int, y: int) -> bool:
        both = 1 << x | 1 << y
        return bool(self._below[x] >> y & 1) and self._known & both == both

    def _equal(self, x: int, y: int) -> bool:
        return self._classes[x] == self._classes[y]

    def _less(self, x: int, y: int) -> bool:
        """Strictly below on some path, or below with two terms between that differ: else all between were equal."""
        if self._strictly[x] >> y & 1:
            return True
        if not self._below[x] >> y & 1:
            return False
        return any(self._between(x, u, y) and self._between(x, v, y) for u, v in self._differ)

    def _between(self, x: int, u: int, y: int) -> bool:
        return bool(self._below[x] >> u & 1 and self._below[u] >> y & 1)

    def _different(self, x: int, y: int) -> bool:
        return (self._classes[x], self._classes[y]) in self._apart or self._less(x, y) or self._less(y, x)

    def _is_empty_truth(self, predicate: Predicate) -> bool:
        """Whether a predicate over columns that nothing is known about is true all the same."""
        return self._nulls.holds(predicate.op, both=True) and predicate.left == predicate.right

    def _edges(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, int]]]:
        """The pairs (low, high) related by `<=`, by `<`, and the pairs related by `!=`."""
        weak: list[tuple[int, int]] = []
        strict: list[tuple[int, int]] = []
        differ: list[tuple[int, int]] = []
        facts: list[tuple[Term, Operator, Term]] = [(p.left, p.op, p.right) for p in self._predicates]
        facts.extend(constant_facts(self._constants))
        for left, op, right in facts:
            x, y = self._index[left], self._index[right]
            if op is Operator.NE:
                differ.append((x, y))
            elif op.is_strict:
                strict.append((x, y) if op is Operator.LT else (y, x))
            else:
                if -1 in op.outcomes or op is Operator.EQ:
                    weak.append((x, y))
                if 1 in op.outcomes or op is Operator.EQ:
                    weak.append((y, x))
        return weak, strict, differ

    def _having_values(self) -> int:
        """The terms that cannot be null."""
        if self._nulls is Nulls.SQL:
            return (1 << len(self._index)) - 1
        known = sum(1 << self._index[constant] for constant in self._constants)
        for predicate in self._predicates:
            if predicate.op.is_order:
                known |= 1 << self._index[predicate.left] | 1 << self._index[predicate.right]
        classes = {self._classes[i] for i in range(len(self._index)) if known >> i & 1}
        return sum(1 << i for i, found in enumerate(self._classes) if found in classes)


def _what_suffices(op: Operator, relation: Operator | None) -> tuple[Operator, ...]:
    """What has to be known of x and a constant k that stands in this relation to c, so `x op c` is true."""
    match op, relation:
        case _, Operator.EQ:
            return (op,)
        case Operator.LE, Operator.LT | Operator.LE:
            return (Operator.LE,)
        case Operator.GE, Operator.GT | Operator.GE:
            return (Operator.GE,)
        case Operator.LT | Operator.NE, Operator.LT | Operator.LE:
            return (Operator.LE if relation is Operator.LT else Operator.LT,)
        case Operator.GT | Operator.NE, Operator.GT | Operator.GE:
            return (Operator.GE if relation is Operator.GT else Operator.GT,)
        case _:
            return ()


_NEEDED = {(op, relation): _what_suffices(op, relation) for op in Operator for relation in (*Operator, None)}


def constant_facts(constants: Iterable[Constant]) -> Iterator[tuple[Constant, Operator, Constant]]:
    """How constants compare, as far as the rest does not follow: neighbours in their order are enough.

    Decimals may be no more than `<=` apart where numbers of other types are `<`, so these have an order of their
    own beside that of all.
    """
    families: dict[str, list[Constant]] = {}
    for constant in constants:
        families.setdefault(_comparable(constant.value)[0], []).append(constant)
    for members in families.values():
        members.sort(key=lambda constant: _comparable(constant.value)[1])
        exact = [constant for constant in members if not isinstance(constant.value, Decimal)]
        neighbours = dict.fromkeys((*pairwise(members), *pairwise(exact)))
        for first, second in neighbours:
            op = relation_between(first.value, second.value)
            assert op is not None
            yield first, op, second


def relation_between(first: Value, second: Value) -> Operator | None:
    """How two constants compare for sure, whatever column they are compared with; None when nothing is sure.

    Decimals that differ, but have one nearest floating-point number, are only `<=`: compared with a column of such
    numbers, a decimal may stand for the nearest.
    """
    a, b = _comparable(first), _comparable(second)
    if a[0] != b[0]:
        return None
    sign = (a[1] > b[1]) - (a[1] < b[1])
    if sign and Decimal in (type(first), type(second)) and _as_single(a[1]) == _as_single(b[1]):
        return Operator.LE if sign < 0 else Operator.GE
    return {-1: Operator.LT, 0: Operator.EQ, 1: Operator.GT}[sign]


def _comparable(value: Value) -> tuple[str, Any]:
    """The family of a value, and what orders it within the family."""
    match value:
        case bool():
            return "boolean", value
        case int() | float() | Decimal():
            return "number", value
        case str():
            return "text", value
        case dt.datetime():
            return ("moment" if value.tzinfo is None else "zoned moment"), value
        case dt.date():
            return "moment", dt.datetime(value.year, value.month, value.day)


def _as_single(number: float | Decimal) -> float:
    """The nearest number that every floating-point column can hold."""
    try:
        (found,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return math.copysign(math.inf, number)
    return float(found)
