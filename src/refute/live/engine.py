"""A monitor as an engine: the rows of one moment, with the violations that are known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from refute.detect.detector import Detector, PartnerCounts
from refute.detect.identity import Identity
from refute.detect.local import LocalEngine
from refute.detect.results import Finding, Timed, Verdict, Witness
from refute.detect.shown.clashes import LocalClashes
from refute.detect.shown.suspecting import LocalSuspects
from refute.errors import DataError
from refute.language.form import Form
from refute.language.rulebook import Rule
from refute.live.indexes.index import Longs
from refute.plan.compile import skipped_nulls
from refute.plan.plan import Plan, RulePlan
from refute.plan.problem import Rows as RowNumbers
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.relation.binding import check_rules
from refute.relation.keys.key_index import keys_of
from refute.runtime.compiling import Stopwatch

if TYPE_CHECKING:
    from refute.live.state import State


class LiveEngine(LocalEngine):
    """Answers rules about the rows of a moment: those that are watched from what is known, others as for any table."""

    def __init__(self, state: State, *, newest_first: bool = False) -> None:
        """The engine of a state; violations that are kept are listed as they came, or `newest_first`."""
        slots, table = state.living()
        super().__init__(_no_rows(state) if state.schema is None else table, key=state.key)
        if not state.key:
            self.identity = Numbered(self.relation, slots)
        self._slots, self._alive = slots, state.alive.copy()  # as of this moment, for what is read later
        self._listed = {
            rule: store.copy() for rule, store in zip(state.rules, state.stores, strict=True) if store.is_listed
        }
        self._step = -1 if newest_first else 1
        self._pairs: dict[Rule, tuple[RowNumbers, ...]] = {}
        self._blamed: dict[tuple[Rule, ...], LocalSuspects] = {}
        self._counts = {rule: store.count for rule, store in zip(state.rules, state.stores, strict=True)}

    @classmethod
    def of(cls, state: State) -> LiveEngine:
        """The engine of this moment, which is kept until the next."""
        if state.seen is None or state.seen[0] != state.version:
            state.seen = state.version, cls(state)
        return state.seen[1]

    def verify(self, rule: Rule) -> Verdict:
        """Whether the rule holds, with a witness by row id."""
        if self._counts.get(rule) == 0:
            return Verdict(True)
        pairs = self._known(rule)
        return super().verify(rule) if pairs is None else Verdict(False, self._named(_first(pairs)))

    def count(self, rule: Rule) -> int:
        """The exact number of violations."""
        known = self._counts.get(rule)
        return super().count(rule) if known is None else known

    def clashes(self, rule: Rule, limit: int | None, shown: Sequence[str] = ()) -> LocalClashes:
        """The violations of a rule, at most `limit` of them, with these columns of both rows."""
        pairs = self._known(rule)
        if pairs is None:
            return super().clashes(rule, limit, shown)
        return KnownClashes(self._detector, self.identity, rule, limit, shown, pairs=pairs)

    def measure(
        self, rules: Sequence[Rule], *, counts: bool, progress: Callable[[Rule], None] | None = None
    ) -> list[Timed]:
        """A finding for each rule, in order; without `counts` only verdicts."""
        check_rules(self.relation, rules)
        measured = []
        for rule in rules:
            if rule in self._listed:
                measured.append(self._timed(rule, counts=counts))
                if progress is not None:
                    progress(rule)
            else:
                measured += super().measure([rule], counts=counts, progress=progress)
        return measured

    def explain(self, rules: Sequence[Rule]) -> Plan:
        """How the rules would be answered: those that are kept are read, others are answered as for any table."""
        check_rules(self.relation, rules)
        others = super().explain([rule for rule in rules if rule not in self._listed])
        plans = iter(others.rules)
        steps = ("read the violations that the monitor keeps",)
        read = {"method": "monitor", "rows": self.n_rows, "steps": steps, "worst": "the number of violations"}
        return Plan(
            tuple(RulePlan.of(rule, **read) if rule in self._listed else next(plans) for rule in rules),  # type: ignore[arg-type]
            others.notes,
        )

    def partners(self, rule: Rule) -> PartnerCounts:
        """How many partners each row has in each role. A row that breaks a one-row rule has one, as `s`."""
        pairs = self._known(rule)
        if pairs is None:
            return super().partners(rule)
        sides = [np.bincount(side, minlength=self.n_rows) for side in pairs]
        return PartnerCounts(sides[0], sides[1] if len(sides) > 1 else np.zeros(self.n_rows, np.int64))

    def suspects(self, rules: Sequence[Rule]) -> LocalSuspects:
        """A small set of rows whose removal leaves a table that obeys all of these rules; found once."""
        asked = tuple(rules)
        if asked not in self._blamed:
            self._blamed[asked] = super().suspects(asked)
        return self._blamed[asked]

    def _known(self, rule: Rule) -> tuple[RowNumbers, ...] | None:
        """The violations of a rule by row numbers, where they are kept; looked up when they are first asked for."""
        if rule in self._listed and rule not in self._pairs:
            pairs = self._listed[rule].pairs(self._alive)
            self._pairs[rule] = tuple(np.searchsorted(self._slots, side[:: self._step]) for side in pairs)
        return self._pairs.get(rule)

    def _timed(self, rule: Rule, *, counts: bool) -> Timed:
        watch = Stopwatch()
        pairs = self._known(rule)
        assert pairs is not None
        count = len(pairs[0])
        witness = _first(pairs) if count else None
        rows = len(np.unique(np.concatenate(pairs)))
        named = None if witness is None else self._named(witness)
        values = None if witness is None else self._values(rule, witness)
        skipped = skipped_nulls(self.relation, Form.of(rule))
        known = counts or count == 0
        finding = Finding(count == 0, count if known else None, rows if known else None, skipped, named, "monitor")
        return Timed(finding, values, watch.seconds)


class Numbered(Identity):
    """Rows by their numbers in the order in which they came, some of which are gone."""

    def __init__(self, relation: Relation, slots: Longs) -> None:
        super().__init__(relation)
        self._slots = slots

    def one(self, row: int) -> int:
        """The number of one row."""
        return int(self._slots[row])

    def many(self, rows: RowNumbers) -> pa.Array | pa.ChunkedArray:
        """The numbers of many rows."""
        return row_numbers(self._slots[rows])

    def rows(self, ids: object) -> Longs:
        """The place of each row; raises DataError for a number that no row has."""
        numbers = np.asarray(keys_of(ids, {"number": pa.int64()})["number"])
        places = np.searchsorted(self._slots, numbers)
        wrong = np.append(self._slots, -1)[places] != numbers
        for number in numbers[wrong][:1]:
            raise DataError(f"There is no row {number:,}.", row=int(number))
        return places


class KnownClashes(LocalClashes):
    """Violations that are known already."""

    def __init__(
        self,
        detector: Detector,
        identity: Identity,
        rule: Rule,
        limit: int | None,
        shown: Sequence[str],
        *,
        pairs: tuple[RowNumbers, ...],
    ) -> None:
        super().__init__(detector, identity, rule, limit, shown)
        self._known = pairs

    def row_pairs(self) -> Iterator[tuple[RowNumbers, ...]]:
        """Row numbers of violations, of each side."""
        yield tuple(side[: self._limit] for side in self._known)


def _no_rows(state: State) -> pa.Table:
    """A table for a monitor to which no rows have come, so that rules which are watched can be asked about."""
    read = [name for rule in state.rules for name in rule.columns]
    return pa.table({name: pa.nulls(0) for name in (*state.key, *read)})


def _first(pairs: tuple[RowNumbers, ...]) -> Witness:
    return Witness(*(int(side[0]) for side in pairs))
