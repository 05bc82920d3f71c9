"""How a discovery on Spark is divided: what tasks and the driver are given, at what price. No answer depends on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkTuning:
    """Sizes and prices beside those of searches anywhere, `discovery/tuning.py`. The prices are measured ones."""

    # what a task, and the driver, may be given
    block_rows: int = 1 << 16
    sample_rows: int = 100_000
    bucket_rows: int = 500_000
    bucket_pairs: float = 5e9
    part_rows: int = 100_000  # of a group so large that its pairs are divided among tasks
    points: int = 2_000_000  # distinct values that one task searches for witnesses
    here_rows: int = 20_000_000  # rows that may come to the driver, where a measure needs single rows
    few_texts: int = 100_000  # distinct texts up to which small numbers stand for them
    held_texts: int = 1_000_000  # distinct texts of all columns that come to the driver
    # seconds
    job_cost: float = 0.7  # of a job, whatever it does
    row_cost: float = 1.6e-6  # of a core, to send a row to a task and to code it there
    pair_cost: float = 7e-9
    witness_cost: float = 1.5e-7


SPARK_STANDARD = SparkTuning()
"""The values that are used unless others are given."""
