"""How much each row is trusted, by what all rules together say about it. Whole numbers, in 1/65536.

A row is trusted as far as the rule that trusts it least: by a dependency, as the share of its group, weighed by trust,
that says what the row says; by a rule about order, little where it is not among the rows that could stay. Every rule
votes with the trust that the others have in a row, so the votes are repeated until they change little.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from refute.blame.contest import Contest, Flags, Longs, OneValue
from refute.blame.tuples import tallied
from refute.kernels.blame.groups import lean, lower_to_lift, lower_to_share
from refute.kernels.sort.distinct import numbered
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.plan.problem import Comparison
from refute.relation import Relation

FULL = 1 << 16
HALF = FULL // 2
LITTLE = 6554  # a tenth, of a row that an order puts aside
MOST_DOUBTS = 15  # of which each takes one part from what a row weighs at first
ROUNDS = 8
STILL = 65  # a thousandth: votes that change no row's trust by more are final


def trust(contests: Sequence[tuple[Contest, Flags]], prior: Longs, alive: Flags, doubts: Longs) -> Longs:
    """The trust in each row after all rounds of votes, at least 1.

    Each rule comes with the rows that it keeps where all weigh the same; one that does not weigh rows keeps these.
    Before the first round a row weighs a trifle less for each rule that it is in a violation of (`doubts`): so orders,
    which keep some rows and doubt all others, begin with those that only they doubt, whichever is first in the table.
    """
    weights = np.maximum(prior - np.minimum(doubts, MOST_DOUBTS), 1)
    for _ in range(ROUNDS):
        share = np.full(len(prior), FULL, np.int64)
        for contest, unweighed in contests:
            if isinstance(contest, OneValue):
                _vote(contest, contest.weighed(weights, alive), share)
            else:
                kept = contest.keep(weights, alive) if contest.exact else unweighed
                share[~kept] = np.minimum(share[~kept], LITTLE)
        voted = np.maximum((prior * share) >> 16, 1)
        change = int(np.abs(voted - weights).max(initial=0))
        weights = voted
        if change <= STILL:
            break
    return weights


def _vote(contest: OneValue, weights: Longs, share: Longs) -> None:
    groups = contest.groups
    sums, _ = groups.sums(weights)
    if not contest.is_key:
        lean(sums, groups.common)
    totals = np.zeros(groups.count, np.int64)
    np.add.at(totals, groups.pair_groups, sums)
    lower_to_share(groups.rows, groups.pairs, groups.pair_groups, sums, totals, share)


def prior_trust(
    relation: Relation,
    rules: Sequence[Rule],
    contests: Sequence[Contest],
    times: Longs | None = None,
    lifts: Longs | None = None,
) -> Longs:
    """What a row weighs before any rule has spoken.

    Half where it lacks a value in a column that others mostly have; less where two of its values, one on the left and
    the one on the right of a dependency with several columns on the left, meet far less often than by chance, or are
    too rare to mean anything where others are not; `lifts` says that where it is known.
    """
    found = np.full(relation.n_rows, FULL, np.int64)
    total = relation.n_rows if times is None else int(times.sum())
    for name in sorted({name for rule in rules if rule.nulls is Nulls.SQL for name in rule.constraint.columns}):
        missing = relation.null_count(name) if times is None else int(times[relation.is_null(name)].sum())
        if 0 < 2 * missing < total:
            rows = relation.is_null(name)
            found[rows] = np.minimum(found[rows], HALF)
    if lifts is not None:
        return np.minimum(found, lifts)
    seen: set[Hashable] = set()
    for contest in contests:
        problem = contest.problem
        if not (isinstance(contest, OneValue) and len(problem.differ) == 1 and len(problem.equal) > 1):
            continue
        right = problem.differ[0]
        for left in problem.equal:
            asked = (left.label, right.label)
            if asked not in seen:
                seen.add(asked)
                _lift(problem.s.row_numbers(), left, right, times, found)
    return found


def _lift(rows: Longs, left: Comparison, right: Comparison, times: Longs | None, found: Longs) -> None:
    own = np.ones(len(rows), np.int64) if times is None else times[rows]
    sides = [numbered(one.s, len(rows)) for one in (left, right)]
    assert sides[0] is not None and sides[1] is not None
    (lefts, _), (rights, right_firsts) = sides[0], sides[1]
    both = numbered(lefts.astype(np.int64) * max(len(right_firsts), 1) + rights, len(rows))
    assert both is not None
    counts = tuple(tallied(one, None if times is None else own) for one in (lefts, rights, both[0]))
    lower_to_lift(rows, lefts, rights, both[0], (counts[0], counts[1], counts[2]), own, found)
