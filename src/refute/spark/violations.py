"""Listed violations of a Spark table: a DataFrame until asked for as something else."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from refute.language.rulebook import Rule
from refute.relation.shown import shown_values
from refute.spark.expressions import quoted
from refute.spark.failures import CUTS_TRIED, LayoutChangedError, plain_failures
from refute.spark.frames import frame_of
from refute.spark.schema import plain_value
from refute.spark.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    import pandas
    import polars

    from refute.spark.engine import SparkEngine

Answer = TypeVar("Answer")
_WANTED = RESERVED + "wanted"


class SparkViolations:
    """The clashing rows of one rule: columns `s` and `t` (only `s` for a rule about one row), then keys where given."""

    def __init__(self, engine: SparkEngine, rule: Rule, limit: int | None) -> None:
        self.rule = rule
        self.limit = limit
        self._engine = engine
        self._sides = ["s"] if rule.constraint.is_single_row else ["s", "t"]
        self._listed, self._identified = self._made()
        self._released = weakref.finalize(self, engine.close)
        self._released.atexit = False  # a session that ends lets go by itself

    def close(self) -> None:
        """Let go what Spark keeps of the table, where it was told to keep it."""
        self._released()

    def __enter__(self) -> SparkViolations:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _made(self) -> tuple[DataFrame, DataFrame]:
        """The violations with the keys of their rows, and the table with ids."""
        with plain_failures(self._engine.source.name):
            key = self._engine.key
            columns = [F.col(side) for side in self._sides]
            for side in self._sides:
                for name in key:
                    value = F.col(side) if len(key) == 1 else F.col(f"{side}.{quoted(name)}")
                    columns.append(value.alias(f"{side}_{name}"))
            listed = self._engine.prepared(self.rule).pairs(self.limit)
            return listed.select(*columns), self._engine.source.identified()

    def _asked(self, ask: Callable[[], Answer]) -> Answer:
        """What these DataFrames answer; made anew where Spark meanwhile cuts the files in another way."""
        for _ in range(CUTS_TRIED - 1):
            try:
                return self._engine.asked(self.rule.name, ask)
            except LayoutChangedError:
                self._engine.forget_layout()
                self._listed, self._identified = self._made()
        return self._engine.asked(self.rule.name, ask)

    def to_spark(self, session: SparkSession | None = None) -> DataFrame:
        """The violations as a Spark DataFrame of the table's own session."""
        return self._listed

    def write_parquet(self, folder: str) -> None:
        """Write the violations as Parquet files below a folder, in place of what is there."""
        self._asked(lambda: self._listed.write.mode("overwrite").parquet(folder))

    def to_arrow(self) -> pa.Table:
        """The violations as one Arrow table; all of them come to this process."""
        return self._asked(lambda: self._listed.toArrow())

    def with_values(self) -> list[list[tuple[str, Any, dict[str, Any]]]]:
        """The violations with the columns that the rule reads: for each the role, id and values of its rows.

        All of them come to this process.
        """
        found = self._asked(lambda: self._listed.select(*self._sides).toArrow())
        ids = pa.chunked_array([chunk for side in self._sides for chunk in found.column(side).chunks])
        if not len(ids):
            return []
        table = self._asked(lambda: self._rows(ids).toArrow())
        columns = {name: shown_values(column) for name, column in zip(table.column_names, table.columns, strict=True)}
        known = {repr(row_id): place for place, row_id in enumerate(columns.pop(ROW_COLUMN))}
        rows = [{name: values[place] for name, values in columns.items()} for place in range(table.num_rows)]
        listed = zip(*(shown_values(found.column(side)) for side in self._sides), strict=True)
        return [
            [(side, row_id, rows[known[repr(row_id)]]) for side, row_id in zip(self._sides, violation, strict=True)]
            for violation in listed
        ]

    def _rows(self, ids: pa.ChunkedArray) -> DataFrame:
        """The rows with these ids: the columns that the rule reads."""
        wanted = frame_of(pa.table({_WANTED: ids}), self._listed.sparkSession).distinct()
        columns = [F.col(quoted(name)) for name in self.rule.constraint.columns]
        rows = self._identified.join(F.broadcast(wanted), F.col(ROW_COLUMN) == F.col(_WANTED))
        return rows.select(ROW_COLUMN, *columns)

    def to_pandas(self) -> pandas.DataFrame:
        """The violations as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The violations as a polars DataFrame."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        with plain_failures(self._engine.source.name):
            kinds = [self._listed.schema[side].dataType for side in self._sides]
            # Spark gives one part after the other, each by a job: all are made at once first, by all cores.
            listed = self._listed.select(*self._sides).repartition(self._engine.tasks)
            for row in listed.toLocalIterator():
                yield tuple(map(plain_value, row, kinds))

    def __repr__(self) -> str:
        limit = "" if self.limit is None else f", limit={self.limit}"
        return f"SparkViolations({self.rule.name}{limit})"
