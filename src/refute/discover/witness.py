"""Witnesses against candidate rules, from the kernels of detection over all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from refute.detect import sweep
from refute.discover.space import Space
from refute.kernels.witness import first_two
from refute.language.nulls import Nulls
from refute.language.predicate import Row
from refute.plan.compile import compile_rule
from refute.plan.problem import Comparison, Problem
from refute.relation import Relation

_WIDEST = 1 << 62
_MANY = 4096  # points from which a projection is worth the look


class Witnesses:
    """Searches a table for a pair of rows that a candidate rule forbids."""

    def __init__(self, relation: Relation, space: Space, nulls: Nulls) -> None:
        self._relation = relation
        self._space = space
        self._nulls = nulls

    def find(self, masks: NDArray[np.uint8]) -> tuple[int, int] | None:
        """Some pair (s, t) of distinct rows inside the box with these masks per slot, or None if the rule holds."""
        compiled = compile_rule(self._relation, self._space.constraint(masks.tolist()), self._nulls)
        if compiled.rows is not None:
            return self._with_any_partner(compiled.rows, masks)
        if compiled.problem is None:
            return None
        return sweep.exists(projected(compiled.problem), None)

    def _with_any_partner(self, rows: NDArray[np.int64], masks: NDArray[np.uint8]) -> tuple[int, int] | None:
        """A pair that holds a row which breaks a rule about one row, in the role that the rule reads."""
        if not len(rows) or self._relation.n_rows < 2:
            return None
        row = int(rows[0])
        other = 1 if row == 0 else 0
        read = next(s.left.row for s, mask in zip(self._space.slots, masks, strict=True) if mask != s.kind.full)
        return (row, other) if read is Row.S else (other, row)


def projected(problem: Problem) -> Problem:
    """The problem over two rows for each distinct point, if that makes it much smaller; it has a pair iff this has."""
    size = problem.s_size
    if not problem.aligned or size < _MANY:
        return problem
    key = np.zeros(size, np.int64)
    span = 1
    seen: set[int] = set()
    for comparison in (*problem.equal, *problem.order, *problem.differ):
        for values in comparison.codes:
            if id(values) in seen:
                continue
            seen.add(id(values))
            width = comparison.size + 1
            if span > _WIDEST // width:
                return problem
            span *= width
            key = key * width + values
    chosen = first_two(key, size // 4)
    if not len(chosen):
        return problem
    rows = chosen if problem.s_rows is None else problem.s_rows[chosen]
    return replace(
        problem,
        s_rows=rows,
        t_rows=rows,
        equal=tuple(_picked(c, chosen) for c in problem.equal),
        order=tuple(_picked(c, chosen) for c in problem.order),
        differ=tuple(_picked(c, chosen) for c in problem.differ),
    )


def _picked(comparison: Comparison, chosen: NDArray[np.int64]) -> Comparison:
    return comparison.picked(chosen, chosen, together=True)
