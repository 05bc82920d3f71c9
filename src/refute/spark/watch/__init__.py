"""Spark's part of a watch: it brings the batches of a stream, and remembers how far that has come."""
