"""The search for proposals on Spark: the same candidates as in process, asked for step by step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.discovery.options import DONE, Options
from refute.discovery.work import Budget
from refute.faults import unknown_column
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, repeats_rows, whole_row_columns
from refute.proposing.dependencies import UNKNOWN, DependencySearch, Side, keys_among, single_keys
from refute.proposing.orders import FORMS, is_grouping, is_scale
from refute.proposing.parts import ANYWHERE, AskedOfParts, AskedSide, Sum
from refute.proposing.questions import OpenQuestion
from refute.proposing.repeats import is_open, question_of, settled_by
from refute.proposing.scores import STANDARD, Limits
from refute.proposing.search import FOLLOWING, Heads, heads_of, repeated_note, unread_note
from refute.proposing.spans import spanned_columns
from refute.proposing.within_rows import WithinRows, never_null, realms_of
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
        search.found += search.never_null()
    n_rows, complete = search.n_rows, search.complete
    listing = partial(heads_of, search.found, n_rows, search.shapes, limits, search.notes, watch, complete=complete)
    heads = budget.finished(listing)
    budget.report(DONE)
    return heads


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
    all_rows: BlockedTable | None = None  # where those that repeat others are left out
    apart: frozenset[str] = frozenset()  # columns that do not make a row
    n_rows: int = 0
    known: tuple[int, list[CodedColumn]] = (0, [])  # how many rows there are in all, and how many have a value in each

    def run(self) -> None:
        """Find all candidates that are good enough; raises an error of its own where it was stopped before."""
        table, columns = self._table()
        self.n_rows = table.n_rows
        known = DependencySearch(columns, table.n_rows, self.limits, self.seed)
        keyed = keys_among(columns, table.n_rows, self.limits)
        keys = frozenset(place for place, column in enumerate(columns) if column.name in keyed)
        questions = [*self._held(columns, keyed)]
        if self.budget.is_limited:  # what is known soon comes first, by a job of its own
            self._answer("values", table, questions)
            questions = []
        questions += self._compared(table, columns)
        known.in_groups = {place: facts.grouped for place, facts in enumerate(table.facts)}
        for size in range(1, max(self.max_left, 2) + 1):
            sides = list(known.sides(size)) if FOLLOWING & self.shapes and size <= self.max_left else []
            asked, large = _by_home(known, table, sides)
            parts = AskedOfParts(table.n_rows, self.limits, asked)
            if size == 2 and RuleShape.ORDER in self.shapes:
                parts = self._with_orders(parts, table, columns, keys)
            phase = "orders and dependencies" if parts.scales else "dependencies"
            sums = self._sums(phase, table, parts, last=size >= self.max_left)
            questions += [*_of_sides(known, asked, sums), *_unasked(known, large), *self._orders(columns, known, sums)]
            self._answer("values and dependencies" if size == 1 else phase, table, questions)
            questions = self._spans(columns, known) if size == 1 else []

    def never_null(self) -> list[Candidate]:
        """What is known of nulls where nobody had the time to ask what columns hold."""
        if RuleShape.NOT_NULL not in self.shapes or any(one.shape is RuleShape.NOT_NULL for one in self.found):
            return []
        n_rows, columns = self.known
        return [found for column in columns for found in never_null(column, n_rows, self.limits)]

    def _with_orders(
        self, parts: AskedOfParts, table: BlockedTable, columns: list[CodedColumn], keys: frozenset[int]
    ) -> AskedOfParts:
        """What is asked of parts, and orders with it: among all rows, and inside the groups of each column."""
        scales = tuple(place for place, column in enumerate(columns) if is_scale(column, column.size))
        grouped = [
            place for place, facts in enumerate(table.facts) if is_grouping(facts.grouped, facts.groups, table.n_rows)
        ]
        large = frozenset(place for place in grouped if table.is_large(place))
        found = replace(parts, grouped=frozenset(grouped) - large, large=large, whole=True, scales=scales, keys=keys)
        return found if len(scales) > 1 else parts

    def _table(self) -> tuple[BlockedTable, list[CodedColumn]]:
        """The table and its columns, of which keys are found; where rows repeat each other, of those that differ."""
        self.budget.report("reading columns")
        self.notes += unread_note(empty_relation(self.frame), self.names)
        table = BlockedTable(self.frame, self.names, self.place, self.tuning)
        columns = self._done("reading columns", table.columns)
        self.known = table.n_rows, columns
        self.found += single_keys(columns, table.n_rows, self.limits)
        whole, alone = whole_row_columns(columns, table.n_rows)
        if not whole or max(column.size for column in whole) > table.n_rows // 2:
            return table, columns
        plain = dict(zip(table.names, table.frame.columns, strict=True))
        keys = [plain[column.name] for column in whole]
        differ = self._done("reading columns", lambda: table.frame.select(*keys).distinct().count())
        if not repeats_rows(differ, table.n_rows):
            return table, columns
        self.notes.append(repeated_note(differ, table.n_rows))
        self.all_rows, self.apart = table, frozenset(column.name for column in alone)
        others = [plain[column.name] for column in alone]
        least = [F.min(F.struct(*others)).alias("least")] if others else [F.count(F.lit(1)).alias("least")]
        rows = table.frame.groupBy(*keys).agg(*least)
        kept = [F.col(plain[name]) if plain[name] in keys else F.col(f"least.{plain[name]}") for name in table.names]
        named = rows.select(*(one.alias(name) for one, name in zip(kept, table.names, strict=True)))
        table = BlockedTable(named.coalesce(table.tasks(differ * len(columns))), table.names, self.place, self.tuning)
        return table, self._done("reading columns", table.columns)

    def _compared(self, table: BlockedTable, columns: list[CodedColumn]) -> Iterator[OpenQuestion]:
        realms = realms_of(columns)
        if not realms or not {RuleShape.COMPARISON, RuleShape.NO_OVERLAP} & self.shapes:
            return
        sums = self._done("comparisons", lambda: table.compared(realms))
        for (a, b, _), (n, equal, lower, _) in sorted(sums[Sum.COMPARED].items()):
            if WithinRows.is_possible(columns[a], n, equal, lower, table.n_rows, self.limits):
                yield _question(RuleShape.COMPARISON, columns, (a, b))

    def _held(self, columns: list[CodedColumn], keyed: Collection[str]) -> Iterator[OpenQuestion]:
        if {RuleShape.DOMAIN, RuleShape.NOT_NULL} & self.shapes:
            for column in columns:
                yield OpenQuestion(RuleShape.DOMAIN, (column.name,), "key" if column.name in keyed else "")

    def _spans(self, columns: list[CodedColumn], known: DependencySearch) -> list[OpenQuestion]:
        """Spans inside groups and among all rows; those of groups are left out later, where all rows obey."""
        if RuleShape.NO_OVERLAP not in self.shapes:
            return []
        compared = [one for one in self.found if one.shape is RuleShape.COMPARISON]
        spans = [both for one in compared if (both := spanned_columns(one)) is not None]
        groups = [columns[place].name for place, rows in known.in_groups.items() if rows]
        alone = [OpenQuestion(RuleShape.NO_OVERLAP, both) for both in spans]
        within = [(group, *both) for both in spans for group in groups if group not in both]
        return [*alone, *(OpenQuestion(RuleShape.NO_OVERLAP, names) for names in within)]

    def _orders(self, columns: list[CodedColumn], known: DependencySearch, sums: Sums) -> Iterator[OpenQuestion]:
        """The orders that sums do not reject, of as many rows as they could have at most."""
        for (group, x, y), both in sorted(sums[Sum.ORDER].items()):
            rows = columns[x].present if group == ANYWHERE else min(columns[x].present, known.in_groups[group])
            if rows < self.limits.order_support * known.n_rows:
                continue
            for form, blame in zip(FORMS, both, strict=False):
                if blame <= int(self.limits.order_error * rows):
                    places = (x, y) if group == ANYWHERE else (group, x, y)
                    yield _question(RuleShape.ORDER, columns, places, form)

    def _sums(self, phase: str, table: BlockedTable, parts: AskedOfParts, *, last: bool = False) -> Sums:
        if not parts.homes or not table.n_rows:
            return {what: {} for what in Sum}
        return self._done(phase, lambda: table.sums(parts, self.limits.error if last else None))

    def _answer(self, phase: str, table: BlockedTable, questions: Sequence[OpenQuestion]) -> None:
        """Have questions answered; what holds among all rows is not said of groups once more."""
        if not questions:
            return
        new = self._settled(phase, self._done(phase, lambda: table.answers(questions, self.limits, self.seed)))
        everywhere = {one.right for one in new if one.shape is RuleShape.NO_OVERLAP and not one.left}
        for one in new:
            if one.shape is not RuleShape.NO_OVERLAP or not one.left or one.right not in everywhere:
                self.found.append(one)
                self.budget.report(f"{phase}, {one}", candidates=len(self.found))

    def _settled(self, phase: str, found: Sequence[Candidate]) -> list[Candidate]:
        """The candidates that are true of all rows, where those that repeat others were left out."""
        if self.all_rows is None:
            return list(found)
        asked = [question_of(one) for one in found if is_open(one, self.apart)]
        answers: list[Candidate] = []
        if asked:
            rows = self.all_rows
            answers = self._done(phase, lambda: rows.answers(asked, self.limits, self.seed))
        return [kept for one in found for kept in settled_by(one, answers, self.apart)]

    def _done(self, phase: str, run: Callable[[], T]) -> T:
        """What jobs give; raises an error of this search where the time was up before."""
        self.budget.report(phase)
        done = unless_expired(self.frame.sparkSession, self.budget, lambda: (run(),))
        if done is None:
            raise _StoppedError
        return done[0]


def _by_home(
    known: DependencySearch, table: BlockedTable, sides: Sequence[Side]
) -> tuple[dict[int, list[AskedSide]], list[AskedSide]]:
    """Left sides by the column whose parts they are asked of, the one with the smallest groups; and those of which a
    task would still have too many rows."""
    found: dict[int, list[AskedSide]] = {}
    large = []
    for number, side in enumerate(sides):
        home = min(side, key=lambda place: (table.facts[place].top, place))
        one = AskedSide(number, side, *known.rights(side, known.n_rows))
        if table.is_large(home):
            large.append(one)
        else:
            found.setdefault(home, []).append(one)
    return found, large


def _unasked(known: DependencySearch, sides: Sequence[AskedSide]) -> Iterator[OpenQuestion]:
    """The keys and dependencies of left sides of which no sums are known: all of them."""
    for side in sides:
        known.left_over[side.columns] = np.full(len(known.columns), UNKNOWN, np.int64)
        if len(side.columns) > 1:
            yield _question(RuleShape.KEY, known.columns, side.columns)
        for right in side.rights.tolist():
            yield _question(RuleShape.DEPENDENCY, known.columns, (*side.columns, right))


def _all(asked: Mapping[int, Sequence[AskedSide]]) -> list[AskedSide]:
    return sorted((side for sides in asked.values() for side in sides), key=lambda side: side.number)


def _of_sides(known: DependencySearch, asked: Mapping[int, Sequence[AskedSide]], sums: Sums) -> Iterator[OpenQuestion]:
    """The keys and dependencies that sums do not reject."""
    for side in _all(asked):
        rows, groups, present, _ = sums[Sum.SIDE].get((side.number, 0, 0), [0] * 4)
        if len(side.columns) > 1 and known.is_possible_key(present, rows - groups):
            yield _question(RuleShape.KEY, known.columns, side.columns)
        blamed = known.left_over[side.columns] = np.full(len(known.columns), UNKNOWN, np.int64)
        if rows < known.least_rows:
            continue
        for right, stop in zip(side.rights.tolist(), side.stops.tolist(), strict=True):
            rows, blame, rest, _ = sums[Sum.RIGHT].get((side.number, right, 0), [0] * 4)
            blamed[right] = blame if blame <= stop else UNKNOWN
            if blame <= stop and known.is_possible(rows, blame, rest):
                yield _question(RuleShape.DEPENDENCY, known.columns, (*side.columns, right))


def _question(
    shape: RuleShape, columns: Sequence[CodedColumn], places: Collection[int], form: str = ""
) -> OpenQuestion:
    return OpenQuestion(shape, tuple(columns[place].name for place in places), form)
