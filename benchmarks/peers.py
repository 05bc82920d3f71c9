"""How the peers answer a rule, each in its best form: factories that load a table and give the job to time.

Group sizes and extrema answer keys and functional dependencies, running extrema (a window) two orders on one pair of
columns; all else is a join, for which DuckDB has IEJoin. Every factory takes texts, as workers pass them on.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.case import Contestant
from benchmarks.tables import csv_of
from benchmarks.worker import Worker
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.parsing.parser import parse
from refute.language.predicate import Column, Predicate
from refute.language.render import SqlWriter
from refute.language.rulebook import Rule

LIMIT = 40.0  # seconds


def peer(name: str, verb: str, text: str, table: Path, *, limit: float = LIMIT) -> Contestant:
    """A contestant that verifies or counts with a peer's own means."""
    if importlib.util.find_spec(name) is None:
        return Contestant(name, absent="not installed")
    data = csv_of(table) if name == "desbordante" else table
    return Contestant(name, worker=Worker(f"benchmarks.peers:{name}_{verb}", (text, str(data)), limit))


def duckdb_verify(text: str, path: str) -> Callable[[], bool]:
    """Whether the rule holds."""
    query = _verifying(parse(text))
    connection = _duckdb(path)
    return lambda: not connection.execute(query).fetchall()


def duckdb_count(text: str, path: str) -> Callable[[], int]:
    """The number of violations."""
    query = _counting(parse(text))
    connection = _duckdb(path)
    return lambda: int(connection.execute(query).fetchall()[0][0])


def polars_verify(text: str, path: str) -> Callable[[], bool]:
    """Whether the rule holds."""
    import polars as pl

    rule = parse(text)
    frame = pl.read_parquet(path)
    same, other, rest = _parts(rule)
    if not rest and len(other) <= 1:
        clash = pl.col(other[0]).min() != pl.col(other[0]).max() if other else pl.len() > 1
        lazy = frame.lazy().group_by(same).agg(clash.alias("clash")).select(pl.col("clash").any())
        return lambda: not lazy.collect().item()
    joined = _polars_join(frame, rule).head(1)
    return lambda: joined.collect().is_empty()


def polars_count(text: str, path: str) -> Callable[[], int]:
    """The number of violations."""
    import polars as pl

    rule = parse(text)
    frame = pl.read_parquet(path)
    same, other, rest = _parts(rule)
    squares = (pl.col("len").cast(pl.Int64) ** 2).sum()
    if not rest and not other:
        lazy = frame.lazy().group_by(same).len().select(squares - pl.col("len").sum())
        return lambda: int(lazy.collect().item())
    if not rest and len(other) == 1:
        by_both = frame.lazy().group_by([*same, *other]).len()
        apart = by_both.select(squares.alias("both"))
        together = by_both.group_by(same).agg(pl.col("len").sum()).select(squares.alias("one"))
        both = pl.concat([together, apart], how="horizontal").select(pl.col("one") - pl.col("both"))
        return lambda: int(both.collect().item())
    joined = _polars_join(frame, rule).select(pl.len())
    return lambda: int(joined.collect().item())


def desbordante_verify(text: str, path: str) -> Callable[[], bool]:
    """Whether the rule holds."""
    import desbordante

    algorithm = desbordante.dc_verification.algorithms.Default()
    algorithm.load_data(table=(path, ",", True))
    written = " and ".join(
        f"s.{p.left.name} {_DESBORDANTE.get(p.op, p.op.symbol)} t.{_right(p)}" for p in parse(text).predicates
    )

    def run() -> bool:
        algorithm.execute(denial_constraint=f"!({written})")
        return bool(algorithm.dc_holds())

    return run


_DESBORDANTE = {Operator.EQ: "=="}


def _right(predicate: Predicate) -> str:
    assert isinstance(predicate.right, Column)
    return predicate.right.name


def _parts(rule: DenialConstraint) -> tuple[list[str], list[str], list[Predicate]]:
    """Columns that must be the same, columns that must differ, and all other predicates."""
    plain = [p for p in rule.predicates if not p.is_cross_column]
    same = [p.left.name for p in plain if p.op is Operator.EQ]
    other = [p.left.name for p in plain if p.op is Operator.NE]
    rest = [p for p in rule.predicates if p.is_cross_column or p.op.is_order]
    return same, other, rest if same else list(rule.predicates)


def _duckdb(path: str) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"create table data as select * from read_parquet('{path}')")
    return connection


def _verifying(rule: DenialConstraint) -> str:
    """A query that gives a line unless the rule holds."""
    same, other, rest = _parts(rule)
    keys = ", ".join(same)
    if not rest and not other:
        return f"select 1 from data group by {keys} having count(*) > 1 limit 1"
    if not rest and len(other) == 1:
        return f"select 1 from data group by {keys} having min({other[0]}) <> max({other[0]}) limit 1"
    strict = {p.op: p.left.name for p in rest if not p.is_cross_column}
    if len(rest) == 2 and not other and set(strict) == {Operator.GT, Operator.LT}:
        x, y = strict[Operator.GT], strict[Operator.LT]
        part = f"partition by {keys}" if same else ""
        frame = "rows between unbounded preceding and 1 preceding"
        extrema = f"min({y}) as low, max(max({y})) over ({part} order by {x} {frame}) as high"
        grouping = ", ".join([*same, x])
        return f"select 1 from (select {extrema} from data group by {grouping}) where low < high limit 1"
    listing = SqlWriter(table="data", key=("id",)).list_query(Rule.of(rule))
    return f"{listing}\nlimit 1"


def _counting(rule: DenialConstraint) -> str:
    same, other, rest = _parts(rule)
    keys = ", ".join(same)
    if not rest and not other:
        return f"select coalesce(sum(n * (n - 1)), 0) from (select count(*) as n from data group by {keys})"
    if not rest and len(other) == 1:
        both = f"select {keys}, count(*) as n from data group by {keys}, {other[0]}"
        return f"select sum(a * a - b) from (select sum(n) as a, sum(n * n) as b from ({both}) group by {keys})"
    return SqlWriter(table="data").count_query(Rule.of(rule))


def _polars_join(frame: Any, rule: DenialConstraint) -> Any:
    """The pairs that violate the rule, lazily."""
    import polars as pl

    names = list(dict.fromkeys([*rule.columns, "id"]))
    left, right = (frame.lazy().select(pl.col(names).name.prefix(f"{side}_")) for side in "st")
    conditions = [_POLARS[p.op](pl.col(f"s_{p.left.name}"), pl.col(f"t_{_right(p)}")) for p in rule.predicates]
    return left.join_where(right, *conditions, pl.col("s_id") != pl.col("t_id"))


_POLARS: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.EQ: lambda a, b: a == b,
    Operator.NE: lambda a, b: a != b,
    Operator.LT: lambda a, b: a < b,
    Operator.LE: lambda a, b: a <= b,
    Operator.GT: lambda a, b: a > b,
    Operator.GE: lambda a, b: a >= b,
}
