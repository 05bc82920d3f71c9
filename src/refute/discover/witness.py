"""Witnesses against candidate rules, from the kernels of detection over all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.detect import sweep
from refute.discover.space import Space
from refute.language.nulls import Nulls
from refute.plan.compile import compile_rule
from refute.plan.share import Share
from refute.relation import Relation


class Witnesses:
    """Searches a table for a pair of rows that a candidate rule forbids."""

    def __init__(self, relation: Relation, space: Space, nulls: Nulls) -> None:
        self._relation = relation
        self._space = space
        self._nulls = nulls
        self._share = Share(threads=1)

    def find(self, masks: NDArray[np.uint8]) -> tuple[int, int] | None:
        """Some pair (s, t) of distinct rows inside the box with these masks per slot, or None if the rule holds."""
        compiled = compile_rule(self._relation, self._space.constraint(masks.tolist()), self._nulls)
        if compiled.rows is not None:
            if not len(compiled.rows) or self._relation.n_rows < 2:
                return None
            row = int(compiled.rows[0])
            other = 1 if row == 0 else 0
            alone = {slot.left.row for slot, mask in zip(self._space.slots, masks, strict=True) if mask != slot.kind.full}
            return (row, other) if {row_.value for row_ in alone} == {"s"} else (other, row)
        if compiled.problem is None:
            return None
        return sweep.exists(compiled.problem, self._share)
