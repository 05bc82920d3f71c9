"""`discover` as users call it: the rules that a table obeys, wherever the table is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from refute.api.tables import (
    IN_PROCESS,
    check_driver_bytes,
    check_engine,
    given_csv,
    given_schema,
    is_monitor,
    is_path,
    on_spark,
    spark_table,
)
from refute.discovery import CompleteDiscovery, Measure, Progress, RuleSort, SearchMethod
from refute.discovery.options import options_of
from refute.discovery.result.kinds import kinds_of
from refute.faults import needing, wrong_value
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.relation import Relation
from refute.relation.read.csv.options import USUAL
from refute.relation.read.files import read_local
from refute.runtime.bars import with_bar


@with_bar("Discovering")
def discover(
    table: Any,
    *,
    cross_columns: bool = True,
    error: float = 0.0,
    max_predicates: int | None = None,
    method: str | SearchMethod = "auto",
    columns: Iterable[str] | None = None,
    where: str | None = None,
    kinds: Iterable[str | RuleSort] | None = None,
    operators: Iterable[str | Operator] | None = None,
    one_row: bool = False,
    constants: int = 0,
    constant_share: float = 0.05,
    shared_values: float = 0.30,
    average_ratio: float = 0.10,
    measure: str | Measure = "g1",
    almost: int = 0,
    nulls: str | Nulls = "sql",
    engine: str | None = "auto",
    schema: Any = None,
    header: bool = True,
    csv: Any = None,
    threads: int | None = None,
    driver_bytes: int | None = None,
    persist: bool = False,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | bool | None = None,
) -> CompleteDiscovery:
    """Every minimal rule that the table obeys over its predicate space, best first.

    This is complete, and so may take long and give thousands of rules: seconds for ten columns, minutes or more for
    wide tables and with cross-column comparisons (`time_limit=` bounds it). For the few rules that people would
    write, found in seconds although some rows break them, see `refute.propose`.

    The table can be anything that `check` accepts: a table in memory, a path or glob, a catalog table, a Spark
    DataFrame. Small Spark tables are searched in this process, large ones on Spark. `where` selects rows by a
    condition as in rules, such as `state = 'NY' and salary > 0`, on both engines. `kinds` keeps only rules of the named
    kinds (`key`, `functional dependency`, `order rule`, `cross-column rule`, `row rule`, `other`). `schema`, `header`,
    `driver_bytes` and `persist` are as for `check`; for the other options see `refute.discovery.Options`. On Ctrl-C, or
    after `time_limit` seconds, the rules verified so far are returned, marked as partial; where they are few, with
    keys and dependencies of few columns, if the rows are few and in this process, which takes about a second.
    `progress` is as for `check`.

    With `error`, rules may be broken: by `measure` g1 by that share of all pairs, each counted once whichever way round
    it breaks the rule; by g2 with that share of rows in violations; by g3 with that share of rows to blame, as
    `suspects` counts them. `almost=N` lists rules that at most N pairs break, the fewest rows to blame first.
    """
    options = options_of(
        columns=columns,
        cross_columns=cross_columns,
        shared_values=shared_values,
        average_ratio=average_ratio,
        one_row=one_row,
        constants=constants,
        constant_share=constant_share,
        operators=operators,
        max_predicates=max_predicates,
        error=error,
        measure=measure,
        almost=almost,
        method=method,
        nulls=nulls,
        threads=threads,
        time_limit=time_limit,
        seed=seed,
        progress=progress,
    )
    kept = kinds_of(kinds)
    check_engine(engine)
    check_driver_bytes(driver_bytes)
    if where is not None and not isinstance(where, str):
        raise wrong_value("where", "a condition as text", where)
    name = os.fspath(table) if is_path(table) else None
    given, written = given_schema(table, schema, header), given_csv(table, csv)
    table = table.table() if is_monitor(table) else table  # the rows of a monitor at this moment
    if on_spark(table, engine, wanted=persist or driver_bytes is not None):
        with needing("Spark", "spark", IN_PROCESS):
            from refute.spark.discovery import GATHERED, discover_on_spark
            from refute.spark.source.opening import open_source

        usual = given is None and written == USUAL
        held = spark_table(table) if usual else open_source(table, schema=given, csv=written).frame
        most = GATHERED if driver_bytes is None else driver_bytes
        found = discover_on_spark(held, options, kept, where=where, gather=most, persist=persist)
        return replace(found, where=where, name=name)
    from refute.discovery.search import search
    from refute.discovery.table import LocalTable

    rows = Relation.of(read_local(table, given, written) if is_path(table) else table)
    return replace(search(LocalTable(selected(rows, where)), options, kept), where=where, name=name)


def selected(relation: Relation, where: str | None) -> Relation:
    """The rows for which a condition is true."""
    if where is None:
        return relation
    from refute.language.parsing.parser import parse_condition

    return relation.filter(relation.condition_mask(parse_condition(where, relation.names)))
