"""The rows to blame: a small set whose removal leaves a table that obeys every rule, and how small it could be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from refute.blame.contest import Contest, Flags, Longs, OneValue, Partners
from refute.blame.giving_back import spared
from refute.blame.playing import playing
from refute.blame.rounds import Loose
from refute.blame.shapes import contest_of
from refute.blame.trust import FULL, prior_trust, trust
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.relation import Relation


@dataclass(frozen=True, slots=True, eq=False)
class RuleBlame:
    """The suspects that one rule blames: those that clash with a row that stays."""

    rule: Rule
    rows: Longs  # row numbers, ascending
    violations: Longs  # in which each is
    clears: Longs  # of these, with rows that stay: what would come back with the row
    either: Flags  # no rule shows which of the rows with one key is wrong
    twins: Longs  # rows that stay although one with their key, no better or worse, goes
    twin_violations: Longs


@dataclass(frozen=True, slots=True, eq=False)
class Blame:
    """The suspects of a table, and why. `bound` is proven: no fewer rows will do."""

    suspects: Flags
    bound: int
    by_rule: tuple[RuleBlame, ...]
    contests: tuple[Contest, ...]
    times: Longs | None  # how many rows each stands for

    @property
    def rows(self) -> Longs:
        """The row numbers of the suspects, ascending."""
        return np.flatnonzero(self.suspects)

    @property
    def exact(self) -> bool:
        """Whether no smaller set exists for certain."""
        return self.bound == self.number(self.rows)

    def number(self, rows: Longs) -> int:
        """How many rows these stand for."""
        return len(rows) if self.times is None else int(self.times[rows].sum())


def find_blame(
    relation: Relation,
    rules: Sequence[Rule],
    partners: Partners,
    *,
    times: Longs | None = None,
    common: Mapping[str, Longs] = MappingProxyType({}),
    lifts: Longs | None = None,
    threads: int = 1,
) -> Blame:
    """The rows to blame for the violations of all rules together.

    Rows that break a rule about one row are suspects, whatever else is chosen. If one rule is left that the other rows
    break, the fewest are found where its shape admits. Else all rules vote on the trust in each row, every rule keeps
    the heaviest rows that obey it, and what some rule does not keep is a suspect, unless it can be given back.

    Nothing is left: what stays lies within the rows that each rule keeps, among which none clash, and a row is given
    back only if it clashes with none that stays. It is counted again nevertheless. With `times`, a row stands for so
    many that are alike, of which all or none go; where not all rows came, `common` tells by rule how common right-hand
    values are, and `lifts` what rare combinations of values say against a row.
    """
    n = relation.n_rows
    forced = np.zeros(n, np.bool_)
    contests: list[Contest] = []
    alone: list[tuple[Rule, Longs]] = []
    for rule in rules:
        compiled = compile_rule(relation, rule, threads=threads)
        if compiled.rows is not None:
            forced[compiled.rows] = True
            alone.append((rule, compiled.rows))
        elif compiled.problem is not None:
            contests.append(contest_of(rule, compiled.problem, partners, n, times, common.get(rule.name)))
    alive = ~forced
    even = np.full(n, FULL, np.int64)
    in_play = [played for contest in contests if (played := playing(contest)) is not None]
    unweighed = [(contest, contest.keep(even, alive)) for contest in in_play]
    unweighed = [(contest, kept) for contest, kept in unweighed if not np.array_equal(kept, alive)]
    broken = [contest for contest, _ in unweighed]
    busy, doubts = _busy(broken, alive)
    if len(broken) == 1:
        kept = unweighed[0][1]
        if not broken[0].exact:
            kept = spared(broken, kept, alive, even, busy)
    elif broken:
        weights = trust(unweighed, prior_trust(relation, rules, contests, times, lifts), alive, doubts)
        kept = alive.copy()
        for contest, known in unweighed:
            kept &= contest.settled(weights, alive) if contest.exact else known
        kept = spared(broken, kept, alive, weights, busy)
    else:
        kept = alive
    _recount(broken, kept)
    suspects = ~kept
    by_rule = [
        RuleBlame(rule, rows, *(np.ones(len(rows), np.int64),) * 2, _none(rows), _no_rows(), _no_rows())
        for rule, rows in alone
    ]
    by_rule += _rule_blames(in_play, suspects, kept, forced)
    order = {id(rule): place for place, rule in enumerate(rules)}
    by_rule.sort(key=lambda one: order[id(one.rule)])
    must = int(np.count_nonzero(forced) if times is None else times[forced].sum())
    bound = must + _fewest(broken, alive, kept, busy)
    return Blame(suspects, bound, tuple(by_rule), tuple(contests), times)


def fewest_to_blame(relation: Relation, rule: Rule, partners: Partners) -> int:
    """How many rows `find_blame` blames for the violations of one rule alone, and nothing else about them."""
    compiled = compile_rule(relation, rule)
    if compiled.rows is not None:
        return len(compiled.rows)
    everyone = np.ones(relation.n_rows, np.bool_)
    contest = None
    if compiled.problem is not None:
        contest = playing(contest_of(rule, compiled.problem, partners, relation.n_rows))
    if contest is None:
        return 0
    even = np.full(relation.n_rows, FULL, np.int64)
    kept = contest.keep(even, everyone)
    if not contest.exact:
        kept = spared([contest], kept, everyone, even, contest.degrees(everyone))
    return int(np.count_nonzero(~kept))


def _recount(contests: Sequence[Contest], kept: Flags) -> None:
    """Count the violations among the rows that stay, which must be none."""
    for contest in contests:
        left = int(contest.degrees(kept).max(initial=0))
        assert left == 0, f"rows that stay still break {contest.rule.name}"


def _rule_blames(contests: Sequence[Contest], suspects: Flags, kept: Flags, forced: Flags) -> list[RuleBlame]:
    rows = np.flatnonzero(suspects)
    everywhere = np.ones(len(suspects), np.bool_)
    clears = [contest.violations(rows, kept) for contest in contests]
    reasons = forced[rows].astype(np.int64)
    for found in clears:
        reasons += found > 0
    blames = []
    for contest, found in zip(contests, clears, strict=True):
        chosen = found > 0
        own = rows[chosen]
        either, twins = _none(own), _no_rows()
        if isinstance(contest, OneValue) and contest.is_key:
            either = reasons[chosen] == 1
            twins = _twins(contest, own[either], kept)
        violations, of_twins = (contest.violations(each, everywhere) for each in (own, twins))
        blames.append(RuleBlame(contest.rule, own, violations, found[chosen], either, twins, of_twins))
    return blames


def _twins(contest: OneValue, rows: Longs, kept: Flags) -> Longs:
    """The rows that stay of the groups of some rows."""
    groups = contest.groups
    marked = np.zeros(groups.count, np.bool_)
    marked[groups.pair_groups[groups.pairs[groups.points(rows)]]] = True
    return groups.rows[marked[groups.pair_groups[groups.pairs]] & kept[groups.rows]]


def _busy(contests: Sequence[Contest], alive: Flags) -> tuple[Longs, Longs]:
    """In how many violations each row is under all rules together, and of how many rules."""
    violations, broken = np.zeros(len(alive), np.int64), np.zeros(len(alive), np.int64)
    for contest in contests:
        found = contest.degrees(alive)
        violations += found
        broken += found > 0
    return violations, broken


def _fewest(contests: Sequence[Contest], alive: Flags, kept: Flags, busy: Longs) -> int:
    """A number of rows that no choice can do with less than: the sum over pieces of the table that share no row.

    Groups first, as their proofs leave most rows of a large group to other rules; and no less than any rule by itself.
    """
    if not contests:
        return 0
    whole = contests[0].counted(alive)
    free, total, most = whole, 0, 0
    for contest in sorted(contests, key=lambda one: not isinstance(one, OneValue)):
        needed, used = _needed(contest, free, busy, kept)
        most = max(most, needed if total == 0 else _needed(contest, whole, busy, kept)[0])
        total += needed
        free = free - used
    return max(total, most)


def _needed(contest: Contest, free: Longs, busy: Longs, kept: Flags) -> tuple[int, Longs]:
    """How many of these rows at least must go under a rule, and rows that prove it."""
    needed, used = contest.fewest(free, busy)
    if isinstance(contest, Loose) and needed < np.count_nonzero((used > 0) & ~kept):
        needed = max(needed, contest.proven(free > 0, kept))
    return needed, used


def _none(rows: Longs) -> Flags:
    return np.zeros(len(rows), np.bool_)


def _no_rows() -> Longs:
    return np.zeros(0, np.int64)
