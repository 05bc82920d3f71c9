"""Discovery where the rows are: what tasks look at, and which part comes to the driver."""

from refute.spark.discovery.search import GATHERED, discover_on_spark

__all__ = ["GATHERED", "discover_on_spark"]
