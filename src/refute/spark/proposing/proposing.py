"""Proposals for a Spark table: in this process where the rows are few, else where they are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from refute.discovery.options import Options
from refute.faults import unknown_column
from refute.proposing.candidates import RuleShape
from refute.proposing.search import Heads, search_heads
from refute.relation import Relation
from refute.spark.discovery.search import GATHERED, fetched, opened_rows
from refute.spark.proposing.search import heads_on_spark
from refute.spark.proposing.table import ProposingTuning
from refute.spark.session.failures import plain_failures
from refute.spark.session.jobs import stoppable
from refute.spark.session.warning import calm
from refute.spark.source.keeping import kept
from refute.spark.source.opening import session_of

_TUNING = ProposingTuning()


def propose_on_spark(
    table: Any,
    options: Options,
    *,
    max_left: int,
    shapes: Collection[RuleShape],
    where: str | None = None,
    gather: int | None = None,
    tuning: ProposingTuning = _TUNING,
) -> tuple[Heads, Relation | DataFrame]:
    """The proposals for a path, catalog table or DataFrame, and its rows: here if they were few, else where they are.

    Up to `gather` bytes of rows are searched in this process; answers do not depend on it.
    """
    session = session_of(table)
    with calm(), kept() as place:
        opened = stoppable(session, "propose", lambda: opened_rows(table, options, where, None))
        source = opened.source
        with plain_failures(source.name):
            if options.columns is not None:
                options = replace(options, columns=tuple(dict.fromkeys(map(source.spelled, options.columns))))
                for name in options.columns or ():
                    if name not in source.frame.columns:
                        raise unknown_column(name, opened.own)
            most = GATHERED if gather is None else gather
            here = stoppable(session, "propose", lambda: fetched(opened, options, most))
            if here is not None:
                return search_heads(here, options, max_left=max_left, shapes=shapes), here
            names = list(options.columns or opened.own)
            frame = opened.rows(source.frame, names)
            evaluated = place.keep(frame) if source.is_costly or opened.chosen is not None else frame
            heads = heads_on_spark(evaluated, names, place, options, max_left=max_left, shapes=shapes, tuning=tuning)
            return heads, frame
