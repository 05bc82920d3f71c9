"""`python -m refute.spark.workers.daemon`: Spark forks its Python workers from it, and it has imported what they need.

A worker of Spark's own daemon imports Refute, Arrow and Numba once more, and Numba sets itself up at its first kernel:
both take longer than most tasks.
"""

from __future__ import annotations

import gc

import numpy as np
from pyspark.daemon import manager

import refute.spark.discovery.looking
import refute.spark.grid.tasks  # noqa: F401  for the workers
from refute.kernels.tiling import text_windows

if __name__ == "__main__":
    text_windows(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64))
    gc.freeze()  # workers collect garbage after each task, and need not look at all that was imported
    manager()
