"""Listed violations of a Spark table: a DataFrame until asked for as something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from refute.language.rulebook import Rule
from refute.spark.expressions import quoted
from refute.spark.failures import plain_failures

if TYPE_CHECKING:
    import pandas
    import polars


class SparkViolations:
    """The clashing rows of one rule: columns `s` and `t` (only `s` for a rule about one row), then keys where given."""

    def __init__(self, listed: DataFrame, rule: Rule, limit: int | None, key: tuple[str, ...]) -> None:
        self.rule = rule
        self.limit = limit
        sides = [name for name in ("s", "t") if name in listed.columns]
        columns = [F.col(side) for side in sides]
        for side in sides:
            for name in key:
                value = F.col(side) if len(key) == 1 else F.col(f"{side}.{quoted(name)}")
                columns.append(value.alias(f"{side}_{name}"))
        self._listed = listed.select(*columns)

    def to_spark(self, session: SparkSession | None = None) -> DataFrame:
        """The violations as a Spark DataFrame of the table's own session."""
        return self._listed

    def to_arrow(self) -> pa.Table:
        """The violations as one Arrow table; all of them come to this process."""
        with plain_failures():
            return self._listed.toArrow()

    def to_pandas(self) -> pandas.DataFrame:
        """The violations as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The violations as a polars DataFrame."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        with plain_failures():
            for row in self._listed.select(
                *[name for name in ("s", "t") if name in self._listed.columns]
            ).toLocalIterator():
                yield tuple(value.asDict(recursive=True) if hasattr(value, "asDict") else value for value in row)

    def __repr__(self) -> str:
        limit = "" if self.limit is None else f", limit={self.limit}"
        return f"SparkViolations({self.rule.name}{limit})"
