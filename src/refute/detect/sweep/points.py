"""A problem prepared for the kernels: one group number per point, no comparison that says nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from refute.kernels.sort.sorting import common_positions, numbers_below
from refute.plan.problem import Comparison, Ints, Problem, Rows

INT32 = 2**31


@dataclass(frozen=True, slots=True)
class Points:
    """Two sides of points to pair: equal `group`, `s < t` in every order, `s != t` in every differ.

    `s_rows[i]` is the row of the table that point i of side s stands for and `s_pick[i]` its place in the problem
    that was asked; None means i itself. All comparisons are int32 where their size allows, else int64, contiguous.
    """

    n_s: int
    n_t: int
    s_rows: Rows | None
    t_rows: Rows | None
    s_pick: Rows | None
    t_pick: Rows | None
    group: Comparison | None
    order: tuple[Comparison, ...]
    differ: tuple[Comparison, ...]
    self_pairs: bool

    @classmethod
    def of(cls, problem: Problem) -> Points:
        """The points of the problem without its equalities, and each other comparison once."""
        return cls(
            n_s=problem.s.size,
            n_t=problem.t.size,
            s_rows=problem.s.rows,
            t_rows=problem.t.rows,
            s_pick=None,
            t_pick=None,
            group=None,
            order=tuple(map(normal, distinct(problem.order))),
            differ=tuple(map(normal, distinct(problem.differ))),
            self_pairs=problem.self_pairs,
        )

    @property
    def groups(self) -> int:
        """The number of groups."""
        return 1 if self.group is None else self.group.size

    @property
    def aligned(self) -> bool:
        """Whether point i of both sides is the same row."""
        return self.s_rows is self.t_rows and self.n_s == self.n_t

    @property
    def twin(self) -> bool:
        """Whether both sides are the same points, so one sort or table serves both."""
        return self.aligned and all(comparison.twin for comparison in self.comparisons)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons, the group first."""
        return (() if self.group is None else (self.group,)) + self.order + self.differ

    def chosen(self, s: Rows, t: Rows) -> Points:
        """The points at these positions of each side; give one array twice to keep the sides aligned."""
        together = s is t
        s_rows = s if self.s_rows is None else self.s_rows[s]
        s_pick = s if self.s_pick is None else self.s_pick[s]
        aligned = together and self.aligned
        t_rows = s_rows if aligned else t if self.t_rows is None else self.t_rows[t]
        t_pick = s_pick if aligned else t if self.t_pick is None else self.t_pick[t]

        def taken(comparison: Comparison) -> Comparison:
            return comparison.picked(s, t, together=together)

        return replace(
            self,
            n_s=len(s),
            n_t=len(t),
            s_rows=s_rows,
            t_rows=t_rows,
            s_pick=s_pick,
            t_pick=t_pick,
            group=None if self.group is None else taken(self.group),
            order=tuple(map(taken, self.order)),
            differ=tuple(map(taken, self.differ)),
        )

    def prefix(self, n: int) -> Points:
        """The first n points of each side, without copying."""

        def head(rows: Rows | None) -> Rows | None:
            return None if rows is None else rows[:n]

        s_rows = head(self.s_rows)
        return replace(
            self,
            n_s=min(n, self.n_s),
            n_t=min(n, self.n_t),
            s_rows=s_rows,
            t_rows=s_rows if self.aligned else head(self.t_rows),
            s_pick=head(self.s_pick),
            t_pick=head(self.t_pick),
            group=None if self.group is None else self.group.head(n),
            order=tuple(each.head(n) for each in self.order),
            differ=tuple(each.head(n) for each in self.differ),
        )

    def mirrored(self) -> Points:
        """The same pairs with the sides exchanged: `s < t` becomes `-t < -s`."""

        def swapped(comparison: Comparison) -> Comparison:
            return Comparison(comparison.t, comparison.s, comparison.size)

        return replace(
            self,
            n_s=self.n_t,
            n_t=self.n_s,
            s_rows=self.t_rows,
            t_rows=self.s_rows,
            s_pick=self.t_pick,
            t_pick=self.s_pick,
            group=None if self.group is None else swapped(self.group),
            order=tuple(each.mirrored() for each in self.order),
            differ=tuple(map(swapped, self.differ)),
        )

    def rows_of_s(self, points: Rows) -> Rows:
        """The table's row numbers of points of side s."""
        return points if self.s_rows is None else self.s_rows[points]

    def rows_of_t(self, points: Rows) -> Rows:
        """The table's row numbers of points of side t."""
        return points if self.t_rows is None else self.t_rows[points]

    def row_numbers(self) -> tuple[Ints, Ints]:
        """A number per point of each side that is equal for equal rows only, and fits 32 bits."""
        if self.aligned:
            every = numbers_below(self.n_s)
            return every, every
        s = np.arange(self.n_s) if self.s_rows is None else self.s_rows
        t = np.arange(self.n_t) if self.t_rows is None else self.t_rows
        if max(s[-1], t[-1]) < INT32:  # both ascend
            return s.astype(np.int32), t.astype(np.int32)
        numbers: Ints = np.unique(np.concatenate((s, t)), return_inverse=True)[1].astype(np.int32)
        return numbers[: len(s)], numbers[len(s) :]

    def self_count(self) -> int:
        """The number of rows that satisfy all comparisons with themselves."""
        if not self.self_pairs:
            return 0
        if self._all_match_themselves:
            return self.n_s
        if self.aligned:
            return sum(len(self._self_matches(rows, rows)[0]) for rows in self._blocks())
        return len(self.self_matches()[0])

    @property
    def _all_match_themselves(self) -> bool:
        """Whether every row is sure to match itself: all comparisons are `=` or `<=` between a column and itself."""
        grouped = self.group is None or self.group.twin
        return self.aligned and grouped and not self.differ and all(each.same_codes and each.lag for each in self.order)

    @property
    def never_themselves(self) -> bool:
        """Whether no row can match itself: some `<` or `!=` is between a column and itself."""
        return self.aligned and any(each.twin for each in self.order + self.differ)

    def any_self_match(self) -> bool:
        """Whether some row satisfies all comparisons with itself; ends at the first block of rows with one."""
        if self.aligned:
            if self.never_themselves:
                return False
            return any(len(self._self_matches(rows, rows)[0]) for rows in self._blocks())
        block = 1 << 14
        s_points, t_points = self._common()
        return any(
            len(self._self_matches(s_points[start : start + block], t_points[start : start + block])[0])
            for start in range(0, len(s_points), block)
        )

    def some_match(self, n: int) -> bool:
        """Whether some of the first n points of s pairs with some of the first n of t; compares all of these."""
        first = slice(n)
        held = np.ones((min(n, self.n_s), min(n, self.n_t)), np.bool_)
        for kind, comparisons in ((np.equal, self._grouping()), (np.less, self.order), (np.not_equal, self.differ)):
            for comparison in comparisons:
                held &= kind(comparison.s_at(first)[:, None], comparison.t_at(first))
        if self.self_pairs:
            everyone = np.arange(n)
            held &= self.rows_of_s(everyone[: self.n_s])[:, None] != self.rows_of_t(everyone[: self.n_t])
        return bool(held.any())

    def _blocks(self) -> Iterator[Rows]:
        block = 1 << 14
        for start in range(0, self.n_s, block):
            yield np.arange(start, min(start + block, self.n_s), dtype=np.int64)

    def self_matches(self) -> tuple[Rows, Rows]:
        """The points (of s, of t) that stand for one row which satisfies all comparisons with itself."""
        return self._self_matches(*self._common())

    def _self_matches(self, s_points: Rows, t_points: Rows) -> tuple[Rows, Rows]:
        for kind, comparisons in ((np.equal, self._grouping()), (np.less, self.order), (np.not_equal, self.differ)):
            for comparison in comparisons:
                if comparison.twin and self.aligned:
                    if kind is np.equal:
                        continue
                    return s_points[:0], t_points[:0]
                held = kind(comparison.s_at(s_points), comparison.t_at(t_points))
                s_points, t_points = s_points[held], t_points[held]
        return s_points, t_points

    def partners_of_t(self, t: int) -> Iterable[Rows]:
        """The points of s that pair with point t, in blocks; a scan over all of s."""
        block = 1 << 16
        row = t if self.t_rows is None else int(self.t_rows[t])
        for start in range(0, self.n_s, block):
            span = slice(start, start + block)
            held = np.ones(min(block, self.n_s - start), np.bool_)
            for kind, comparisons in ((np.equal, self._grouping()), (np.less, self.order), (np.not_equal, self.differ)):
                for comparison in comparisons:
                    held &= kind(comparison.s_at(span), comparison.t_at(slice(t, t + 1)))
            found = np.flatnonzero(held) + start
            if self.self_pairs and len(found):
                found = found[self.rows_of_s(found) != row]
            if len(found):
                yield found

    def _grouping(self) -> tuple[Comparison, ...]:
        return () if self.group is None else (self.group,)

    def _common(self) -> tuple[Rows, Rows]:
        """The points of each side that stand for a row of both."""
        if self.aligned:
            every = np.arange(self.n_s, dtype=np.int64)
            return every, every
        if self.s_rows is not None and self.t_rows is not None:
            return common_positions(self.s_rows, self.t_rows)
        if self.s_rows is not None:
            return np.arange(np.searchsorted(self.s_rows, self.n_t), dtype=np.int64), self.s_rows[
                self.s_rows < self.n_t
            ]
        if self.t_rows is not None:
            return self.t_rows[self.t_rows < self.n_s], np.arange(
                np.searchsorted(self.t_rows, self.n_s), dtype=np.int64
            )
        every = np.arange(min(self.n_s, self.n_t), dtype=np.int64)
        return every, every


