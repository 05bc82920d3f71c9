"""The four operations over a problem, each by the paper's cheapest algorithm that applies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from refute.detect.range_search.choice import MOST_AGREEING, MOST_COUNTED, MOST_SEARCHED, Index, Options, choose
from refute.detect.range_search.expansion import expanded, included
from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import reduce
from refute.index.dual_tree import DualTree
from refute.index.range_tree import SortedSides
from refute.kernels import running
from refute.plan.problem import Comparison, Problem, Rows
from refute.plan.share import Share

Int64s = NDArray[np.int64]

FIRST_PREFIX = 1 << 10  # points of the first prefix that is searched for a clash
PREFIX_GROWTH = 4  # prefixes of n/8, n/32, ... points cost a sixth of a full search together
DEFAULT = Options()


def exists(problem: Problem, share: Share | None = None, options: Options = DEFAULT) -> tuple[int, int] | None:
    """Some violating pair of row numbers, or None (Algorithms 1, 2 and 4; growing prefixes end it early)."""
    points = reduce(problem, share)
    if points is None:
        return None
    threads = 1 if share is None else share.threads
    if len(points.order) + len(points.differ) <= 1:
        found = _first_clash(points)
    else:
        found = None
        for size in _prefixes(max(points.n_s, points.n_t)):
            found = _search(points.prefix(size), options, threads)
            if found is not None:
                break
        else:
            found = _search(points, options, threads)
    if found is None:
        return None
    s, t = np.array(found[0]), np.array(found[1])
    return int(points.rows_of_s(s)), int(points.rows_of_t(t))


def count(problem: Problem, share: Share | None = None, options: Options = DEFAULT) -> int:
    """The number of violating ordered pairs (Algorithm 5 with f = count, over the sort of Algorithm 6)."""
    points = reduce(problem, share)
    if points is None:
        return 0
    threads = 1 if share is None else share.threads
    if _by_k_d_tree(points, options):
        return _dual(points, threads).count(threads=threads)
    total = 0
    for sign, part in included(points):
        found = _sides(part).count(threads=threads)[0] if part.order else _product(part)
        total += sign * (found - len(part.self_matches()[0]))
    return total


def partners(problem: Problem, share: Share | None = None, options: Options = DEFAULT) -> tuple[Int64s, Int64s]:
    """For each point of side s, and of side t, its number of partners; both sides are queried in turn."""
    of_s, of_t = np.zeros(problem.s_size, np.int64), np.zeros(problem.t_size, np.int64)
    points = reduce(problem, share)
    if points is None:
        return of_s, of_t
    threads = 1 if share is None else share.threads
    s_all = slice(None) if points.s_pick is None else points.s_pick
    t_all = slice(None) if points.t_pick is None else points.t_pick
    if _by_k_d_tree(points, options):
        of_s[s_all], of_t[t_all] = _dual(points, threads).partners(threads=threads)
        return of_s, of_t
    for sign, part in included(points):
        _add(of_t, part.t_pick, sign * _partners_of_t(part, threads))
        _add(of_s, part.s_pick, sign * _partners_of_t(part.mirrored(), threads))
        s_self, t_self = part.self_matches()
        _add(of_s, s_self if part.s_pick is None else part.s_pick[s_self], -sign)
        _add(of_t, t_self if part.t_pick is None else part.t_pick[t_self], -sign)
    return of_s, of_t


def pairs(
    problem: Problem, share: Share | None = None, limit: int | None = None, options: Options = DEFAULT
) -> Iterator[tuple[Rows, Rows]]:
    """The violating pairs in bounded chunks of row numbers, at most `limit` (Algorithm 6, appendices B and D)."""
    if limit is not None and limit <= 0:
        return
    points = reduce(problem, share)
    if points is None:
        return
    for s, t in _point_pairs(points, options, 1 if share is None else share.threads):
        s_rows, t_rows = points.rows_of_s(s), points.rows_of_t(t)
        if points.self_pairs:
            other = s_rows != t_rows
            s_rows, t_rows = s_rows[other], t_rows[other]
        if limit is not None:
            s_rows, t_rows = s_rows[:limit], t_rows[:limit]
            limit -= len(s_rows)
        if len(s_rows):
            yield s_rows, t_rows
        if limit == 0:
            return


def _point_pairs(points: Points, options: Options, threads: int) -> Iterator[tuple[Int64s, Int64s]]:
    """The pairs of points that satisfy all comparisons, a row with itself included."""
    dims = len(points.order) + len(points.differ) - 1
    if dims < 0 or choose(points, dims, options, most_points=MOST_SEARCHED) is Index.KD_TREE:
        yield from _dual(points, threads).pairs()
        return
    for part in expanded(points):
        yield from _sides(part).pairs()


def _search(points: Points, options: Options, threads: int) -> tuple[int, int] | None:
    """Points (of s, of t) that pair up, or None: two or more comparisons besides the group."""
    if not points.n_s or not points.n_t:
        return None
    saved = 1 if points.self_pairs else 2  # sorting saves a dimension, and a running minimum another one
    dims = len(points.order) + len(points.differ) - saved
    if choose(points, dims, options, most_points=MOST_SEARCHED) is Index.KD_TREE:
        return _dual(points, threads).exists(threads=threads)
    for part in expanded(points, halved=True):
        own = None
        if points.self_pairs:  # a row that meets itself does so in one part only
            own = np.zeros(points.n_t, np.int64)
            own[part.self_matches()[1]] = 1
        t = _sides(part).first(own)
        if t is not None:
            return int(next(iter(part.partners_of_t(t)))[0]), t
    return None


def _first_clash(points: Points) -> tuple[int, int] | None:
    """The first clash in row order, by a running record of each group (Algorithms 1 and 4)."""
    group = _grouping(points)
    kind, compared = running.ANY, group
    if points.order:
        kind, compared = running.LESS, points.order[0]
    elif points.differ:
        kind, compared = running.OTHER, points.differ[0]
    s_rows = np.arange(points.n_s) if points.s_rows is None else points.s_rows
    t_rows = np.arange(points.n_t) if points.t_rows is None else points.t_rows
    sides = (s_rows, t_rows), (group.s, group.t), (compared.s, compared.t)
    s, t = running.first_clash(*sides, kind, group.size)
    return None if s < 0 else (int(s), int(t))


def _by_k_d_tree(points: Points, options: Options) -> bool:
    """Whether counts come from k-d trees."""
    dims = len(points.order) - 1
    return choose(points, dims, options, most_differ=MOST_AGREEING, most_points=MOST_COUNTED) is Index.KD_TREE


def _dual(points: Points, threads: int) -> DualTree:
    """Both sides as k-d trees, differences and the group as axes of their own."""
    ids = None
    if points.self_pairs:
        s_rows = np.arange(points.n_s) if points.s_rows is None else points.s_rows
        ids = s_rows, s_rows if points.aligned else np.arange(points.n_t) if points.t_rows is None else points.t_rows
    equal = [_grouping(points)] if points.group is not None or not (points.order or points.differ) else []
    axes = ([(each.s, each.t) for each in kind] for kind in (equal, points.order, points.differ))
    return DualTree.build(*axes, ids=ids, threads=threads)


def _sides(points: Points) -> SortedSides:
    """Both sides sorted for a sweep."""
    group = _grouping(points)
    return SortedSides.build((group.s, group.t, group.size), [(each.s, each.t, each.size) for each in points.order])


def _grouping(points: Points) -> Comparison:
    """The group number of each point; one group where nothing need be equal."""
    if points.group is not None:
        return points.group
    s = np.zeros(points.n_s, np.int32)
    return Comparison(s, s if points.n_s == points.n_t else np.zeros(points.n_t, np.int32), 1)


def _sizes(points: Points) -> tuple[Int64s, Int64s]:
    """The number of points of each side in each group."""
    group = _grouping(points)
    return np.bincount(group.s, minlength=group.size), np.bincount(group.t, minlength=group.size)


def _product(points: Points) -> int:
    """The number of pairs that share a group (Algorithm 5, k = 0), exact beyond 64 bits."""
    s_sizes, t_sizes = _sizes(points)
    if points.n_s * points.n_t < 2**63:
        return int(np.dot(s_sizes, t_sizes))
    return sum(a * b for a, b in zip(s_sizes.tolist(), t_sizes.tolist(), strict=True))


def _partners_of_t(points: Points, threads: int) -> Int64s:
    """For each point of t, its number of partners."""
    if points.order:
        return _sides(points).count(threads=threads)[1]
    return _sizes(points)[0][_grouping(points).t]


def _add(sums: Int64s, pick: Rows | None, values: Int64s | int) -> None:
    """Add values at the picked, distinct places."""
    sums[slice(None) if pick is None else pick] += values


def _prefixes(n: int) -> Iterator[int]:
    """Sizes of prefixes to search before all of n points."""
    sizes = []
    size = n // 8
    while size >= FIRST_PREFIX:
        sizes.append(size)
        size //= PREFIX_GROWTH
    return reversed(sizes)
