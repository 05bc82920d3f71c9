"""Discovery of a Spark table: in this process where the rows are few, else where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refute.discover.discovery import Discovery
from refute.discover.kinds import RuleSort
from refute.discover.options import Method, Options
from refute.discover.search import search
from refute.discover.table import LocalTable
from refute.errors import OptionError
from refute.relation import Family, Relation
from refute.spark.budget import width
from refute.spark.discover.table import SparkTable
from refute.spark.expressions import quoted
from refute.spark.failures import plain_failures
from refute.spark.jobs import stoppable
from refute.spark.keeping import Kept, kept
from refute.spark.schema import empty_relation
from refute.spark.source import Source, open_source, session_of
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
    persist: bool = False,
) -> Discovery:
    """The rules of a path, catalog table or DataFrame; with `where`, of the rows for which this SQL is true.

    Up to `gather` bytes of rows are searched in this process; answers do not depend on it. With `persist` the columns
    that are looked at are kept on the executors from the first look at them; else where it pays.
    """
    session = session_of(table)
    with calm(), kept() as place:
        source = stoppable(session, "discover", lambda: _opened(table, options, where, place if persist else None))
        with plain_failures(source.name):
            if options.columns is not None:
                options = replace(options, columns=tuple(dict.fromkeys(map(source.spelled, options.columns))))
            if stoppable(session, "discover", lambda: _fits(source, options, gather)):
                here = stoppable(session, "discover", lambda: _here(source, options, where))
                return search(LocalTable(here), options, kinds)
            if options.method is Method.HYDRA:
                raise OptionError(
                    f"method 'hydra' looks at single rows in this process, and {source.name} is too large for that; "
                    "use 'guided' or 'tiles'"
                )
            frame = source.frame if where is None else source.frame.where(where)
            if not persist and (source.is_costly or where is not None):
                frame = place.keep(frame.select(*map(quoted, _readable(source, options))))
            return search(SparkTable(frame, place, options.columns), options, kinds)


def _opened(table: Any, options: Options, where: str | None, place: Kept | None) -> Source:
    """The table, kept where there is a place for it: the columns that are looked at, or all where SQL may read them."""
    source = open_source(table)
    if place is None:
        return source
    wanted = set(options.columns or ())
    narrow = where is None and wanted <= set(source.frame.columns)
    return source.kept(place, _readable(source, options) if narrow else source.frame.columns)


def _readable(source: Source, options: Options) -> list[str]:
    names = [name for name in source.frame.columns if options.columns is None or name in options.columns]
    return names or source.frame.columns


def _fits(source: Source, options: Options, most: int) -> bool:
    """Whether the columns to be looked at fit this many bytes."""
    types = empty_relation(source.frame)
    kinds = [types.type_of(name) for name in types.names if options.columns is None or name in options.columns]
    bytes_per_row = sum((width(kind.arrow_type) or 24) for kind in kinds if kind.family is not Family.UNSUPPORTED)
    return most > 0 and source.n_rows() * bytes_per_row <= most


def _here(source: Source, options: Options, where: str | None) -> Relation:
    """The rows in this process; where pairs of rows are told, in the order of their positions."""
    ordered = bool(options.almost) and source.has_identity
    frame = source.identified() if ordered else source.frame
    rows = (frame if where is None else frame.where(where)).toArrow()
    return Relation.of(rows.sort_by(ROW_COLUMN).drop_columns([ROW_COLUMN]) if ordered else rows)