def prefix(problem: Problem, n: int) -> Problem:
    """The problem over the first n points of each side, without copying."""
    s = problem.s.head(n)
    return replace(
        problem,
        s=s,
        t=s if problem.aligned else problem.t.head(n),
        equal=tuple(each.head(n) for each in problem.equal),
        order=tuple(each.head(n) for each in problem.order),
        differ=tuple(each.head(n) for each in problem.differ),
    )


def distinct(comparisons: tuple[Comparison, ...]) -> tuple[Comparison, ...]:
    """The comparisons without those over the very same arrays as an earlier one."""
    if len(comparisons) < 2:
        return comparisons
    known = {(*map(id, each.codes), each.turned, each.lag): each for each in reversed(comparisons)}
    return tuple(known.values())[::-1]


def normal(comparison: Comparison) -> Comparison:
    """The comparison over arrays that kernels are compiled for: int32 where the size allows, else int64."""
    s_codes, t_codes = comparison.codes
    s = _normal(s_codes, comparison.size)
    t = s if comparison.same_codes else _normal(t_codes, comparison.size)
    if s is s_codes and t is t_codes:
        return comparison
    return comparison.over(s, t, comparison.size, comparison.label)


def _normal(values: Ints, size: int) -> Ints:
    return np.require(values, np.int32 if size <= INT32 else np.int64, ["C", "W"])
