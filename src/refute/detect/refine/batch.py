"""Batches of cluster pairs: the intermediate results of refinement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.kernels.refinement.id_sets import Ids, Side, total_product
from refute.plan.problem import Problem

_FIRST = 1 << 14  # ids of the first part where parts grow


@dataclass(frozen=True, slots=True)
class ClusterPairs:
    """Pairs (A, B) of id sets whose pairs of ids all satisfy the predicates so far (FACET, section 3.2).

    No pair of ids stands in two cluster pairs of a batch. `reflexive` says that A and B are the same set in each.
    `sign` is -1 where the batch takes back what another one counted (`!=` is everything less `=`).
    """

    a: Side
    b: Side
    reflexive: bool
    sign: int = 1

    def __len__(self) -> int:
        return len(self.a.starts)

    @property
    def pairs(self) -> int:
        """How many pairs of ids it stands for, ids paired with themselves included."""
        return total_product(self.a, self.b)

    @property
    def ids(self) -> int:
        """How many ids a refinement of the batch reads."""
        a = int((self.a.ends - self.a.starts).sum())
        return a if self.reflexive else a + int((self.b.ends - self.b.starts).sum())

    def members(self) -> Ids:
        """The ids of a reflexive batch whose sets lie side by side in one array."""
        assert self.reflexive
        return self.a.ids[self.a.starts[0] : self.a.ends[-1]] if len(self) else self.a.ids[:0]  # type: ignore[no-any-return]

    def split(self, budget: int, *, pairs: bool = False, growing: bool = False) -> Iterator[ClusterPairs]:
        """The batch in parts of at most `budget` ids (or pairs of ids), or of one cluster pair.

        With `growing`, the first parts are smaller, so a first answer comes early.
        """
        a, b = self.a.ends - self.a.starts, self.b.ends - self.b.starts
        sizes = a * b if pairs else a if self.reflexive else a + b
        reach = np.cumsum(sizes)
        room = min(_FIRST, budget) if growing else budget
        start, done = 0, 0
        while start < len(self):
            end = max(start + 1, int(np.searchsorted(reach, done + room, side="right")))
            if start == 0 and end == len(self):
                yield self
                return
            yield self._part(start, end)
            start, done = end, int(reach[end - 1])
            room = min(2 * room, budget)

    def where(self, chosen: NDArray[np.bool_]) -> ClusterPairs:
        """The chosen cluster pairs."""
        a = Side(self.a.ids, self.a.starts[chosen], self.a.ends[chosen])
        b = a if self.reflexive else Side(self.b.ids, self.b.starts[chosen], self.b.ends[chosen])
        return ClusterPairs(a, b, self.reflexive, self.sign)

    def _part(self, start: int, end: int) -> ClusterPairs:
        a = Side(self.a.ids, self.a.starts[start:end], self.a.ends[start:end])
        b = a if self.reflexive else Side(self.b.ids, self.b.starts[start:end], self.b.ends[start:end])
        return ClusterPairs(a, b, self.reflexive, self.sign)


def all_pairs(problem: Problem) -> ClusterPairs:
    """The batch that stands for all pairs of a point of side s and a point of side t."""
    a = whole_side(problem.s.size)
    return ClusterPairs(a, a if problem.aligned else whole_side(problem.t.size), problem.aligned)


def whole_side(size: int) -> Side:
    """The side with one set of all ids below `size`."""
    return Side(np.arange(size, dtype=np.int32), np.zeros(1, np.int64), np.full(1, size, np.int64))
