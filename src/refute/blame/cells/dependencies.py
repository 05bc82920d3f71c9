"""Dependencies as cells see them: what rows of a table that stay say for each left-hand side, and for any values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refute.blame.cells.testimony import UNKNOWN, Consensus, Dependency, GroupSayings, Testimony
from refute.blame.contest import Contest, Flags, GroupedRows, Ids, Longs, OneValue
from refute.blame.tuples import TupleIndex, distinct, matching, tallied
from refute.language.form import Form, operands
from refute.language.nulls import Nulls
from refute.relation import Relation


@dataclass(frozen=True, slots=True, eq=False)
class DependencyGroups:
    """The groups of one dependency, and what the rows of each that stay say."""

    groups: GroupedRows
    index: TupleIndex
    said: Longs  # the code on the right; UNKNOWN where none stays
    support: Longs  # how many of these there are
    donors: Longs  # the first of them
    agreeing: Longs  # rows of each group, suspects too, that say the same
    members: Longs  # rows of each group, suspects too


@dataclass(frozen=True, eq=False)
class Dependencies(Testimony):
    """All dependencies of a table in memory, and the columns that they read."""

    names: tuple[str, ...]
    rules: tuple[Dependency, ...]
    n_rows: int
    codes: tuple[Ids, ...]
    kept: Flags
    times: Longs | None
    _groups: tuple[DependencyGroups, ...]
    _common: tuple[Longs, ...]  # how many rows have each code
    _staying: tuple[Longs, ...]  # how many of these stay

    @classmethod
    def of(cls, relation: Relation, contests: Sequence[Contest], kept: Flags) -> Dependencies:
        """The dependencies among the contests."""
        chosen = [(number, one) for number, one in enumerate(contests) if _is_dependency(one)]
        names = tuple(sorted({name for _, one in chosen for name in one.rule.constraint.columns}))
        codes = tuple(_codes(relation, name) for name in names)
        places = {name: at for at, name in enumerate(names)}
        rules = tuple(dependency_of(number, Form.of(one.rule), places) for number, one in chosen)
        groups = tuple(_groups(one, rule, codes, kept) for (_, one), rule in zip(chosen, rules, strict=True))
        times = contests[0].times if contests else None
        common = tuple(tallied(own, times, 1) for own in codes)
        left = None if times is None else times[kept]
        staying = tuple(tallied(own[kept], left, len(all_)) for own, all_ in zip(codes, common, strict=True))
        n_rows = len(kept) if times is None else int(times.sum())
        return cls(names, rules, n_rows, codes, kept, times, groups, common, staying)

    def codes_of(self, place: int, rows: Longs) -> Longs:
        """The codes of some rows in a column."""
        found: Longs = self.codes[place][rows].astype(np.int64)
        return found

    def admitted(self, rule: int, rows: Longs) -> Flags:
        """Which rows the dependency is about."""
        found: Flags = self._groups[rule].groups.points(rows) >= 0
        return found

    def said(self, rule: int, cells: Longs, admitted: Flags) -> GroupSayings:
        """What the group of each row says."""
        known, left = self._groups[rule], self.rules[rule].left
        group = np.where(admitted, known.index.look_up([cells[at] for at in left]), -1)
        value = np.where(group < 0, UNKNOWN, known.said[group])
        agreeing, members = known.agreeing[group], known.members[group]
        others = int(known.members.sum()) - members
        doubt = (others - int(known.agreeing.sum()) + agreeing) / np.maximum(others, 1)
        return GroupSayings(value, known.support[group], known.donors[group], agreeing, members, doubt)

    def common(self, place: int, codes: Longs) -> Longs:
        """How many rows have each code."""
        return self._common[place][codes]

    def staying(self, place: int, codes: Longs) -> Longs:
        """How many rows that stay have each code."""
        return self._staying[place][codes]

    def agreement(self, place: int, others: Sequence[int], cells: Longs, *, nulls: bool) -> Consensus:
        """What most of these rows say: the value with the lowest code of several."""
        own = self.codes[place]
        rows, keys, wanted = self._matching(place, others, cells, nulls=nulls)
        size = max(int(own.max(initial=0)), int(cells[place].max(initial=0))) + 1
        pairs, first = distinct(keys * size + own[rows])
        times = None if self.times is None else self.times[rows]
        counts, key, value = tallied(pairs, times), keys[first], own[rows[first]].astype(np.int64)
        order = np.lexsort((value, -counts, key))
        heads = order[np.r_[True, key[order][1:] != key[order][:-1]]] if len(order) else order
        most = int(max(keys.max(initial=0), wanted.max(initial=0))) + 1
        best = np.full(most, -1)
        best[key[heads]] = heads
        pick = best[wanted]
        there = pick >= 0
        if not there.any():
            none = np.zeros(len(wanted), np.int64)
            return Consensus(there, none, there, none - 1, none, none)
        by_pair = np.lexsort((value, key))
        sorted_pairs = (key * size + value)[by_pair]
        mine = wanted * size + cells[place]
        at = np.minimum(np.searchsorted(sorted_pairs, mine), len(by_pair) - 1)
        same = np.where(sorted_pairs[at] == mine, counts[by_pair[at]], 0)
        agree = np.where(there, counts[pick], 0)
        among = tallied(keys, times, most)[wanted]
        return Consensus(there, value[pick], there & (same < agree), rows[first[pick]], agree, among)

    def rivals(self, place: int, others: Sequence[int], cells: Longs) -> Longs:
        """How many values there are."""
        own = self.codes[place]
        rows, keys, wanted = self._matching(place, others, cells, nulls=False)
        size = int(own.max(initial=0)) + 1
        _, first = distinct(keys * size + own[rows])
        return np.bincount(keys[first], minlength=int(wanted.max(initial=0)) + 1)[wanted]

    def _matching(self, place: int, others: Sequence[int], cells: Longs, *, nulls: bool) -> tuple[Longs, Longs, Longs]:
        """The rows that stay and say something in a column, with a number for their values in others that are those of
        a row, and the number of each row."""
        base = np.flatnonzero(self.kept if nulls else self.kept & (self.codes[place] > 0))
        if not others:
            return base, np.zeros(len(base), np.int64), np.zeros(cells.shape[1], np.int64)
        return matching(base, [self.codes[one] for one in others], [cells[one] for one in others])


def dependency_of(number: int, form: Form, places: dict[str, int]) -> Dependency:
    """A dependency by the places of its columns."""
    left = tuple(places[operands(one)[0]] for one in form.equal)
    return Dependency(number, left, places[operands(form.differ[0])[0]], form.nulls is Nulls.EQUAL)


def _is_dependency(contest: Contest) -> bool:
    problem = contest.problem
    if not isinstance(contest, OneValue) or contest.groups.count == 0:  # a rule that is about no row says nothing
        return False
    if contest.rule.constraint.computes:  # no cell holds what it compares
        return False
    return len(problem.differ) == 1 and len(problem.equal) > 0


def _codes(relation: Relation, name: str) -> Ids:
    return (relation.encode(name, ordered=False, dense=True).values + 1).astype(np.int32)


def _groups(contest: Contest, rule: Dependency, codes: Sequence[Ids], kept: Flags) -> DependencyGroups:
    assert isinstance(contest, OneValue)
    groups = contest.groups
    group_of = groups.pair_groups[groups.pairs]
    first = np.zeros(groups.count, np.int64)
    first[group_of[::-1]] = groups.rows[::-1]
    sizes = [int(codes[at].max(initial=0)) + 1 for at in rule.left]
    said, donors = np.full(groups.count, UNKNOWN, np.int64), np.zeros(groups.count, np.int64)
    staying = np.flatnonzero(kept[groups.rows])[::-1]  # the first row of each group is written last
    donors[group_of[staying]] = groups.rows[staying]
    said[group_of[staying]] = codes[rule.right][groups.rows[staying]]
    pair_said = np.full(groups.count, -1, np.int64)
    pair_said[group_of[staying]] = groups.pairs[staying]
    by_pair, members = groups.sums(contest.counted(np.ones(len(kept), np.bool_)))
    agreeing = np.where(pair_said < 0, 0, by_pair[pair_said])
    times = None if contest.times is None else contest.times[groups.rows[staying]]
    support = tallied(group_of[staying], times, groups.count)
    index = TupleIndex.of([codes[at][first] for at in rule.left], sizes)
    return DependencyGroups(groups, index, said, support, donors, agreeing, members)
