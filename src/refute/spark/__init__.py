"""Refute on Spark: the only folder that imports pyspark."""

from refute.spark.budget import Budget
from refute.spark.engine import SparkEngine
from refute.spark.frames import frame_of
from refute.spark.session import session

__all__ = ["Budget", "SparkEngine", "frame_of", "session"]
