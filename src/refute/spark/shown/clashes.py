"""The violations of one rule in a Spark table: a DataFrame until asked for as something else."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.engine import ClashingRow, FileForm
from refute.language.rulebook import Rule
from refute.relation.shown import shown_values
from refute.spark.expressions import as_texts, quoted
from refute.spark.session import is_connect
from refute.spark.session.failures import CUTS_TRIED, LayoutChangedError, plain_failures
from refute.spark.source.frames import frame_of
from refute.spark.source.keeping import forgotten_at_exit
from refute.spark.source.renaming import by_place
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

Answer = TypeVar("Answer")
_WANTED = RESERVED + "wanted"
_SENT_BACK = 10_000  # rows that are here and go to Spark once more


class SparkClashes:
    """At most `limit` violations of a rule, each by the ids of its rows, with the columns `shown` of both."""

    def __init__(self, engine: SparkEngine, rule: Rule, limit: int | None, shown: Sequence[str] = ()) -> None:
        self._rule = rule
        self._shown = [name for name in shown if name not in engine.key]
        self._limit = limit
        self._engine = engine
        self._sides = ["s"] if rule.constraint.is_single_row else ["s", "t"]
        self._listed, self._identified = self._made()
        if is_connect(self._listed.sparkSession):
            forgotten_at_exit(self)
        self._released = weakref.finalize(self, engine.close)
        self._released.atexit = False  # a session that ends lets go by itself

    def close(self) -> None:
        """Release what Spark keeps of the table, where it was asked to keep it."""
        self._released()

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns `s` and `t` (only `s` for a rule about one row), then for each side its key and shown columns."""
        return self._asked(lambda: self._valued().limit(0).toArrow().schema)

    def pairs(self) -> Iterator[pa.RecordBatch]:
        """The violations in bounded batches, with the columns `s` and `t` alone."""
        bare = self._asked(lambda: self._listed.select(*self._sides).limit(0).toArrow().schema)
        return self._parts(self._listed.select(*self._sides), bare)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The violations in bounded batches: the executors make all, and one part after the other comes here."""
        return self._parts(self._valued(), self.schema)

    def _parts(self, frame: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with plain_failures(self._engine.source.name):
            made = by_place(frame).repartition(self._engine.tasks)  # else each part would be a job of its own
            for (packed,) in made.mapInArrow(_packing(), "packed binary").toLocalIterator():
                with pa.ipc.open_stream(pa.py_buffer(bytes(packed))) as stream:
                    yield from stream.read_all().rename_columns(schema.names).cast(schema).to_batches()

    def table(self) -> pa.Table:
        """All violations in this process."""
        return self._asked(lambda: self._valued().toArrow())

    def rows(self) -> list[tuple[ClashingRow, ...]]:
        """The rows of each violation, all of them in this process."""
        found = self._asked(lambda: self._listed.select(*self._sides).toArrow())
        ids = pa.chunked_array([chunk for side in self._sides for chunk in found.column(side).chunks])
        if not len(ids):
            return []
        table = self._rows_of(ids)
        columns = {name: shown_values(column) for name, column in zip(table.column_names, table.columns, strict=True)}
        known = {repr(row_id): place for place, row_id in enumerate(columns.pop(ROW_COLUMN))}
        rows = [{name: values[place] for name, values in columns.items()} for place in range(table.num_rows)]
        listed = zip(*(shown_values(found.column(side)) for side in self._sides), strict=True)
        return [
            tuple(
                ClashingRow(side, row_id, rows[known[repr(row_id)]])
                for side, row_id in zip(self._sides, violation, strict=True)
            )
            for violation in listed
        ]

    def frame(self) -> DataFrame:
        """The violations as a DataFrame of the table's own session."""
        return self._valued()

    def write(self, path: str, form: FileForm) -> None:
        """Write the violations as files below a folder, in place of what is there."""
        if form is FileForm.PARQUET:
            self._asked(lambda: self._valued().write.mode("overwrite").parquet(path))
        else:
            self._asked(lambda: as_texts(self._valued()).write.mode("overwrite").csv(path, header=True, escape='"'))

    def _valued(self) -> DataFrame:
        """The violations with the shown columns of their rows, which are joined to them by their ids."""
        if not self._shown:
            return self._listed
        found, table = self._listed, self._identified
        known = self._engine.gathering.known(tuple(self._shown))
        if known is not None and known.num_rows <= _SENT_BACK:  # which costs less than to read the table again
            table = frame_of(known.select([ROW_COLUMN, *self._shown]), self._listed.sparkSession)
        for side in self._sides:
            own = F.col(ROW_COLUMN).alias(_WANTED + side)
            values = [F.col(quoted(name)).alias(f"{side}_{name}") for name in self._shown]
            rows = table.select(own, *values)
            found = found.join(rows, F.col(side) == F.col(_WANTED + side)).drop(_WANTED + side)
        key = self._engine.key
        names = [f"{side}_{name}" for side in self._sides for name in (*key, *self._shown)]
        return found.select(*self._sides, *(F.col(quoted(name)) for name in names))

    def _made(self) -> tuple[DataFrame, DataFrame]:
        """The violations with the keys of their rows, and the table with ids."""
        with plain_failures(self._engine.source.name):
            key = self._engine.key
            columns = [F.col(side) for side in self._sides]
            for side in self._sides:
                for name in key:
                    value = F.col(side) if len(key) == 1 else F.col(f"{side}.{quoted(name)}")
                    columns.append(value.alias(f"{side}_{name}"))
            listed = self._engine.prepared(self._rule).pairs(self._limit)
            return listed.select(*columns), self._engine.source.identified()

    def _asked(self, ask: Callable[[], Answer]) -> Answer:
        """What these DataFrames answer; made again where Spark meanwhile cuts the files in another way."""
        for _ in range(CUTS_TRIED - 1):
            try:
                return self._engine.asked(self._rule.name, ask)
            except LayoutChangedError:
                self._engine.forget_layout()
                self._listed, self._identified = self._made()
        return self._engine.asked(self._rule.name, ask)

    def _rows_of(self, ids: pa.ChunkedArray) -> pa.Table:
        """The rows with these ids: from what is here of a small table, else from Spark."""
        names = self._rule.constraint.columns
        known = self._engine.gathering.known(tuple(names))
        if known is None:
            return self._asked(lambda: self._wanted(ids).toArrow())
        wanted = {repr(row_id) for row_id in shown_values(ids)}
        own = (repr(row_id) for row_id in shown_values(known.column(ROW_COLUMN)))
        return known.select([ROW_COLUMN, *names]).take([place for place, row_id in enumerate(own) if row_id in wanted])

    def _wanted(self, ids: pa.ChunkedArray) -> DataFrame:
        """The rows with these ids: the columns that the rule reads."""
        wanted = frame_of(pa.table({_WANTED: ids}), self._listed.sparkSession).distinct()
        columns = [F.col(quoted(name)) for name in self._rule.constraint.columns]
        rows = self._identified.join(F.broadcast(wanted), F.col(ROW_COLUMN) == F.col(_WANTED))
        return rows.select(ROW_COLUMN, *columns)


def _packing() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow` that turns batches into bytes. It is sent whole: workers need no Refute for it."""

    def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.record_batch({"packed": pa.array([sink.getvalue().to_pybytes()], pa.binary())})

    return packed
