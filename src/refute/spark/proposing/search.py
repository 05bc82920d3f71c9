"""The search for proposals on Spark: the same candidates as in process, asked for step by step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.discovery.options import Options
from refute.discovery.work import Budget
from refute.faults import unknown_column
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, repeats_rows, whole_row_columns
from refute.proposing.dependencies import UNKNOWN, DependencySearch, Side
from refute.proposing.orders import FORMS, is_grouping, is_scale
from refute.proposing.parts import AskedOfParts, AskedSide, Sum
from refute.proposing.questions import OpenQuestion
from refute.proposing.scores import STANDARD, Limits
from refute.proposing.search import FOLLOWING, Heads, heads_of, repeated_note, unread_note
from refute.proposing.spans import spanned_columns
from refute.proposing.within_rows import WithinRows, realms_of
from refute.runtime.compiling import Stopwatch
from refute.spark.discovery.jobs import unless_expired
from refute.spark.proposing.table import BlockedTable, ProposingTuning
from refute.spark.source.keeping import Kept
from refute.spark.source.types import empty_relation

T = TypeVar("T")
Sums = dict[Sum, dict[tuple[int, ...], list[int]]]
_TUNING = ProposingTuning()


class _StoppedError(Exception):
    """The time is up, or the user said so."""


def heads_on_spark(
    frame: DataFrame,
    names: Collection[str],
    place: Kept,
    options: Options,
    *,
    max_left: int,
    shapes: Collection[RuleShape],
    limits: Limits = STANDARD,
    tuning: ProposingTuning = _TUNING,
) -> Heads:
    """The proposals for the rows of a frame, which stay where they are."""
    watch = Stopwatch()
    for name in names:
        if name not in frame.columns:
            raise unknown_column(name, frame.columns)
    budget = Budget(options)
    search = SparkProposals(
        frame, list(names), place, budget, max_left, frozenset(shapes), limits, options.seed, tuning
    )
    try:
        search.run()
    except (_StoppedError, KeyboardInterrupt):
        search.complete = False
    return heads_of(search.found, search.n_rows, search.shapes, limits, search.notes, watch, complete=search.complete)


@dataclass(slots=True, eq=False)
class SparkProposals:
    """One search: what was found so far, and what is known of the table."""

    frame: DataFrame
    names: list[str]
    place: Kept
    budget: Budget
    max_left: int
    shapes: frozenset[RuleShape]
    limits: Limits
    seed: int
    tuning: ProposingTuning
    found: list[Candidate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    complete: bool = True
    n_rows: int = 0

    def run(self) -> None:
        """Find all candidates that are good enough; raises an error of its own where it was stopped before."""
        table, columns = self._table()
        self.n_rows = table.n_rows
        known = DependencySearch(columns, table.n_rows, self.limits, self.seed)
        self.found += known.single_keys()
        keyed = {one.left[0] for one in self.found}
        keys = frozenset(place for place, column in enumerate(columns) if column.name in keyed)
        compared = self._rows(table, columns, keyed)
        grouped: frozenset[int] = frozenset()
        if FOLLOWING & self.shapes:
            sums = self._sides(table, known, [(place,) for place in known.varied])
            rows = {place: sums[Sum.SIDE].get((number, 0, 0), [0, 0])[:2] for number, place in enumerate(known.varied)}
            known.in_groups = {place: rows.get(place, [0, 0])[0] for place in range(len(columns))}
            grouped = frozenset(one for one, (size, n) in rows.items() if is_grouping(size, n, table.n_rows))
        if RuleShape.NO_OVERLAP in self.shapes:
            self._spans(table, columns, known, compared)
        if RuleShape.ORDER in self.shapes:
            self._orders(table, columns, keys, grouped)
        if FOLLOWING & self.shapes:
            for size in range(2, self.max_left + 1):
                self._sides(table, known, list(known.sides(size)), last=size == self.max_left)

    def _table(self) -> tuple[BlockedTable, list[CodedColumn]]:
        """The table and its columns; where rows repeat each other, of those that differ."""
        self.budget.report("reading columns")
        self.notes += unread_note(empty_relation(self.frame), self.names)
        table = BlockedTable(self.frame, self.names, self.place, self.tuning)
        columns = self._done("reading columns", table.columns)
        whole, alone = whole_row_columns(columns, table.n_rows)
        if not whole or max(column.size for column in whole) > table.n_rows // 2:
            return table, columns
        plain = dict(zip(table.names, table.frame.columns, strict=True))
        keys = [plain[column.name] for column in whole]
        differ = self._done("reading columns", lambda: table.frame.select(*keys).distinct().count())
        if not repeats_rows(differ, table.n_rows):
            return table, columns
        self.notes.append(repeated_note(differ, table.n_rows))
        others = [plain[column.name] for column in alone]
        least = [F.min(F.struct(*others)).alias("least")] if others else [F.count(F.lit(1)).alias("least")]
        rows = table.frame.groupBy(*keys).agg(*least)
        kept = [F.col(plain[name]) if plain[name] in keys else F.col(f"least.{plain[name]}") for name in table.names]
        named = rows.select(*(one.alias(name) for one, name in zip(kept, table.names, strict=True)))
        table = BlockedTable(self.place.keep(named), table.names, self.place, self.tuning)
        return table, self._done("reading columns", table.columns)

    def _rows(self, table: BlockedTable, columns: list[CodedColumn], keyed: set[str]) -> list[Candidate]:
        """The comparisons of columns; those, and what columns may hold, are found."""
        compared: list[Candidate] = []
        if {RuleShape.COMPARISON, RuleShape.NO_OVERLAP} & self.shapes:
            realms = realms_of(columns)
            sums = self._done("comparisons", lambda: table.compared(realms)) if realms else {Sum.COMPARED: {}}
            wanted = [
                (min(a, b), max(a, b))
                for (a, b, _), (n, equal, lower, _) in sums[Sum.COMPARED].items()
                if WithinRows.is_possible(columns[a], n, equal, lower, table.n_rows, self.limits)
            ]
            questions = [_question(RuleShape.COMPARISON, columns, pair) for pair in sorted(wanted)]
            compared = self._asked("comparisons", table, questions)
        if {RuleShape.DOMAIN, RuleShape.NOT_NULL} & self.shapes:
            held = [
                OpenQuestion(RuleShape.DOMAIN, (column.name,), "key" if column.name in keyed else "")
                for column in columns
            ]
            self._asked("values", table, held)
        return compared

    def _spans(
        self, table: BlockedTable, columns: list[CodedColumn], known: DependencySearch, compared: list[Candidate]
    ) -> None:
        spans = [both for one in compared if (both := spanned_columns(one)) is not None]
        alone = self._asked("spans", table, [OpenQuestion(RuleShape.NO_OVERLAP, both) for both in spans])
        settled = {one.right for one in alone}  # what holds among all rows does inside any group
        grouped = [columns[place].name for place, rows in known.in_groups.items() if rows]
        within = [
            OpenQuestion(RuleShape.NO_OVERLAP, (group, *both))
            for both in spans
            if both not in settled
            for group in grouped
            if group not in both
        ]
        self._asked("spans", table, within)

    def _orders(
        self, table: BlockedTable, columns: list[CodedColumn], keys: frozenset[int], grouped: frozenset[int]
    ) -> None:
        scales = tuple(place for place, column in enumerate(columns) if is_scale(column, column.size))
        asked = AskedOfParts(table.n_rows, self.limits, {}, grouped, frozenset(scales), scales, keys)
        if not scales:
            return
        sums = self._done("orders", lambda: table.sums(asked, most=1.0))
        questions = []
        for (group, x, y), both in sorted(sums[Sum.ORDER].items()):
            (rows, *_) = sums[Sum.ORDERED][group, x, 0]
            if rows < self.limits.order_support * table.n_rows:
                continue
            for form, blame in zip(FORMS, both, strict=False):
                if blame <= int(self.limits.order_error * rows):
                    places = (x, y) if group < 0 else (group, x, y)
                    questions.append(_question(RuleShape.ORDER, columns, places, form))
        self._asked("orders", table, questions)

    def _sides(self, table: BlockedTable, known: DependencySearch, sides: list[Side], *, last: bool = False) -> Sums:
        """The sums of left sides of one size; keys and dependencies among them are found."""
        asked = list(self._with_rights(known, sides))
        by_home: dict[int, list[AskedSide]] = {}
        for one in asked:
            home = max(one.columns, key=lambda place: (known.columns[place].size, -place))
            by_home.setdefault(home, []).append(one)
        if not asked:
            return {what: {} for what in Sum}
        parts = AskedOfParts(table.n_rows, self.limits, by_home)
        most = self.limits.error if last else None
        sums = self._done("dependencies", lambda: table.sums(parts, most))
        questions = []
        for one in asked:
            rows, groups, present, _ = sums[Sum.SIDE].get((one.number, 0, 0), [0] * 4)
            if len(one.columns) > 1 and known.is_possible_key(present, rows - groups):
                questions.append(_question(RuleShape.KEY, known.columns, one.columns))
            blamed = np.full(len(known.columns), UNKNOWN, np.int64)
            known.left_over[one.columns] = blamed
            if rows < known.least_rows:
                continue
            for right, stop in zip(one.rights.tolist(), one.stops.tolist(), strict=True):
                rows, blame, rest, _ = sums[Sum.RIGHT].get((one.number, right, 0), [0] * 4)
                blamed[right] = blame if blame <= stop else UNKNOWN
                if blame <= stop and known.is_possible(rows, blame, rest):
                    questions.append(_question(RuleShape.DEPENDENCY, known.columns, (*one.columns, right)))
        self._asked("dependencies", table, questions)
        return sums

    def _with_rights(self, known: DependencySearch, sides: list[Side]) -> Iterator[AskedSide]:
        for number, side in enumerate(sides):
            yield AskedSide(number, side, *known.rights(side, known.n_rows))

    def _asked(self, phase: str, table: BlockedTable, questions: list[OpenQuestion]) -> list[Candidate]:
        found = self._done(phase, lambda: table.answers(questions, self.limits, self.seed)) if questions else []
        self.found += found
        for one in found:
            self.budget.report(f"{phase}, {one}")
        return found

    def _done(self, phase: str, run: Callable[[], T]) -> T:
        """What jobs give; raises an error of this search where the time was up before."""
        self.budget.report(phase)
        done = unless_expired(self.frame.sparkSession, self.budget, lambda: (run(),))
        if done is None:
            raise _StoppedError
        return done[0]


def _question(
    shape: RuleShape, columns: Sequence[CodedColumn], places: Collection[int], form: str = ""
) -> OpenQuestion:
    return OpenQuestion(shape, tuple(columns[place].name for place in places), form)
