"""What one task, and the driver, may be given."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from refute.runtime.threads import available_cores
from refute.spark.source.files import shares_files

_HEAP_SHARE = 4  # parts of the driver's heap, of which rows on their way may take one
_DEFAULT_HEAP = "1g"
_LEAST_ROWS = 2_000  # of a task: starting one costs more than as many rows


@dataclass(frozen=True, slots=True)
class SparkBudget:
    """Sizes that decide between ways; answers do not depend on them.

    Rows whose needed columns fit `driver_bytes` come to this process and are answered by its kernels: that beats a
    shuffle through Python workers. No more than that is here at a time, whichever rules are asked about. From
    `native_bytes` on, Spark's own filters and aggregates cost less than bringing the rows; from `counted_bytes` on, its
    counts of distinct rows and its extremes of groups do, and a look at the first rows pays. All else goes to tasks of
    about `task_rows` rows each, `tasks_per_core` times as many as cores where the rows are worth it. `sample_rows` are
    looked at before a rule is verified on all rows, and `plan_rows` show how to cut the work. From `scattered_rows` on,
    rows that mostly have values of their own are shuffled before they are counted. Pairs of up to `narrow_rows` rows
    are counted in 64 bits, which hold the pairs of 2^31 rows. Rows of up to `task_rows` and `task_bytes` go to a single
    task where what is asked of them takes many rounds otherwise.
    """

    driver_bytes: int = 256 << 20
    native_bytes: int = 4 << 20
    counted_bytes: int = 32 << 20
    task_rows: int = 1_000_000
    task_bytes: int = 256 << 20
    tasks_per_core: int = 4
    sample_rows: int = 20_000
    plan_rows: int = 100_000
    sample_bytes: int = 16 << 20
    scattered_rows: int = 1_000_000
    narrow_rows: int = 1 << 31

    def most_bytes(self, session: SparkSession) -> int:
        """The bytes that come here at most: never more than half of what Spark would send, so it refuses none."""
        return min(self.driver_bytes, largest_result(session))

    def tasks(self, session: SparkSession, rows: int) -> int:
        """The number of tasks for this many rows."""
        worthwhile = min(self.tasks_per_core * cores(session), -(-rows // _LEAST_ROWS))
        return max(worthwhile, -(-rows // self.task_rows), 1)


def width(kind: pa.DataType) -> int | None:
    """How many bytes a value takes; None where they differ."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return None


def largest_result(session: SparkSession) -> int:
    """The bytes that may come to the driver at once: by Spark's own limit, and by the heap that they pass through."""
    limit = _size(str(session.conf.get("spark.driver.maxResultSize", "1g"))) or 1 << 62  # 0 is no limit
    heap = _size(str(session.conf.get("spark.driver.memory", _DEFAULT_HEAP))) or _size(_DEFAULT_HEAP)
    return min(limit // 2, heap // _HEAP_SHARE)


def _size(text: str) -> int:
    """The bytes that a setting of Spark such as `2g` means; 0 where it says nothing."""
    found = re.fullmatch(r"(\d+)\s*([kmgtp]?)b?", text.strip().lower())
    return 0 if found is None else int(found[1]) << (10 * "_kmgtp".index(found[2] or "_"))


def cores(session: SparkSession) -> int:
    """The cores that Spark uses by default: what its master says where it is on this machine, else the number of parts
    of a range, which classic and Connect both give."""
    local = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\d+)?\])?", str(session.conf.get("spark.master", "")))
    if local is not None and shares_files(session):
        return available_cores() if local[1] == "*" else int(local[1] or 1)
    return max(session.range(0, 4096).select(F.spark_partition_id().alias("part")).distinct().count(), 1)


def shown_bytes(number: int) -> str:
    """A number of bytes for people: `256 MB`, `480,000 bytes`."""
    return f"{number / 2**20:,.0f} MB" if number >= 1 << 20 else f"{number:,} bytes"
