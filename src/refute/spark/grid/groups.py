"""Rows with equal keys: a number to send them by, and the number of the large group that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.language.form import Order, operands
from refute.language.nulls import Nulls
from refute.language.predicate import Predicate
from refute.relation import Relation
from refute.relation.mixing import NULL, Bits, scrambled
from refute.spark.grid.axis import Axis, Domain, one_array

Ints = NDArray[np.int64]
NO_GROUP = -1


@dataclass(frozen=True, slots=True)
class EqualityKey:
    """One equality, read from both sides. `hashed` are the columns in which Spark put hashes of its values, if any."""

    axis: Axis
    nulls: Nulls
    hashed: tuple[str, str] | None

    @classmethod
    def of(cls, predicate: Predicate, types: Relation, nulls: Nulls) -> EqualityKey:
        """The key of an equality over columns of these types."""
        axis = Axis.of(Order(predicate), types)
        if axis.exact or axis.domain is Domain.FLOAT:
            return cls(axis, nulls, None)
        s_name, t_name = operands(predicate)
        name = f"__hash_{s_name}" if s_name == t_name else f"__hash_{s_name}_{t_name}"
        return cls(axis, nulls, (name, name if s_name == t_name else f"{name}_t"))

    @property
    def exact(self) -> bool:
        """Whether both sides can be held against one value: rows of a group are then known to be equal."""
        return self.axis.exact or self.axis.s_kind.arrow_type == self.axis.t_kind.arrow_type

    def bits(self, table: pa.Table, *, of_t: bool) -> Bits:
        """A number for each value, equal where values are."""
        if self.hashed is not None:
            found = one_array(table.column(self.hashed[of_t])).to_numpy(zero_copy_only=False)
        else:
            found = self.axis.keys(table, of_t=of_t)
        bits = np.ascontiguousarray(found).view(np.uint64)
        missing = self._missing(table, of_t=of_t)
        return bits if missing is None else np.where(missing, NULL, bits)

    def same(self, table: pa.Table, held: pa.Table, places: Ints, *, of_t: bool) -> NDArray[np.bool_]:
        """Whether each row has the value of the row of `held`, a table of rows as `s`, at its place."""
        if self.axis.exact:
            values = self.axis.keys(table, of_t=of_t)
            equal = values == self.axis.keys(held, of_t=False)[places]
        else:
            values = one_array(table.column((self.axis.t_kind if of_t else self.axis.s_kind).name))
            known = one_array(held.column(self.axis.s_kind.name)).take(pa.array(places))
            equal = _equal(values, known)
        missing, absent = self._missing(table, of_t=of_t), self._missing(held, of_t=False)
        if missing is None and absent is None:
            return np.asarray(equal, np.bool_)
        ours = np.zeros(len(equal), np.bool_) if missing is None else missing
        theirs = np.zeros(len(equal), np.bool_) if absent is None else absent[places]
        return np.where(ours | theirs, ours & theirs, equal)

    def _missing(self, table: pa.Table, *, of_t: bool) -> NDArray[np.bool_] | None:
        """Which rows are null there, where null is a value; None where none is."""
        if self.nulls is not Nulls.EQUAL:
            return None
        return missing(table.column((self.axis.t_kind if of_t else self.axis.s_kind).name))


def _equal(values: pa.Array, others: pa.Array) -> NDArray[np.bool_]:
    """Where two arrays have the same value; no nulls are. Arrow compares no columns of nothing but nulls."""
    if pa.types.is_null(values.type) or pa.types.is_null(others.type):
        return np.zeros(len(values), np.bool_)
    return np.asarray(pc.fill_null(pc.equal(values, others), False).to_numpy(zero_copy_only=False), np.bool_)


def missing(column: pa.ChunkedArray) -> NDArray[np.bool_] | None:
    """Which values are null or NaN; None where none is."""
    floating = pt.is_floating(column.type)
    if not floating and not column.null_count:
        return None
    return np.asarray(one_array(column).is_null(nan_is_null=floating).to_numpy(zero_copy_only=False), np.bool_)


def hashes(keys: Sequence[EqualityKey], table: pa.Table, *, of_t: bool) -> Bits:
    """A number for each row, equal where all keys are."""
    found = np.zeros(table.num_rows, np.uint64)
    for key in keys:
        found = scrambled(found + key.bits(table, of_t=of_t))
    return found


@dataclass(frozen=True)
class Groups:
    """The large groups of a rule: one row of each, as `s`, in the order of their hashes. All rows where no key is."""

    keys: tuple[EqualityKey, ...]
    rows: pa.Table
    hashes: Bits

    @classmethod
    def of(cls, keys: tuple[EqualityKey, ...], rows: pa.Table) -> Groups:
        """The groups of these rows, except those that share a hash, which nothing separates quickly."""
        found, first, times = np.unique(hashes(keys, rows, of_t=False), return_index=True, return_counts=True)
        return cls(keys, rows.take(pa.array(first[times == 1])).combine_chunks(), found[times == 1])

    @classmethod
    def everything(cls, rows: pa.Table) -> Groups:
        """The one group of a rule without a key; `rows` has at least the columns of the table."""
        return cls((), rows.slice(0, 0), np.zeros(1, np.uint64))

    def __len__(self) -> int:
        return len(self.hashes)

    def numbers(self, table: pa.Table, hashed: Bits, *, of_t: bool) -> Ints:
        """The group of each row, -1 for rows of none; `hashed` are the rows' own hashes."""
        if not len(self):
            return np.full(table.num_rows, NO_GROUP, np.int64)
        places = np.minimum(np.searchsorted(self.hashes, hashed), len(self) - 1)
        found = self.hashes[places] == hashed
        for key in self.keys:
            if found.any():
                found &= key.same(table, self.rows, places, of_t=of_t)
        return np.where(found, places, NO_GROUP)
