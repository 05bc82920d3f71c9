"""The rows of a Spark table in this process, for work that needs them all in one place."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refute.spark.failures import plain_failures
from refute.spark.source import open_source
from refute.spark.warning import calm


def arrow_of(table: Any, where: str | None = None) -> pa.Table:
    """The rows of a path, catalog table or DataFrame as Arrow; with `where`, those for which this SQL is true."""
    source = open_source(table)
    with calm(), plain_failures(source.name):
        return (source.frame if where is None else source.frame.where(where)).toArrow()
