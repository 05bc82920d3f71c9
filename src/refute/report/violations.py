"""Listed violations, computed only when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from refute.detect.engine import ClashingRow, Engine, FileForm
from refute.errors import whole_number
from refute.faults import needing, unknown_column, wrong_value
from refute.language.rulebook import Rule
from refute.relation.shown import id_text, shown_values
from refute.report.discretion import OPEN, Discretion

if TYPE_CHECKING:
    import pandas
    import polars
    from pyspark.sql import DataFrame, SparkSession


_SHOWN = 20  # violations that a notebook shows


class Violations:
    """The clashing rows of one rule: columns `s` and `t` (only `s` for a rule about one row), then for each side its
    key, if there is one, and the columns that the rule reads, as `s_city` and `t_city`."""

    def __init__(
        self,
        engine: Engine,
        rule: Rule,
        limit: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        discretion: Discretion = OPEN,
    ) -> None:
        """At most `limit` of them, if given; raises OptionError for anything but a number above 0.

        `columns` are those to show of both rows, beside the key: by default all that the rule reads, without those that
        `discretion` hides.
        """
        self.limit = None if limit is None else whole_number("limit", limit)
        if self.limit is not None and self.limit < 1:
            raise wrong_value("limit", "at least 1", limit, " Leave it out to list all violations.")
        self.rule = rule
        if isinstance(columns, str):
            raise wrong_value("columns", "a list of names", columns)
        columns = None if columns is None else list(dict.fromkeys(columns))
        self._engine, self._columns, self._discretion = engine, columns, discretion
        (fitted,) = engine.fitted([rule])
        for name in columns or ():
            if name not in engine.columns:
                raise unknown_column(name, engine.columns)
        if columns is None:
            columns = [name for name in fitted.constraint.columns if not discretion.hides(name)]
        self._clashes = engine.clashes(fitted, self.limit, columns)

    def close(self) -> None:
        """Release what Spark keeps of the table because of `persist`."""
        self._clashes.close()

    def __enter__(self) -> Violations:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self._clashes.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The violations in bounded Arrow batches, made as they are read."""
        return self._clashes.batches()

    def to_reader(self) -> pa.RecordBatchReader:
        """The violations as an Arrow reader, for writing billions of them without holding them."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def to_arrow(self) -> pa.Table:
        """The violations as one Arrow table; all of them come to this process."""
        return self._clashes.table()

    def to_pandas(self) -> pandas.DataFrame:
        """The violations as a pandas DataFrame."""
        with needing("to_pandas()"):
            return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The violations as a polars DataFrame."""
        with needing("to_polars()"):
            import polars
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_spark(self, session: SparkSession | None = None) -> DataFrame:
        """The violations as a Spark DataFrame: in the table's own session, else in the given or running one."""
        frame = self._clashes.frame()
        if frame is not None:
            return frame
        with needing("to_spark()", "spark"):
            from refute.spark import frame_of
        return frame_of(self.to_arrow(), session)

    def write_parquet(self, path: str) -> None:
        """Write the violations as Parquet, replacing what is there: one file, or a folder of files on Spark."""
        self._clashes.write(path, FileForm.PARQUET)

    def write_csv(self, path: str) -> None:
        """Write the violations as CSV, likewise."""
        self._clashes.write(path, FileForm.CSV)

    def rows(self) -> list[tuple[ClashingRow, ...]]:
        """For each violation its rows, with the columns that the rule reads; all of them come to this process."""
        found = self._clashes.rows()
        if not self._discretion:
            return found
        shown = self._discretion.values
        return [tuple(ClashingRow(row.role, row.row_id, shown(row.values)) for row in clash) for clash in found]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self._clashes.pairs():
            yield from zip(*map(shown_values, batch.columns), strict=True)

    def _repr_html_(self) -> str:
        """The first violations, where rows are in this process; on Spark nothing is asked for unasked."""
        from refute.display.markup import table_part

        if not self._engine.is_here:
            return table_part(repr(self), ("columns",), [(name,) for name in self.schema.names])
        most = min(self.limit or _SHOWN, _SHOWN)
        how: dict[str, Any] = {"columns": self._columns, "discretion": self._discretion}
        found = Violations(self._engine, self.rule, most, **how).to_arrow()
        rows = list(zip(*(map(id_text, shown_values(column)) for column in found.columns), strict=True))
        return table_part(repr(self), found.column_names, rows)

    def __repr__(self) -> str:
        limit = "" if self.limit is None else f", limit={self.limit}"
        return f"Violations({self.rule.name}{limit})"
