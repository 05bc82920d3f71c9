"""Discovery of a Spark table: in this process where the rows are few, else where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import functions as F

from refute.discover.discovery import Discovery
from refute.discover.kinds import RuleSort
from refute.discover.options import Method, Options
from refute.discover.search import search
from refute.discover.table import LocalTable
from refute.errors import OptionError
from refute.relation import Family, Relation
from refute.spark.budget import width
from refute.spark.discover.jobs import kept
from refute.spark.discover.table import SparkTable
from refute.spark.expressions import quoted
from refute.spark.failures import plain_failures
from refute.spark.schema import empty_relation
from refute.spark.source import Source, open_source
from refute.spark.warning import calm
from refute.spark.worker import ROW_COLUMN

GATHERED = 256 << 20  # bytes of the needed columns up to which rows come to this process


def discover_on_spark(
    table: Any,
    options: Options,
    kinds: set[RuleSort] | None = None,
    *,
    where: str | None = None,
    gather: int = GATHERED,
) -> Discovery:
    """The rules of a path, catalog table or DataFrame; with `where`, of the rows for which this SQL is true.

    Up to `gather` bytes of rows are searched in this process; answers do not depend on it.
    """
    with calm():
        source = open_source(table)
        with plain_failures(source.name):
            if options.columns is not None:
                options = replace(options, columns=tuple(dict.fromkeys(map(source.spelled, options.columns))))
            if _fits(source, options, gather):
                return search(LocalTable(_here(source, options, where)), options, kinds)
            if options.method is Method.HYDRA:
                raise OptionError(
                    f"method 'hydra' looks at single rows in this process, and {source.name} is too large for that; "
                    "use 'guided' or 'tiles'"
                )
            with kept() as place:
                frame = source.frame if where is None else source.frame.where(where)
                if source.is_costly or where is not None:
                    frame = place.keep(frame.select(*_readable(source, options)))
                return search(SparkTable(frame, place, options.columns), options, kinds)


def _readable(source: Source, options: Options) -> list[Any]:
    names = [name for name in source.frame.columns if options.columns is None or name in options.columns]
    return [F.col(quoted(name)) for name in names or source.frame.columns]


def _fits(source: Source, options: Options, most: int) -> bool:
    """Whether the columns to be looked at fit this many bytes."""
    types = empty_relation(source.frame)
    kinds = [types.type_of(name) for name in types.names if options.columns is None or name in options.columns]
    bytes_per_row = sum(width(kind.arrow_type) for kind in kinds if kind.family is not Family.UNSUPPORTED)
    return most > 0 and source.n_rows() * bytes_per_row <= most


def _here(source: Source, options: Options, where: str | None) -> Relation:
    """The rows in this process; where pairs of rows are told, in the order of their positions."""
    ordered = bool(options.almost) and source.has_identity
    frame = source.identified() if ordered else source.frame
    rows = (frame if where is None else frame.where(where)).toArrow()
    return Relation.of(rows.sort_by(ROW_COLUMN).drop_columns([ROW_COLUMN]) if ordered else rows)
