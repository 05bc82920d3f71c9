"""The rows to blame in a Spark table, by their ids; its rows stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.blame.contest import Longs
from refute.blame.lines import SuspectFinding
from refute.detect.local import LocalEngine
from refute.language.rulebook import Rule
from refute.relation.arrays import row_numbers
from refute.spark.blame.alike import Representatives, all_columns_read, id_order, in_order
from refute.spark.blame.cells.cells import SparkNaming
from refute.spark.blame.deciding import DecidedSuspects
from refute.spark.blame.shapes import BlameShape
from refute.spark.blame.voted import VotedBlame
from refute.spark.expressions import quoted
from refute.spark.shown.marking import name_beside
from refute.spark.source.frames import frame_of
from refute.spark.source.keeping import kept
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_SUSPECT, _REASONS = RESERVED + "suspect", RESERVED + "reasons"


class SparkSuspects:
    """What was found: lines by the numbers of rows that came here, and the ids of all rows that these stand for."""

    def __init__(
        self,
        engine: SparkEngine,
        finding: SuspectFinding | DecidedSuspects,
        numbers: Longs,
        ids: pa.ChunkedArray,
        notes: Sequence[str],
    ) -> None:
        """Row `ids[i]` is one that row `numbers[i]` of those that came stands for."""
        self._engine = engine
        self._finding = finding
        order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[order]
        self._ids = ids.take(row_numbers(order))
        self.key = engine.key
        self.notes = tuple(notes)
        self.n_rows = finding.n_rows
        self.n_suspects = finding.n_suspects
        self.bound = finding.bound
        self.blamed = finding.blamed

    @classmethod
    def here(cls, engine: SparkEngine, rules: Sequence[Rule], names: tuple[str, ...]) -> SparkSuspects | None:
        """The suspects of a table whose columns came to this process before, with ids; None where they did not."""
        if not engine.holds(rules):
            return None
        table = engine.gathering.known(names)
        return None if table is None else cls._of_rows(engine, rules, table)

    @classmethod
    def fetched(cls, engine: SparkEngine, rules: Sequence[Rule], names: tuple[str, ...]) -> SparkSuspects | None:
        """The suspects of a table whose columns come to this process; None where they do not fit."""
        if not engine.gathering.fits(names, engine.gathering.most_rows(names)):
            return None
        with engine.gathering.rows(names, identified=True) as fetched:
            if fetched is None:
                return None
            return cls._of_rows(engine, rules, fetched.relation.arrow)

    @classmethod
    def _of_rows(cls, engine: SparkEngine, rules: Sequence[Rule], table: pa.Table) -> SparkSuspects:
        table = in_order(table)
        ids = table.column(ROW_COLUMN)
        finding = LocalEngine(table.drop_columns([ROW_COLUMN])).suspect_finding(rules)
        return cls(engine, finding, np.arange(len(ids)), ids, ())

    @classmethod
    def decided(cls, engine: SparkEngine, rules: Sequence[Rule], names: tuple[str, ...]) -> SparkSuspects | None:
        """The suspects of a table whose columns fit one task, which finds them; None where they do not."""
        for rule in rules:
            engine.prepared(rule)  # which raises where something is wrong with it
        rows = engine.gathering.most_rows(names)
        if not engine.gathering.suits_task(names, rows):
            return None
        frame, exact = engine.gathering.sent(names)
        found = DecidedSuspects.of(frame, tuple(rules), exact)
        engine.source.learn_rows(found.n_rows)
        notes = ["The suspects were found by one task, and only they came to this process."]
        return cls(engine, found, np.arange(len(found.ids)), found.ids, notes)

    @classmethod
    def of(cls, engine: SparkEngine, evaluated: SparkEngine, rules: Sequence[Rule]) -> SparkSuspects:
        """The suspects of a table that stays where it is: one row comes for all that are alike, then only rows in
        question, or these go to one task; where even they are too many, all is decided where they are."""
        for rule in rules:
            evaluated.prepared(rule)  # which raises where something is wrong with it
        names = all_columns_read(rules)
        if engine.budget.driver_bytes > 0:
            with kept() as place:
                alike = Representatives(evaluated, rules, place, apart=False)
                if evaluated.gathering.fits(names, alike.n_groups):
                    return cls._of_alike(engine, alike, rules, apart=False)
        with kept() as place:
            alike = Representatives(evaluated, rules, place, apart=True)
            rows = alike.n_groups
            if evaluated.gathering.fits(names, rows):
                return cls._of_alike(engine, alike, rules, apart=True)
            in_one = evaluated.gathering.suits_task(names, rows)
            voted = VotedBlame.in_one_task(alike, rules) if in_one else VotedBlame.of(evaluated, alike, rules)
            where = "by one task among rows in question" if in_one else "on Spark"
            return cls._voted(engine, alike, rules, voted, where)

    @classmethod
    def _of_alike(
        cls, engine: SparkEngine, alike: Representatives, rules: Sequence[Rule], *, apart: bool
    ) -> SparkSuspects:
        """The suspects from rows that stand for all others, which come here."""
        rows = alike.fetched()
        notes = [f"{len(rows.times):,} rows came to this process; they stand for all {int(rows.times.sum()):,}."]
        if apart or _blanks_cells(rules):
            finding, ids = SparkNaming(alike, rules).finding(rows.blame(), rows.ids, int(rows.times.sum()))
            return cls(engine, finding, np.arange(len(ids)), ids, notes)
        known = {"times": rows.times, "common": rows.common, "lifts": rows.lifts}
        finding = LocalEngine(rows.table).suspect_finding(rows.rules, **known)
        listed, _ = finding.lines()
        asked = np.unique(np.concatenate([finding.blame.rows, listed]))
        numbers, ids = alike.members(rows.ids, rows.times, asked)
        return cls(engine, finding, numbers, ids, notes)

    @classmethod
    def _voted(
        cls, engine: SparkEngine, alike: Representatives, rules: Sequence[Rule], voted: VotedBlame, where: str
    ) -> SparkSuspects:
        """The suspects that are found where the rows are."""
        engine.source.learn_rows(voted.n_rows)
        notes = [f"The suspects were found {where}, and only they came to this process."]
        rounded = [name for name, would_be_exact in voted.in_rounds.items() if would_be_exact]
        if rounded:
            notes.append(
                f"Groups of {', '.join(rounded)} are too large for one task. Their suspects were found by rounds of "
                "partner counts, and may be more than necessary."
            )
        finding, ids = SparkNaming(alike, rules).finding(voted.blame, voted.ids, voted.n_rows)
        return cls(engine, finding, np.arange(len(ids)), ids, notes)

    def table(self) -> pa.Table:
        """One line for each row and rule that blames it."""
        rows, reasons = self._finding.lines()
        lines, members = self._members(rows)
        ids, said = self._ids.take(row_numbers(members)), pa.chunked_array([reasons.take(row_numbers(lines))])
        order = row_numbers(id_order(ids))
        said = said.take(order).combine_chunks()
        columns = [ids.take(order), *(said.field(at) for at in range(said.type.num_fields))]
        return pa.table(columns, names=["row", *(field.name for field in said.type)])

    def split(self) -> tuple[DataFrame, DataFrame]:
        """The rows that stay, and the suspects with one more column: a list of why each is one."""
        rows, reasons = self._finding.reasons()
        lines, members = self._members(rows)
        source = self._engine.source
        said = [self._ids.take(row_numbers(members)), reasons.take(row_numbers(lines))]
        suspects = frame_of(pa.table(said, names=[_SUSPECT, _REASONS]), source.frame.sparkSession)
        columns = [F.col(quoted(name)) for name in self._engine.own_columns]
        matches = F.col(ROW_COLUMN) == F.col(_SUSPECT)
        staying = source.identified().join(suspects, matches, "left_anti").select(*columns)
        why = F.col(_REASONS).alias(name_beside(self._engine.columns))
        return staying, source.identified().join(suspects, matches, "inner").select(*columns, why)

    def _members(self, rows: Longs) -> tuple[Longs, Longs]:
        """For each row that some of these rows stands for, which of them does, and its place among the ids."""
        first, last = (np.searchsorted(self._numbers, rows, side=side) for side in ("left", "right"))
        sizes = last - first
        lines = np.repeat(np.arange(len(rows)), sizes)
        before = np.cumsum(sizes) - sizes
        return lines, np.repeat(first - before, sizes) + np.arange(len(lines))


def _blanks_cells(rules: Sequence[Rule]) -> bool:
    """Whether a value on the right of a dependency might clash, by another rule, with a row that did not come whole."""
    shapes = [BlameShape.of(rule) for rule in rules if not rule.constraint.is_single_row]
    named = {name for shape in shapes if shape.has_groups for name in shape.rule.constraint.columns}
    return any(not shape.says_alike and not named.isdisjoint(shape.rule.read) for shape in shapes)
