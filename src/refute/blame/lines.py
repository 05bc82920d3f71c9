"""Suspects as a table: one line for each row and rule that blames it, with the cells in question and their support."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from refute.blame.cells.cells import name_cells
from refute.blame.cells.dependencies import Dependencies
from refute.blame.cells.fitting import fitting
from refute.blame.cells.repairs import TableRival, in_lines, without_harm
from refute.blame.cells.sayings import CELL, CellSayings, OwnCells
from refute.blame.contest import Chain, Contest, Flags, Longs, Partners
from refute.blame.rounds import Loose
from refute.blame.rows import Blame, RuleBlame, find_blame
from refute.language.form import Form
from refute.language.rulebook import Rule, Severity
from refute.relation import Relation
from refute.relation.arrays import row_numbers

_LINE = (
    ("rule", pa.string()),
    ("severity", pa.string()),
    ("either", pa.bool_()),
    ("removed", pa.bool_()),
    ("violations", pa.int64()),
    ("clears", pa.int64()),
    ("cells", pa.list_(CELL)),
)
Identified = Callable[[Longs], pa.Array | pa.ChunkedArray]


@dataclass(frozen=True, slots=True, eq=False)
class SuspectFinding:
    """The rows to blame, with their cells: what an engine knows about them, by row numbers."""

    relation: Relation
    rules: tuple[Rule, ...]
    blame: Blame
    sayings: CellSayings
    n_rows: int  # of the table

    @classmethod
    def of(
        cls,
        relation: Relation,
        rules: Sequence[Rule],
        partners: Partners,
        *,
        times: Longs | None = None,
        common: Mapping[str, Longs] = MappingProxyType({}),
        lifts: Longs | None = None,
        threads: int = 1,
    ) -> SuspectFinding:
        """The finding for a table and its rules, all of which blame.

        With `times` a row stands for so many that are alike, and `common` and `lifts` are as `find_blame` takes them.
        """
        blame = find_blame(relation, rules, partners, times=times, common=common, lifts=lifts, threads=threads)
        known = Dependencies.of(relation, blame.contests, ~blame.suspects)
        dependent = {rule.number for rule in known.rules}
        rivals = [TableRival(one, known.kept) for at, one in enumerate(blame.contests) if at not in dependent]
        possible = [rule for rule in rules if rule.constraint.is_single_row or Form.of(rule).possible]
        named = in_lines(blame.by_rule, known.names, name_cells(known, blame.rows))
        named = without_harm(relation, possible, rivals, known, named)
        own = {rule.name: OwnCells(rule, rule.constraint.columns) for rule in rules}
        own |= {contest.rule.name: _own_cells(contest, known.kept) for contest in blame.contests}
        n_rows = blame.number(np.arange(relation.n_rows))
        return cls(relation, tuple(rules), blame, CellSayings(relation, known.names, named, own), n_rows)

    @property
    def blamed(self) -> dict[str, int]:
        """How many of the suspects each rule blames, by its name; rules of severity `error` first."""
        found = {rule.name: 0 for rule in by_severity(self.rules)}
        return found | {one.rule.name: self.blame.number(one.rows) for one in self.blame.by_rule}

    @property
    def n_suspects(self) -> int:
        """How many rows are suspects."""
        return self.blame.number(self.blame.rows)

    @property
    def bound(self) -> int:
        """How few could do."""
        return self.blame.bound

    def table(self, identified: Identified) -> pa.Table:
        """One line for each row and rule, by row and then in the order of the rules; ids in a column `row`."""
        rows, reasons = self.lines()
        columns = [identified(rows), *(reasons.field(at) for at in range(len(_LINE)))]
        return pa.table(columns, names=["row", *(name for name, _ in _LINE)])

    def reasons(self) -> tuple[Longs, pa.ListArray]:
        """The row numbers of all suspects, ascending, and a list for each of why it is one."""
        return listed_reasons(self.blame.suspects, *self.lines())

    def lines(self) -> tuple[Longs, pa.StructArray]:
        """The row number of each line, and what it says."""
        blames = self.blame.by_rule
        sizes = [len(one.rows) + len(one.twins) for one in blames]
        rules = np.repeat(np.arange(len(blames)), sizes)
        rows = _joined([part for one in blames for part in (one.rows, one.twins)], np.int64)
        order = np.lexsort((rules, rows))
        rows, rules = rows[order], rules[order]

        def joined(own: str, of_twins: Callable[[RuleBlame], np.ndarray], dtype: type) -> np.ndarray:
            return _joined([part for one in blames for part in (getattr(one, own), of_twins(one))], dtype)[order]

        either = joined("either", lambda one: np.ones(len(one.twins), np.bool_), np.bool_)
        violations = joined("violations", lambda one: one.twin_violations, np.int64)
        clears = joined("clears", lambda one: np.zeros(len(one.twins), np.int64), np.int64)
        names = pa.array([one.rule.name for one in blames], pa.string())
        severities = pa.array([one.rule.severity.value for one in blames], pa.string())
        cells = self.sayings.cells(rows, rules, [one.rule for one in blames])
        columns = [
            names.take(row_numbers(rules)),
            severities.take(row_numbers(rules)),
            pa.array(either.tolist(), pa.bool_()),
            pa.array(self.blame.suspects[rows].tolist(), pa.bool_()),
            row_numbers(violations),
            row_numbers(clears),
            cells,
        ]
        return rows, pa.StructArray.from_arrays(columns, fields=[pa.field(*one) for one in _LINE])


def _own_cells(contest: Contest, kept: Flags) -> OwnCells:
    if isinstance(contest, Chain) and not contest.rule.constraint.computes:
        return OwnCells(contest.rule, (), lambda rows: fitting(contest, rows, kept))
    return OwnCells(contest.rule, () if isinstance(contest, Loose) else contest.rule.constraint.columns)


def by_severity(rules: Sequence[Rule]) -> list[Rule]:
    """The rules, those of severity `error` first."""
    return sorted(rules, key=lambda one: one.severity is not Severity.ERROR)


def listed_reasons(suspects: Flags, rows: Longs, reasons: pa.StructArray) -> tuple[Longs, pa.ListArray]:
    """The row numbers of all suspects, ascending, and a list for each of the lines that say why it is one."""
    removed = suspects[rows]
    rows, reasons = rows[removed], reasons.filter(pa.array(removed.tolist(), pa.bool_()))
    found = np.flatnonzero(suspects)
    offsets = np.append(np.searchsorted(rows, found), len(rows)).astype(np.int32)
    return found, pa.ListArray.from_arrays(row_numbers(offsets), reasons)


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *parts])
