"""Values that are withheld: those with which a row would break a rule that it does not break now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from refute.blame.cells.cells import NamedCells
from refute.blame.cells.testimony import VIOLATED, Testimony
from refute.blame.contest import Contest, Flags, Longs
from refute.blame.rows import RuleBlame
from refute.language.arithmetic import all_sources
from refute.language.conditions import columns_of
from refute.language.form import Form, operands
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.plan.problem import Comparison, Problem, ProblemSide
from refute.relation import Relation
from refute.relation.arrays import row_numbers


class Rival(ABC):
    """A rule about two rows, other than a dependency, that a suggested value might break."""

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """The rule."""

    @abstractmethod
    def harmed(self, rows: Longs, sources: Mapping[str, Longs]) -> Flags:
        """Which rows, with their cells taken from other rows, would clash with one that stays, and do not now.

        A row that takes a cell from one that the rule is not about counts as one that would.
        """


def in_lines(blames: Sequence[RuleBlame], names: Sequence[str], cells: NamedCells) -> NamedCells:
    """The cells, without the values of those that appear in no line, because no rule that reads them blames the row.

    Such a value is never shown, so a suggestion may neither rest on it nor break a rule without it. One for a cell on
    the left that a single row supports is withheld, too, where a rule that does not read this cell blames the row and
    reads what the two have in common: that may be what is wrong.
    """
    told, shaky = np.zeros(len(cells.rows), np.bool_), np.zeros(len(cells.rows), np.bool_)
    alone = ~cells.on_right & (cells.among == 1)
    for one in blames:
        places = {place for place, name in enumerate(names) if name in one.rule.constraint.columns}
        own, reads = np.isin(cells.rows, one.rows), np.isin(cells.columns, list(places))
        told |= own & reads
        for at in np.flatnonzero(own & ~reads & alone & ~shaky).tolist():
            shaky[at] = not places.isdisjoint(cells.given[at])
    return replace(cells, donors=np.where(told & ~shaky, cells.donors, -1)).grounded()


def without_harm(
    relation: Relation, rules: Sequence[Rule], rivals: Sequence[Rival], known: Testimony, cells: NamedCells
) -> NamedCells:
    """The cells without values that would break another rule, each row taken with all values that it is given.

    Where one is withheld, the others of its row are looked at again, as they may have fit together with it alone.
    """
    rows = np.unique(cells.rows[cells.donors >= 0])
    while len(rows):
        bad = _harmful(relation, rules, rivals, known, cells, rows)
        fewer = replace(cells, donors=np.where(bad, -1, cells.donors)).grounded()
        changed = cells.rows[fewer.donors != cells.donors]
        rows = np.intersect1d(changed, fewer.rows[fewer.donors >= 0])
        cells = fewer
    return cells


def _harmful(
    relation: Relation,
    rules: Sequence[Rule],
    rivals: Sequence[Rival],
    known: Testimony,
    cells: NamedCells,
    rows: Longs,
) -> Flags:
    """Which cells of some rows a rule reads that a row would break with all values that it is given."""
    given = (cells.donors >= 0) & np.isin(cells.rows, rows)
    sources = {name: rows.copy() for name in known.names}
    for place, name in enumerate(known.names):
        own = given & (cells.columns == place)
        sources[name][np.searchsorted(rows, cells.rows[own])] = cells.donors[own]
    changed = {name for name, taken in sources.items() if not np.array_equal(taken, rows)}
    harm: list[tuple[frozenset[str], Flags]] = []
    before = known.cells(rows)
    after = np.stack([known.codes_of(place, sources[name]) for place, name in enumerate(known.names)])
    for number, one in enumerate(known.rules):
        admitted = known.admitted(number, rows)
        was, now = (known.judged(number, codes, admitted)[0] == VIOLATED for codes in (before, after))
        harm.append((frozenset(known.names[place] for place in one.columns), now & ~was))
    for rival in rivals:
        read = frozenset(rival.rule.constraint.columns)
        if not read & changed:
            continue
        if rival.rule.constraint.computes:  # what it compares is in no cell that another row could give
            harm.append((read, moved_cells(rows, sources, read)))
        else:
            harm.append((read, rival.harmed(rows, sources)))
    for rule in rules:
        if not rule.constraint.is_single_row:
            harm.append(_newly_meant(relation, rule, rows, sources))
            continue
        read = frozenset(name for name, _ in _read(relation, rule))
        if read & changed:
            harm.append((read, _broken(relation, rule, rows, sources)))
    bad = np.zeros(len(cells.rows), np.bool_)
    at = np.minimum(np.searchsorted(rows, cells.rows), len(rows) - 1)
    for names, flags in harm:
        reads = np.isin(cells.columns, [place for place, name in enumerate(known.names) if name in names])
        bad |= reads & flags[at] & (rows[at] == cells.rows)
    return bad


def _newly_meant(
    relation: Relation, rule: Rule, rows: Longs, sources: Mapping[str, Longs]
) -> tuple[frozenset[str], Flags]:
    """The columns by which a rule chooses its rows, and rows that it might choose after a change, and not before.

    These are the columns of its conditions, and those whose nulls keep rows out, where a value takes the place of one.
    """
    barred = Form.of(rule).barred()
    conditions = set() if rule.where is None else set(columns_of(rule.where))
    for predicate in rule.constraint.predicates:
        if not predicate.is_two_row:
            conditions.update(all_sources(column.name for column in predicate.columns))
    names = [name for name in (*all_sources(barred), *conditions) if name in sources]
    found = np.zeros(len(rows), np.bool_)
    for name in names:
        moved = sources[name] != rows
        found |= moved if name in conditions else moved & relation.is_null(name)[rows]
    return frozenset(names), found


def moved_cells(rows: Longs, sources: Mapping[str, Longs], names: Collection[str]) -> Flags:
    """Which rows take a cell of one of these columns from another row."""
    found = np.zeros(len(rows), np.bool_)
    for name in names:
        found |= sources.get(name, rows) != rows
    return found


def _broken(relation: Relation, rule: Rule, rows: Longs, sources: Mapping[str, Longs]) -> Flags:
    """Which rows would break a rule about one row."""
    read = _read(relation, rule)
    table = pa.table({name: column.take(row_numbers(sources.get(name, rows))) for name, column in read})
    found = compile_rule(Relation.of(table), rule).rows
    broken = np.zeros(len(rows), np.bool_)
    broken[found] = True
    return broken


def _read(relation: Relation, rule: Rule) -> list[tuple[str, pa.ChunkedArray]]:
    return [(name, relation.column(name)) for name in rule.columns]


@dataclass(frozen=True, eq=False)
class TableRival(Rival):
    """A contest over a table in memory, of which some rows stay."""

    contest: Contest
    kept: Flags

    @property
    def rule(self) -> Rule:
        """The rule of the contest."""
        return self.contest.rule

    def harmed(self, rows: Longs, sources: Mapping[str, Longs]) -> Flags:
        """By a problem whose rows take their codes from the rows that the values come from."""
        clashing = _clashes(self.contest, rows, sources, self.kept)
        found: Flags = clashing & (self.contest.violations(rows, self.kept) == 0)
        return found


def _clashes(contest: Contest, rows: Longs, sources: Mapping[str, Longs], kept: Flags) -> Flags:
    """Which rows, with their cells taken from other rows, would clash with a row that stays."""
    problem, form = contest.problem, Form.of(contest.rule)
    found = np.zeros(len(rows), np.bool_)
    for role in (0, 1):
        side, other = (problem.s, problem.t) if role == 0 else (problem.t, problem.s)
        mine, theirs = side.row_numbers(), other.row_numbers()
        if len(mine) == 0:
            continue
        standing = _places(mine, rows)[1]
        staying = np.flatnonzero(kept[theirs])
        unsure = np.zeros(len(rows), np.bool_)
        compared: list[list[Comparison]] = []
        kinds = (
            (form.equal, problem.equal),
            (tuple(one.predicate for one in form.order), problem.order),
            (form.differ, problem.differ),
        )
        for predicates, comparisons in kinds:
            compared.append([])
            for predicate, one in zip(predicates, comparisons, strict=True):
                places, there = _places(mine, sources.get(operands(predicate)[role], rows))
                unsure |= ~there
                own, rest = one.codes[role][places], one.codes[1 - role][staying]
                compared[-1].append(one.over(*((own, rest) if role == 0 else (rest, own)), one.size))
        new, old = ProblemSide.beyond(contest.n_rows, len(rows)), ProblemSide(len(staying), theirs[staying])
        asked = Problem(
            s=new if role == 0 else old,
            t=old if role == 0 else new,
            equal=tuple(compared[0]),
            order=tuple(compared[1]),
            differ=tuple(compared[2]),
            self_pairs=False,
        )
        partners = contest.partners(asked)[role] if len(staying) else np.zeros(len(rows), np.int64)
        found |= standing & ((partners > 0) | unsure)
    return found


def _places(side: Longs, rows: Longs) -> tuple[Longs, Flags]:
    at = np.minimum(np.searchsorted(side, rows), max(len(side) - 1, 0))
    return at, (side[at] == rows) if len(side) else np.zeros(len(rows), np.bool_)
