"""The cuts of one axis: for each large group, the values that part its rows evenly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.tiling import tile_numbers
from refute.spark.grid.axis import Axis, Domain, Keys

Ints = NDArray[np.int64]
_NULL_TILE = 1
_NULL_TILES = 2  # that come before all others where null is a value


@dataclass(frozen=True)
class Cuts:
    """Ascending cuts of all groups, one group after the other; group g has those from `starts[g]` on."""

    axis: Axis
    starts: Ints
    values: NDArray[Any]

    @classmethod
    def of(cls, axis: Axis, samples: Iterable[Keys], most: Iterable[int]) -> Cuts:
        """Cuts that part the sampled keys of each group evenly, at most so many; every key where they are few."""
        found = [_evenly(keys, number) for keys, number in zip(samples, most, strict=True)]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in found])]).astype(np.int64)
        kind = np.float64 if axis.domain is Domain.FLOAT else np.int64
        return cls(axis, starts, np.concatenate([np.empty(0, kind), *found]))

    @property
    def sizes(self) -> Ints:
        """The number of tiles of each group: every cut and the gaps around them."""
        return 2 * np.diff(self.starts) + 1 + _NULL_TILES * self.axis.order.nulls_first

    def tiles(self, keys: Keys, groups: Ints, missing: NDArray[np.bool_] | None) -> Ints:
        """The tile of each row of a group; `missing` are the rows without a value."""
        found = np.empty(len(keys), np.int64)
        tile_numbers(np.ascontiguousarray(keys), groups, self.starts, self.values, found)
        if self.axis.order.nulls_first:
            found += _NULL_TILES
            if missing is not None:
                found[missing] = _NULL_TILE
        return found

    def is_open(self, tiles: Ints) -> NDArray[np.bool_]:
        """Whether the values in these tiles may differ: equal tiles then leave the comparison undecided."""
        if self.axis.exact:
            return np.asarray(tiles % 2 == 0, np.bool_)
        return (
            np.asarray(tiles != _NULL_TILE, np.bool_) if self.axis.order.nulls_first else np.ones(len(tiles), np.bool_)
        )


def _evenly(keys: Keys, most: int) -> NDArray[Any]:
    """At most so many of the keys, such that about as many lie between any two of them."""
    values, counts = np.unique(keys, return_counts=True)
    if len(values) <= most:
        return values
    weight = np.cumsum(counts)
    targets = np.arange(1, most + 1) * (weight[-1] / (most + 1))
    found: NDArray[Any] = values[np.unique(np.searchsorted(weight, targets))]
    return found
