"""The rows to blame in a Spark table: found in this process from the columns that rules read, where these fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.blame.lines import SuspectFinding
from refute.detect.local import LocalEngine
from refute.errors import EngineError
from refute.language.rulebook import Rule
from refute.relation.arrays import row_numbers
from refute.spark.budget import shown_bytes
from refute.spark.expressions import quoted
from refute.spark.marking import name_beside
from refute.spark.source.frames import frame_of
from refute.spark.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_SUSPECT, _REASONS = RESERVED + "suspect", RESERVED + "reasons"


class SparkSuspects:
    """What was found, by the ids of the table; its rows stay where they are."""

    def __init__(self, engine: SparkEngine, finding: SuspectFinding, ids: pa.ChunkedArray) -> None:
        self._engine = engine
        self._finding = finding
        self._ids = ids
        self.key = engine.key
        self.n_rows = finding.relation.n_rows
        self.n_suspects = len(finding.blame.rows)
        self.bound = finding.blame.bound
        self.blamed = finding.blamed

    @classmethod
    def of(cls, engine: SparkEngine, rules: Sequence[Rule], names: tuple[str, ...]) -> SparkSuspects:
        """The suspects of a table; raises EngineError where the columns that are read do not fit into this process."""
        engine.require_identity("finding suspects")
        rows = engine.gathering.most_rows(names)
        if engine.gathering.fits(names, rows):
            with engine.gathering.rows(names, identified=True) as fetched:
                if fetched is not None:
                    table = _in_order(fetched.relation.arrow)
                    finding = LocalEngine(table.drop_columns([ROW_COLUMN])).suspect_finding(rules)
                    return cls(engine, finding, table.column(ROW_COLUMN))
        most = engine.budget.driver_bytes
        raise EngineError(
            f"suspects are found in this process, and the columns that the rules read of {engine.source.name} take "
            f"more than the {shown_bytes(most)} that may come here; raise driver_bytes (--driver-bytes), or ask "
            "about fewer rows. All rows that take part in a violation are found on Spark: split(blame='all')",
            table=engine.source.name,
            most=most,
        )

    def table(self) -> pa.Table:
        """One line for each row and rule that blames it."""
        return self._finding.table(lambda rows: self._ids.take(row_numbers(rows)))

    def split(self) -> tuple[DataFrame, DataFrame]:
        """The rows that stay, and the suspects with one more column: a list of why each is one."""
        rows, reasons = self._finding.reasons()
        source = self._engine.source
        reasons_by_row = pa.table([self._ids.take(row_numbers(rows)), reasons], names=[_SUSPECT, _REASONS])
        suspects = frame_of(reasons_by_row, source.frame.sparkSession)
        columns = [F.col(quoted(name)) for name in self._engine.own_columns]
        matches = F.col(ROW_COLUMN) == F.col(_SUSPECT)
        kept = source.identified().join(suspects, matches, "left_anti").select(*columns)
        why = F.col(_REASONS).alias(name_beside(self._engine.columns))
        return kept, source.identified().join(suspects, matches, "inner").select(*columns, why)


def _in_order(table: pa.Table) -> pa.Table:
    """The rows by position, where these are their ids: so the first of equal rows is the first of the file."""
    ids = table.column(ROW_COLUMN)
    if not pa.types.is_integer(ids.type):
        return table
    order = np.argsort(ids.to_numpy(), kind="stable")
    return table if np.array_equal(order, np.arange(len(order))) else table.take(row_numbers(order))
