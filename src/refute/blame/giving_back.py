"""Suspects that can be given back: those that clash with no row that stays, the most trusted first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from refute.blame.contest import Contest, Flags, Longs, OneValue
from refute.kernels.blame.giving_back import (
    LESS,
    OTHER,
    REFUSED,
    SAME,
    TAKEN,
    WAITING,
    count_open,
    give_back,
    list_members,
)
from refute.plan.problem import Comparison

BLOCK = 1 << 13  # candidates that are held against each other at once


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

    Of equals the next is always one that is in the fewest groups in which others could come instead, and clashes with
    the fewest others by other rules, as far as these still could come: it costs least. Then come those that clash with
    the fewest in all, those in the fewest violations (`busy`), and the first of them. So as many come as can where
    clashes make no circles, and how many depends little on the order of rows.

    The set that is kept only grows, so a candidate that is refused clashes with it in the end: none is left that could
    be given back. Groups show at a glance whether a row fits; other rules are asked, for each block of candidates that
    clash by them, which clash with rows given back before, and within a block pairs are compared.
    """
    by_group = [one for one in contests if isinstance(one, OneValue)]
    by_pair = [one for one in contests if not isinstance(one, OneValue)]
    rows = np.flatnonzero(candidates & ~kept)
    for contest in contests:
        rows = rows[contest.violations(rows, kept) == 0]
    grouped, paired = _rivals(by_group, rows, len(kept)), _rivals(by_pair, rows, len(kept))
    level = np.stack([-trust[rows], grouped + paired, busy[rows]])
    order = np.lexsort(level[::-1])
    rows, level, meets = rows[order], level[:, order], paired[order] > 0
    times = np.ones(len(kept), np.int64) if not contests or contests[0].times is None else contests[0].times
    ends, tiers = _blocks(level, np.where(meets, times[rows], 0), block_rows)
    states = np.full(len(rows), WAITING, np.int8)
    places, members, live = _grouped(by_group, rows)
    back = np.zeros(len(kept), np.bool_)
    for first, last in pairwise(ends):
        met = first + np.flatnonzero(meets[first:last])
        if first > 0:
            back[rows[states == TAKEN]] = True
            for contest in by_pair:
                met = met[states[met] == WAITING]
                states[met[contest.violations(rows[met], back) > 0]] = REFUSED
            met = met[states[met] == WAITING]
        compared = [_compared(one, rows[met]) for one in by_pair]
        starts = np.cumsum([0] + [len(kinds) for kinds, _, _ in compared]).astype(np.int64)
        none = np.zeros((0, len(met)), np.int64)
        give_back(
            (first, last),
            tiers,
            places,
            members,
            live,
            states,
            (np.array([kind for kinds, _, _ in compared for kind in kinds], np.int64), starts, met, times[rows[met]]),
            (
                np.concatenate([none, *(s for _, s, _ in compared)]),
                np.concatenate([none, *(t for _, _, t in compared)]),
            ),
        )
    back[rows[states == TAKEN]] = True
    return kept | back


def _blocks(level: Longs, met: Longs, most: int) -> tuple[list[int], Longs]:
    """Where blocks of candidates begin, and where the last ends, and the tier of each.

    Candidates of one level are equals but for their doubts, and stand in one block, so rows are chosen alike whether
    they come one by one or as one that stands for many. `met` says how many rows of each clash by comparisons. Where
    these are more than `most`, candidates of a level come in their turn, each in a tier of its own.
    """
    n = len(met)
    begins = np.flatnonzero(np.append(True, (np.diff(level) != 0).any(axis=0))) if n else np.zeros(0, np.int64)
    tiers = np.cumsum(np.diff(level[0], prepend=0) != 0)
    ends, size = [0], 0
    sizes = np.add.reduceat(met, begins) if n else met
    large = sizes > most
    for at in np.flatnonzero(sizes):
        size += int(sizes[at])
        if size > most:
            if begins[at] > ends[-1]:
                ends.append(int(begins[at]))
            size = int(sizes[at])
        if large[at]:
            last = int(begins[at + 1]) if at + 1 < len(begins) else n
            own = np.flatnonzero(met[ends[-1] : last]) + ends[-1]
            ends.extend((own[most::most]).tolist())
            ends.append(last)
            size = 0
    in_turn = np.repeat(large, np.diff(np.append(begins, n))) if n else large
    tiers = np.cumsum(np.append(True, (np.diff(tiers) != 0) | in_turn[1:] | in_turn[:-1])) if n else tiers
    return ([*ends, n] if ends[-1] < n or n == 0 else ends), tiers.astype(np.int64)


def _rivals(contests: Sequence[Contest], rows: Longs, n_rows: int) -> Longs:
    """In how many violations each of some rows is with the others."""
    asked = np.zeros(n_rows, np.bool_)
    asked[rows] = True
    found = np.zeros(len(rows), np.int64)
    for contest in contests if len(rows) > 1 else ():
        found += contest.degrees(asked)[rows]
    return found


def _grouped(
    contests: Sequence[OneValue], rows: Longs
) -> tuple[tuple[Longs, Longs], tuple[Longs, Longs], tuple[Longs, Longs, Longs]]:
    """The groups and pairs of some rows, (rules, rows) and -1 where a rule is not about a row; the rows of each group,
    as starts and places; and how many of the rows each pair has, how many pairs each group, and in how many groups
    with several each row is."""
    groups = np.full((len(contests), len(rows)), -1, np.int64)
    pairs = groups.copy()
    pair_groups: list[Longs] = [np.zeros(0, np.int64)]
    n_groups = n_pairs = 0
    for at, own in enumerate(one.groups for one in contests):
        points = own.points(rows)
        there = np.flatnonzero(points >= 0)
        numbers = own.pairs[points[there]].astype(np.int64)
        pairs[at, there] = n_pairs + numbers
        groups[at, there] = n_groups + own.pair_groups[numbers]
        pair_groups.append(n_groups + own.pair_groups.astype(np.int64))
        n_groups, n_pairs = n_groups + own.count, n_pairs + len(own.pair_groups)
    live = np.zeros(n_pairs, np.int64), np.zeros(n_groups, np.int64), np.zeros(len(rows), np.int64)
    count_open(groups, pairs, np.concatenate(pair_groups), live[:2], live[2])
    starts = np.append(0, np.bincount(groups[groups >= 0], minlength=n_groups)).astype(np.int64)
    members = np.empty(int(starts.sum()), np.int64)
    list_members(groups, starts, members)
    return (groups, pairs), (starts, members), live


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
