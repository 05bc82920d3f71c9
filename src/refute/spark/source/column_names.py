"""Which columns names mean on Spark: its setting says whether case counts, and a name may lead into structs.

Results have the table's spelling, `st.p` for the field `p` of the column `st`, whatever a rule or a key wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from refute.spark.expressions import quoted

Path = tuple[str, ...]  # a column, then fields inside it


@dataclass(frozen=True)
class Naming:
    """The columns of a table, and the fields inside them, by the names that users give them."""

    schema: StructType
    is_case_sensitive: bool

    @classmethod
    def of(cls, frame: DataFrame) -> Naming:
        """The naming of a DataFrame, by its schema and the setting of its session."""
        setting = frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")
        return cls(frame.schema, str(setting).lower() == "true")

    def path(self, name: str) -> Path | None:
        """Where a name leads; None where it leads nowhere. A column of just this name goes before a field."""
        return self._within(self.schema, name)

    def _within(self, struct: StructType, name: str) -> Path | None:
        found = self._spelled(struct.names, name)
        if found is not None:
            return (found,)
        dot = name.rfind(".")
        while dot > 0:
            head = self._spelled(struct.names, name[:dot])
            inner = None if head is None else struct[head].dataType
            if head is not None and isinstance(inner, StructType):
                rest = self._within(inner, name[dot + 1 :])
                if rest is not None:
                    return (head, *rest)
            dot = name.rfind(".", 0, dot)
        return None

    def _spelled(self, names: Sequence[str], name: str) -> str | None:
        """The name as the table has it."""
        if name in names or self.is_case_sensitive:
            return name if name in names else None
        return next((one for one in names if one.lower() == name.lower()), None)


def spelled(path: Path) -> str:
    """The one name of a path."""
    return ".".join(path)


def with_fields(frame: DataFrame, paths: Iterable[Path]) -> DataFrame:
    """The frame with one more column for each path into a struct, under its name."""
    added = {spelled(path): _field(path) for path in paths if len(path) > 1}
    return frame.withColumns(added) if added else frame


def _field(path: Path) -> Column:
    found = F.col(quoted(path[0]))
    for name in path[1:]:
        found = found.getField(name)
    return found
