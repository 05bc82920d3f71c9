"""`python -m refute.spark.daemon`: the process that Spark forks its Python workers from, with all they need imported.

A worker of Spark's own daemon imports Refute, Arrow and Numba anew, which takes longer than most tasks.
"""

from __future__ import annotations

from pyspark.daemon import manager

import refute.spark.discover.looking
import refute.spark.grid.tasks  # noqa: F401  for the workers

if __name__ == "__main__":
    manager()
