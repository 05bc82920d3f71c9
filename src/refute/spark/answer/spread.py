"""What some rows of a table let expect of all of them: how many values differ, and how evenly they are spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from refute.detect.summary import expected_distinct
from refute.spark.budget import SparkBudget

_NARROW = 1 << 31  # rows whose square fits 64 bits
_LARGEST_SHARE = 4  # a group of more than a quarter of a task's rows makes tasks uneven


@dataclass(frozen=True, slots=True)
class Spread:
    """Expectations for a table of at most `rows` rows by a sample of them. No answer depends on these."""

    rows: int
    sample: pa.Table
    count_tasks: Callable[[], int]
    budget: SparkBudget = field(default_factory=SparkBudget)

    def distinct(self, names: Sequence[str]) -> float:
        """How many distinct combinations of values these columns have."""
        return distinct_rows(self.sample.select(list(names)))

    def is_scattered(self, names: Sequence[str]) -> bool:
        """Whether most rows have values of their own: counting them before a shuffle then gains nothing."""
        return bool(names) and self.rows >= self.budget.scattered_rows and self.distinct(names) > self.rows / 2

    @property
    def is_narrow(self) -> bool:
        """Whether the pairs of rows can be counted in 64 bits."""
        return self.rows <= min(self.budget.narrow_rows, _NARROW)

    def is_even(self, names: Sequence[str]) -> bool:
        """Whether tasks that get whole groups of these columns get about the same number of rows."""
        if not names or not self.sample.num_rows:
            return False
        groups = self.sample.select(list(names)).group_by(list(names)).aggregate([([], "count_all")])
        largest = pc.max(groups.column("count_all")).as_py()
        return bool(largest * self.tasks * _LARGEST_SHARE <= self.sample.num_rows)

    @property
    def tasks(self) -> int:
        """The number of tasks to shuffle to."""
        return self.count_tasks()


def distinct_rows(sample: pa.Table) -> float:
    """How many distinct rows a table has, judged by a sample."""
    seen = sample.group_by(sample.column_names).aggregate([]).num_rows
    return expected_distinct(sample.num_rows, seen)
