"""The rows to blame in a Spark table, by their ids; its rows stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.blame.contest import Longs
from refute.blame.lines import REASON, SuspectFinding
from refute.detect.local import LocalEngine
from refute.errors import EngineError
from refute.language.rulebook import Rule
from refute.relation.arrays import row_numbers
from refute.spark.blame.alike import Representatives, columns_read, id_order, in_order
from refute.spark.blame.marks import BlameShape
from refute.spark.blame.rounds import GoneRows, Rounds
from refute.spark.budget import shown_bytes
from refute.spark.expressions import quoted
from refute.spark.marking import name_beside
from refute.spark.source.frames import frame_of
from refute.spark.source.keeping import Kept, kept
from refute.spark.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_SUSPECT, _REASONS = RESERVED + "suspect", RESERVED + "reasons"


class SparkSuspects:
    """What was found: lines by the numbers of rows that came here, and the ids of all rows that these stand for."""

    def __init__(
        self,
        engine: SparkEngine,
        finding: SuspectFinding,
        numbers: Longs,
        ids: pa.ChunkedArray,
        notes: Sequence[str],
        gone: Sequence[GoneRows] = (),
    ) -> None:
        """Row `ids[i]` is one that row `numbers[i]` of those that came stands for; others were `gone` before."""
        self._engine = engine
        self._finding = finding
        order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[order]
        self._ids = ids.take(row_numbers(order))
        self.key = engine.key
        self.notes = tuple(notes)
        before = sum(len(one.ids) for one in gone)
        self.n_rows = finding.blame.number(np.arange(finding.relation.n_rows)) + before
        self.n_suspects = finding.blame.number(finding.blame.rows) + before
        self.bound = finding.blame.bound
        self.blamed = finding.blamed
        for one in gone:
            self.blamed[one.rule.name] += len(one.ids)
        self._gone = gone

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

        Where even these are too many, rounds of partner counts put rows aside before. Raises EngineError where that
        does not help.
        """
        for rule in rules:
            evaluated.prepared(rule)  # which raises where something is wrong with it
        names = tuple(dict.fromkeys(name for rule in rules for name in columns_read(rule)))
        most = engine.budget.driver_bytes
        for apart in (False, True) if most > 0 else ():
            with kept() as place:
                found = cls._of_alike(engine, evaluated, rules, names, place, apart=apart)
            if found is not None:
                return found
        if most > 0:
            with kept() as place:
                rounds = Rounds(evaluated, place)
                if rounds.put_aside(rules, names):
                    found = cls._of_alike(engine, rounds.left, rules, names, place, apart=True)
                    if found is not None:
                        suspects = found._ids.take(row_numbers(found._members(found._finding.blame.rows)[1]))
                        gone = rounds.gone(suspects)
                        notes = [*found.notes, _note_on(gone)]
                        return cls(engine, found._finding, found._numbers, found._ids, notes, gone)
        raise EngineError(
            f"the rows of {engine.source.name} that break rules differ too much: more than the {shown_bytes(most)} "
            "that may come to this process stand for all others; raise driver_bytes (--driver-bytes), or ask about "
            "fewer rows or rules. All rows that take part in a violation are found on Spark: split(blame='all')",
            table=engine.source.name,
            most=most,
        )

    @classmethod
    def _of_alike(
        cls,
        engine: SparkEngine,
        evaluated: SparkEngine,
        rules: Sequence[Rule],
        names: tuple[str, ...],
        place: Kept,
        *,
        apart: bool,
    ) -> SparkSuspects | None:
        """The suspects from rows that stand for all others; None where these do not fit."""
        alike = Representatives(evaluated, rules, place, apart=apart)
        if not evaluated.gathering.fits(names, alike.n_groups):
            return None
        rows = alike.fetched()
        withheld = _withheld(rules, names, apart=apart)
        known = {"times": rows.times, "common": rows.common, "withheld": withheld}
        finding = LocalEngine(rows.table).suspect_finding(rows.rules, **known)
        listed, _ = finding.lines()
        numbers, ids = alike.members(rows, np.unique(np.concatenate([finding.blame.rows, listed])))
        return cls(engine, finding, numbers, ids, _notes(rows.times, withheld))

    def table(self) -> pa.Table:
        """One line for each row and rule that blames it."""
        rows, reasons = self._finding.lines()
        lines, members = self._members(rows)
        ids, said = self._with_gone(self._ids.take(row_numbers(members)), reasons.take(row_numbers(lines)))
        order = row_numbers(id_order(ids))
        said = said.take(order).combine_chunks()
        columns = [ids.take(order), *(said.field(at) for at in range(said.type.num_fields))]
        return pa.table(columns, names=["row", *(field.name for field in said.type)])

    def split(self) -> tuple[DataFrame, DataFrame]:
        """The rows that stay, and the suspects with one more column: a list of why each is one."""
        rows, reasons = self._finding.reasons()
        lines, members = self._members(rows)
        source = self._engine.source
        said = self._with_gone(self._ids.take(row_numbers(members)), reasons.take(row_numbers(lines)))
        suspects = frame_of(pa.table(list(said), names=[_SUSPECT, _REASONS]), source.frame.sparkSession)
        columns = [F.col(quoted(name)) for name in self._engine.own_columns]
        matches = F.col(ROW_COLUMN) == F.col(_SUSPECT)
        staying = source.identified().join(suspects, matches, "left_anti").select(*columns)
        why = F.col(_REASONS).alias(name_beside(self._engine.columns))
        return staying, source.identified().join(suspects, matches, "inner").select(*columns, why)

    def _with_gone(self, ids: pa.ChunkedArray, reasons: pa.Array) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """Ids and what is said of each, or a list of it, with those of rows that were gone before."""
        all_ids, all_said = list(ids.chunks), [reasons]
        for one in self._gone:
            count = len(one.ids)
            fixed = {"rule": one.rule.name, "severity": one.rule.severity.value, "either": False, "removed": True}
            parts = {name: pa.array([value] * count) for name, value in fixed.items()}
            parts |= {name: getattr(one, name).combine_chunks() for name in ("violations", "clears")}
            parts["cells"] = pa.array([[]] * count, REASON.field("cells").type)
            said = pa.StructArray.from_arrays([parts[field.name] for field in REASON], fields=list(REASON))
            if pa.types.is_list(reasons.type):
                said = pa.ListArray.from_arrays(row_numbers(np.arange(count + 1, dtype=np.int32)), said)
            all_ids += one.ids.cast(ids.type).chunks
            all_said.append(said.cast(reasons.type))
        return pa.chunked_array(all_ids, ids.type), pa.chunked_array(all_said, reasons.type)

    def _members(self, rows: Longs) -> tuple[Longs, Longs]:
        """For each row that some of these rows stands for, which of them does, and its place among the ids."""
        first, last = (np.searchsorted(self._numbers, rows, side=side) for side in ("left", "right"))
        sizes = last - first
        lines = np.repeat(np.arange(len(rows)), sizes)
        before = np.cumsum(sizes) - sizes
        return lines, np.repeat(first - before, sizes) + np.arange(len(lines))


def _withheld(rules: Sequence[Rule], names: tuple[str, ...], *, apart: bool) -> frozenset[str]:
    """The columns for which no value is suggested, as rows with which it might clash did not come."""
    if apart:
        return frozenset(names)
    marking = [rule for rule in rules if not rule.constraint.is_single_row and not BlameShape.of(rule).says_alike]
    return frozenset(name for rule in marking for name in columns_read(rule))


def _note_on(gone: Sequence[GoneRows]) -> str:
    number = sum(len(one.ids) for one in gone)
    return (
        f"{number:,} rows went before, by rounds of partner counts: the suspects may be more than must go, and the "
        "violations of the others are counted without these"
    )


def _notes(times: Longs, withheld: frozenset[str]) -> list[str]:
    found = [f"{len(times):,} rows came to this process, which stand for all {int(times.sum()):,}"]
    if withheld:
        found.append(f"no values are suggested for {', '.join(sorted(withheld))}")
    return found
