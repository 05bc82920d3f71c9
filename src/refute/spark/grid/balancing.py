"""Which task gets which bucket of rows, so none gets many more than the others."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_LARGEST = 2  # times the rows meant for a task, above which a bucket is cut into parts


@dataclass(frozen=True)
class Places:
    """The tasks of buckets. The rows of a bucket that is too large for one are cut into parts by their numbers, once as
    `s` and once as `t`, and each two parts meet in a place of their own, those of bucket b from `first[b]` on."""

    parts: Ints
    first: Ints
    task: Ints  # of each place
    load: NDArray[np.float64]  # the rows expected in each task

    @classmethod
    def of(cls, weights: NDArray[np.float64], tasks: int, task_rows: int) -> Places:
        """Places that balance the rows expected in each bucket, over so many tasks, or more where rows are many."""
        parts = np.where(weights > _LARGEST * task_rows, np.ceil(weights / task_rows), 1).astype(np.int64)
        places = parts * parts
        first = np.concatenate([[0], np.cumsum(places)]).astype(np.int64)
        shared = np.where(parts > 1, 2 * weights / parts, weights)
        total = float((shared * places).sum())
        task, load = _packed(np.repeat(shared, places), max(tasks, math.ceil(total / task_rows)))
        return cls(parts, first[:-1], task, load)

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self.load)

    @property
    def in_parts(self) -> bool:
        """Whether any bucket is cut into parts."""
        return bool((self.parts > 1).any())

    def meetings(self, buckets: Ints, numbers: Ints, *, of_t: bool) -> tuple[Ints, Ints]:
        """Where rows of these numbers go: positions of rows, each as often as it goes somewhere, and the places."""
        parts = self.parts[buckets]
        if not len(parts) or parts.max() == 1:
            return np.arange(len(buckets)), self.first[buckets]
        rows = np.repeat(np.arange(len(buckets)), parts)
        other = np.arange(len(rows)) - np.repeat(np.cumsum(parts) - parts, parts)
        own = (numbers % parts)[rows]
        s_part, t_part = (other, own) if of_t else (own, other)
        return rows, self.first[buckets][rows] + s_part * parts[rows] + t_part


def _packed(weights: NDArray[np.float64], tasks: int) -> tuple[Ints, NDArray[np.float64]]:
    """The task of each place, heaviest first, each to the task with the least so far; and what each task then has."""
    loads = [(0.0, 0, task) for task in range(tasks)]
    found = np.zeros(len(weights), np.int64)
    for place in np.argsort(-weights, kind="stable").tolist():
        load, count, task = heapq.heappop(loads)
        found[place] = task
        heapq.heappush(loads, (load + float(weights[place]), count + 1, task))
    total = np.zeros(tasks)
    for load, _, task in loads:
        total[task] = load
    return found, total
