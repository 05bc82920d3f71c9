"""The values of an order predicate as numbers that never reverse their order, the same in every task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.kernels.tiling import text_windows
from refute.language.form import Order, operands
from refute.relation import Relation
from refute.relation.arrays import stored
from refute.relation.types import ColumnType, Family

Keys = NDArray[Any]  # of int64 or float64
_MOST_DIGITS = 18  # of a decimal whose last digits 64 bits count
_EXACT_DIGITS = 15  # of a decimal that a float holds up to the last rounding


class Domain(Enum):
    """What the numbers of an axis are."""

    WHOLE = "whole"
    FLOAT = "float"
    TEXT = "text"  # eight bytes after what all sampled texts begin with
    NONE = "none"  # nothing that both sides share and that keeps their order: the axis is not cut


@dataclass(frozen=True, slots=True)
class Axis:
    """One order predicate. `exact` says that different values have different numbers."""

    order: Order
    s_kind: ColumnType
    t_kind: ColumnType
    domain: Domain
    exact: bool
    prefix: bytes = b""

    @classmethod
    def of(cls, order: Order, types: Relation) -> Axis:
        """The axis of a predicate over columns of these types."""
        s_kind, t_kind = (types.type_of(name) for name in operands(order.predicate))
        return cls(order, s_kind, t_kind, *_domain(s_kind, t_kind))

    @property
    def settles_ties(self) -> bool:
        """Whether equal values, known by their tile, satisfy the predicate."""
        return self.exact and not self.order.is_strict

    def steps(self, tiles: NDArray[np.int64], *, of_t: bool) -> NDArray[np.int64]:
        """Numbers of one side's tiles: those of two rows are in order exactly when the tiles settle the predicate."""
        upper = of_t == self.order.ascending
        return tiles * 2 + tiles % 2 if self.settles_ties and upper else tiles * 2

    def fitted(self, sample: pa.Table) -> Axis:
        """The axis for a table like the sample: texts are compared after what the sampled ones have in common."""
        if self.domain is not Domain.TEXT:
            return self
        ends: list[bytes] = []
        for name in {self.s_kind.name, self.t_kind.name}:
            found = pc.min_max(sample.column(name).cast(pa.large_binary()))
            ends += [end.as_py() for end in found.values() if end.is_valid]
        return replace(self, prefix=_common_start(min(ends), max(ends))) if ends else self

    def keys(self, table: pa.Table, *, of_t: bool) -> Keys:
        """The numbers of one side's values; whatever where they are null."""
        kind, other = (self.t_kind, self.s_kind) if of_t else (self.s_kind, self.t_kind)
        array = one_array(table.column(kind.name))
        if self.domain is Domain.NONE:
            return np.zeros(len(array), np.int64)
        if self.domain is Domain.TEXT:
            return _windows(array, self.prefix)
        return _whole(array, kind, other) if self.domain is Domain.WHOLE else _float(array, kind)


def _domain(s_kind: ColumnType, t_kind: ColumnType) -> tuple[Domain, bool]:
    """What both columns can be numbered by, and whether no two values then have the same number."""
    families = {s_kind.family, t_kind.family}
    if families == {Family.DECIMAL} and s_kind.arrow_type.scale == t_kind.arrow_type.scale:
        short = max(s_kind.arrow_type.precision, t_kind.arrow_type.precision) <= _MOST_DIGITS
        same = s_kind.arrow_type.precision == t_kind.arrow_type.precision
        return (Domain.WHOLE, short) if short or same else (Domain.NONE, False)
    if families <= {Family.DATE, Family.TIMESTAMP} or (len(families) == 1 and families <= _WHOLE):
        return Domain.WHOLE, True
    if families == {Family.STRING}:
        return Domain.TEXT, False
    if all(kind.family.is_number and _fits_float(kind) for kind in (s_kind, t_kind)):
        return Domain.FLOAT, families == {Family.FLOAT}
    return Domain.NONE, False


_WHOLE = {Family.INTEGER, Family.BOOLEAN, Family.ZONED, Family.TIME, Family.DURATION}


def _fits_float(kind: ColumnType) -> bool:
    """Whether the float nearest to each value is easily found."""
    return kind.family is not Family.DECIMAL or (
        kind.arrow_type.precision <= _EXACT_DIGITS and kind.arrow_type.scale >= 0
    )


def _common_start(first: bytes, last: bytes) -> bytes:
    """What the least and the greatest of some texts, and so all of them, begin with."""
    different = (place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(different, min(len(first), len(last)))]


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece."""
    found = column.combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = found.chunk(0) if found.num_chunks == 1 else pa.concat_arrays(found.chunks)
    return found


def _whole(array: pa.Array, kind: ColumnType, other: ColumnType) -> Keys:
    if kind.family is Family.DECIMAL:
        return _unscaled(array)
    if kind.family is Family.DATE and other.family is Family.TIMESTAMP:
        array = array.cast(pa.timestamp("us"))
    elif pt.is_date32(array.type) or pt.is_time32(array.type):
        array = array.cast(pa.int32())
    elif pt.is_boolean(array.type):
        array = array.cast(pa.int8())
    return _numbers(array.cast(pa.int64()))


def _numbers(array: pa.Array) -> Keys:
    return stored(array, np.int64)


def _unscaled(array: pa.Array) -> Keys:
    """Decimals as whole numbers of their last digit; of long ones the leading 63 bits that any may have."""
    if not pt.is_decimal128(array.type):
        return stored(array, np.int64)
    words = stored(array, np.int64, per_row=2).reshape(-1, 2)
    low, high = words[:, 0], words[:, 1]
    digits = array.type.precision
    if digits <= _MOST_DIGITS:
        return np.ascontiguousarray(low)
    spare = 63 - max((10**digits).bit_length() - 64, 0)  # bits of the low word that fit below the high one
    if spare <= 0:
        return np.ascontiguousarray(high)
    lower = (low.view(np.uint64) >> np.uint64(64 - spare)).astype(np.int64)
    found: Keys = (high << spare) | lower
    return found


def _float(array: pa.Array, kind: ColumnType) -> Keys:
    """The float nearest to each number: of all types alike, so no order is reversed and equals stay equal."""
    if kind.family is Family.DECIMAL:
        return _unscaled(array).astype(np.float64) / float(10**kind.arrow_type.scale)
    if kind.family is Family.INTEGER:
        return _numbers(array.cast(pa.int64())).astype(np.float64)
    floats = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    return np.where(np.isnan(floats), 0.0, floats) + 0.0


def _windows(array: pa.Array, prefix: bytes) -> Keys:
    array = array.cast(pa.large_string())
    out = np.empty(len(array), np.int64)
    data = array.buffers()[2]
    offsets = stored(array, np.int64, extra=1)
    held = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    text_windows(held, offsets, np.frombuffer(prefix, np.uint8), out)
    return out
