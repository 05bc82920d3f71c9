"""Refute on Spark: the only folder that imports pyspark."""

from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.session import session
from refute.spark.source.frames import frame_of

__all__ = ["SparkBudget", "SparkEngine", "frame_of", "session"]
