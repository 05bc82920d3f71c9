"""Small tables, and the first rows of large ones, in this process: fetched once for all rules that read them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from refute.detect.local import LocalEngine
from refute.plan.method import MethodName
from refute.relation import Relation
from refute.spark.budget import Budget, largest_result
from refute.spark.expressions import quoted
from refute.spark.frames import first_rows
from refute.spark.schema import sendable_columns
from refute.spark.source import Source
from refute.spark.worker import ROW_COLUMN

_MOST_DIGITS = 18  # of a decimal that 64 bits hold
_MOST_PLACES = 9  # after the point, so that Spark has digits enough to shift them in front of it
_LITTLE = 4 << 20  # bytes that are fetched with all columns rather than looked up later


class Gathering:
    """Fetches columns of a source. Ids come along only where asked for, since they may cost a pass over the files."""

    def __init__(self, source: Source, types: Relation, budget: Budget, method: MethodName) -> None:
        self._source = source
        self._types = types
        self._budget = budget
        self._method = method
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._known: dict[tuple[bool, bool], list[LocalEngine]] = {}

    def fits(self, names: Iterable[str], rows: int) -> bool:
        """Whether this many rows of these columns may be brought here."""
        return self._bytes(names, rows) <= self._budget.gather_bytes

    def is_fetched(self, names: Iterable[str], rows: int) -> bool:
        """Whether this many rows of these columns are rather brought here than sent through Python workers."""
        most = min(self._budget.fetch_bytes, largest_result(self._source.frame.sparkSession) // 2)
        kinds = (self._types.type_of(name).arrow_type for name in names)
        return self._budget.bytes(rows, [pa.int64() if _is_short_decimal(kind) else kind for kind in kinds]) <= most

    @contextlib.contextmanager
    def fetched(self, names: tuple[str, ...]) -> Iterator[LocalEngine]:
        """All rows of these columns for one question, one after the other; nothing is kept."""
        with self._turn:
            yield self._brought(names, self._sent(names, identified=False))

    def whole(self, names: tuple[str, ...], *, identified: bool) -> LocalEngine | None:
        """All rows of these columns, perhaps of others too; None where they are too many."""
        identified = identified and self._source.has_identity
        with self._lock:
            known = self._kept(names, whole=True, identified=identified)
            if known is not None:
                return known
            # Ids may cost a pass over the files, so that a table is known to fit before they are asked for.
            plain = None if identified or self._source.is_sized else self._sent(names, identified=False)
            if not self.fits(names, self._source.most_rows(plain)):
                return None
            sent = self._sent(names, identified=identified) if plain is None else plain
            return self._keep(self._brought(names, sent), whole=True, identified=identified)

    def worthwhile(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """These columns, or all of them where that costs about the same: then nothing has to be looked up later."""
        everything, rows = sendable_columns(self._source.frame), self._source.most_rows()
        wide = self._bytes(everything, rows)
        return everything if wide <= max(_LITTLE, 2 * self._bytes(names, rows)) else names

    def first(self, names: tuple[str, ...], *, identified: bool) -> LocalEngine:
        """The first rows of these columns, perhaps of others too."""
        identified = identified and self._source.has_identity
        with self._lock:
            known = self._kept(names, whole=False, identified=identified)
            if known is None:
                rows = first_rows(self._chosen(map(quoted, names), identified), self._budget.sample_rows)
                known = self._keep(LocalEngine(rows, method=self._method), whole=False, identified=identified)
            return known

    def glimpse(self, names: tuple[str, ...]) -> pa.Table:
        """Some rows of these columns to form expectations by, at the least cost: no answer may depend on them."""
        with self._lock:
            known = [one for kept in self._known.values() for one in kept if set(names) <= set(one.columns)]
        if known:
            return known[0].relation.arrow.select(list(names))
        found = self._source.glimpse(names, self._budget.sample_rows)
        if found is None or any(pa.types.is_nested(kind) for kind in found.schema.types):  # the frame makes others
            return self.first(names, identified=False).relation.arrow.select(list(names))
        return found

    def forget(self) -> None:
        """Fetch anew what is next asked for."""
        with self._lock:
            self._known.clear()

    def _kept(self, names: tuple[str, ...], *, whole: bool, identified: bool) -> LocalEngine | None:
        """What was fetched before and has these columns, with ids where they are asked for."""
        candidates = (one for has_ids in (identified, True) for one in self._known.get((whole, has_ids), ()))
        return next((one for one in candidates if set(names) <= set(one.columns)), None)

    def _keep(self, fetched: LocalEngine, *, whole: bool, identified: bool) -> LocalEngine:
        self._known.setdefault((whole, identified), []).append(fetched)
        return fetched

    def _sent(self, names: tuple[str, ...], *, identified: bool) -> DataFrame:
        """All rows of these columns in the types in which Spark sends them with least work."""
        return self._chosen([_narrowed(name, kind) for name, kind in self._exact(names).items()], identified)

    def _brought(self, names: tuple[str, ...], sent: DataFrame) -> LocalEngine:
        table = sent.toArrow()
        self._source.learn_rows(table.num_rows)
        return LocalEngine(_widened(table, self._exact(names)), method=self._method)

    def _exact(self, names: tuple[str, ...]) -> dict[str, pa.DataType]:
        return {name: self._types.type_of(name).arrow_type for name in names}

    def _chosen(self, columns: Iterable[str], identified: bool) -> DataFrame:
        """These expressions over the table, as text: each column that Python makes is several calls of Java, and such
        calls are most of what a small table costs beside the job."""
        if identified:
            return self._source.identified().selectExpr(*columns, ROW_COLUMN)
        return self._source.frame.selectExpr(*columns)

    def _bytes(self, names: Iterable[str], rows: int) -> int:
        return self._budget.bytes(rows, [self._types.type_of(name).arrow_type for name in names])


def _is_short_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal128(kind)) and kind.precision <= _MOST_DIGITS and 0 <= kind.scale <= _MOST_PLACES


def _narrowed(name: str, kind: pa.DataType) -> str:
    """The column as Spark sends it with least work: short decimals as whole numbers of their last digit."""
    if not _is_short_decimal(kind):
        return quoted(name)
    return f"cast({quoted(name)} * {10**kind.scale} as bigint) as {quoted(name)}"


def _widened(table: pa.Table, exact: dict[str, pa.DataType]) -> pa.Table:
    """The table with whole numbers read as the decimals they were, without a copy."""
    for place, (name, kind) in enumerate(exact.items()):
        if _is_short_decimal(kind):
            decimal = pa.decimal64(kind.precision, kind.scale)
            chunks = [
                pa.Array.from_buffers(decimal, len(chunk), chunk.buffers(), chunk.null_count, chunk.offset)
                for chunk in table.column(place).chunks
            ]
            table = table.set_column(place, name, pa.chunked_array(chunks, decimal))
    return table
