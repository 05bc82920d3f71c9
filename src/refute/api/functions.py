"""The functions that users call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from refute.api.tables import as_key, engine_for, name_of, opened_engine
from refute.detect.results import Verdict
from refute.faults import several_rules, wrong_value
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, RuleBook
from refute.report import DataSummary, Report, RuleResult
from refute.report.suspects import Suspects
from refute.report.violations import Violations
from refute.runtime.bars import stepping

if TYPE_CHECKING:
    from refute.plan.plan import Plan


def verify(
    table: Any,
    rule: Any,
    *,
    key: str | Sequence[str] | None = None,
    nulls: str | Nulls | None = None,
    method: str = "auto",
    engine: str | None = "auto",
    schema: Any = None,
    header: bool = True,
    csv: Any = None,
    threads: int | None = None,
    driver_bytes: int | None = None,
    persist: bool = False,
) -> Verdict:
    """Whether the rule holds on the table, with one clash if it does not; stops at the first clash."""
    chosen = _one(rule, nulls)
    reading = _reading(schema, header, csv, driver_bytes) | {"persist": persist, "reads": [chosen]}
    with opened_engine(table, key=as_key(key), engine=engine, method=method, threads=threads, **reading) as found:
        return found.verify(chosen)


def count(
    table: Any,
    rule: Any,
    *,
    nulls: str | Nulls | None = None,
    method: str = "auto",
    engine: str | None = "auto",
    schema: Any = None,
    header: bool = True,
    csv: Any = None,
    threads: int | None = None,
    driver_bytes: int | None = None,
    persist: bool = False,
) -> int:
    """The exact number of violations: ordered pairs of rows, or rows for a rule about one row."""
    chosen = _one(rule, nulls)
    reading = _reading(schema, header, csv, driver_bytes) | {"persist": persist, "reads": [chosen]}
    with opened_engine(table, engine=engine, method=method, threads=threads, **reading) as found:
        return found.count(chosen)


def violations(
    table: Any,
    rule: Any,
    limit: int | None = None,
    *,
    key: str | Sequence[str] | None = None,
    nulls: str | Nulls | None = None,
    method: str = "auto",
    engine: str | None = "auto",
    schema: Any = None,
    header: bool = True,
    csv: Any = None,
    threads: int | None = None,
    driver_bytes: int | None = None,
    persist: bool = False,
    columns: Sequence[str] | None = None,
) -> Violations:
    """The clashing rows, lazily: at most `limit` of them; only what is read is computed.

    Each has the ids of its rows, `s` and `t`, their keys, and the columns that the rule reads of both, as `s_city` and
    `t_city`, or those given by `columns`. On Spark values are joined to ids, which `columns=[]` saves.

    With `persist`, Spark keeps the columns that the rule reads until the result is closed (`close()`, or the end of a
    `with` block) or garbage-collected; after that, the DataFrame of `to_spark()` evaluates the table again.
    """
    chosen = _one(rule, nulls)
    reads = [chosen] if not columns else None  # other columns must be there as well
    reading = _reading(schema, header, csv, driver_bytes) | {"persist": persist, "reads": reads}
    found = engine_for(table, key=as_key(key), engine=engine, method=method, threads=threads, **reading)
    return Violations(found, chosen, limit, columns=columns)


def check(
    table: Any,
    rules: Any,
    *,
    key: str | Sequence[str] | None = None,
    counts: bool = True,
    nulls: str | Nulls | None = None,
    method: str = "auto",
    engine: str | None = "auto",
    schema: Any = None,
    header: bool = True,
    csv: Any = None,
    threads: int | None = None,
    driver_bytes: int | None = None,
    persist: bool = False,
    name: str | None = None,
    progress: Callable[[Rule], None] | bool | None = None,
) -> Report:
    """A report with one result per rule. With `counts=False` rules are only verified, which is cheaper.

    `schema` sets the columns of CSV and JSON files to read, and their types: a text such as `id bigint, name string`, a
    mapping of names to types, or a Spark StructType. For a CSV file without a header, pass `header=False` and a schema
    that names all columns. `csv` says how CSV files are written where that is unusual: a mapping with `delimiter`,
    `quote` (None for none), `encoding`, `null_values` and `as_given` (do not doubt the delimiter and the encoding).
    The other functions take these options too.

    `driver_bytes` limits how much of a Spark table is fetched into this process, where small tables are checked faster.
    With 0, everything is answered on the executors, and only answers and a sample to divide the work are fetched.

    With `persist`, Spark evaluates the table once and keeps it, in memory or on disk, until the report is ready. Use it
    for tables that are costly to evaluate or may return different rows each time. A report shows rows with all their
    columns, so all columns are kept; the other functions keep only the columns they read.

    `progress` is called with each rule that is done. With True, a bar is shown once the check has lasted two seconds;
    by default only in notebooks.
    """
    book = _with_nulls(RuleBook.of(rules), nulls)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise wrong_value("progress", "a function that takes a rule, True or False", progress)
    options = {"engine": engine, "method": method, "schema": schema, "header": header, "csv": csv, "threads": threads}
    with (
        opened_engine(
            table, key=as_key(key) or book.key, persist=persist, driver_bytes=driver_bytes, **options
        ) as found,
        stepping(progress, "Checking", len(book), lambda rule: rule.name) as step,
    ):
        chosen = found.fitted(list(book))
        timed = found.measure(chosen, counts=counts or any(rule.tolerance for rule in chosen), progress=step)
        results = tuple(RuleResult.of(rule, one, found) for rule, one in zip(chosen, timed, strict=True))
        n_rows = found.n_rows
    summary = DataSummary(name or name_of(table), n_rows, tuple(found.own_columns), found.key, found.name)
    return Report(summary, results, found)


def suspects(
    table: Any,
    rules: Any,
    *,
    key: str | Sequence[str] | None = None,
    nulls: str | Nulls | None = None,
    engine: str | None = "auto",
    schema: Any = None,
    header: bool = True,
    csv: Any = None,
    threads: int | None = None,
    driver_bytes: int | None = None,
    persist: bool = False,
) -> Suspects:
    """The few rows to blame: removing them leaves a table that obeys every rule, with a proven bound on their number.

    For one rule that is a key, a dependency, about one row, about spans or about two orders, they are the fewest; for
    several, those that the rules together trust least. Rules that are broken within their tolerance blame nobody.
    """
    book = _with_nulls(RuleBook.of(rules), nulls)
    options = {"engine": engine, "schema": schema, "header": header, "csv": csv, "threads": threads, "persist": persist}
    with opened_engine(table, key=as_key(key) or book.key, driver_bytes=driver_bytes, **options) as found:
        chosen = found.fitted(list(book))
        tolerant = [rule for rule in chosen if rule.tolerance]
        timed = found.measure(tolerant, counts=True) if tolerant else []
        results = [RuleResult.of(rule, one, found) for rule, one in zip(tolerant, timed, strict=True)]
        tolerated = [result.rule for result in results if result.passed and not result.finding.holds]
        return Suspects(found.suspects([rule for rule in chosen if rule not in tolerated]))


def explain(
    table: Any,
    rules: Any,
    *,
    nulls: str | Nulls | None = None,
    method: str = "auto",
    engine: str | None = "auto",
    schema: Any = None,
    header: bool = True,
    csv: Any = None,
    driver_bytes: int | None = None,
) -> Plan:
    """How the rules would be answered: shape, method, the steps of `verify`, `count` and `check`, and the worst case.

    A table in memory is encoded as for an answer, so the steps are those that would run; no pairs are searched for.
    """
    book = _with_nulls(RuleBook.of(rules), nulls)
    reading = _reading(schema, header, csv, driver_bytes)
    found = engine_for(table, engine=engine, method=method, **reading)
    where = "answered in this process" if found.is_here else "answered on Spark"
    return replace(found.explain(list(book)), engine=where)


def _reading(schema: Any, header: bool, csv: Any, driver_bytes: int | None) -> dict[str, Any]:
    """How a table is read, as engines take it."""
    return {"schema": schema, "header": header, "csv": csv, "driver_bytes": driver_bytes}


def _one(rule: Any, nulls: str | Nulls | None) -> Rule:
    """The single rule meant; several at once belong to `check`."""
    book = _with_nulls(RuleBook.of(rule), nulls)
    if len(book) != 1:
        raise several_rules(book.names)
    return next(iter(book))


def _with_nulls(book: RuleBook, nulls: str | Nulls | None) -> RuleBook:
    return book if nulls is None else book.with_nulls(Nulls.of(nulls))
