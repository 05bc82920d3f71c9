"""Refute on Spark: the only folder that imports pyspark."""

from refute.spark.budget import Budget
from refute.spark.engine import SparkEngine
from refute.spark.session import session
from refute.spark.source.frames import frame_of

__all__ = ["Budget", "SparkEngine", "frame_of", "session"]
