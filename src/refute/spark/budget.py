"""What one task, and the driver, may be given."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from refute.relation.together import available_cores
from refute.spark.listing import shares_files

_STRING_BYTES = 24


@dataclass(frozen=True, slots=True)
class Budget:
    """Sizes that decide between ways; answers do not depend on them.

    A table whose needed columns fit `gather_bytes` is answered by the kernels of the driver's own process: below some
    size that beats any shuffle. Up to `fetch_bytes` it beats a shuffle to Python workers, which rules with several
    orders need: their columns are fetched for one answer, and not kept. Larger ones go to tasks of about `task_rows`
    rows each, at least `tasks_per_core` times the cores. `sample_rows` are looked at before a rule is verified on all.
    """

    gather_bytes: int = 64 << 20
    task_rows: int = 1_000_000
    tasks_per_core: int = 4
    sample_rows: int = 20_000

    @property
    def fetch_bytes(self) -> int:
        """What is fetched rather than sent through Python workers."""
        return 4 * self.gather_bytes

    def bytes(self, rows: int, types: list[pa.DataType]) -> int:
        """About how much memory this many rows of these columns take."""
        return rows * sum(width(kind) for kind in types)

    def tasks(self, session: SparkSession, rows: int) -> int:
        """The number of tasks for this many rows."""
        return max(self.tasks_per_core * cores(session), -(-rows // self.task_rows))


def width(kind: pa.DataType) -> int:
    """About how many bytes a value takes."""
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:
        return _STRING_BYTES


def largest_result(session: SparkSession) -> int:
    """The bytes that Spark lets come to the driver at once."""
    found = re.fullmatch(r"(\d+)\s*([kmgtp]?)b?", str(session.conf.get("spark.driver.maxResultSize", "1g")).lower())
    size = 0 if found is None else int(found[1]) << (10 * "_kmgtp".index(found[2] or "_"))
    return size or 1 << 62  # 0 is no limit


def cores(session: SparkSession) -> int:
    """The cores that Spark uses by default: what its master says where it is on this machine, else the number of parts
    of a range, which classic and Connect both tell."""
    local = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\d+)?\])?", str(session.conf.get("spark.master", "")))
    if local is not None and shares_files(session):
        return available_cores() if local[1] == "*" else int(local[1] or 1)
    return max(session.range(0, 4096).select(F.spark_partition_id().alias("part")).distinct().count(), 1)
