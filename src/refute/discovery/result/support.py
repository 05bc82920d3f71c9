"""How many rows a rule speaks about."""

from __future__ import annotations

import numpy as np

from refute.language.form import Form
from refute.language.predicate import Row
from refute.relation import Relation
from refute.relation.keys.composite import composite


def support(relation: Relation, form: Form) -> int:
    """The rows that have a partner for which the rule could matter.

    A rule's premise is that two rows agree on the columns it asks to be equal; for a key, on all of them but the last.
    A row supports the rule if it may take part (no null where the rule reads one) and some other such row agrees with
    it on the premise. Without a premise every row that may take part supports the rule.
    """
    present = np.ones(relation.n_rows, np.bool_)
    for name in form.barred():
        if relation.null_count(name):
            present &= ~relation.is_null(name)
    if form.rule.constraint.is_single_row:
        return int(np.count_nonzero(present))
    rows = np.flatnonzero(present)
    columns = (relation.encode(name, ordered=False, dense=True) for name in premise(form))
    key, _ = composite(((encoded.values[rows] + 1, encoded.size + 1) for encoded in columns), len(rows))
    sizes = np.unique(key, return_counts=True)[1]
    return int(sizes[sizes > 1].sum())


def premise(form: Form) -> list[str]:
    """The columns that a rule asks to be equal across rows; for a key, all of them but the last."""
    names = [one.left.name for one in form.equal if not one.is_cross_column]
    is_key = len(names) == len(form.predicates) and not any(form.filters(row) for row in Row)
    return names[:-1] if is_key else names
