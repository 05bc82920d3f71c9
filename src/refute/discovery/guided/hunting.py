"""Witnesses against candidate rules, from the kernels of detection over all rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from refute.detect import sweep
from refute.discovery.guided.boxed import Boxed
from refute.discovery.guided.reduction import Reduction
from refute.discovery.space.slots import PredicateSpace, States
from refute.discovery.tuning import STANDARD, Tuning
from refute.kernels.evidence.outermost import first_two, outermost
from refute.language.predicate import Row
from refute.plan.problem import Comparison, Problem, ProblemSide
from refute.relation import Relation

_WIDEST = 1 << 62


class Witnesses:
    """Searches a table for a pair of rows that a candidate rule forbids."""

    def __init__(
        self,
        relation: Relation,
        space: PredicateSpace,
        reduction: Reduction | None = None,
        tuning: Tuning = STANDARD,
        *,
        states: Mapping[Hashable, States] | None = None,
    ) -> None:
        """`states` are those of the rows in comparisons within one row, where they are known."""
        self._relation = relation
        self._boxed = Boxed(relation, space, states)
        self._reduction = reduction
        self._tuning = tuning

    def find(self, masks: NDArray[np.uint8]) -> tuple[int, int] | None:
        """Some pair (s, t) of distinct rows inside the box with these masks per slot, or None if the rule holds."""
        listed = masks.tolist()
        single = self._boxed.single(listed)
        if single is not None:
            return self._with_any_partner(*single)
        return sweep.exists(projected(self._reduced(self._boxed.problem(listed), masks), self._tuning.projected), None)

    def _reduced(self, problem: Problem, masks: NDArray[np.uint8]) -> Problem:
        """The problem over rows that stand for all in many rules, found once for all of those."""
        if self._reduction is None or problem.s.rows is not None or problem.t.rows is not None:
            return problem
        rows = self._reduction.enough(masks) if problem.s.size >= self._tuning.reduced else None
        return problem if rows is None or len(rows) > problem.s.size // 2 else _over(problem, rows)

    def _with_any_partner(self, read: Row, rows: NDArray[np.int64]) -> tuple[int, int] | None:
        """A pair that holds a row which breaks a rule about one row, in the role that the rule reads."""
        if not len(rows) or self._relation.n_rows < 2:
            return None
        row = int(rows[0])
        other = 1 if row == 0 else 0
        return (row, other) if read is Row.S else (other, row)


def projected(problem: Problem, least: int) -> Problem:
    """The problem over the rows that stand for all, if that makes it much smaller; it has a pair iff this has.

    Problems of fewer than `least` points stay as they are.

    Rows that are alike in what the rule reads pair alike. One order and one difference, those over the most values,
    need not be alike: among rows alike in all else, the lowest and the highest value are enough for an order, two
    values for a difference, and for both the lowest and highest of one value and of any other.
    """
    size = problem.s.size
    if not problem.aligned or size < least:
        return problem
    order, differ = _widest(problem.order), _widest(problem.differ)
    key = _key(
        size, [c for c in (*problem.equal, *problem.order, *problem.differ) if c is not order and c is not differ]
    )
    if key is None:
        return problem
    if order is None and differ is None:
        chosen = first_two(key, size // 4)
    else:
        chosen = outermost(key, _values(order, size), _values(differ, size), size // 4)
    if not 0 < len(chosen) <= size // 2:
        return problem
    return _over(problem, chosen)


def _over(problem: Problem, chosen: NDArray[np.int64]) -> Problem:
    """An aligned problem over some of its points."""
    side = ProblemSide(len(chosen), chosen if problem.s.rows is None else problem.s.rows[chosen])
    return replace(
        problem,
        s=side,
        t=side,
        equal=tuple(_picked(c, chosen) for c in problem.equal),
        order=tuple(_picked(c, chosen) for c in problem.order),
        differ=tuple(_picked(c, chosen) for c in problem.differ),
    )


def _widest(comparisons: tuple[Comparison, ...]) -> Comparison | None:
    """The comparison of one column with itself over the most values."""
    return max((c for c in comparisons if c.same_codes), key=lambda c: c.size, default=None)


def _key(size: int, comparisons: list[Comparison]) -> NDArray[np.int64] | None:
    """A number per point, equal where all that the comparisons read is; None where numbers are too small for that."""
    key = np.zeros(size, np.int64)
    span = 1
    seen: set[int] = set()
    for comparison in comparisons:
        for values in comparison.codes:
            if id(values) in seen:
                continue
            seen.add(id(values))
            width = comparison.size + 1
            if span > _WIDEST // width:
                return None
            span *= width
            key = key * width + values
    return key


def _values(comparison: Comparison | None, size: int) -> NDArray[np.int64]:
    """What a comparison of one column with itself reads; the same value throughout if there is none."""
    return np.zeros(size, np.int64) if comparison is None else comparison.codes[0].astype(np.int64, copy=False)


def _picked(comparison: Comparison, chosen: NDArray[np.int64]) -> Comparison:
    return comparison.picked(chosen, chosen, together=True)
