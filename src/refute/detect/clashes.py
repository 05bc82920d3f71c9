"""The violations of one rule in a table in memory, listed as they are read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa

from refute.detect.detector import Detector
from refute.detect.engine import ClashingRow
from refute.detect.identity import Identity
from refute.language.addresses import local_path
from refute.language.rulebook import Rule
from refute.plan.problem import Rows
from refute.writing import replacing

Columns = dict[str, pa.Array | pa.ChunkedArray]


class LocalClashes:
    """At most `limit` violations of a rule, each by the ids of its rows."""

    def __init__(self, detector: Detector, identity: Identity, rule: Rule, limit: int | None) -> None:
        self._detector = detector
        self._identity = identity
        self._rule = rule
        self._limit = limit
        self._sides = ("s",) if rule.constraint.is_single_row else ("s", "t")

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns `s` and `t` (only `s` for a rule about one row), then the key columns of each side."""
        nothing = np.empty(0, dtype=np.int64)
        columns = self._columns(*(nothing for _ in self._sides))
        return pa.schema([(name, column.type) for name, column in columns.items()])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The violations in bounded batches, made as they are read."""
        for rows in self._pairs():
            yield from pa.table(self._columns(*rows), schema=self.schema).combine_chunks().to_batches()

    def table(self) -> pa.Table:
        """All violations at once."""
        return pa.Table.from_batches(list(self.batches()), schema=self.schema)

    def rows(self) -> list[tuple[ClashingRow, ...]]:
        """The rows of each violation."""
        names = self._rule.constraint.columns
        return [
            tuple(
                ClashingRow(side, self._identity.one(row), self._identity.values(row, names))
                for side, row in zip(self._sides, pair, strict=True)
            )
            for rows in self._pairs()
            for pair in zip(*(side.tolist() for side in rows), strict=True)
        ]

    def frame(self) -> None:
        """None: a table in memory has no Spark session."""
        return

    def write(self, path: str) -> None:
        """Write the violations to a Parquet file, which appears whole or not at all."""
        from pyarrow import parquet as pq

        with replacing(local_path(path)) as draft, pq.ParquetWriter(str(draft), self.schema) as writer:
            for batch in self.batches():
                writer.write_batch(batch)

    def close(self) -> None:
        """Nothing is kept but the table itself."""

    def _pairs(self) -> Iterator[tuple[Rows, ...]]:
        """Row numbers of violations, of each side."""
        for s_rows, t_rows in self._detector.pairs(self._rule, self._limit):
            yield (s_rows,) if t_rows is None else (s_rows, t_rows)

    def _columns(self, *rows: Rows) -> Columns:
        """The columns of the violations of these rows, in the order of `schema`."""
        found: Columns = {side: self._identity.many(own) for side, own in zip(self._sides, rows, strict=True)}
        for side, own in zip(self._sides, rows, strict=True):
            found |= self._identity.key_columns(own, prefix=f"{side}_")
        return found
