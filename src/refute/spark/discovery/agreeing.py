"""Which rows can agree on a set of slots: a number per row and role, equal for rows that do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.discovery.pairs import Chosen
from refute.discovery.space.slots import PredicateSpace
from refute.language.nulls import Nulls
from refute.language.predicate import Column
from refute.relation.mixing import NULL, scrambled

Numbers = NDArray[np.uint64]
_SCALE = 38  # digits after the point, such that decimals of all types that Spark has fit 76 digits


@dataclass(frozen=True, slots=True)
class RoleKeys:
    """A key per row and which rows have one, in the roles of `s` and `t`; the same object where the roles are alike."""

    s: Numbers
    s_known: NDArray[np.bool_]
    t: Numbers
    t_known: NDArray[np.bool_]

    @property
    def same(self) -> bool:
        """Whether both roles ask for the same columns."""
        return self.s is self.t


def keys_of(table: pa.Table, space: PredicateSpace, chosen: Chosen, nulls: Nulls) -> RoleKeys:
    """The keys of coded rows for the chosen slots; rows that agree have equal keys, few others have."""
    slots = [space.slots[k] for k in sorted(chosen)]
    rights = [slot.right.name for slot in slots if isinstance(slot.right, Column)]
    lefts = [slot.left.name for slot in slots]
    s, s_known = _mixed(table, lefts, nulls)
    if lefts == rights:
        return RoleKeys(s, s_known, s, s_known)
    return RoleKeys(s, s_known, *_mixed(table, rights, nulls))


def _mixed(table: pa.Table, names: list[str], nulls: Nulls) -> tuple[Numbers, NDArray[np.bool_]]:
    key = np.zeros(table.num_rows, np.uint64)
    known = np.ones(table.num_rows, np.bool_)
    for name in names:
        values, present = bits_of(table.column(name))
        if nulls is Nulls.SQL:
            known &= present
        key = scrambled(key + np.where(present, values, NULL))
    return key, known


def bits_of(column: pa.ChunkedArray) -> tuple[Numbers, NDArray[np.bool_]]:
    """A number for each value, equal where values are, and which are not null."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    present = array.is_valid().to_numpy(zero_copy_only=False)
    if pt.is_floating(array.type):
        floats = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        present = present & ~np.isnan(floats)
        return floats.view(np.uint64), present
    if pt.is_decimal(array.type):
        wide = array.fill_null(0).cast(pa.decimal256(76, _SCALE))
        limbs = np.frombuffer(wide.buffers()[1], np.uint64).reshape(-1, 4)[wide.offset : wide.offset + len(wide)]
        key = np.zeros(len(wide), np.uint64)
        for limb in limbs.T:
            key = scrambled(key + limb)
        return key, present
    if pt.is_date32(array.type) or pt.is_time32(array.type):
        array = array.cast(pa.int32())
    elif pt.is_boolean(array.type):
        array = array.cast(pa.int8())
    elif not pt.is_integer(array.type):
        array = array.cast(pa.int64())
    values = array.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return values.view(np.uint64), present
