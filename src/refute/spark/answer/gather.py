"""The rows come to this process, and its kernels answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from refute.detect.local import LocalEngine
from refute.spark.answer.native import Filter
from refute.spark.answer.way import Extent, Way
from refute.spark.answer.witness import Clash
from refute.spark.source.frames import frame_of
from refute.spark.worker import ROW_COLUMN

Numbers = NDArray[np.int64]
_FEW_PAIRS = 1_000_000  # violations that are listed here and sent back


class TooMuchError(Exception):
    """Spark refused to send the rows; from then on nothing is gathered any more."""


class Fetch(Way):
    """The rows come for one question at a time, where tasks would have to answer it otherwise."""

    name = "gather"
    steps = ("fetch the columns into this process", "answer with the in-process kernels")
    worst = "one scan, then as in process"
    _kept: ClassVar[bool] = False

    def suits(self, rows: int) -> bool:
        """Whether the rows take few enough bytes, and tasks are what they would go to otherwise."""
        bound = self._bound
        if bound.is_native and not self._kept:
            return False
        return bound.engine.gathering.fits(bound.columns, rows, kept=self._kept, native=bound.is_native)

    def count(self) -> int:
        """The exact number of violations."""
        with self._rows(identified=False) as local:
            return local.count(self._bound.rule)

    def clash(self, *, counted: bool) -> Clash | None:
        """The rows of some violation, or None where the rule holds."""
        with self._rows(identified=True) as local:
            return self._bound.rows.found_here(local)

    def extent(self, *, counts: bool) -> Extent:
        """How far the rule is violated; without `counts` only whether it is."""
        with self._rows(identified=True) as local:
            (timed,) = local.measure([self._bound.rule], counts=counts)
            found = timed.finding
            clash = None if found.witness is None else self._bound.rows.named(local, found.witness)
            return Extent(found.violations, found.rows, found.skipped_nulls, clash)

    @contextmanager
    def _rows(self, *, identified: bool) -> Iterator[LocalEngine]:
        bound = self._bound
        with bound.engine.gathering.rows(bound.columns, identified=identified, kept=self._kept) as local:
            if local is None:
                raise TooMuchError
            yield local


class Gather(Fetch):
    """The rows come once for all rules and are kept: that costs less than any job."""

    is_quick = True
    _kept = True

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`."""
        with self._rows(identified=True) as local:
            counts = local.partners(self._bound.rule)
            broken = np.flatnonzero(counts.in_violation)
            return self._sent_back(local, {ROW_COLUMN: broken}, as_s=counts.as_s[broken], as_t=counts.as_t[broken])

    def pairs(self, limit: int | None) -> DataFrame:
        """The violations by row id, in columns `s` and `t`; only `s` for a rule about one row."""
        rule = self._bound.rule
        with self._rows(identified=True) as local:
            if (limit is not None and limit <= _FEW_PAIRS) or local.count(rule) <= _FEW_PAIRS:
                found = local.clashes(rule, limit).table()
                return self._sent_back(local, {side: found.column(side).to_numpy() for side in found.column_names})
        return Filter(self._bound).pairs(limit) if self._bound.pairing is None else super().pairs(limit)

    def _sent_back(self, local: LocalEngine, rows: dict[str, Numbers], **beside: Numbers) -> DataFrame:
        """A DataFrame of ids, for rows of what was gathered, and of numbers beside them."""
        ids = local.relation.arrow.column(ROW_COLUMN)
        named = {name: ids.take(pa.array(places, pa.int64())) for name, places in rows.items()}
        return frame_of(pa.table(named | beside), self._bound.engine.source.frame.sparkSession)
