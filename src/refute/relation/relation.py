"""A table whose columns are encoded once and shared by everything that looks at it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from refute.errors import SchemaError
from refute.faults import repeated_column, unknown_column
from refute.language.arithmetic import Combined, formula_of
from refute.language.conditions import Condition
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.predicate import Predicate
from refute.relation.arrays import truths
from refute.relation.binding import bind
from refute.relation.encode.columns import first_codes
from refute.relation.encode.encoded import Encoded
from refute.relation.formula_types import formula_type
from refute.relation.formulas import computed_column
from refute.relation.keys.encoding import Encoding
from refute.relation.masks.mask import condition_mask, predicate_mask
from refute.relation.sources.protocol import ArrowSource, Source, source_of
from refute.relation.types import READABLE, ColumnType, Family
from refute.runtime.once import Once

T = TypeVar("T")
Mask = NDArray[np.bool_]


class Relation:
    """Columns as integers, computed when first asked for and kept. Safe to use from many threads."""

    def __init__(self, source: Source, whole: Relation | None = None) -> None:
        """The relation over a source; `whole` is one that starts with the same rows, whose codes are taken if known."""
        self._source = source
        self._whole = None if whole is None else weakref.ref(whole)  # which may itself hold on to what is made of us
        self._positions: dict[str, int] = {}
        self._repeated: set[str] = set()
        for position, name in enumerate(source.names):
            if self._positions.setdefault(name, position) != position:
                self._repeated.add(name)
        self._once = Once()
        self.n_rows = source.n_rows
        self.names = source.names

    @classmethod
    def of(cls, table: object) -> Relation:
        """The relation over a pyarrow, pandas or polars table; a Relation is returned as it is."""
        return table if isinstance(table, cls) else cls(source_of(table))

    @property
    def schema(self) -> dict[str, ColumnType]:
        """The type of every column by name."""
        return {name: self.type_of(name) for name in self._positions}

    @property
    def arrow(self) -> pa.Table:
        """The whole table as Arrow."""
        if isinstance(self._source, ArrowSource):
            return self._source.table
        return pa.table([self._source.column(i) for i in range(len(self.names))], names=list(self.names))

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self._positions

    def computes(self, name: str) -> Combined | None:
        """The formula of this name, unless a column of this name is stored."""
        return None if name in self._positions else formula_of(name)

    def head(self, n: int, names: Sequence[str] | None = None) -> Relation:
        """The first n rows as a relation of their own, without a copy; with `names`, of these columns alone."""
        if names is None:
            return Relation(self._source.slice(0, n), self)
        columns = [self.column(name).slice(0, n) for name in names]
        return Relation(ArrowSource(pa.table(columns, names=list(names))), self)

    def filter(self, mask: Mask) -> Relation:
        """The rows for which the mask is true as a relation of their own."""
        return Relation(self._source.filter(mask))

    def row(self, position: int) -> dict[str, Any]:
        """The values of one row by column, without converting any other; the first of columns with the same name.

        A value that Python cannot hold, such as a day of the year 10000, is shown as text.
        """
        values = self._source.row(position)
        return {name: values[place] for name, place in self._positions.items()}

    def column(self, name: str) -> pa.ChunkedArray:
        """One column as Arrow; raises SchemaError where there is none of this name, or more than one."""
        position = self._positions.get(name)
        if position is None:
            return self._computed(name)
        if name in self._repeated:
            raise repeated_column(name)
        return self._once.get(("column", name), lambda: _with_take(self._source.column(position)))

    def type_of(self, name: str) -> ColumnType:
        """The type of one column; a column whose objects have no single type is unsupported."""
        formula = self.computes(name)
        if formula is not None:
            return ColumnType.of(name, formula_type(formula, self.type_of))
        try:
            return ColumnType.of(name, self.column(name).type)
        except SchemaError:
            if name not in self._positions or name in self._repeated:
                raise
            return ColumnType(name, Family.UNSUPPORTED, pa.null())

    def encode(self, name: str, *, ordered: bool, dense: bool = False, threads: int = 1) -> Encoded:
        """The column as integers: equal where values are equal, sorting as they do if `ordered`, gapless if `dense`."""
        return self.encode_joint((name,), ordered=ordered, dense=dense, threads=threads)[0]

    def encode_joint(
        self, names: tuple[str, ...], *, ordered: bool, dense: bool = False, threads: int = 1
    ) -> tuple[Encoded, ...]:
        """The columns as integers that compare across columns as the values do; gapless over all of them if `dense`."""
        unique = tuple(sorted(set(names)))
        known = self._known_codes(unique, ordered, dense)
        if known is None:
            known = self._once.get(
                ("encoded", unique, ordered, dense), lambda: self._codes(unique, ordered, dense, threads)
            )
        by_name: dict[str, Encoded] = dict(zip(unique, known, strict=True))
        return tuple(by_name[name] for name in names)

    def encoding(self, names: tuple[str, ...]) -> Encoding:
        """The keys of columns that are compared with each other, by which rows that come later are held against these.

        It knows the values of this table, and grows by what is extended: use it from one thread at a time.
        """
        unique = tuple(sorted(set(names)))
        return self._once.get(("encoding", unique), lambda: Encoding.fit(self._readable(name) for name in unique))

    def is_null(self, name: str) -> Mask:
        """Which rows are null (or NaN) in this column. Do not write to it."""
        return self._once.get(("is null", name), lambda: self._is_null(name))

    def null_count(self, name: str) -> int:
        """How many rows are null (or NaN) in this column."""
        column = self.column(name)
        if pa.types.is_dictionary(column.type):
            return self.encode(name, ordered=False).nulls
        if not pa.types.is_floating(column.type):
            return int(column.null_count)
        nans = self._once.get(("NaN", name), lambda: pc.sum(pc.is_nan(column)).as_py() or 0)
        return int(column.null_count + nans)

    def mask(self, predicate: Predicate, nulls: Nulls = Nulls.SQL) -> Mask:
        """The rows for which a predicate about one row is true. Do not write to it."""
        return self.shared(("mask", predicate, nulls), lambda: predicate_mask(self, predicate, nulls))

    def condition_mask(self, condition: Condition) -> Mask:
        """The rows that a `where` condition selects: those for which it is true, not unknown. Do not write to it."""
        return self.shared(("condition", condition), lambda: condition_mask(self, condition))

    def shared(self, key: Hashable, build: Callable[[], T]) -> T:
        """What `build` returned for this key the first time, for whatever rules can share: sorts, groupings, masks."""
        return self._once.get(("shared", key), build)

    def bind(self, constraint: DenialConstraint, *, rule: str | None = None, where: Condition | None = None) -> None:
        """Checks that the rule fits the table; raises SchemaError naming column, type, rule and the nearest name."""
        bind(self, constraint, rule, where)

    def computed(self, name: str) -> pa.ChunkedArray:
        """The values of a formula in the type that it has for any rows."""
        formula = self.computes(name)
        assert formula is not None
        return computed_column(formula, self.column, self.n_rows, narrow=False)

    def _computed(self, name: str) -> pa.ChunkedArray:
        formula = self.computes(name)
        if formula is None:
            raise unknown_column(name, self.names)
        return self._once.get(("column", name), lambda: computed_column(formula, self.column, self.n_rows, narrow=True))

    def _known_codes(self, names: tuple[str, ...], ordered: bool, dense: bool) -> tuple[Encoded, ...] | None:
        """Codes that were made before and will do."""
        for asked in ((True, dense), (ordered, True), (True, True), (ordered, dense)):
            known: tuple[Encoded, ...] | None = self._once.peek(("encoded", names, *asked))
            if known is not None:
                return known
        return None

    def _codes(self, names: tuple[str, ...], ordered: bool, dense: bool, threads: int) -> tuple[Encoded, ...]:
        """New codes, or the first of those that the whole table has."""
        whole = None if self._whole is None else self._whole()
        if whole is not None:
            known = whole._known_codes(names, ordered, dense) or whole._known_codes(names, ordered, False)
            if known is not None:
                return first_codes(known, self.n_rows, dense=dense)
        columns = [self._readable(name) for name in names]
        return Encoding.of_table(columns, ordered=ordered, dense=dense, threads=threads)

    def _readable(self, name: str) -> pa.ChunkedArray:
        column = self.column(name)
        kind = ColumnType.of(name, column.type)
        if kind.family is Family.UNSUPPORTED:
            raise SchemaError(f"Column {kind} cannot be compared. {READABLE}", column=name)
        return column

    def _is_null(self, name: str) -> Mask:
        column = self.column(name)
        if pa.types.is_dictionary(column.type):  # null in its indices, or in the entry that they point to
            return self.encode(name, ordered=False).values < 0
        return truths(column.is_null(nan_is_null=pa.types.is_floating(column.type)))


def _with_take(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type that Arrow can take rows of, as it cannot of string views, plain or in dictionaries."""
    kind, text = column.type, pa.large_string()
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(text), ordered=kind.ordered)
            for chunk in column.chunks
        ]
        return pa.chunked_array(chunks, pa.dictionary(kind.index_type, text, kind.ordered))
    return column.cast(text) if pa.types.is_string_view(kind) else column
