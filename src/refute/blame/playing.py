"""A rule over the rows that clash with some row at all: what decides on suspects looks at these alone.

Most rows of a table break no rule. They stay whatever is chosen, so they are left out once, and every round of votes,
bound and count that follows takes as long as what clashes is large.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refute.blame.contest import Contest, Flags, GroupedRows, Ids, InOrder, Longs, OneValue
from refute.plan.problem import Problem


def playing(contest: Contest) -> Contest | None:
    """The contest over the groups in which rows clash, or, where groups do not decide, over rows that clash with some
    row; None where none do. It keeps, counts and bounds as the whole one does."""
    if isinstance(contest, OneValue):
        groups = _clashing(contest.groups)
        return None if groups is None else replace(contest, groups=groups, problem=_over(contest, groups.rows))
    everyone = np.ones(contest.n_rows, np.bool_)
    if not isinstance(contest, InOrder):
        rows = np.flatnonzero(contest.degrees(everyone))
        return contest.about(rows) if len(rows) else None
    gone = ~contest.keep(np.ones(contest.n_rows, np.int64), everyone)
    group = contest.points[0]
    broken = np.zeros(int(group.max(initial=0)) + 1, np.bool_)
    broken[group[gone[contest.rows]]] = True
    chosen = np.flatnonzero(broken[group])
    if len(chosen) == 0:
        return None
    points, rows = np.ascontiguousarray(contest.points[:, chosen]), contest.rows[chosen]
    return replace(contest, points=points, rows=rows, problem=_over(contest, rows))


def _clashing(groups: GroupedRows) -> GroupedRows | None:
    """The groups that have several pairs; how common a value is in its column stays as it is."""
    several = np.bincount(groups.pair_groups, minlength=groups.count) > 1
    if not several.any():
        return None
    chosen = several[groups.pair_groups]
    points = np.flatnonzero(chosen[groups.pairs])
    pairs, numbers = _places(chosen)[groups.pairs[points]], _places(several)[groups.pair_groups[chosen]]
    return GroupedRows(groups.rows[points], pairs, numbers, groups.common[chosen], int(np.count_nonzero(several)))


def _places(chosen: Flags) -> Ids:
    """The number of each chosen one among these."""
    return (np.cumsum(chosen) - 1).astype(np.int32)


def _over(contest: Contest, rows: Longs) -> Problem:
    return contest.about(rows).problem
