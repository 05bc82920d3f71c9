"""Matching pairs of two sets of points, by one k-d tree over each and a traversal of both at once.

The same engine serves Rapidash's linear-space variant (section 4.3, table 2), sweeps with four and more order
comparisons, and discovery's search for witnesses: any number of equality, order and difference comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from refute.index.kd_tree import LEAF, KdTree
from refute.kernels.dominance.pairs import IMPOSSIBLE, Axes, Tree, compare, widen
from refute.kernels.range_search import dual_tree as kernel

Ints = NDArray[np.signedinteger]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
R = TypeVar("R")
Sides = tuple[Ints, Ints]  # one comparison: the values of side s and of side t

CHUNK = 1 << 16  # pairs that one step of a listing returns at most
PARALLEL = 1 << 14  # points from which a traversal is worth a second thread
TASKS = 64  # pieces of a traversal per thread, so uneven ones level out


@dataclass(frozen=True, slots=True)
class DualTree:
    """Two trees and the comparisons between them: pairs that are equal, less and different on all axes of each kind.

    Points are named by their positions in the arrays given. `ids` are None, or name the points so that those of equal
    id, one of each side, never pair.
    """

    s: KdTree
    t: KdTree
    axes: Axes
    ids: tuple[Int64s, Int64s] | None

    @classmethod
    def build(
        cls,
        equal: Sequence[Sides],
        order: Sequence[Sides],
        differ: Sequence[Sides],
        *,
        ids: tuple[Int64s, Int64s] | None = None,
        leaf: int = LEAF,
        threads: int = 1,
    ) -> DualTree:
        """The two trees over not empty sides, with at least one comparison; `ids` are distinct within each side."""
        narrowed = [narrow(s, t) for s, t in (*equal, *order, *differ)]
        s_columns, t_columns = [s for s, _ in narrowed], [t for _, t in narrowed]
        s = KdTree.build(s_columns, n_equal=len(equal), n_order=len(order), leaf=leaf, threads=threads)
        if all(one is other for one, other in narrowed):
            t = s
        elif _rise_together(s_columns, t_columns):
            t = s.with_columns(t_columns)
        else:
            t = KdTree.build(t_columns, n_equal=len(equal), n_order=len(order), leaf=leaf, threads=threads)
        return cls(s, t, Axes(len(equal), len(order), len(differ)), ids)

    def exists(self, *, threads: int = 1) -> tuple[int, int] | None:
        """Some matching pair, or None."""
        s, t = self._trees()
        found = np.zeros(3, np.int64)

        def search(tasks: Int64s, stack: Int64s, keep: Int32s) -> None:
            for task in tasks:
                kernel.exists(s, t, self.axes, task, stack, keep, found)

        self._traverse(s, t, search, threads, sweeps=False)
        return (int(self.s.origin[found[1]]), int(self.t.origin[found[2]])) if found[0] else None

    def count(self, *, threads: int = 1) -> int:
        """The number of matching pairs."""
        s, t = self._trees()

        def total(tasks: Int64s, stack: Int64s, keep: Int32s) -> int:
            return sum(int(kernel.count(s, t, self.axes, task, stack, keep)) for task in tasks)

        return sum(self._traverse(s, t, total, threads, sweeps=True)) - len(self._selves()[0])

    def partners(self, *, threads: int = 1) -> tuple[Int64s, Int64s]:
        """For each point of side s, and of side t, its number of partners."""
        s, t = self._trees()

        def sums_of(tasks: Int64s, stack: Int64s, keep: Int32s) -> tuple[Int64s, ...]:
            sizes = len(s.nodes), len(self.s), len(t.nodes), len(self.t)
            sums = tuple(np.zeros(size, np.int64) for size in sizes)
            for task in tasks:
                kernel.partners(s, t, self.axes, task, stack, keep, sums)
            kernel.spread(s.nodes, sums[0], sums[1])
            kernel.spread(t.nodes, sums[2], sums[3])
            return sums

        of_s, of_t = np.zeros(len(self.s), np.int64), np.zeros(len(self.t), np.int64)
        for sums in self._traverse(s, t, sums_of, threads, sweeps=True):
            of_s[self.s.origin] += sums[1]
            of_t[self.t.origin] += sums[3]
        s_selves, t_selves = self._selves()
        of_s[s_selves] -= 1
        of_t[t_selves] -= 1
        return of_s, of_t

    def pairs(self, *, chunk: int = CHUNK) -> Iterator[tuple[Int64s, Int64s]]:
        """The matching pairs in chunks; memory is one chunk, and what is not asked for is not computed."""
        s, t = self._trees()
        start = compare(s.boxes, 0, t.boxes, 0, self.axes, -1)
        if start == IMPOSSIBLE:
            return
        stack = self._stack()
        stack[0] = (0, 0, start)
        state = np.array([1, 0, 0])
        keep = np.empty(max(256, self.t.largest_leaf), np.int32)
        while state[0]:
            out = np.empty((2, max(chunk, len(keep))), np.int64)
            filled = kernel.pairs(s, t, self.axes, stack, state, keep, out)
            if filled:
                yield (
                    self.s.origin[out[0, :filled]].astype(np.int64),
                    self.t.origin[out[1, :filled]].astype(np.int64),
                )

    def _trees(self) -> tuple[Tree, Tree]:
        """The arrays of both trees as kernels take them."""
        s, t = self.s, self.t
        s_ids = t_ids = np.empty(0, np.int64)
        if self.ids is not None:
            s_ids, t_ids = self.ids[0][s.origin], self.ids[1][t.origin]
        return Tree(s.nodes, s.boxes, s.columns, s_ids), Tree(t.nodes, t.boxes, t.columns, t_ids)

    def _stack(self) -> Int64s:
        """Room for a traversal: each step goes one level down in one tree and leaves one triple behind."""
        return np.empty((self.s.depth + self.t.depth + 4, 3), np.int64)

    def _traverse(
        self, s: Tree, t: Tree, work: Callable[[Int64s, Int64s, Int32s], R], threads: int, *, sweeps: bool
    ) -> list[R]:
        """What `work(tasks, stack, keep)` returns in each thread for its share of the traversal."""
        start = compare(s.boxes, 0, t.boxes, 0, self.axes, -1)
        if start == IMPOSSIBLE:
            return []
        room = self.t.largest_leaf
        if threads < 2 or len(self.s) + len(self.t) < PARALLEL:
            return [work(np.array([[0, 0, start]]), self._stack(), np.empty(room, np.int32))]
        tasks = np.empty((2 * TASKS * threads, 3), np.int64)
        tasks[0] = (0, 0, start)
        n_tasks, before = 1, 0
        while before < n_tasks < TASKS * threads:
            before, n_tasks = n_tasks, int(widen(s, t, self.axes, tasks, n_tasks, sweeps))
        shares = [tasks[first:n_tasks:threads] for first in range(threads)]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda share: work(share, self._stack(), np.empty(room, np.int32)), shares))

    def _selves(self) -> tuple[Ints, Ints]:
        """The points of s and of t that have one id and match each other."""
        if self.ids is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        s_back, t_back = np.argsort(self.s.origin), np.argsort(self.t.origin)
        _, s_at, t_at = np.intersect1d(*self.ids, assume_unique=True, return_indices=True)
        held = np.ones(len(s_at), np.bool_)
        kinds = [holds for holds, n in zip((np.equal, np.less, np.not_equal), self.axes, strict=True) for _ in range(n)]
        for axis, holds in enumerate(kinds):
            held &= holds(self.s.columns[axis, s_back[s_at]], self.t.columns[axis, t_back[t_at]])
        return s_at[held], t_at[held]


def narrow(s: Ints, t: Ints) -> tuple[Int32s, Int32s]:
    """Both sides of a comparison as int32: as they are where they fit, else by their ranks in one order."""
    if _fits(s) and _fits(t):
        narrowed = s.astype(np.int32, copy=False)
        return narrowed, (narrowed if s is t else t.astype(np.int32, copy=False))
    if s is t:
        ranks = np.unique(s, return_inverse=True)[1].astype(np.int32)
        return ranks, ranks
    ranks = np.unique(np.concatenate((s, t)), return_inverse=True)[1].astype(np.int32)
    return ranks[: len(s)], ranks[len(s) :]


def _fits(values: Ints) -> bool:
    """Whether all values are 32-bit integers."""
    if values.dtype.itemsize <= 4 or not len(values):
        return True
    info = np.iinfo(np.int32)
    return bool(values.min() >= info.min and values.max() <= info.max)


def _rise_together(s_columns: Sequence[Int32s], t_columns: Sequence[Int32s]) -> bool:
    """Whether each t column is the s column plus a constant, so one arrangement suits both sides."""
    for s, t in zip(s_columns, t_columns, strict=True):
        if s is not t and (len(s) != len(t) or not np.array_equal(t - t[0], s - s[0])):
            return False
    return True
