"""What the last batches of a pipeline are added up to: a number, or the number of partners of each point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from refute.detect.refine.batch import ClusterPairs
from refute.detect.refine.bitmaps import Clusters, count_pairs, to_pairs
from refute.detect.refine.nested import Nested
from refute.detect.refine.refinements import mirrored
from refute.kernels.refinement.id_sets import add_partners
from refute.kernels.refinement.iejoin import Sorted, count_partners
from refute.kernels.refinement.nested import count_nested
from refute.plan.problem import Problem, Rows

Int64s = NDArray[np.int64]


class Collector(Protocol):
    """A sum over cluster pairs. Sums of parts merge into the sum of the whole."""

    def fresh(self) -> Collector:
        """An empty sum of the same kind."""

    def add(self, batch: ClusterPairs) -> None:
        """Adds all pairs of a batch."""

    def add_iejoin(self, orders: Sorted, sign: int) -> None:
        """Adds all pairs of a batch that satisfy two last inequalities."""

    def add_nested(self, nested: Nested, sign: int) -> None:
        """Adds all pairs of a batch that satisfy the predicates given with it."""

    def add_bitmaps(self, a: BitMap, b: BitMap, last: Clusters) -> None:
        """Adds the pairs of two dense sets that satisfy a last predicate."""

    def take_self(self, s: Rows, t: Rows) -> None:
        """Takes back one pair for each point paired with itself, `s[i]` with `t[i]`."""

    def merge(self, other: Collector) -> None:
        """Adds another sum of the same kind."""


@dataclass(slots=True)
class Total:
    """The number of pairs."""

    s_size: int
    t_size: int
    total: int = 0

    def fresh(self) -> Total:
        """A total of nothing."""
        return Total(self.s_size, self.t_size)

    def add(self, batch: ClusterPairs) -> None:
        """Adds |A| * |B| for each cluster pair."""
        self.total += batch.sign * batch.pairs

    def add_iejoin(self, orders: Sorted, sign: int) -> None:
        """Adds the counts of the bit array."""
        self.total += sign * count_partners(orders, self.s_size, self.t_size)[0]

    def add_nested(self, nested: Nested, sign: int) -> None:
        """Adds what the loop finds."""
        self.total += sign * count_nested(*nested)[0]

    def add_bitmaps(self, a: BitMap, b: BitMap, last: Clusters) -> None:
        """Adds products of cardinalities."""
        self.total += count_pairs(a, b, last)

    def take_self(self, s: Rows, t: Rows) -> None:
        """Takes one off for each point."""
        self.total -= len(s)

    def merge(self, other: Collector) -> None:
        """Adds the other total."""
        assert isinstance(other, Total)
        self.total += other.total


@dataclass(slots=True)
class Partners:
    """The number of partners of each point of both sides."""

    s_size: int
    t_size: int
    s: Int64s = field(init=False)
    t: Int64s = field(init=False)

    def __post_init__(self) -> None:
        self.s, self.t = np.zeros(self.s_size, np.int64), np.zeros(self.t_size, np.int64)

    def fresh(self) -> Partners:
        """Nobody has a partner."""
        return Partners(self.s_size, self.t_size)

    def add(self, batch: ClusterPairs) -> None:
        """Gives each id of A as many partners as B has ids, and the other way round."""
        add_partners(batch.a, batch.b, batch.sign, self.s)
        add_partners(batch.b, batch.a, batch.sign, self.t)

    def add_iejoin(self, orders: Sorted, sign: int) -> None:
        """Adds the counts of the bit array from either side; an id may stand in several cluster pairs."""
        np.add.at(self.s, orders.a_x.ids, sign * count_partners(orders, self.s_size, self.t_size)[1])
        other = mirrored(orders)
        np.add.at(self.t, other.a_x.ids, sign * count_partners(other, self.t_size, self.s_size)[1])

    def add_nested(self, nested: Nested, sign: int) -> None:
        """Adds what the loop finds for either side."""
        _, a, b = nested
        _, s, t = count_nested(*nested)
        np.add.at(self.s, a.ids, sign * s)
        np.add.at(self.t, b.ids, sign * t)

    def add_bitmaps(self, a: BitMap, b: BitMap, last: Clusters) -> None:
        """Adds the cluster pairs as arrays."""
        for batch in to_pairs(a, b, last):
            self.add(batch)

    def take_self(self, s: Rows, t: Rows) -> None:
        """Takes one partner off each point and its twin."""
        self.s[s] -= 1
        self.t[t] -= 1

    def merge(self, other: Collector) -> None:
        """Adds the other's numbers."""
        assert isinstance(other, Partners)
        self.s += other.s
        self.t += other.t


def self_pairs(problem: Problem) -> tuple[Rows, Rows]:
    """The points (of s and of t) that are one row and satisfy all comparisons with themselves."""
    nobody = np.empty(0, np.int64)
    if not problem.self_pairs:
        return nobody, nobody
    if problem.aligned:
        s = t = np.arange(problem.s.size)
    else:
        both = problem.s.row_numbers(), problem.t.row_numbers()
        _, s, t = np.intersect1d(*both, assume_unique=True, return_indices=True)
    equal = [comparison for comparison in problem.equal if not problem.aligned or comparison.s is not comparison.t]
    if not equal and not problem.differ and not problem.order:
        return s, t
    true = np.ones(len(s), np.bool_)
    for comparison in equal:
        true &= comparison.s[s] == comparison.t[t]
    for comparison in problem.differ:
        true &= comparison.s[s] != comparison.t[t]
    for comparison in problem.order:
        true &= comparison.s[s] < comparison.t[t]
    return s[true], t[true]
