"""`propose` as users call it: the rules that a table speaks for, although some rows break them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from refute.api.discovery import selected
from refute.api.tables import (
    IN_PROCESS,
    as_key,
    check_driver_bytes,
    check_engine,
    engine_for,
    given_csv,
    given_schema,
    is_monitor,
    is_path,
    on_spark,
    spark_table,
)
from refute.detect.engine import Engine
from refute.discovery.options import Progress, chosen, options_of, several
from refute.errors import DataError
from refute.faults import needing, wrong_value
from refute.language.rulebook import Limit, Rule, Tolerance
from refute.language.rulebook.tolerance import STRICT
from refute.proposing.candidates import RuleShape
from refute.proposing.result import Proposals
from refute.proposing.search import search_heads
from refute.relation import Relation
from refute.relation.read.csv.options import USUAL
from refute.relation.read.files import read_local
from refute.report.suspects import Suspects
from refute.runtime.bars import with_bar

_WIDEST = 3  # columns on the left of a dependency


@with_bar("Proposing")
def propose(
    table: Any,
    *,
    columns: Iterable[str] | None = None,
    where: str | None = None,
    kinds: Iterable[str | RuleShape] | None = None,
    max_left: int = 2,
    key: str | Sequence[str] | None = None,
    engine: str | None = "auto",
    schema: Any = None,
    header: bool = True,
    csv: Any = None,
    threads: int | None = None,
    driver_bytes: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Proposals:
    """The rules that people would write, found on data that is not clean, best first; takes seconds.

    A rule is proposed where far fewer rows break it than would by chance. Rules have readable shapes (`kinds`): `key`,
    `functional dependency` with up to `max_left` columns on the left, `order rule` within groups, `no overlap`,
    `comparison` of two columns of a row, `domain`, `not null`. Within these shapes and limits the search is complete.
    `tendencies` are weaker: too many rows break them. On Ctrl-C, or after `time_limit` seconds, the rules found so
    far are returned, marked as partial. Tables on Spark of more than `driver_bytes` are searched where they are, with
    the same result. `progress` is as for `check`. For every minimal rule that holds exactly, see `discover`.
    """
    options = options_of(columns=columns, threads=threads, time_limit=time_limit, seed=seed, progress=progress)
    shapes = tuple(RuleShape) if kinds is None else tuple(chosen(RuleShape, kind, "kinds") for kind in several(kinds))
    if isinstance(max_left, bool) or not isinstance(max_left, int):
        raise wrong_value("max_left", "a whole number", max_left)
    if not 1 <= max_left <= _WIDEST:
        raise wrong_value("max_left", "1, 2 or 3", max_left)
    check_engine(engine)
    check_driver_bytes(driver_bytes)
    if where is not None and not isinstance(where, str):
        raise wrong_value("where", "a condition as text", where)
    name = os.fspath(table) if is_path(table) else None
    given, written = given_schema(table, schema, header), given_csv(table, csv)
    table = table.table() if is_monitor(table) else table
    rows: Any
    if on_spark(table, engine, wanted=driver_bytes is not None):
        with needing("Spark", "spark", IN_PROCESS):
            from refute.spark.proposing.proposing import propose_on_spark
            from refute.spark.source.opening import open_source

        usual = given is None and written == USUAL
        held = spark_table(table) if usual else open_source(table, schema=given, csv=written).frame
        heads, rows = propose_on_spark(
            held, options, max_left=max_left, shapes=shapes, where=where, gather=driver_bytes
        )
    else:
        rows = selected(Relation.of(read_local(table, given, written) if is_path(table) else table), where)
        heads = search_heads(rows, options, max_left=max_left, shapes=shapes)
    held_by = engine_for(rows, key=as_key(key), threads=threads, driver_bytes=driver_bytes)
    return Proposals(heads, EngineTable(held_by), where=where, name=name)


class EngineTable:
    """The table of proposals, by the engine that answers for it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tolerances: dict[tuple[Rule, ...], Tolerance] = {}  # a page and a file ask for the same ones

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._engine.n_rows

    def tolerance(self, rules: Sequence[Rule]) -> Tolerance:
        """The tolerance with which each of these rules passes, and no more: by rows to blame, or by rows in violations
        where the former would have to be named, and rows that stay on Spark have no ids."""
        known = tuple(rules)
        if known not in self._tolerances:
            self._tolerances[known] = self._tolerance(known)
        return self._tolerances[known]

    def _tolerance(self, rules: tuple[Rule, ...]) -> Tolerance:
        engine = self._engine
        try:
            rows = max(map(engine.blamed, rules))
            return Tolerance(suspects=Limit.share(rows, engine.n_rows)) if rows else STRICT
        except DataError:
            rows = max(one.finding.rows or 0 for one in engine.measure(rules, counts=True))
            return Tolerance(rows=Limit.share(rows, engine.n_rows)) if rows else STRICT

    def suspects(self, rules: Sequence[Rule]) -> Suspects:
        """The rows to blame, as `refute.suspects` gives them."""
        return Suspects(self._engine.suspects(rules))
