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
from refute.kernels import dual_tree as kernel

Ints = NDArray[np.signedinteger]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
R = TypeVar("R")
Sides = tuple[Ints, Ints]  # one comparison: the values of side s and of side t

CHUNK = 1 << 16  # pairs that one step of a listing returns at most
PARALLEL = 1 << 14  # points from which a traversal is worth a second thread
TASKS = 64  # pieces of a traversal per thread, so that uneven ones level out


@dataclass(frozen=True, slots=True)
class DualTree:
    """Two trees and the comparisons between them: pairs that are equal, less and different on all axes of each kind.

    Points are named by their positions in the arrays given. Points of equal id never pair; `meets_itself` says whether
    that has to be looked at, that is, whether points of equal id could match at all.
    """

    s: KdTree
    t: KdTree
    axes: kernel.Axes
    s_ids: Int64s
    t_ids: Int64s
    meets_itself: bool

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
        s = KdTree.build(s_columns, n_equal=len(equal), leaf=leaf, threads=threads)
        if _rise_together(s_columns, t_columns):
            t = s.with_columns(t_columns)
        else:
            t = KdTree.build(t_columns, n_equal=len(equal), leaf=leaf, threads=threads)
        axes = kernel.Axes(len(equal), len(order), len(differ))
        if ids is None:
            return cls(s, t, axes, np.arange(len(s)), -1 - np.arange(len(t)), False)
        return cls(s, t, axes, *ids, True)

    def exists(self, *, threads: int = 1) -> tuple[int, int] | None:
        """Some matching pair, or None."""
        s, t = self._trees()
        found = np.zeros(3, np.int64)

        def search(task: Int64s, stack: Int64s, keep: Int32s) -> None:
            if not found[0]:
                kernel.exists(s, t, self.axes, task, stack, keep, found)

        self._run(search, threads)
        return (int(self.s.origin[found[1]]), int(self.t.origin[found[2]])) if found[0] else None

    def count(self, *, threads: int = 1) -> int:
        """The number of matching pairs."""
        s, t = self._trees()
        totals = self._run(lambda task, stack, keep: int(kernel.count(s, t, self.axes, task, stack, keep)), threads)
        return sum(totals) - len(self._itself()[0])

    def partners(self, *, threads: int = 1) -> tuple[Int64s, Int64s]:
        """For each point of side s, and of side t, its number of partners."""
        s, t = self._trees()

        def zeros() -> tuple[Int64s, ...]:
            return tuple(np.zeros(size, np.int64) for size in (len(s.nodes), len(self.s), len(t.nodes), len(self.t)))

        sums = zeros()  # one thread: the sums of a node are written from many tasks
        self._run(lambda task, stack, keep: kernel.partners(s, t, self.axes, task, stack, keep, sums), 1)
        kernel.spread(s.nodes, sums[0], sums[1])
        kernel.spread(t.nodes, sums[2], sums[3])
        of_s, of_t = np.empty_like(sums[1]), np.empty_like(sums[3])
        of_s[self.s.origin], of_t[self.t.origin] = sums[1], sums[3]
        s_self, t_self = self._itself()
        of_s[s_self] -= 1
        of_t[t_self] -= 1
        return of_s, of_t

    def pairs(self, *, chunk: int = CHUNK) -> Iterator[tuple[Int64s, Int64s]]:
        """The matching pairs in chunks; memory is one chunk, and what is not asked for is not computed."""
        s, t = self._trees()
        start = kernel.compare(s.boxes[0], t.boxes[0], self.axes, -1)
        if start == kernel.IMPOSSIBLE:
            return
        stack = self._stack()
        stack[0] = (0, 0, start)
        state = np.array([1, 0, 0])
        keep = np.empty(max(256, self.t.largest_leaf), np.int32)
        while state[0]:
            out = np.empty((2, max(chunk, len(keep))), np.int64)
            filled = kernel.pairs(s, t, self.axes, stack, state, keep, out)
            if filled:
                yield self.s.origin[out[0, :filled]], self.t.origin[out[1, :filled]]

    def _trees(self) -> tuple[kernel.Tree, kernel.Tree]:
        """The arrays of both trees as kernels take them."""
        s, t = self.s, self.t
        return (
            kernel.Tree(s.nodes, s.boxes, s.columns, self.s_ids[s.origin]),
            kernel.Tree(t.nodes, t.boxes, t.columns, self.t_ids[t.origin]),
        )

    def _stack(self) -> Int64s:
        """Room for a traversal: each step goes one level down in one tree and leaves one triple behind."""
        return np.empty((self.s.depth + self.t.depth + 4, 3), np.int64)

    def _run(self, work: Callable[[Int64s, Int64s, Int32s], R], threads: int) -> list[R]:
        """What `work(task, stack, keep)` returns for each piece of the traversal."""
        s, t = self._trees()
        start = kernel.compare(s.boxes[0], t.boxes[0], self.axes, -1)
        if start == kernel.IMPOSSIBLE:
            return []
        single = threads < 2 or len(self.s) + len(self.t) < PARALLEL
        wanted = 1 if single else TASKS * threads
        tasks = np.empty((4 * wanted + 4, 3), np.int64)
        tasks[0] = (0, 0, start)
        n_tasks, before = 1, 0
        while before < n_tasks < wanted:
            before, n_tasks = n_tasks, kernel.widen(s, t, self.axes, tasks, n_tasks)
        leaf = self.t.largest_leaf

        def share(first: int) -> list[R]:
            stack, keep = self._stack(), np.empty(leaf, np.int32)
            return [work(tasks[i], stack, keep) for i in range(first, n_tasks, 1 if single else threads)]

        if single:
            return share(0)
        with ThreadPoolExecutor(threads) as pool:
            return [result for results in pool.map(share, range(threads)) for result in results]

    def _itself(self) -> tuple[Int64s, Int64s]:
        """The points of s and of t that are equal in id and match, each with its own."""
        if not self.meets_itself:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        _, s_at, t_at = np.intersect1d(self.s_ids, self.t_ids, assume_unique=True, return_indices=True)
        s_back, t_back = np.empty(len(self.s), np.int64), np.empty(len(self.t), np.int64)
        s_back[self.s.origin], t_back[self.t.origin] = np.arange(len(self.s)), np.arange(len(self.t))
        s_values, t_values = self.s.columns[:, s_back[s_at]], self.t.columns[:, t_back[t_at]]
        n_equal, n_order, _ = self.axes
        ok = (s_values[:n_equal] == t_values[:n_equal]).all(axis=0)
        ok &= (s_values[n_equal : n_equal + n_order] < t_values[n_equal : n_equal + n_order]).all(axis=0)
        ok &= (s_values[n_equal + n_order :] != t_values[n_equal + n_order :]).all(axis=0)
        return s_at[ok], t_at[ok]


def narrow(s: Ints, t: Ints) -> tuple[Int32s, Int32s]:
    """Both sides of a comparison as int32: as they are where they fit, else by their ranks in one order."""
    if s is t and s.dtype == np.int32:
        return s, s
    if _fits(s) and _fits(t):
        return s.astype(np.int32, copy=False), t.astype(np.int32, copy=False)
    _, ranks = np.unique(np.concatenate((s, t)), return_inverse=True)
    return ranks[: len(s)].astype(np.int32), ranks[len(s) :].astype(np.int32)


def _fits(values: Ints) -> bool:
    """Whether all values are 32-bit integers."""
    if values.dtype.itemsize <= 4 or not len(values):
        return True
    info = np.iinfo(np.int32)
    return bool(values.min() >= info.min and values.max() <= info.max)


def _rise_together(s_columns: Sequence[Int32s], t_columns: Sequence[Int32s]) -> bool:
    """Whether each t column is the s column plus a constant, so that one arrangement suits both sides."""
    for s, t in zip(s_columns, t_columns, strict=True):
        if s is not t and (len(s) != len(t) or not np.array_equal(t - t[0], s - s[0])):
            return False
    return True
