"""Dependencies: points that agree on a group and differ in one code, counted by group sizes alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import mixed, numbered, ranked
from refute.kernels.dominance.clashes import Table, sum_of_squares, tally_groups
from refute.kernels.sort.sorting import segment_sizes
from refute.plan.problem import Comparison
from refute.plan.share import Share


def clash_only(points: Points) -> bool:
    """Whether the points ask for a group and one difference and no more, and both sides are alike."""
    alike = points.n_s < INT32 and points.twin and points.group is not None
    return alike and not points.order and len(points.differ) == 1


@dataclass(frozen=True, slots=True)
class Clashes:
    """The pairs of a group with different codes: all pairs of a group less those of one code."""

    total: int
    table: Table
    strays: NDArray[np.int32]  # the points that do not have their group's reference
    alike: NDArray[np.int64]  # for each of these, how many points have its group and code

    @classmethod
    def of(cls, points: Points, group: Comparison, share: Share | None) -> Clashes:
        """The clashes of points that are `clash_only`."""
        (differ,) = points.differ
        if differ.size > INT32:
            differ = ranked(differ, share)
        table, strays = tally_groups(group.s, differ.s, group.size)
        key_size = group.size * differ.size
        keys = mixed(group.s[strays], differ.s[strays], differ.size, key_size)
        same_keys = numbered(Comparison(keys, keys, key_size))
        sizes = segment_sizes(same_keys.s, same_keys.size)
        total = sum_of_squares(table[:, 1]) - sum_of_squares(table[:, 2]) - sum_of_squares(sizes)
        return cls(int(total), table, strays, sizes[same_keys.s])
