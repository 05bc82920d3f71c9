"""Which task gets which rows, so that none gets many more than the others."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SAMPLE_ROWS = 100_000
LIGHT_BUCKETS = 1024
_HEAVY_SHARE = 4  # a group with more than a quarter of a task's rows is cut into tiles
LEAST_HEAVY = 16  # sampled rows below which a share says nothing


@dataclass(frozen=True, slots=True)
class Placement:
    """Which groups are large, and which task takes which hash bucket of the others."""

    tasks: int
    heavy: tuple[tuple[Any, ...], ...]  # the keys of the large groups; one empty key where a rule has no equality
    buckets: tuple[float, ...]  # the sampled rows of small groups in each bucket

    @classmethod
    def of_sample(cls, sample: pa.Table, keys: int, tasks: int) -> Placement:
        """The placement that balances the sample."""
        names = [f"k{i}" for i in range(keys)]
        if not names:
            return cls(tasks, ((),), (0.0,) * LIGHT_BUCKETS)
        groups = sample.group_by([*names, "bucket"]).aggregate([([], "count_all")])
        counts = groups.column("count_all").to_numpy()
        large = counts > max(sample.num_rows / (tasks * _HEAVY_SHARE), LEAST_HEAVY)
        heavy = [tuple(one[name] for name in names) for one in groups.filter(pa.array(large)).to_pylist()]
        buckets = groups.column("bucket").to_numpy()[~large]
        weights = np.bincount(buckets, weights=counts[~large], minlength=LIGHT_BUCKETS)
        return cls(tasks, tuple(heavy), tuple(weights.tolist()))

    def light_only(self, sample: pa.Table) -> Placement:
        """The same with no group set apart."""
        weights = np.bincount(sample.column("bucket").to_numpy(), minlength=LIGHT_BUCKETS)
        return Placement(self.tasks, (), tuple(weights.astype(float).tolist()))


def pack(weights: NDArray[np.float64], tasks: int) -> list[int]:
    """The task of each bucket: heaviest first, each to the task with the least so far."""
    loads = [(0.0, 0, task) for task in range(tasks)]
    found = [0] * len(weights)
    for bucket in np.argsort(-weights, kind="stable").tolist():
        load, count, task = heapq.heappop(loads)
        found[bucket] = task
        heapq.heappush(loads, (load + float(weights[bucket]), count + 1, task))
    return found
