"""Suspects that can be given back: those that clash with no row that stays, the most trusted first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refute.blame.contest import Contest, Flags, Longs, OneValue
from refute.kernels.blame.giving_back import LESS, OTHER, SAME, give_back
from refute.plan.problem import Comparison

BLOCK = 1 << 12  # candidates that are held against each other at once


def spared(
    contests: Sequence[Contest],
    kept: Flags,
    candidates: Flags,
    trust: Longs,
    busy: Longs,
    *,
    block_rows: int = BLOCK,
) -> Flags:
    """The kept rows and the candidates that can join them, the most trusted first.

    Of equals those come first that clash with the fewest others that could come, then those in the fewest violations
    (`busy`), then the first of them: so more can come, and how many depends little on the order of rows.

    The set that is kept only grows, so a candidate that is refused clashes with it in the end: none is left that could
    be given back. Groups show at a glance whether a row fits; other rules are asked for each block of candidates at
    once whether they clash with rows given back before, and within a block pairs are compared.
    """
    by_group = [one for one in contests if isinstance(one, OneValue)]
    by_pair = [one for one in contests if not isinstance(one, OneValue)]
    rows = np.flatnonzero(candidates & ~kept)
    for contest in contests:
        rows = rows[contest.violations(rows, kept) == 0]
    rows = rows[np.lexsort((busy[rows], _rivals(contests, rows, len(kept)), -trust[rows]))]
    offsets = np.cumsum([0] + [one.groups.count for one in by_group])
    held = np.full(int(offsets[-1]), -1, np.int32)
    for offset, groups in zip(offsets, (one.groups for one in by_group), strict=False):
        points = np.flatnonzero(kept[groups.rows])
        held[offset + groups.pair_groups[groups.pairs[points]]] = groups.pairs[points]
    back = np.zeros(len(kept), np.bool_)
    for first in range(0, len(rows), block_rows):
        block = rows[first : first + block_rows]
        if back.any():
            for contest in by_pair:
                block = block[contest.violations(block, back) == 0]
        taken = np.zeros(len(block), np.bool_)
        numbers = [_grouped(one, offset, block) for one, offset in zip(by_group, offsets, strict=False)]
        compared = [_compared(one, block) for one in by_pair]
        starts = np.cumsum([0] + [len(kinds) for kinds, _, _ in compared])
        empty = np.zeros((0, len(block)), np.int64)
        give_back(
            np.stack([groups for groups, _ in numbers]) if numbers else empty,
            np.stack([pairs for _, pairs in numbers]) if numbers else empty.astype(np.int32),
            held,
            np.array([kind for kinds, _, _ in compared for kind in kinds], np.int64),
            starts.astype(np.int64),
            (
                np.concatenate([empty, *(s for _, s, _ in compared)]),
                np.concatenate([empty, *(t for _, _, t in compared)]),
            ),
            taken,
        )
        back[block[taken]] = True
    return kept | back


def _rivals(contests: Sequence[Contest], rows: Longs, n_rows: int) -> Longs:
    """In how many violations each of some rows is with the others."""
    asked = np.zeros(n_rows, np.bool_)
    asked[rows] = True
    found = np.zeros(len(rows), np.int64)
    for contest in contests if len(rows) > 1 else ():
        found += contest.degrees(asked)[rows]
    return found


def _grouped(contest: OneValue, offset: int, rows: Longs) -> tuple[Longs, Longs]:
    """The group, counted from an offset, and the pair of each row; -1 where the rule is not about it."""
    groups = contest.groups
    points = groups.points(rows)
    if len(groups.rows) == 0:
        return points, points.astype(np.int32)
    pairs = groups.pairs[points]
    return (
        np.where(points < 0, -1, offset + groups.pair_groups[pairs]).astype(np.int64),
        np.where(points < 0, -1, pairs).astype(np.int32),
    )


def _compared(contest: Contest, rows: Longs) -> tuple[list[int], Longs, Longs]:
    """The comparisons of a rule over some rows: kinds, and integers of each row as `s` and as `t`.

    The first one is true of rows that may stand on these sides.
    """
    problem = contest.problem
    s_at, s_there = _places(problem.s.row_numbers(), rows)
    t_at, t_there = _places(problem.t.row_numbers(), rows)
    kinds = [SAME]
    s_values, t_values = [np.where(s_there, 0, -1)], [np.where(t_there, 0, -2)]
    compared: tuple[tuple[int, tuple[Comparison, ...]], ...] = (
        (SAME, problem.equal),
        (LESS, problem.order),
        (OTHER, problem.differ),
    )
    for kind, comparisons in compared:
        for one in comparisons:
            kinds.append(kind)
            s_values.append(one.s_at(s_at) if problem.s.size else np.zeros(len(rows), np.int64))
            t_values.append(one.t_at(t_at) if problem.t.size else np.zeros(len(rows), np.int64))
    return kinds, np.stack(s_values).astype(np.int64), np.stack(t_values).astype(np.int64)


def _places(side: Longs, rows: Longs) -> tuple[Longs, Flags]:
    """Where each row stands among those of a side, and whether it does; any place where it does not."""
    at = np.minimum(np.searchsorted(side, rows), max(len(side) - 1, 0))
    return at, (side[at] == rows) if len(side) else np.zeros(len(rows), np.bool_)
