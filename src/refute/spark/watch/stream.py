"""Starting a stream whose batches a watch takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.errors import DataError, SchemaError
from refute.faults import unknown_column
from refute.language.rulebook import Rule
from refute.relation.binding import check_rules
from refute.relation.types import is_usable
from refute.spark.expressions import quoted
from refute.spark.session.failures import plain_failures
from refute.spark.source.column_names import Naming, spelled, with_fields
from refute.spark.source.renaming import by_code_point, renamed
from refute.spark.source.types import empty_relation
from refute.spark.watch.batches import BatchTaker
from refute.watching.intake import read_by
from refute.watching.places import WatchPlaces


@dataclass(frozen=True, slots=True)
class Stream:
    """A DataFrame with the columns that a watch takes, and rules, key and options with its spelling of names."""

    frame: DataFrame
    rules: tuple[Rule, ...]
    key: tuple[str, ...]
    op: str | None
    order: str | None

    @classmethod
    def of(
        cls, frame: DataFrame, rules: Sequence[Rule], key: Sequence[str], op: str | None, order: str | None
    ) -> Stream:
        """The columns of a DataFrame that are kept; raises SchemaError where rules, key or options do not fit it."""
        with plain_failures("the stream"):
            naming = Naming.of(frame)
            options = [name for name in (op, order) if name is not None]
            paths = {name: naming.path(name) for name in (*read_by(rules, key), *options)}
            names = {name: name if path is None else spelled(path) for name, path in paths.items()}
            for name in options:
                if paths[name] is None:
                    raise unknown_column(name, frame.columns)
            whole = with_fields(frame, [path for path in paths.values() if path is not None])
            whole = by_code_point(whole, whole.schema)
            relation = empty_relation(whole)
        chosen = tuple(renamed(rule, names) if _is_renamed(rule, names) else rule for rule in rules)
        own_key = tuple(names[name] for name in key)
        check_rules(relation, chosen, own_key)
        wanted = {*names.values()}
        times = Counter(one.name.lower() for one in whole.schema.fields)  # as Spark takes two for one
        kept = [
            one.name
            for one in relation.arrow.schema
            if one.name in wanted or (times[one.name.lower()] == 1 and is_usable(one.type))
        ]
        if len(set(kept)) < len(kept):
            raise SchemaError("The stream has several columns of one name. Rename them.", columns=tuple(kept))
        selected = whole.select(*(F.col(quoted(name)) for name in kept))
        return cls(selected, chosen, own_key, op and names[op], order and names[order])


def require_stream(frame: DataFrame) -> None:
    """Raises DataError for a DataFrame that is not a stream."""
    if not frame.isStreaming:
        raise DataError(
            "The DataFrame is not a stream. Use spark.readStream, or refute.check for a table.", table="the DataFrame"
        )


def start(frame: DataFrame, taker: BatchTaker, *, once: bool, every: float | None) -> Any:
    """The query that gives each batch of a stream to a taker, from where its checkpoint says, named by the folder."""
    places = WatchPlaces(Path(taker.folder))
    with plain_failures("the stream"):
        writer = frame.writeStream.foreachBatch(taker).option("checkpointLocation", str(places.checkpoint))
        writer = writer.queryName(f"refute watch {taker.folder}")
        if once:
            writer = writer.trigger(availableNow=True)
        elif every is not None:
            writer = writer.trigger(processingTime=f"{round(every * 1000)} milliseconds")
        return writer.start()


def _is_renamed(rule: Rule, names: dict[str, str]) -> bool:
    return any(names[name] != name for name in rule.columns)
