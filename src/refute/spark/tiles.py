"""Cuts of one rank dimension into tiles, alike for every column that the dimension compares.

A tile is a number that never decreases with the value, so rows in different tiles compare as their tiles do, and only
rows in one tile need their values compared. Each cut is a tile (odd numbers), and so is each gap around them (even
numbers). Any cuts are exact; only balance depends on the sample they come from.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from refute.relation.types import ColumnType, Family
from refute.spark.expressions import constants, literal, mapped_type

_BINS = 4096  # the first step of a search among numbers: parts of equal width
_MOST_IN_BIN = 8  # cuts in one part, above which halving by blocks is the cheaper search


@dataclass(frozen=True, slots=True)
class Tiles:
    """Ascending cuts of a dimension. `single` says that the tile of a cut holds one value only."""

    cuts: tuple[Any, ...]
    spark_type: str
    single: bool

    @classmethod
    def of_sample(cls, kinds: tuple[ColumnType, ColumnType], sample: pa.ChunkedArray, most: int) -> Tiles:
        """Cuts that part the sampled values (as `monotone` maps them) evenly; every value where they are few."""
        counts = pc.value_counts(sample.drop_null())
        order = pc.sort_indices(counts.field("values"))
        ascending = counts.field("values").take(order).to_pylist()
        if len(ascending) > most:
            weight = np.cumsum(counts.field("counts").to_numpy(zero_copy_only=False)[order.to_numpy()])
            targets = np.arange(1, most + 1) * (weight[-1] / (most + 1))
            ascending = [ascending[i] for i in sorted(set(np.searchsorted(weight, targets).tolist()))]
        return cls(tuple(ascending), mapped_type(*kinds), all(_injective(kind, ascending) for kind in kinds))

    @property
    def size(self) -> int:
        """The number of tiles: every cut and the gaps around them."""
        return 2 * len(self.cuts) + 1

    def number(self, value: SparkColumn) -> SparkColumn:
        """The tile of a value as `monotone` maps it: a search that Spark compiles; never null."""
        if not self.cuts:
            return F.lit(0)
        first, most = self._first_and_most(value)
        cuts = self._array()
        found = first * 2
        for step in range(most):
            cut = F.get(cuts, first + step)
            found = found + F.when(cut < value, 2).when(cut == value, 1).otherwise(0)
        return found

    def _first_and_most(self, value: SparkColumn) -> tuple[SparkColumn, int]:
        """A number of cuts that are all less than the value, and how many cuts after these may not be greater."""
        parts = self._parts()
        if parts is not None:
            scale, bins = parts
            starts = constants(np.searchsorted(bins, np.arange(_BINS)).tolist(), "int")
            part = F.least((value - F.lit(self.cuts[0])) * F.lit(scale), F.lit(_BINS - 1.0))
            number = F.greatest(part, F.lit(0.0)).cast("int")
            return F.get(starts, number), int(np.bincount(bins).max())
        block = math.isqrt(len(self.cuts) - 1) + 1
        whole = F.lit(0)
        for cut in self.cuts[block - 1 :: block]:
            whole = whole + F.when(value > self._constant(cut), block).otherwise(0)
        return whole, block

    def _parts(self) -> tuple[float, NDArray[np.int64]] | None:
        """Numbers between the outer cuts in parts of equal width: parts per unit, and the part of each cut.

        None where the cuts are no numbers, or too many of them are in one part.
        """
        if self.spark_type != "double":
            return None
        width = self.cuts[-1] - self.cuts[0]
        scale = _BINS / width if width > 0 else 1.0
        if not (math.isfinite(width) and 0 < scale < math.inf):
            return None
        bins = np.minimum((np.asarray(self.cuts) - self.cuts[0]) * scale, _BINS - 1).astype(np.int64)
        return (scale, bins) if np.bincount(bins).max() <= _MOST_IN_BIN else None

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
        return F.array(*map(self._constant, self.cuts))

    def _constant(self, cut: Any) -> SparkColumn:
        return literal(cut, self.spark_type)


def _injective(kind: ColumnType, cuts: list[Any]) -> bool:
    """Whether no two values of the column are mapped to the same one of these cuts."""
    if kind.family in (Family.INTEGER, Family.ZONED, Family.DURATION):
        return all(abs(cut) < 2**53 for cut in cuts)
    if kind.family is Family.DECIMAL:
        return all(abs(cut) * 10.0**kind.arrow_type.scale < 1e15 for cut in cuts)
    return True
