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
    for predicate in constraint.predicates:
        for column in predicate.columns:
            if relation.null_count(column.name) and (nulls is Nulls.SQL or predicate.op.is_order):
                present &= ~relation.is_null(column.name)
    if constraint.is_single_row:
        return int(np.count_nonzero(present))
    across = [p for p in constraint.predicates if p.is_two_row and not p.is_cross_column]
    premise = [p.left.name for p in across if p.op is Operator.EQ]
    if len(premise) == len(constraint.predicates):
        premise = premise[:-1]
    rows = np.flatnonzero(present)
    key = np.zeros(len(rows), np.int64)
    for name in premise:
        encoded = relation.encode(name, ordered=False, dense=True)
        key = np.unique(key * (encoded.size + 1) + (encoded.values[rows] + 1), return_inverse=True)[1]
    sizes = np.bincount(key)
    return int(sizes[sizes > 1].sum())
