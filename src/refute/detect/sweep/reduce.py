"""From a problem to points: trivial comparisons go, equalities become one dense group number, lone points go."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

import numpy as np

from refute.detect.sweep.points import INT32, Points, distinct, normal
from refute.kernels.sort.distinct import distinct_values
from refute.kernels.sort.grouping import common_values, matching_keys, number_by_table, number_groups
from refute.kernels.sort.ranking import dense_ranks
from refute.kernels.sort.repeats import repeated_positions
from refute.plan.problem import Comparison, Ints, Problem, Rows
from refute.plan.share import Share
from refute.runtime.arrays import empty

T = TypeVar("T")

_WIDEST = 2**62  # a combined key stays below it
_SAMPLE = 4096  # values that show whether there are many
_LOOSE = 4096  # group numbers from which those that are not in use are in the way
_RANKED = 16  # ranks by a bitmap of this many bits per point are cheaper than hashes


@dataclass(frozen=True, slots=True)
class _Grouping:
    """Group numbers for the points that share a group with some point of the other side, and few others."""

    s_pick: Rows | None
    t_pick: Rows | None
    group: Comparison


def reduce(problem: Problem, share: Share | None = None) -> Points | None:
    """The points that may still pair up, or None when no pair can satisfy the problem."""
    if not problem.s.size or not problem.t.size:
        return None
    if any(comparison.size <= 1 for comparison in problem.order + problem.differ):
        return None
    equal = tuple(normal(comparison) for comparison in distinct(problem.equal) if comparison.size > 1)
    points = Points.of(problem)
    equal, points = _within_common_domains(equal, points)
    if not points.n_s or not points.n_t:
        return None
    if equal:
        labels = tuple(comparison.label for comparison in equal)
        kind = "dense grouping" if problem.order else "grouping"
        grouping = shared(share, kind, labels, lambda: _grouped(equal, dense=bool(problem.order)))
        points = _applied(points, grouping)
    return _settled(points)


def refined(points: Points, extra: Comparison) -> Points | None:
    """The points with one more equality, or None when no pair is left."""
    points = _applied(points, _grouped((extra,) if points.group is None else (points.group, extra)))
    return points if points.n_s and points.n_t else None


def combined(first: Comparison, second: Comparison) -> Comparison:
    """One comparison that is equal where both are."""
    if first.size * second.size >= _WIDEST:
        first, second = (hashed(side) if side.size > INT32 else side for side in (first, second))
    size = first.size * second.size
    s = mixed(first.s, second.s, second.size, size)
    t = s if first.s is first.t and second.s is second.t else mixed(first.t, second.t, second.size, size)
    return Comparison(s, t, size)


def mixed(high: Ints, low: Ints, span: int, size: int) -> Ints:
    """The numbers `high * span + low`, all below `size`."""
    key: Ints = empty(len(high), np.int32 if size < INT32 else np.int64)
    np.multiply(high, span, out=key, dtype=key.dtype, casting="same_kind")
    key += low
    return key


def hashed(comparison: Comparison) -> Comparison:
    """The equality with its values numbered densely."""
    s, t, size = number_groups(comparison.s, comparison.t)
    return Comparison(s, t, size, comparison.label)


def numbered(comparison: Comparison) -> Comparison:
    """The equality with few more numbers than points."""
    n = len(comparison.s) + len(comparison.t)
    if comparison.size <= n + 1024:
        return normal(comparison)
    return ranked(comparison) if comparison.size <= _RANKED * n else hashed(comparison)


def ranked(comparison: Comparison, share: Share | None = None) -> Comparison:
    """The order with its values ranked densely, so it is int32."""

    def build() -> Comparison:
        s, t, values = dense_ranks(*comparison.codes, comparison.size - comparison.lag)
        return comparison.over(s, t, values + comparison.lag, comparison.label)

    return shared(share, "ranks", (comparison.label,), build)


def fewest_values(comparison: Comparison) -> int:
    """A lower bound on the number of distinct values, from a sample: if ranks would be too many, they are not made."""
    step = max(1, len(comparison.codes[0]) // _SAMPLE)
    return min(comparison.size, distinct_values(comparison.codes[0][::step]))


def shared(share: Share | None, kind: str, labels: tuple[Hashable | None, ...], build: Callable[[], T]) -> T:
    """What `build` gives, once for these labels where there is something to share them by."""
    if share is None or any(label is None for label in labels):
        return build()
    return share.get((kind, labels), build)


def _within_common_domains(equal: tuple[Comparison, ...], points: Points) -> tuple[tuple[Comparison, ...], Points]:
    """The equalities and points of rows whose values all occur on the other side, where that leaves much less."""
    across = [each for each in equal if each.s is not each.t and each.size <= points.n_s + points.n_t]
    if not across:
        return equal, points
    s, t = common_values([(each.s, each.t, each.size) for each in across])
    if 2 * (len(s) + len(t)) > points.n_s + points.n_t:
        return equal, points
    fewer = tuple(Comparison(each.s[s], each.t[t], each.size) for each in equal)
    return fewer, points.chosen(s, t)


def _combined_all(equal: tuple[Comparison, ...]) -> Comparison:
    key = equal[0]
    for comparison in equal[1:]:
        key = combined(key, comparison)
    return key


def _grouped(equal: tuple[Comparison, ...], *, dense: bool = False) -> _Grouping:
    """Group numbers, few more than points; keys from a wide range are first rid of those without a match.

    With `dense` each number is in use where many look unused: tables and trees per group then stay within the caches.
    """
    n = len(equal[0].s) + len(equal[0].t)
    if _RANKED * n + 1024 < prod(each.size for each in equal) < _WIDEST and all(each.twin for each in equal):
        return _repeated(equal)
    key = _combined_all(equal)
    if dense and _LOOSE <= key.size <= _RANKED * n and key.size >= 2 * fewest_values(key):
        return _Grouping(None, None, Comparison(*number_by_table(key.s, key.t, key.size)))
    if key.size <= _RANKED * n + 1024:
        return _Grouping(None, None, numbered(key))
    if key.twin:
        return _repeated((key,))
    s_kept, t_kept = matching_keys(key.s, key.t)
    s_pick, t_pick = np.flatnonzero(s_kept), np.flatnonzero(t_kept)
    return _Grouping(s_pick, t_pick, hashed(Comparison(key.s[s_pick], key.t[t_pick], key.size)))


def _repeated(equal: tuple[Comparison, ...]) -> _Grouping:
    """The groups of keys that occur more than once, and of few others; keys are made as they are looked at."""

    def over(part: slice | Rows) -> Comparison:
        return _combined_all(tuple(each.picked(part, part, together=True) for each in equal))

    pick = repeated_positions(lambda part: over(part).s, len(equal[0].s))
    return _Grouping(pick, pick, hashed(over(pick)))


def _applied(points: Points, grouping: _Grouping) -> Points:
    if grouping.s_pick is not None and grouping.t_pick is not None:
        points = replace(points, group=None).chosen(grouping.s_pick, grouping.t_pick)
    return replace(points, group=grouping.group)


def _settled(points: Points) -> Points | None:
    """The points with `self_pairs` only where a row really matches itself; None without points."""
    if not points.n_s or not points.n_t:
        return None
    if points.self_pairs and not (points.twin and not points.order and not points.differ):
        points = replace(points, self_pairs=points.any_self_match())
    return points
