"""The violations of one rule in a table in memory, listed as they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from refute.detect.detector import Detector
from refute.detect.engine import ClashingRow, FileForm
from refute.detect.identity import Identity
from refute.detect.shown.csv_text import write_csv
from refute.language.addresses import local_path
from refute.language.rulebook import Rule
from refute.plan.problem import Rows
from refute.relation.shown import shown_values
from refute.writing import replacing

Columns = dict[str, pa.Array | pa.ChunkedArray]


_BATCH_BYTES = 64 << 20  # of values; pairs are few bytes, and the texts of their rows may be long


class LocalClashes:
    """At most `limit` violations of a rule, each by the ids of its rows, with the columns `shown` of both."""

    def __init__(
        self, detector: Detector, identity: Identity, rule: Rule, limit: int | None, shown: Sequence[str] = ()
    ) -> None:
        self._detector = detector
        self._identity = identity
        self._rule = rule
        self._limit = limit
        self._shown = [name for name in shown if name not in identity.key]
        self._sides = ("s",) if rule.constraint.is_single_row else ("s", "t")

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns `s` and `t` (only `s` for a rule about one row), then for each side its key and shown columns."""
        nothing = np.empty(0, dtype=np.int64)
        columns = self._columns(*(nothing for _ in self._sides))
        return pa.schema([(name, column.type) for name, column in columns.items()])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The violations in bounded batches, made as they are read."""
        most = self._batch_rows
        for rows in self.row_pairs():
            for start in range(0, len(rows[0]), most):
                part = (side[start : start + most] for side in rows)
                yield from pa.table(self._columns(*part), schema=self.schema).combine_chunks().to_batches()

    def pairs(self) -> Iterator[pa.RecordBatch]:
        """The same, with the columns `s` and `t` alone."""
        for rows in self.row_pairs():
            yield from pa.table(self._ids(rows)).combine_chunks().to_batches()

    def table(self) -> pa.Table:
        """All violations at once."""
        return pa.Table.from_batches(list(self.batches()), schema=self.schema)

    def rows(self) -> list[tuple[ClashingRow, ...]]:
        """The rows of each violation."""
        names = self._rule.constraint.columns
        found: list[tuple[ClashingRow, ...]] = []
        for rows in self.row_pairs():
            sides = []
            for side, own in zip(self._sides, rows, strict=True):
                columns = self._identity.columns(names, own, prefix="").values()
                values = (dict(zip(names, row, strict=True)) for row in zip(*map(shown_values, columns), strict=True))
                ids = shown_values(self._identity.many(own))
                sides.append([ClashingRow(side, row_id, row) for row_id, row in zip(ids, values, strict=True)])
            found.extend(zip(*sides, strict=True))
        return found

    def frame(self) -> None:
        """None: a table in memory has no Spark session."""
        return

    def write(self, path: str, form: FileForm) -> None:
        """Write the violations to a file, which appears whole or not at all."""
        with replacing(local_path(path)) as draft:
            if form is FileForm.CSV:
                write_csv(draft, self.schema, self.batches())
                return
            from pyarrow import parquet as pq

            with pq.ParquetWriter(str(draft), self.schema) as writer:
                for batch in self.batches():
                    writer.write_batch(batch)

    def close(self) -> None:
        """Nothing is kept but the table itself."""

    def row_pairs(self) -> Iterator[tuple[Rows, ...]]:
        """Row numbers of violations, of each side."""
        for s_rows, t_rows in self._detector.pairs(self._rule, self._limit):
            yield (s_rows,) if t_rows is None else (s_rows, t_rows)

    def _columns(self, *rows: Rows) -> Columns:
        """The columns of the violations of these rows, in the order of `schema`."""
        found = self._ids(rows)
        for side, own in zip(self._sides, rows, strict=True):
            found |= self._identity.columns((*self._identity.key, *self._shown), own, prefix=f"{side}_")
        return found

    def _ids(self, rows: Iterable[Rows]) -> Columns:
        return {side: self._identity.many(own) for side, own in zip(self._sides, rows, strict=True)}

    @cached_property
    def _batch_rows(self) -> int:
        """How many violations are made at once."""
        width = self._identity.row_bytes((*self._identity.key, *self._shown)) * len(self._sides)
        return max(int(_BATCH_BYTES / max(width, 1)), 1)
