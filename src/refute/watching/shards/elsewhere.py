"""The rows of a watch in shards, which tasks elsewhere have: this process knows where they are, and violations."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from refute.durable.directory import Directory
from refute.durable.log import Logged
from refute.durable.shelf import Entry
from refute.errors import EngineError, OptionError
from refute.language.rulebook import Rule
from refute.live.engine import LiveEngine
from refute.live.feed import net_changes
from refute.live.state import State
from refute.watching.here import keys_of
from refute.watching.intake import Intake, completed, fitted, read_by, sure_to_fit
from refute.watching.outcome import NOTHING, BatchOutcome, named_among, netted
from refute.watching.places import WatchPlaces
from refute.watching.publishing.ledger import Ledger
from refute.watching.publishing.table_parts import Listed, Longs
from refute.watching.shards.assembling import assembled, clashing
from refute.watching.shards.exchange import SUFFIX
from refute.watching.shards.files import ShardFiles
from refute.watching.shards.kept import KeptShards, refuse_missing
from refute.watching.shards.row_numbers import RowNumbers, sides_of, with_ids
from refute.watching.shards.runner import Runner
from refute.watching.shards.shard_layout import ShardLayout, ShardShape, ShardTuning
from refute.watching.shards.state import RuleFound
from refute.watching.shards.tasks import BatchStep, ShardReport

_SPARE = 1 << 20  # numbers that are known beyond twice those of open violations, before all are forgotten
_NO_CHANGE = Logged(np.empty(0, np.int64), pa.table({}))  # the facts of a commit say all


class RowsElsewhere:
    """Rows in shards, and numbers for the rows of open violations."""

    def __init__(self, kept: KeptShards, places: WatchPlaces, runner: Runner | None, tuning: ShardTuning) -> None:
        self.kept = kept
        self.runner = runner
        self._places = places
        self._tuning = tuning
        self._known: RowNumbers | None = None
        self._expects_inserts = True  # of the next batch, as the last one had nothing else

    @classmethod
    def of(cls, state: State, told: Entry, places: WatchPlaces, runner: Runner, tuning: ShardTuning) -> RowsElsewhere:
        """The rows of a state, which tasks take in; nothing of it is committed yet."""
        listed = {rule.name for rule, store in zip(state.rules, state.stores, strict=True) if store.is_listed}
        counts = {rule.name: store.count for rule, store in zip(state.rules, state.stores, strict=True)}
        shape = ShardShape.fitting(state.rules, state.n_rows, runner.tasks, tuning)
        layout = ShardLayout.of(uuid.uuid4().hex, state.rules, state.key, shape)
        files = [ShardFiles(layout.name) for _ in layout.places]
        kept = KeptShards(
            state.rules, state.key, state.most, state.schema, layout, files, counts, listed, state.version, dict(told)
        )
        found = cls(kept, places, runner, tuning)
        places.shards.mkdir(exist_ok=True)
        if state.n_rows:
            _, table = state.living()
            found._put_anew(kept, table, None, frozenset())
        kept.version += 1
        return found

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are watched."""
        return self.kept.rules

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self.kept.key

    @property
    def schema(self) -> pa.Schema | None:
        """The columns and their types; None before the first rows have come."""
        return self.kept.schema

    @property
    def counts(self) -> dict[str, int]:
        """How many violations of each rule there are."""
        return self.kept.counts

    @property
    def listed(self) -> set[str]:
        """The rules whose violations are listed, not counted alone."""
        return self.kept.listed

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.kept.n_rows

    def taken(
        self, intake: Intake, rows: Any, directory: Directory[Any], ledger: Ledger
    ) -> tuple[BatchOutcome, dict[str, int]]:
        """Has tasks take a batch in; what it did, and the columns that are lost."""
        kept, runner = self.kept, self._runner
        if isinstance(rows, pa.Table) and kept.schema is not None:
            rows = completed(rows, intake, kept.schema, kept.key)
        given = rows if isinstance(rows, pa.Table) else runner.schema(rows).empty_table()
        if intake.op is not None and intake.fed and intake.op not in given.column_names:
            net_changes(State((), kept.key, "auto", 0), given, intake.op)  # which says so
        plain = given.select([name for name in given.column_names if name != intake.op])
        if kept.schema is not None and given is not rows:  # tasks have the values, of which each must fit
            sure = {*sure_to_fit(plain.schema, kept.schema), *intake.read}
            plain = plain.select([name for name in plain.column_names if name in sure])
        fit, lost = fitted(plain, kept.schema, intake.read, intake.lost, intake.batch)
        if len(self._numbers_or_none) > 2 * ledger.n_open + _SPARE:
            self._known = None
            ledger.forget_marks()
        if any(rule.tolerance.rows is not None for rule in kept.rules if rule.tolerance):
            ledger.locate(self.find)
        kept.schema = fit.schema
        step = replace(
            self._step(kept, {name: self._limit(name) for name in kept.counts}),
            batch=intake.batch,
            read=intake.read,
            lost=frozenset(lost),
            op=intake.op if intake.fed else None,
            order=intake.order,
        )
        direct = (step.knows_going or self._expects_inserts) and self._is_sent_whole(rows)
        step = replace(step, direct=direct)
        reports = self._run(step, rows)
        self._expects_inserts = not any(one.went for one in reports)
        kept.put(reports)
        kept.version += 1
        directory.note(_NO_CHANGE, kept.version)
        return self._outcome(reports), lost

    def with_rules(self, rules: Sequence[Rule], *, anew: bool = False) -> Listed:
        """Watches other rules from now on; the violations of those that are new, or of all if `anew`."""
        before = self.kept
        same = {rule.name for rule in rules if rule in before.rules and not (anew and rule.name in before.listed)}
        new = [rule.name for rule in rules if rule.name not in same]
        shape = ShardShape.fitting(rules, before.n_rows, self._runner.tasks, self._tuning)
        layout = ShardLayout.of(uuid.uuid4().hex, rules, before.key, shape)
        found = self._laid_out(layout, rules, frozenset(new))
        counts, listed = dict(before.counts), set(before.listed) & same
        fresh = {}
        for name in new:
            one = found[name]
            counts[name] = one.counts[0]
            if one.tables is not None and one.counts[0] <= before.most:
                listed.add(name)
                if one.counts[0]:
                    table = pa.concat_tables(one.tables[0])
                    fresh[name] = with_ids(table, self.key), self._pair_numbers(table)
        self.kept.counts = {rule.name: counts[rule.name] for rule in rules}
        self.kept.listed = listed
        return fresh

    def has_grown(self) -> bool:
        """Whether some shard has too many rows."""
        sizes = [files.rows for files in self.kept.files]
        return self.kept.layout.shape.grown(sizes, self.kept.layout, self._tuning) != self.kept.layout.shape

    def lay_out_anew(self) -> None:
        """Distributes rows over more shards; nothing of it is committed yet."""
        kept = self.kept
        shape = kept.layout.shape.grown([files.rows for files in kept.files], kept.layout, self._tuning)
        self._laid_out(ShardLayout.of(uuid.uuid4().hex, kept.rules, kept.key, shape), kept.rules, frozenset())

    def _laid_out(self, layout: ShardLayout, rules: Sequence[Rule], listing: frozenset[str]) -> dict[str, RuleFound]:
        """Has tasks read all rows again for another layout; the violations of new rules, which are listed."""
        before = self.kept
        files = [ShardFiles(layout.name) for _ in layout.places]
        counts = {rule.name: before.counts.get(rule.name, 0) for rule in rules}
        self.kept = replace(
            before, rules=tuple(rules), layout=layout, files=files, counts=counts, version=before.version + 1
        )
        if before.schema is None:
            return {name: RuleFound() for name in listing}
        stored = tuple(before.files[: before.layout.keepers]), before.schema
        return self._put_anew(self.kept, None, stored, listing)

    def _put_anew(
        self,
        kept: KeptShards,
        rows: pa.Table | None,
        stored: tuple[tuple[ShardFiles, ...], pa.Schema] | None,
        listing: frozenset[str],
    ) -> dict[str, RuleFound]:
        """Has tasks take all rows into empty shards. Violations that are known must be as many as they find."""
        limits = {rule.name: kept.most if rule.name in listing else 0 for rule in kept.rules}
        direct = self._is_sent_whole(rows)
        reports = self._run(replace(self._step(kept, limits), stored=stored, direct=direct), rows)
        kept.put(reports)
        found = merged(reports, [rule.name for rule in kept.rules])
        for name, count in kept.counts.items():
            if name not in listing and found[name].counts[0] != count:
                raise EngineError(
                    f"Tasks found {found[name].counts[0]:,} violations of {name!r}, where {count:,} are on record. "
                    "Nothing was changed.",
                    rule=name,
                    count=found[name].counts[0],
                    expected=count,
                )
        return found

    def _step(self, kept: KeptShards, limits: Mapping[str, int]) -> BatchStep:
        assert kept.schema is not None
        return BatchStep(
            str(self._places.shards),
            "",
            self._runner.tasks,
            kept.version + 1,
            kept.layout,
            tuple(kept.files),
            kept.schema,
            -1,
            read_by(kept.rules, kept.key),
            limits,
            tuning=self._tuning,
        )

    def _run(self, step: BatchStep, rows: Any) -> list[ShardReport]:
        reports = self._reports(step, rows)
        if reports is None:  # as some rows go
            reports = self._reports(replace(step, direct=False), rows)
        assert reports is not None, "rows that go stop direct tasks alone"
        refuse_missing(self._places.shards, reports)
        return reports

    def _reports(self, step: BatchStep, rows: Any) -> list[ShardReport] | None:
        """The reports of all tasks; None where they were stopped."""
        exchange = self._places.shards / f"{step.version:012}-{uuid.uuid4().hex}{SUFFIX}"
        exchange.mkdir()
        try:
            own = replace(step, exchange=str(exchange))
            return own.reports(self._runner.run(own, rows))
        finally:
            shutil.rmtree(exchange, ignore_errors=True)

    def _is_sent_whole(self, rows: Any) -> bool:
        """Whether rows that come can be sent to all shards at once, several times each, from where they are."""
        return not isinstance(rows, pa.Table) or len(rows) <= self._tuning.sent_rows

    @property
    def _runner(self) -> Runner:
        if self.runner is None:
            raise OptionError(
                f"The rows of {self._places.folder} are on executors. Start the watch with Spark.",
                path=str(self._places.folder),
            )
        return self.runner

    def _limit(self, name: str) -> int:
        """How many violations of a rule a shard lists."""
        kept = self.kept
        return max(kept.most - kept.counts[name], 1) if name in kept.listed and kept.most else 0

    def _outcome(self, reports: Sequence[ShardReport]) -> BatchOutcome:
        kept, clashes, pairs, deltas = self.kept, {}, {}, {}
        gone = [NOTHING]
        for name, one in merged(reports, list(kept.counts)).items():
            more = one.counts[0] - one.counts[1]
            kept.counts = {**kept.counts, name: kept.counts[name] + more}
            if name in kept.listed and (one.tables is None or kept.counts[name] > kept.most):
                kept.listed = kept.listed - {name}
            if name not in kept.listed:
                deltas[name] = max(more, 0), max(-more, 0)
                continue
            assert one.tables is not None
            tables = [pa.concat_tables(some) if some else None for some in one.tables]
            new, old = (self._pair_numbers(table) for table in tables)
            stays, left = netted(new, old)
            clashes[name] = _some(tables[0], stays, kept.key), _some(tables[1], left, kept.key)
            pairs[name] = tuple(side[stays] for side in new), tuple(side[left] for side in old)
            deltas[name] = len(pairs[name][0][0]), len(pairs[name][1][0])
            gone.append(_fewest(pairs[name][1], len(self._numbers)))

        def named(rule: str, numbers: Longs) -> pa.Table:
            return named_among(numbers, clashes[rule], pairs[rule], kept.key)

        return BatchOutcome(
            sum(one.came for one in reports),
            kept.n_rows,
            dict(kept.counts),
            deltas,
            clashes,
            pairs,
            np.concatenate(gone),
            NOTHING,
            (NOTHING, NOTHING),
            named,
        )

    @property
    def _numbers_or_none(self) -> Any:
        return () if self._known is None else self._known

    @property
    def _numbers(self) -> RowNumbers:
        if self._known is None:
            assert self.schema is not None
            self._known = RowNumbers({name: self.schema.field(name).type for name in self.key})
        return self._known

    def _pair_numbers(self, table: pa.Table | None) -> tuple[Longs, ...]:
        """The numbers of the rows of violations, of each side."""
        if table is None:
            return NOTHING, NOTHING
        return tuple(self.find(table, side) for side in sides_of(table, self.key))

    def find(self, lines: pa.Table, side: str) -> Longs:
        """The numbers of the rows on one side of some violations; -1 where there is none."""
        found = np.full(len(lines), -1, np.int64)
        there, keys = keys_of(lines, side, self._numbers.kinds)
        found[there] = self._numbers.of(keys)
        return found

    def pass_over(self) -> None:
        """Has another version, of the same rows."""
        self.kept.version += 1

    def violating_rows(self, rule: Rule, ledger: Ledger) -> int:
        """How many rows break a rule."""
        if rule.name in self.kept.listed:
            return ledger.n_rows_of(rule.name, self.find)
        (found,) = self._fresh_engine().measure([rule], counts=True)
        return found.finding.rows or 0

    def blamed(self, rule: Rule) -> int:
        """How many rows are to blame for the violations of a rule: all rows come to this process for it."""
        return self._fresh_engine().blamed(rule)

    def _fresh_engine(self) -> LiveEngine:
        """The engine for the rows of a batch that is not committed yet, whose violations it finds itself."""
        return LiveEngine(assembled(replace(self.kept, listed=set()), self._places))

    def engine(self, *, newest_first: bool = False) -> LiveEngine:
        """The engine for the rows of the last batch, which come to this process."""
        return LiveEngine(assembled(self.kept, self._places), newest_first=newest_first)

    def listing(self, rule: Rule, limit: int | None) -> LiveEngine:
        """An engine that lists the violations of a rule, for which only rows that are in them come to this process."""
        return LiveEngine(clashing(self.kept, self._places, rule, limit))


def merged(reports: Sequence[ShardReport], rules: Sequence[str]) -> dict[str, RuleFound]:
    """What all shards found of each rule."""
    found = {name: RuleFound() for name in rules}
    for report in reports:
        for name, one in report.found.items():
            whole = found[name]
            for way in (0, 1):
                whole.counts[way] += one.counts[way]
            if one.tables is None:
                whole.tables = None
            elif whole.tables is not None:
                for way in (0, 1):
                    whole.tables[way].extend(one.tables[way])
    return found


def _some(table: pa.Table | None, which: Any, key: Sequence[str]) -> pa.Table:
    """Some violations, by the ids and keys of their rows."""
    if table is None:
        return pa.table({})
    return with_ids(table if which.all() else table.filter(pa.array(which)), key)


def _fewest(pairs: tuple[Longs, ...], numbers: int) -> Longs:
    """A row of each pair, the one that is in fewer of them: so few others are about these rows."""
    times = np.bincount(np.concatenate(pairs), minlength=numbers)
    return np.where(times[pairs[0]] <= times[pairs[-1]], pairs[0], pairs[-1])
