"""Columns of a table, and the first rows of large ones, in this process: fetched once for all rules that read them."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.local import LocalEngine
from refute.plan.method import MethodName
from refute.relation import Relation
from refute.spark.answer.fetching.holding import Holding
from refute.spark.answer.fetching.narrowing import is_short_decimal, narrowed, widened
from refute.spark.budget import SparkBudget, width
from refute.spark.expressions import quoted
from refute.spark.source.frames import first_rows
from refute.spark.source.source import SparkSource
from refute.spark.workers.worker import ROW_COLUMN

_FEW = 256  # rows that show how wide texts are
_TRIED = 4096  # rows that are fetched without asking how long their texts are: Spark refuses what is too much
_TRIED_BYTES = 1 << 20
_VARIABLE = "${"
_TOO_MUCH = re.compile(
    r"maxResultSize|serialized results|OutOfMemoryError|Java heap space|RESOURCE_EXHAUSTED|larger than max"
)


def is_too_much(error: Exception) -> bool:
    """Whether Spark refused to send rows because of their size."""
    return _TOO_MUCH.search(str(error)) is not None


class Gathering:
    """Fetches columns of a source. Ids come along only where asked for, since they may cost a pass over the files.

    What comes here is bounded by bytes: those that values of a type take, and those that texts took in some rows. Where
    Spark still finds that it is too much, nothing is fetched any more, and rules are answered in other ways.
    """

    def __init__(
        self,
        source: SparkSource,
        types: Relation,
        budget: SparkBudget,
        method: MethodName,
        wider: Gathering | None = None,
    ) -> None:
        """Of a source that has some of the rows or columns of another, `wider` knows what to expect."""
        self._wider = wider
        self._source = source
        self._types = types
        self._budget = budget
        self._method = method
        self._lock = threading.RLock()
        self._whole = Holding(budget.driver_bytes)
        self._firsts: dict[bool, list[LocalEngine]] = {False: [], True: []}  # by whether they have ids
        self._planned: dict[tuple[tuple[str, ...], bool], DataFrame] = {}
        self._text_widths: dict[str, float] = {}
        self._refused = False

    def most_rows(self, names: tuple[str, ...]) -> int:
        """A number of rows that the table has no more than; these columns will probably be asked for next."""
        return self._source.most_rows(None if self._source.is_sized else self._sent(names, identified=False))

    def fits(self, names: Iterable[str], rows: int, below: int | None = None) -> bool:
        """Whether this many rows of these columns may be brought here, with their ids; with `below`, and take at most
        so many bytes."""
        most = self._budget.driver_bytes if below is None else min(below, self._budget.driver_bytes)
        if self._refused or most <= 0:
            return False
        if rows <= _TRIED and most >= _TRIED_BYTES:
            return True
        return rows * (self.row_bytes(names) + self._id_bytes) <= min(most, self._most)

    def suits_task(self, names: Iterable[str], rows: int) -> bool:
        """Whether one task may be given this many rows of these columns, with their ids."""
        most = self._budget.task_bytes
        return rows <= self._budget.task_rows and rows * (self.row_bytes(names) + self._id_bytes) <= most

    def sent(self, names: tuple[str, ...]) -> tuple[DataFrame, dict[str, pa.DataType]]:
        """All rows of these columns, with ids, as Spark sends them with least work, and the types that they had."""
        return self._sent(names, identified=True), self._exact(names)

    @contextlib.contextmanager
    def rows(self, names: tuple[str, ...], *, identified: bool) -> Iterator[LocalEngine | None]:
        """All rows of these columns, perhaps of others too, which are known to fit; None where Spark finds that they
        are too much. Meanwhile the same thread must not ask for others."""
        identified = identified and self._source.has_identity
        rows = self._source.most_rows()
        size = 0 if rows <= _TRIED else int(rows * (self.row_bytes(names) + self._id_bytes * identified))

        def bring() -> LocalEngine | None:
            return self._brought(names, self._sent(names, identified=identified))

        with self._whole.used(names, identified=identified, size=size, bring=bring) as found:
            yield found

    def known(self, names: tuple[str, ...]) -> pa.Table | None:
        """All rows of these columns, with ids and perhaps with other columns; None unless they are here already."""
        found = self.here(names)
        return None if found is None else found.relation.arrow

    def here(self, names: tuple[str, ...]) -> LocalEngine | None:
        """The engine of these rows, whose positions are its own; None unless they are here already."""
        return self._whole.known(names, identified=self._source.has_identity)

    def first(self, names: tuple[str, ...], *, identified: bool) -> LocalEngine:
        """The first rows of these columns, perhaps of others too."""
        identified = identified and self._source.has_identity
        with self._lock:
            candidates = (one for has_ids in {identified, True} for one in self._firsts[has_ids])
            known = next((one for one in candidates if set(names) <= set(one.columns)), None)
            if known is None:
                known = LocalEngine(self._first(names, identified), method=self._method)
                self._firsts[identified].append(known)
            return known

    def glimpse(self, names: tuple[str, ...]) -> pa.Table:
        """Some rows of these columns to form expectations by, at the least cost: no answer may depend on them."""
        known = self._seen(names)
        if known is not None:
            return known.relation.arrow.select(list(names))
        found = self._source.glimpse(names, self._budget.sample_rows)
        if found is None or any(pa.types.is_nested(kind) for kind in found.schema.types):  # the frame makes others
            return self.first(names, identified=False).relation.arrow.select(list(names))
        return found

    def _seen(self, names: tuple[str, ...]) -> LocalEngine | None:
        """Rows of these columns that came here before, of this table or of the one that it is a part of."""
        with self._lock:
            firsts = [one for some in self._firsts.values() for one in some if set(names) <= set(one.columns)]
        known = self._whole.known(names, identified=False) or next(iter(firsts), None)
        return known if known is not None or self._wider is None else self._wider._seen(names)

    def row_bytes(self, names: Iterable[str]) -> float:
        """About how many bytes a row of these columns takes."""
        wanted = list(dict.fromkeys(names))
        kinds = {name: self._types.type_of(name).arrow_type for name in wanted}
        known = {name: 8 if is_short_decimal(kind) else width(kind) for name, kind in kinds.items()}
        texts = [name for name in wanted if known[name] is None]
        with self._lock:
            unseen = [name for name in texts if name not in self._text_widths]
            if unseen:
                seen = self.glimpse(tuple(unseen))
                for name in unseen:
                    self._text_widths[name] = seen.column(name).nbytes / max(seen.num_rows, 1)
            return sum(self._text_widths[name] for name in texts) + sum(size for size in known.values() if size)

    def forget(self) -> None:
        """Fetch again what is next asked for."""
        with self._lock:
            self._whole.forget()
            for some in self._firsts.values():
                some.clear()
            self._planned.clear()

    @cached_property
    def _id_bytes(self) -> float:
        """About how many bytes the id of a row takes: its key, or its position in a file."""
        return self.row_bytes(self._source.key) if self._source.key else 8

    @cached_property
    def _most(self) -> int:
        return self._budget.most_bytes(self._source.frame.sparkSession)

    def _first(self, names: tuple[str, ...], identified: bool) -> pa.Table:
        """The first rows, fewer where their texts are long."""
        frame, most = self._chosen({name: quoted(name) for name in names}, identified), self._budget.sample_rows
        if most > _FEW and any(width(self._types.type_of(name).arrow_type) is None for name in names):
            few = first_rows(frame, _FEW)
            if few.num_rows < _FEW:
                return few
            most = min(most, int(self._budget.sample_bytes / max(few.nbytes / _FEW, 1)))
            if most <= _FEW:
                return few.slice(0, max(most, 1))
        return first_rows(frame, most)

    def _sent(self, names: tuple[str, ...], *, identified: bool) -> DataFrame:
        """All rows of these columns in the types in which Spark sends them with least work; Spark plans them once."""
        with self._lock:
            known = self._planned.get((names, identified))
            if known is None:
                columns = {name: narrowed(name, kind) for name, kind in self._exact(names).items()}
                known = self._planned[names, identified] = self._chosen(columns, identified)
            return known

    def _brought(self, names: tuple[str, ...], sent: DataFrame) -> LocalEngine | None:
        """The rows in this process; None where Spark finds them too many bytes to send."""
        try:
            table = sent.toArrow()
        except (PySparkException, Py4JError) as error:
            if not is_too_much(error):
                raise
            self._refused = True
            return None
        self._source.learn_rows(table.num_rows)
        return LocalEngine(widened(table, self._exact(names)), method=self._method)

    def _exact(self, names: tuple[str, ...]) -> dict[str, pa.DataType]:
        return {name: self._types.type_of(name).arrow_type for name in names}

    def _chosen(self, columns: Mapping[str, str], identified: bool) -> DataFrame:
        """These columns of the table by expressions, as text: each column that Python makes is several calls of Java,
        and such calls are most of what a small table costs beside the job."""
        frame = self._source.identified() if identified else self._source.frame
        ids = [ROW_COLUMN] if identified else []
        if any(_VARIABLE in name for name in columns):  # which Spark would replace by its value in SQL, not in names
            return frame.select(*(F.col(quoted(name)) for name in columns), *ids)
        return frame.selectExpr(*columns.values(), *ids)
