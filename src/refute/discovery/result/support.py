"""How many rows a rule speaks about."""

from __future__ import annotations

import numpy as np

from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.relation import Relation


def support(relation: Relation, constraint: DenialConstraint, nulls: Nulls) -> int:
    """The rows that have a partner for which the rule could matter.

    A rule's premise is that two rows agree on the columns it asks to be equal; for a key, on all of them but the last.
    A row supports the rule if it may take part (no null where the rule reads one) and some other such row agrees with
    it on the premise. Without a premise every row that may take part supports the rule.
    """
    present = np.ones(relation.n_rows, np.bool_)
    for name in silent_columns(constraint, nulls):
        if relation.null_count(name):
            present &= ~relation.is_null(name)
    if constraint.is_single_row:
        return int(np.count_nonzero(present))
    rows = np.flatnonzero(present)
    key = np.zeros(len(rows), np.int64)
    for name in premise(constraint):
        encoded = relation.encode(name, ordered=False, dense=True)
        key = np.unique(key * (encoded.size + 1) + (encoded.values[rows] + 1), return_inverse=True)[1]
    sizes = np.bincount(key)
    return int(sizes[sizes > 1].sum())


def silent_columns(constraint: DenialConstraint, nulls: Nulls) -> list[str]:
    """The columns in which a null keeps a row from taking part."""
    read = (
        column.name
        for predicate in constraint.predicates
        if nulls is Nulls.SQL or predicate.op.is_order
        for column in predicate.columns
    )
    return list(dict.fromkeys(read))


def premise(constraint: DenialConstraint) -> list[str]:
    """The columns that a rule asks to be equal across rows; for a key, all of them but the last."""
    across = [p for p in constraint.predicates if p.is_two_row and not p.is_cross_column]
    names = [p.left.name for p in across if p.op is Operator.EQ]
    return names[:-1] if len(names) == len(constraint.predicates) else names
