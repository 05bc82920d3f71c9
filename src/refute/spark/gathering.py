"""Small tables, and the first rows of large ones, in this process: fetched once for all rules that read them."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import functions as F

from refute.detect.local import LocalEngine
from refute.plan.method import MethodName
from refute.relation import Relation
from refute.spark.budget import Budget
from refute.spark.expressions import quoted
from refute.spark.frames import first_rows
from refute.spark.source import Source
from refute.spark.worker import ROW_COLUMN

_LITTLE = 4 << 20  # bytes that are fetched with all columns rather than looked up later


class Gathering:
    """Fetches columns of a source. Ids come along only where asked for, since they may cost a pass over the files."""

    def __init__(self, source: Source, types: Relation, budget: Budget, method: MethodName) -> None:
        self._source = source
        self._types = types
        self._budget = budget
        self._method = method
        self._lock = threading.Lock()
        self._known: dict[tuple[bool, bool], list[LocalEngine]] = {}

    def fits(self, names: Iterable[str], rows: int) -> bool:
        """Whether this many rows of these columns may be brought here."""
        return self._bytes(names, rows) <= self._budget.gather_bytes

    def whole(self, names: tuple[str, ...], *, identified: bool) -> LocalEngine | None:
        """All rows of these columns, perhaps of others too; None where they are too many."""
        if not self.fits(names, self._source.most_rows()):
            return None
        return self._fetched(names, None, identified and self._source.has_identity)

    def worthwhile(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """These columns, or all of them where that costs about the same: then nothing has to be looked up later."""
        everything, rows = tuple(self._types.names), self._source.most_rows()
        wide = self._bytes(everything, rows)
        return everything if wide <= max(_LITTLE, 2 * self._bytes(names, rows)) else names

    def first(self, names: tuple[str, ...], *, identified: bool) -> LocalEngine:
        """The first rows of these columns, perhaps of others too."""
        return self._fetched(names, self._budget.sample_rows, identified and self._source.has_identity)

    def glimpse(self, names: tuple[str, ...]) -> pa.Table:
        """Some rows of these columns to form expectations by, at the least cost: no answer may depend on them."""
        with self._lock:
            known = [one for kept in self._known.values() for one in kept if set(names) <= set(one.columns)]
        if known:
            return known[0].relation.arrow.select(list(names))
        found = self._source.glimpse(names, self._budget.sample_rows)
        return self.first(names, identified=False).relation.arrow.select(list(names)) if found is None else found

    def forget(self) -> None:
        """Fetch anew what is next asked for."""
        with self._lock:
            self._known.clear()

    def _fetched(self, names: tuple[str, ...], limit: int | None, identified: bool) -> LocalEngine:
        with self._lock:
            for has_ids in (identified, True):
                for known in self._known.get((limit is None, has_ids), ()):
                    if set(names) <= set(known.columns):
                        return known
            frame = self._source.identified() if identified else self._source.frame
            columns = [F.col(quoted(name)) for name in names]
            chosen = frame.select(*columns, *([ROW_COLUMN] if identified else []))
            table = chosen.toArrow() if limit is None else first_rows(chosen, limit)
            if limit is None:
                self._source.learn_rows(table.num_rows)
            made = LocalEngine(table, method=self._method)
            self._known.setdefault((limit is None, identified), []).append(made)
            return made

    def _bytes(self, names: Iterable[str], rows: int) -> int:
        return self._budget.bytes(rows, [self._types.type_of(name).arrow_type for name in names])
