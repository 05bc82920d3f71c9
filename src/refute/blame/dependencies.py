"""Dependencies as cells see them: what the rows that stay say for each left-hand side, and how a changed row fares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.blame.contest import Contest, Flags, GroupedRows, Ids, Longs, OneValue
from refute.blame.tuples import TupleIndex, tallied
from refute.language.form import Form, operands
from refute.relation import Relation

SILENT, SATISFIED, VIOLATED = 0, 1, 2  # what a rule says of a row: nothing where no row stays with its left-hand side
UNKNOWN = -1  # the code of a cell that is wrong, without a value to put there; rules that read it are silent


@dataclass(frozen=True, slots=True, eq=False)
class Dependency:
    """One dependency over a table of which some rows stay."""

    number: int  # among all contests
    left: tuple[int, ...]  # columns, by their places
    right: int
    groups: GroupedRows
    index: TupleIndex
    said: Longs  # by the rows of each group that stay: the code on the right; UNKNOWN where none stays
    support: Longs  # how many of these there are
    donors: Longs  # the first of them
    agreeing: Longs  # rows of each group, suspects too, that say the same
    members: Longs  # rows of each group, suspects too

    def doubt(self, groups: Longs) -> NDArray[np.float64]:
        """For each of some groups, the share of rows of all others that say something else than theirs do: the larger,
        the less a majority means."""
        members = int(self.members.sum()) - self.members[groups]
        agreeing = int(self.agreeing.sum()) - self.agreeing[groups]
        return (members - agreeing) / np.maximum(members, 1)

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns that it reads."""
        return (*self.left, self.right)

    def judged(self, cells: Longs, admitted: Flags) -> tuple[Ids, Longs]:
        """What the rule says of each row of (columns, rows) codes, and the group that these would be in, or -1."""
        group = np.where(admitted, self.index.look_up([cells[at] for at in self.left]), -1)
        own = cells[self.right]
        said = np.where(group < 0, UNKNOWN, self.said[group])
        status = np.where(said == own, SATISFIED, VIOLATED)
        return np.where((said == UNKNOWN) | (own == UNKNOWN), SILENT, status).astype(np.int32), group


@dataclass(frozen=True, slots=True, eq=False)
class Dependencies:
    """All dependencies of a table, and the columns that they read, as gapless codes; 0 is null."""

    names: tuple[str, ...]
    codes: tuple[Ids, ...]
    common: tuple[Longs, ...]  # how many rows have each code
    staying: tuple[Longs, ...]  # how many of these stay
    rules: tuple[Dependency, ...]
    kept: Flags
    times: Longs | None = None

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return len(self.kept) if self.times is None else int(self.times.sum())

    @classmethod
    def of(cls, relation: Relation, contests: Sequence[Contest], kept: Flags) -> Dependencies:
        """The dependencies among the contests."""
        chosen = [(number, one) for number, one in enumerate(contests) if _is_dependency(one)]
        names = tuple(sorted({name for _, one in chosen for name in one.rule.constraint.columns}))
        codes = tuple(_codes(relation, name) for name in names)
        places = {name: at for at, name in enumerate(names)}
        rules = tuple(_dependency(number, one, places, codes, kept) for number, one in chosen)
        times = contests[0].times if contests else None
        common = tuple(tallied(own, times, 1) for own in codes)
        left = None if times is None else times[kept]
        staying = tuple(tallied(own[kept], left, len(all_)) for own, all_ in zip(codes, common, strict=True))
        return cls(names, codes, common, staying, rules, kept, times)

    def cells(self, rows: Longs) -> Longs:
        """The codes of some rows: (columns, rows)."""
        return np.stack([own[rows] for own in self.codes]).astype(np.int64)


def _is_dependency(contest: Contest) -> bool:
    problem = contest.problem
    if not isinstance(contest, OneValue) or contest.groups.count == 0:  # a rule that is about no row says nothing
        return False
    if contest.rule.constraint.computes:  # no cell holds what it compares
        return False
    return len(problem.differ) == 1 and len(problem.equal) > 0


def _codes(relation: Relation, name: str) -> Ids:
    return (relation.encode(name, ordered=False, dense=True).values + 1).astype(np.int32)


def _dependency(number: int, contest: Contest, places: dict[str, int], codes: Sequence[Ids], kept: Flags) -> Dependency:
    assert isinstance(contest, OneValue)
    groups = contest.groups
    form = Form.of(contest.rule)
    left = tuple(places[operands(one)[0]] for one in form.equal)
    right = places[operands(form.differ[0])[0]]
    group_of = groups.pair_groups[groups.pairs]
    first = np.zeros(groups.count, np.int64)
    first[group_of[::-1]] = groups.rows[::-1]
    sizes = [int(codes[at].max(initial=0)) + 1 for at in left]
    said, donors = np.full(groups.count, UNKNOWN, np.int64), np.zeros(groups.count, np.int64)
    staying = np.flatnonzero(kept[groups.rows])[::-1]  # the first row of each group is written last
    donors[group_of[staying]] = groups.rows[staying]
    said[group_of[staying]] = codes[right][groups.rows[staying]]
    pair_said = np.full(groups.count, -1, np.int64)
    pair_said[group_of[staying]] = groups.pairs[staying]
    by_pair, members = groups.sums(contest.counted(np.ones(len(kept), np.bool_)))
    agreeing = np.where(pair_said < 0, 0, by_pair[pair_said])
    times = None if contest.times is None else contest.times[groups.rows[staying]]
    support = tallied(group_of[staying], times, groups.count)
    index = TupleIndex.of([codes[at][first] for at in left], sizes)
    return Dependency(number, left, right, groups, index, said, support, donors, agreeing, members)
