"""Sessions of Spark: how they start, what they say and how they fail."""

from refute.spark.session.session import is_connect, session

__all__ = ["is_connect", "session"]
