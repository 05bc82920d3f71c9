"""Cuts of one rank dimension into tiles, alike for every column that the dimension compares.

A tile is a number that never decreases with the value, so rows in different tiles compare as their tiles do, and only
rows in one tile need their values compared. Each cut is a tile (odd numbers), and so is each gap around them (even
numbers). Any cuts are exact; only balance depends on the sample they come from.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction

from refute.relation.types import ColumnType, Family
from refute.spark.expressions import constants, monotone


@dataclass(frozen=True, slots=True)
class Tiles:
    """Ascending cuts of a dimension. `single` says that the tile of a cut holds one value only."""

    cuts: tuple[Any, ...]
    spark_type: str
    single: bool

    @classmethod
    def of_sample(cls, kinds: tuple[ColumnType, ...], sample: pa.ChunkedArray, most: int) -> Tiles:
        """Cuts that part the sampled values (as `monotone` maps them) evenly; every value where they are few."""
        counts = pc.value_counts(sample.drop_null())
        order = pc.sort_indices(counts.field("values"))
        ascending = counts.field("values").take(order).to_pylist()
        if len(ascending) > most:
            weight = np.cumsum(counts.field("counts").to_numpy(zero_copy_only=False)[order.to_numpy()])
            targets = np.arange(1, most + 1) * (weight[-1] / (most + 1))
            ascending = [ascending[i] for i in sorted(set(np.searchsorted(weight, targets).tolist()))]
        return cls(tuple(ascending), _spark_type(kinds[0]), all(_injective(kind, ascending) for kind in kinds))

    @property
    def size(self) -> int:
        """The number of tiles: every cut and the gaps around them."""
        return 2 * len(self.cuts) + 1

    def number(self, kind: ColumnType) -> SparkColumn:
        """The tile of a column's value: one binary search, which Spark compiles."""
        if not self.cuts:
            return F.lit(0)
        found = InternalFunction.array_binary_search(self._array(), monotone(kind))
        # A cut's place p becomes 2p + 1; what is not found is told as -p - 1 and becomes 2p.
        return F.coalesce(F.shiftright(F.abs(found * 4 + 3) - 1, 1), F.lit(self.size - 1))

    def numbers(self, values: pa.ChunkedArray) -> NDArray[np.int64]:
        """The tiles of values that Spark mapped already; none of them null."""
        coded = values.combine_chunks().dictionary_encode()
        found = np.empty(len(coded.dictionary), dtype=np.int64)
        for i, value in enumerate(coded.dictionary.to_pylist()):
            at = bisect_left(self.cuts, value)
            found[i] = 2 * at + (at < len(self.cuts) and self.cuts[at] == value)
        numbers: NDArray[np.int64] = found[coded.indices.to_numpy(zero_copy_only=False)]
        return numbers

    def is_open(self, tile: SparkColumn) -> SparkColumn:
        """Whether the values in this tile may differ, so that equal tiles leave the comparison undecided."""
        return tile % 2 == 0 if self.single else F.lit(True)

    def _array(self) -> SparkColumn:
        """The cuts as one constant; numbers as a text, since Python sends each element of an array by itself."""
        if self.spark_type == "double":
            return constants(self.cuts, "double")
        return F.array(*(F.lit(_literal(cut)).cast(self.spark_type) for cut in self.cuts))


def _injective(kind: ColumnType, cuts: list[Any]) -> bool:
    """Whether no two values of the column are mapped to the same one of these cuts."""
    if kind.family is Family.INTEGER:
        return all(abs(cut) < 2**53 for cut in cuts)
    if kind.family is Family.DECIMAL:
        return all(abs(cut) * 10.0**kind.arrow_type.scale < 1e15 for cut in cuts)
    return True


def _spark_type(kind: ColumnType) -> str:
    if kind.family.is_number:
        return "double"
    return {
        Family.DATE: "timestamp_ntz",
        Family.TIMESTAMP: "timestamp_ntz",
        Family.ZONED: "timestamp",
        Family.BOOLEAN: "boolean",
    }.get(kind.family, "string")


def _literal(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
