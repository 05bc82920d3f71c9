"""Predicates about one row as boolean arrays, exact across types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate
from refute.relation.binding import check_predicate
from refute.relation.encoded import Ints
from refute.relation.exact import comparable, compare_distinct

if TYPE_CHECKING:
    from refute.relation.relation import Relation

Mask = NDArray[np.bool_]


def predicate_mask(relation: Relation, predicate: Predicate, nulls: Nulls) -> Mask:
    """The rows that satisfy the predicate; null makes it false, or counts as one more value where nulls are equal."""
    check_predicate(relation, predicate)
    op = predicate.op
    right = predicate.right
    if isinstance(right, Column):
        first, second = relation.encode_joint((predicate.left.name, right.name), ordered=op.is_order)
        return compare_codes(first.values, op, second.values, nulls)
    constant = comparable(right.value)
    if constant is None:
        return _null_mask(relation.is_null(predicate.left.name), op, nulls)
    found = compare_distinct(relation.plain(predicate.left.name), op, constant)
    if op is Operator.NE and nulls is Nulls.EQUAL:
        return found | relation.is_null(predicate.left.name)
    return found


def compare_codes(first: Ints, op: Operator, second: Ints, nulls: Nulls) -> Mask:
    """Row by row, whether one code stands in this relation to the other; -1 is null."""
    found: Mask = _UFUNCS[op](first, second)
    if nulls is Nulls.EQUAL and not op.is_order:
        return found
    return found & (first >= 0) & (second >= 0)


def _null_mask(is_null: Mask, op: Operator, nulls: Nulls) -> Mask:
    """The mask of a comparison with a literal that is itself null (NaN)."""
    if nulls is Nulls.SQL or op.is_order:
        return np.zeros(len(is_null), dtype=np.bool_)
    return is_null if op is Operator.EQ else ~is_null


_UFUNCS = {
    Operator.EQ: np.equal,
    Operator.NE: np.not_equal,
    Operator.LT: np.less,
    Operator.LE: np.less_equal,
    Operator.GT: np.greater,
    Operator.GE: np.greater_equal,
}
