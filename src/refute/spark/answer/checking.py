"""Findings for many rules about one Spark table: fetched, read and counted together wherever that can be."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from refute.detect.results import Timed
from refute.errors import RefuteError
from refute.language.rulebook import Rule
from refute.relation.binding import check_rules
from refute.runtime.compiling import Stopwatch
from refute.spark.answer.native.summary import LEAST_REPEATS, MOST_SHARED, DistinctRows
from refute.spark.answer.rule import SparkRule
from refute.spark.answer.spread import distinct_rows
from refute.spark.session.failures import plain_failures
from refute.spark.session.jobs import JobCrew

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_RULES_AT_ONCE = 4


def measure(
    engine: SparkEngine, rules: Sequence[Rule], *, counts: bool, progress: Callable[[Rule], None] | None
) -> list[Timed]:
    """A finding for each rule, in order. Jobs of several rules run side by side."""
    check_rules(engine.types, rules)
    prepared = [engine.prepared(rule) for rule in rules]
    _fetch_together(engine, prepared, counts)
    counted: list[DistinctRows] = []
    if counts:  # verifying looks at the first rows first
        prepared, counted = _with_values_together(engine, prepared)
    with ExitStack() as stack, JobCrew(engine.source.frame.sparkSession, _RULES_AT_ONCE) as crew:
        prepared = _with_blocks_together(engine, prepared, stack)
        # What is shared is begun first, so no thread waits for what none has begun.
        for values in counted:
            crew.submit("count values", _read, engine, values)
        jobs = [crew.submit(one.rule.name, _timed, engine, one, counts, progress) for one in prepared]
        return crew.results(jobs)


def _fetch_together(engine: SparkEngine, rules: Sequence[SparkRule], counts: bool) -> None:
    """Fetch the columns of all rules at once, where all of them come here anyway; else each rule sees to itself."""
    gathering = engine.gathering
    if not all(one.comes_here and (counts or one.way.is_quick) for one in rules):
        return
    names = tuple(dict.fromkeys(name for one in rules for name in one.columns))
    if gathering.fits(names, engine.source.most_rows()):
        with gathering.rows(names, identified=True):
            pass


def _with_blocks_together(engine: SparkEngine, rules: Sequence[SparkRule], stack: ExitStack) -> list[SparkRule]:
    """The rules, those that tasks answer with the same blocks: the table is then read once for all of them."""
    able = [one.may_share_blocks for one in rules]
    if sum(able) < 2:
        return list(rules)
    together = [one.bound for one, is_able in zip(rules, able, strict=True) if is_able]
    blocks = stack.enter_context(engine.kept_blocks(together, named=True))
    return [one.sharing(blocks=blocks) if is_able else one for one, is_able in zip(rules, able, strict=True)]


def _timed(engine: SparkEngine, prepared: SparkRule, counts: bool, progress: Callable[[Rule], None] | None) -> Timed:
    watch = Stopwatch()
    with plain_failures(engine.source.name):
        finding, values = prepared.measure(counts)
    if progress is not None:
        progress(prepared.rule)
    return Timed(finding, values, watch.seconds)


def _with_values_together(
    engine: SparkEngine, rules: Sequence[SparkRule]
) -> tuple[list[SparkRule], list[DistinctRows]]:
    """The rules, with the same counts of values where they read few distinct ones, all of them taken together."""
    able = [number for number, one in enumerate(rules) if one.may_share_values]
    if len(able) < 2:
        return list(rules), []
    sample = engine.gathering.glimpse(tuple(dict.fromkeys(name for number in able for name in rules[number].columns)))
    most = min(MOST_SHARED, engine.source.most_rows() / LEAST_REPEATS)
    units: list[tuple[tuple[str, ...], list[int]]] = []
    for number in able:
        columns = rules[number].columns
        for i, (names, unit) in enumerate(units):
            both = tuple(dict.fromkeys((*names, *columns)))
            if distinct_rows(sample.select(list(both))) <= most:
                units[i] = both, [*unit, number]
                break
        else:
            if distinct_rows(sample.select(list(columns))) <= most:
                units.append((columns, [number]))
    sharing, counted = list(rules), []
    for names, unit in units:
        if len(unit) > 1:
            values = DistinctRows(tuple(engine.names[name] for name in names), engine.plain_types, engine.plain)
            counted.append(values)
            for number in unit:
                sharing[number] = rules[number].sharing(values=values)
    return sharing, counted


def _read(engine: SparkEngine, values: DistinctRows) -> None:
    """Count the values; a failure comes to the rules that ask for them."""
    with contextlib.suppress(RefuteError), plain_failures(engine.source.name):
        _ = values.table
