"""Predicates and conditions about one row as boolean arrays, exact across types."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.language.conditions import And, Compare, Condition, InTable, IsNull, Matches, Or, normal_form
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate
from refute.language.short_forms.patterns import whole
from refute.relation.arrays import truths
from refute.relation.binding import check_column, check_predicate
from refute.relation.encode.encoded import Ints
from refute.relation.encode.exact import comparable
from refute.relation.masks.constants import FUNCTIONS, UFUNCS, constant_mask
from refute.relation.masks.listed import listed_mask
from refute.relation.types import Family

if TYPE_CHECKING:
    from refute.relation.relation import Relation

Mask = NDArray[np.bool_]


def predicate_mask(relation: Relation, predicate: Predicate, nulls: Nulls) -> Mask:
    """The rows that satisfy the predicate; null makes it false, or counts as one more value where nulls are equal."""
    check_predicate(relation, predicate)
    op = predicate.op
    left, right = predicate.left.name, predicate.right
    reads_nulls = nulls.reads(op)
    if isinstance(right, Column):
        if _plain_strings(relation, left) and _plain_strings(relation, right.name) and not reads_nulls:
            return _compare_strings(relation.column(left), op, relation.column(right.name))
        first, second = relation.encode_joint((left, right.name), ordered=op.is_order)
        return _compare_codes(first.values, op, second.values, reads_nulls)
    found = constant_mask(relation.column(left), op, comparable(right.value))
    return found | relation.is_null(left) if nulls.holds(op, both=False) else found


def condition_mask(relation: Relation, condition: Condition) -> Mask:
    """The rows for which the condition is true, by SQL's three values of truth: unknown is not true."""
    return _true_rows(relation, normal_form(condition))


def _true_rows(relation: Relation, condition: Condition) -> Mask:
    match condition:
        case Compare(predicate):
            return relation.mask(predicate, Nulls.SQL)
        case IsNull(name, negated):
            check_column(relation, name)
            is_null = relation.is_null(name)
            return ~is_null if negated else is_null
        case Matches(name, pattern, negated):
            check_column(relation, name)
            return _matching(relation, name, pattern, negated)
        case InTable():
            return listed_mask(relation, condition)
        case And(parts):
            return reduce(np.logical_and, (_true_rows(relation, part) for part in parts))
        case Or(parts):
            return reduce(np.logical_or, (_true_rows(relation, part) for part in parts))
        case other:
            raise AssertionError(f"the normal form has no {other}")


def _matching(relation: Relation, name: str, pattern: str, negated: bool) -> Mask:
    """The rows whose text matches, or does not; neither where it is null."""
    if relation.type_of(name).family is Family.NULL:
        return np.zeros(relation.n_rows, np.bool_)
    parts = [np.zeros(0, dtype=np.bool_)]
    for chunk in relation.column(name).chunks:
        entries = chunk.dictionary if pt.is_dictionary(chunk.type) else chunk
        found = pc.match_substring_regex(entries.cast(pa.large_string()), whole(pattern))
        found = pc.invert(found) if negated else found
        parts.append(truths(found.take(chunk.indices) if entries is not chunk else found))
    return np.concatenate(parts)


def _compare_codes(first: Ints, op: Operator, second: Ints, reads_nulls: bool) -> Mask:
    """Row by row, whether one code stands in this relation to the other; -1 is null."""
    found: Mask = UFUNCS[op](first, second)
    return found if reads_nulls else found & (first >= 0) & (second >= 0)


def _plain_strings(relation: Relation, name: str) -> bool:
    return relation.type_of(name).family is Family.STRING and not pt.is_dictionary(relation.column(name).type)


def _compare_strings(first: pa.ChunkedArray, op: Operator, second: pa.ChunkedArray) -> Mask:
    wide = pa.large_string()
    found = FUNCTIONS[op](first.cast(wide), second.cast(wide))
    return truths(found)
