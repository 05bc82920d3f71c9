"""Where rows come from on Spark, and who a row is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StringType, StructType, VariantType

from refute.errors import DataError, SchemaError
from refute.faults import (
    no_row_ids,
    null_key,
    repeated_column,
    repeated_key,
    repeated_key_column,
    unknown_column,
    unusable_key,
)
from refute.language.arithmetic import formula_of, renamed_column
from refute.language.rulebook import Rule
from refute.relation.shown import shown_row
from refute.spark.expressions import quoted
from refute.spark.formulas import formula_expression
from refute.spark.session.failures import plain_failures
from refute.spark.source.column_names import Naming, spelled, with_fields
from refute.spark.source.files import glimpse_of_files, rows_by_footers
from refute.spark.source.keeping import Kept
from refute.spark.source.lineage import lineages_of, materialised, scanned_format
from refute.spark.source.positions import FileLayout, layout_of, with_positions, with_row_numbers
from refute.spark.source.renaming import is_collated
from refute.spark.source.types import empty_relation
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

_NESTED = (ArrayType, MapType, StructType, VariantType)
_OFTEN = RESERVED + "often"
_FEW_ROWS = 10_000  # which cost less to evaluate again than to keep


class SparkSource:
    """A table on Spark: its rows, and their ids where they have any."""

    def __init__(
        self,
        frame: DataFrame,
        name: str,
        key: Sequence[str] = (),
        *,
        scanned: str | None = None,
        layout: FileLayout | None = None,
    ) -> None:
        self.frame = frame  # with a column for each field of a struct that a rule or the key has named
        self.name = name
        self.own_columns = tuple(frame.columns)
        self.computed: set[str] = set()  # columns of `frame` that are formulas of rules
        self._naming = Naming.of(frame)
        self._numbered: DataFrame | None = None  # the rows with their positions, where both were evaluated once
        self.key = tuple(self.spelled(column) for column in key)
        self._layout = layout
        self._n_rows: int | None = layout.n_rows if layout is not None else None
        self._most_rows: int | None = None
        self._format = scanned
        self._format_known = scanned is not None
        self._names_one_path = True  # of the files that we list, each is another
        self._key_checked = False
        self._repeatable: dict[tuple[str, ...], bool] = {}
        self._is_steady = scanned is not None  # nothing but files, as they are
        self._is_held = False  # in memory, or kept by Spark
        self._once = threading.RLock()  # several rules may ask at a time
        self._check_names()

    def spelled(self, name: str) -> str:
        """The table's own name of a column, or of a field inside one, which then is a column of `frame`; a name that
        leads nowhere stays as it is."""
        if formula_of(name) is not None:
            return self._with_formula(renamed_column(name, self.spelled))
        path = self._naming.path(name)
        if path is None:
            return name
        if spelled(path) not in self.frame.columns:
            self._widen(lambda frame: with_fields(frame, [path]))
        return spelled(path)

    def needed(self, rules: Sequence[Rule] | None) -> list[str]:
        """The columns to keep for these rules; all of them where one is missing, which is reported later."""
        columns = self.frame.columns
        if rules is None:
            return columns
        wanted = {name for rule in rules for name in rule.read if name in columns or formula_of(name) is None}
        if not wanted <= set(columns):
            return columns
        return [name for name in columns if name in wanted or name in self.key] or columns

    def _with_formula(self, name: str) -> str:
        """The name of a formula, which then is a column of `frame`, if the types of its columns admit that."""
        formula = formula_of(name)
        if formula is not None and name not in self.frame.columns:
            with suppress(SchemaError):  # which is raised again where rules are held against the table
                added = formula_expression(formula, empty_relation(self.frame))
                self._widen(lambda frame: frame.withColumn(name, added))
                self.computed.add(name)
        return name

    def _widen(self, widened: Callable[[DataFrame], DataFrame]) -> None:
        """Adds columns to the rows, also to those that have their positions beside them."""
        self.frame = widened(self.frame)
        if self._numbered is not None:
            columns = [F.col(quoted(name)) for name in (*self.frame.columns, ROW_COLUMN)]
            self._numbered = widened(self._numbered).select(*columns)

    def n_rows(self) -> int:
        """How many rows there are; counted once."""
        with self._once, plain_failures(self.name):
            if self._n_rows is None:
                self._n_rows = self.frame.count()
            return self._n_rows

    @property
    def is_counted(self) -> bool:
        """Whether `n_rows` is known already."""
        return self._n_rows is not None

    @property
    def is_sized(self) -> bool:
        """Whether `most_rows` is known already."""
        return self._n_rows is not None or self._most_rows is not None

    def most_rows(self, chosen: DataFrame | None = None) -> int:
        """How many rows there are, or a number that is not less and comes without a job.

        What there is to know of the plan of the frame is read off that of `chosen`, columns of it that will be asked
        for next: Spark plans each frame once.
        """
        if self.is_sizable(chosen) and self._n_rows is None:
            assert self._most_rows is not None
            return self._most_rows
        return self.n_rows()

    def is_sizable(self, chosen: DataFrame | None = None) -> bool:
        """Whether `most_rows` takes no job."""
        with self._once, plain_failures(self.name):
            if not self.is_sized and self._scanned(chosen) == "parquet":
                self._most_rows = rows_by_footers(self.frame)
            return self.is_sized

    def glimpse(self, names: Sequence[str], rows: int) -> pa.Table | None:
        """Some rows of these columns to form expectations by, where they come without a job; else None."""
        with self._once, plain_failures(self.name):
            return glimpse_of_files(self.frame, names, rows) if self._scanned() == "parquet" else None

    def learn_rows(self, number: int) -> None:
        """Take note of the number of rows, which somebody has come to know."""
        with self._once:
            self._n_rows = number

    @property
    def has_identity(self) -> bool:
        """Whether rows have ids: a key, or positions in files."""
        return bool(self.key) or self._numbered is not None or self._scanned() is not None

    @property
    def is_costly(self) -> bool:
        """Whether each pass over some columns costs more than reading those: all but scans of Parquet files, tables
        that are held already, and few rows."""
        few = self._n_rows is not None and self._n_rows <= _FEW_ROWS
        return not few and not self._is_held and self._scanned() != "parquet"

    def is_repeatable(self, names: Sequence[str]) -> bool:
        """Whether every evaluation of these columns gives the same rows, in any order, as far as Spark can tell."""
        if self._is_steady:
            return True
        with self._once, plain_failures(self.name):
            known = tuple(sorted(names))
            if known not in self._repeatable:
                self._repeatable[known] = True
                self._is_held = True
                for lineage in lineages_of(self.frame, known):
                    self._format, self._format_known = lineage.scanned, True  # which the same plan shows
                    self._names_one_path = lineage.names_one_path
                    self._is_held = self._is_held and lineage.is_held
                    if not lineage.is_repeatable:
                        self._repeatable[known] = False
                        break
            return self._repeatable[known]

    def identified(self) -> DataFrame:
        """The frame and one more column, the id of a row: its key, a struct of its keys, or its position.

        Raises DataError where rows have none.
        """
        keys = self._key_columns()
        if keys:
            return self.frame.select("*", (keys[0] if len(keys) == 1 else F.struct(*keys)).alias(ROW_COLUMN))
        if self._numbered is not None:
            return self._numbered
        scanned = self._scanned()
        if scanned is None:
            raise no_row_ids("Naming rows", self.name)
        with self._once, plain_failures(self.name):
            is_one_file = scanned == "parquet" and self._names_one_path and len(self.frame.inputFiles()) == 1
            if self._layout is None and is_one_file:
                return with_row_numbers(self.frame, ROW_COLUMN)
            if self._layout is None:
                self._layout = layout_of(self.frame, scanned)
                self._n_rows = self._layout.n_rows
            return with_positions(self.frame, scanned, self._layout, ROW_COLUMN)

    def kept(self, place: Kept, names: Sequence[str], *, named: bool = False) -> SparkSource:
        """The same table, of these columns alone, kept on the executors from its first use on.

        Positions are kept beside where rows are `named` by them; else they are read from the files when asked for.
        """
        with self._once, plain_failures(self.name):
            if not self.is_repeatable(names):  # Spark might make lost rows again, and others
                return self.settled(names)
            chosen = [F.col(quoted(name)) for name in names]
            numbered = None
            if named and not self.key and self.has_identity:
                numbered = place.keep(self.identified().select(*chosen, ROW_COLUMN))
            frame = place.keep(self.frame.select(*chosen)) if numbered is None else numbered.drop(ROW_COLUMN)
            found = SparkSource(frame, self.name, self.key, scanned=self._format, layout=self._layout)
            found._format_known = found._is_steady = found._is_held = True
            found._numbered, found._n_rows, found._most_rows = numbered, self._n_rows, self._most_rows
            found._key_checked = self._key_checked
            return found

    def settled(self, names: Sequence[str]) -> SparkSource:
        """The table where every evaluation gives the same rows; else these columns of it, evaluated once and for all,
        with the positions they then had."""
        with self._once, plain_failures(self.name):
            if self.is_repeatable(names):
                return self
            if self.key or self._scanned() is None:
                found = SparkSource(materialised(self.frame, names), self.name, self.key)
            else:
                numbered = materialised(self.identified(), [*names, ROW_COLUMN])
                found = SparkSource(numbered.drop(ROW_COLUMN), self.name)
                found._numbered = numbered
            found._format_known = found._is_steady = found._is_held = True
            return found

    def chosen(self, ids: DataFrame, *, there: bool) -> SparkSource:
        """The rows with ids that are in a frame of these alone, or those that are not there."""
        wanted = ids.select(F.col(ROW_COLUMN).alias(_OFTEN))
        matches = F.col(ROW_COLUMN) == F.col(_OFTEN)
        numbered = self.identified().join(wanted, matches, "left_semi" if there else "left_anti")
        found = SparkSource(numbered.drop(ROW_COLUMN), self.name, self.key)
        found._numbered = None if self.key else numbered
        found._format_known = found._is_steady = found._key_checked = True
        return found

    def forget_layout(self) -> None:
        """Learn again where rows are when that is next needed."""
        with self._once:
            self._layout = None

    def check_key(self) -> None:
        """Raises DataError with an example where a key is null or belongs to more than one row; looked at once."""
        if not self.key or self._key_checked:
            return
        keys = self._key_columns()
        nulls = []
        for name, column in zip(self.key, keys, strict=True):
            null = column.isNull()
            is_float = isinstance(self.frame.schema[name].dataType, FloatType | DoubleType)
            nulls.append(null | F.isnan(column) if is_float else null)
        counted = self.frame.groupBy(*keys).agg(F.count(F.lit(1)).alias(_OFTEN))
        with plain_failures(self.name):
            found = counted.where((F.col(_OFTEN) > 1) | reduce(or_, nulls)).orderBy(*keys).limit(1).toArrow()
        if found.num_rows:
            with plain_failures(self.name):
                missing = self.frame.agg(*(F.count_if(one) for one in nulls)).collect()[0]
            for name, count in zip(self.key, missing, strict=True):
                if count:
                    raise null_key(name, count)
            wrong = shown_row(found, 0)
            raise repeated_key({name: wrong[name] for name in self.key}, wrong[_OFTEN])
        self._key_checked = True

    def _key_columns(self) -> list[SparkColumn]:
        """The columns of the key, texts by their code points."""
        found = []
        for name in self.key:
            plain = F.col(quoted(name))
            collated = is_collated(self.frame.schema[name].dataType)
            found.append(plain.cast(StringType()).alias(name) if collated else plain)
        return found

    def _scanned(self, chosen: DataFrame | None = None) -> str | None:
        with self._once:
            if not self._format_known:
                self._format, self._names_one_path = scanned_format(self.frame if chosen is None else chosen)
                self._format_known = True
            return self._format

    def _check_names(self) -> None:
        names = self.frame.columns
        seen: dict[str, str] = {}
        for name in names:
            if name.lower() == ROW_COLUMN or name.lower().startswith(RESERVED):
                raise DataError(
                    f"The column {name!r} of {self.name} has a name that Refute reserves. Rename it.", column=name
                )
            same = name if self._naming.is_case_sensitive else name.lower()
            if seen.get(same) == name:
                raise repeated_column(name)
            if same in seen:
                raise DataError(
                    f"Spark cannot distinguish the columns {seen[same]!r} and {name!r} of {self.name}. Rename one "
                    "of them.",
                    columns=(seen[same], name),
                )
            seen[same] = name
        for i, name in enumerate(self.key):
            if name in self.key[:i]:
                raise repeated_key_column(name)
            if name not in names:
                raise unknown_column(name, names, kind="key column")
            kind = self.frame.schema[name].dataType
            if isinstance(kind, _NESTED):
                raise unusable_key(name)
