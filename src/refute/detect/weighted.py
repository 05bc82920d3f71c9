"""Rules over distinct rows with multiplicities: a table of few distinct values is answered from its summary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.kernels.dominance.weighted import weight_below
from refute.kernels.sort.distinct import mix, numbered
from refute.language.logic.differences import subsets
from refute.plan.problem import Comparison, Problem

MOST_ORDERS = 2
MOST_DIFFERENCES = 4
_LARGEST_CODE = 2**31 - 1
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WeightedPartners:
    """For each distinct row, how many partners each of its copies has in each role."""

    as_s: Ints
    as_t: Ints
    weights: Ints

    @property
    def violations(self) -> int:
        """The number of ordered pairs of copies."""
        kept = np.flatnonzero(self.as_s)
        return sum(int(a) * int(b) for a, b in zip(self.as_s[kept], self.weights[kept], strict=True))

    @property
    def rows(self) -> int:
        """The number of copies in some violation."""
        return int(self.weights[(self.as_s > 0) | (self.as_t > 0)].sum())


def can_weigh(problem: Problem) -> bool:
    """Whether a problem has few enough comparisons to be answered from distinct rows."""
    return len(problem.order) <= MOST_ORDERS and len(problem.differ) <= MOST_DIFFERENCES


def weighted_partners(problem: Problem, weights: Ints) -> WeightedPartners:
    """The partners of every distinct row, where row i of the table stands for `weights[i]` rows."""
    assert can_weigh(problem)
    s_rows, t_rows = problem.s.row_numbers(), problem.t.row_numbers()
    as_s, as_t = np.zeros(len(weights), np.int64), np.zeros(len(weights), np.int64)
    for sign, chosen in subsets(problem.differ):
        s_groups, t_groups = _groups(problem, problem.equal + chosen)
        if not problem.order:
            most = int(max(s_groups.max(initial=0), t_groups.max(initial=0))) + 1
            as_t[t_rows] += sign * _sums(s_groups, weights[s_rows], most)[t_groups]
            as_s[s_rows] += sign * _sums(t_groups, weights[t_rows], most)[s_groups]
            continue
        s_points, t_points, ranks = _points(problem, s_groups, t_groups)
        as_t[t_rows] += sign * _below(s_points, weights[s_rows], t_points, ranks)
        turned = (_turned(t_points, ranks), weights[t_rows], _turned(s_points, ranks))
        as_s[s_rows] += sign * _below(*turned, ranks)
    if problem.self_pairs:
        itself = _pairs_with_itself(problem, s_rows, t_rows)
        as_s[itself] -= 1
        as_t[itself] -= 1
    return WeightedPartners(as_s, as_t, weights)


def _groups(problem: Problem, equal: tuple[Comparison, ...]) -> tuple[Ints, Ints]:
    """The number of each point's group, on both sides."""
    groups, size = np.zeros(problem.s.size + problem.t.size, dtype=np.int64), 1
    for comparison in equal:
        codes, codes_size = np.concatenate([comparison.s, comparison.t]), comparison.size + 1
        if codes_size > _LARGEST_CODE:
            codes, codes_size = _renumbered(codes)
        if size > _LARGEST_CODE:
            groups, size = _renumbered(groups)
        mix(groups, codes, codes_size)
        size *= codes_size
    groups, _ = _renumbered(groups)
    return groups[: problem.s.size], groups[problem.s.size :]


def _renumbered(codes: NDArray[np.signedinteger]) -> tuple[Ints, int]:
    found = numbered(codes, len(codes))
    assert found is not None
    return found[0].astype(np.int64), len(found[1]) + 1


def _sums(groups: Ints, weights: Ints, size: int) -> Ints:
    """The weight of each group, exact."""
    found = np.zeros(size, dtype=np.int64)
    np.add.at(found, groups, weights)
    return found


def _points(problem: Problem, s_groups: Ints, t_groups: Ints) -> tuple[Ints, Ints, tuple[int, int]]:
    """Both sides as (3, n) arrays of group and two ranks, gapless; an absent order becomes rank 0 below 1."""
    n_s, n_t, order = problem.s.size, problem.t.size, problem.order
    rows = [np.concatenate([s_groups, t_groups])]
    ranks = []
    for i in range(MOST_ORDERS):
        if i < len(order):
            joint = np.unique(np.concatenate([order[i].s, order[i].t]), return_inverse=True)[1].astype(np.int64)
        else:
            joint = np.concatenate([np.zeros(n_s, np.int64), np.ones(n_t, np.int64)])
        rows.append(joint)
        ranks.append(int(joint.max(initial=0)) + 1)
    both = np.stack(rows)
    return both[:, :n_s], both[:, n_s:], (ranks[0], ranks[1])


def _turned(points: Ints, ranks: tuple[int, int]) -> Ints:
    """The points with both ranks reversed, so above becomes below."""
    return np.stack([points[0], ranks[0] - 1 - points[1], ranks[1] - 1 - points[2]])


def _below(s_points: Ints, s_weights: Ints, t_points: Ints, ranks: tuple[int, int]) -> Ints:
    s_order, t_order = (np.lexsort((points[1], points[0])) for points in (s_points, t_points))
    below = np.empty(t_points.shape[1], dtype=np.int64)
    weight_below(
        np.ascontiguousarray(s_points[:, s_order]),
        np.ascontiguousarray(s_weights[s_order]),
        np.ascontiguousarray(t_points[:, t_order]),
        ranks[1],
        below,
    )
    found = np.empty_like(below)
    found[t_order] = below
    return found


def _pairs_with_itself(problem: Problem, s_rows: Ints, t_rows: Ints) -> Ints:
    """The rows that satisfy all comparisons with themselves: each copy was counted as its own partner."""
    both, s_at, t_at = np.intersect1d(s_rows, t_rows, assume_unique=True, return_indices=True)
    true = np.ones(len(both), dtype=np.bool_)
    for comparison in problem.equal:
        true &= comparison.s[s_at] == comparison.t[t_at]
    for comparison in problem.order:
        true &= comparison.s[s_at] < comparison.t[t_at]
    for comparison in problem.differ:
        true &= comparison.s[s_at] != comparison.t[t_at]
    return both[true]
