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
from refute.errors import EngineError
from refute.language.rulebook import Rule
from refute.relation.arrays import row_numbers
from refute.spark.blame.alike import Alike, columns_read, id_order, in_order
from refute.spark.blame.marks import Shape
from refute.spark.budget import shown_bytes
from refute.spark.expressions import quoted
from refute.spark.marking import name_beside
from refute.spark.source.frames import frame_of
from refute.spark.source.keeping import kept
from refute.spark.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_SUSPECT, _REASONS = RESERVED + "suspect", RESERVED + "reasons"


class SparkSuspects:
    """What was found: lines by the numbers of rows that came here, and the ids of all rows that these stand for."""

    def __init__(
        self, engine: SparkEngine, finding: SuspectFinding, numbers: Longs, ids: pa.ChunkedArray, notes: Sequence[str]
    ) -> None:
        """Row `ids[i]` is one that row `numbers[i]` of those that came stands for."""
        self._engine = engine
        self._finding = finding
        order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[order]
        self._ids = ids.take(row_numbers(order))
        self.key = engine.key
        self.notes = tuple(notes)
        self.n_rows = finding.blame.number(np.arange(finding.relation.n_rows))
        self.n_suspects = finding.blame.number(finding.blame.rows)
        self.bound = finding.blame.bound
        self.blamed = finding.blamed

    @classmethod
    def fetched(cls, engine: SparkEngine, rules: Sequence[Rule], names: tuple[str, ...]) -> SparkSuspects | None:
        """The suspects of a table whose columns come to this process; None where they do not fit."""
        if not engine.gathering.fits(names, engine.gathering.most_rows(names)):
            return None
        with engine.gathering.rows(names, identified=True) as fetched:
            if fetched is None:
                return None
            table = in_order(fetched.relation.arrow)
            ids = table.column(ROW_COLUMN)
            finding = LocalEngine(table.drop_columns([ROW_COLUMN])).suspect_finding(rules)
            return cls(engine, finding, np.arange(len(ids)), ids, ())

    @classmethod
    def of(cls, engine: SparkEngine, evaluated: SparkEngine, rules: Sequence[Rule]) -> SparkSuspects:
        """The suspects of a table that stays where it is: one row comes for all that are alike.

        Raises EngineError where even these are too many.
        """
        for rule in rules:
            evaluated.prepared(rule)  # which tells what is wrong with it
        names = tuple(dict.fromkeys(name for rule in rules for name in columns_read(rule)))
        most = engine.budget.driver_bytes
        for apart in (False, True) if most > 0 else ():
            with kept() as place:
                alike = Alike(evaluated, rules, place, apart=apart)
                if not evaluated.gathering.fits(names, alike.n_groups):
                    continue
                rows = alike.fetched()
                withheld = _withheld(rules, names, apart=apart)
                known = {"times": rows.times, "common": rows.common, "withheld": withheld}
                finding = LocalEngine(rows.table).suspect_finding(rows.rules, **known)
                listed, _ = finding.lines()
                numbers, ids = alike.members(rows, np.unique(np.concatenate([finding.blame.rows, listed])))
                return cls(engine, finding, numbers, ids, _notes(rows.times, withheld))
        raise EngineError(
            f"the rows of {engine.source.name} that break rules differ too much: more than the {shown_bytes(most)} "
            "that may come to this process stand for all others; raise driver_bytes (--driver-bytes), or ask about "
            "fewer rows or rules. All rows that take part in a violation are found on Spark: split(blame='all')",
            table=engine.source.name,
            most=most,
        )

    def table(self) -> pa.Table:
        """One line for each row and rule that blames it."""
        rows, reasons = self._finding.lines()
        lines, members = self._members(rows)
        ids = self._ids.take(row_numbers(members))
        order = id_order(ids)
        told = reasons.take(row_numbers(lines[order]))
        columns = [ids.take(row_numbers(order)), *(told.field(at) for at in range(told.type.num_fields))]
        return pa.table(columns, names=["row", *(field.name for field in told.type)])

    def split(self) -> tuple[DataFrame, DataFrame]:
        """The rows that stay, and the suspects with one more column: a list of why each is one."""
        rows, reasons = self._finding.reasons()
        lines, members = self._members(rows)
        source = self._engine.source
        told = [self._ids.take(row_numbers(members)), reasons.take(row_numbers(lines))]
        suspects = frame_of(pa.table(told, names=[_SUSPECT, _REASONS]), source.frame.sparkSession)
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


def _withheld(rules: Sequence[Rule], names: tuple[str, ...], *, apart: bool) -> frozenset[str]:
    """The columns for which no value is suggested, as rows that would tell whether it breaks a rule did not come."""
    if apart:
        return frozenset(names)
    told = [rule for rule in rules if not rule.constraint.is_single_row and not Shape.of(rule).says_alike]
    return frozenset(name for rule in told for name in columns_read(rule))


def _notes(times: Longs, withheld: frozenset[str]) -> list[str]:
    found = [f"{len(times):,} rows came to this process, which stand for all {int(times.sum()):,}"]
    if withheld:
        found.append(f"no values are suggested for {', '.join(sorted(withheld))}")
    return found
