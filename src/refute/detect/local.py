"""The in-process engine: a table in memory, answered by the kernels of this process. No JVM is started."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from refute.detect.detector import Detector, PartnerCounts
from refute.detect.identity import Identity
from refute.detect.results import Finding, Timed, Verdict, Witness
from refute.errors import SchemaError
from refute.language.conditions import columns_of
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.plan.planner import Plan, plan_rules
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.relation.binding import check_column
from refute.relation.together import available_cores, together

BREACHES = "refute"  # the column that a report adds, with underscores where the table has one of this name
_BREACH_TYPE = pa.list_(pa.struct([("rule", pa.string()), ("role", pa.string()), ("partners", pa.int64())]))


class LocalEngine:
    """Answers rules about one in-memory table."""

    def __init__(
        self,
        table: Any,
        *,
        key: Sequence[str] = (),
        method: MethodName = MethodName.AUTO,
        threads: int | None = None,
    ) -> None:
        self.relation = Relation.of(table)
        self.identity = Identity(self.relation, key)
        self._method = method
        self._threads = threads or available_cores()
        self._detector = Detector(self.relation, method=method, threads=self._threads)

    @property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        return self.relation.n_rows

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return list(self.relation.names)

    @property
    def own_columns(self) -> list[str]:
        """The same: a table in memory has no columns but its own."""
        return self.columns

    def fitted(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules as they are: names mean columns of just this spelling."""
        return list(rules)

    def verify(self, rule: Rule) -> Verdict:
        """Whether the rule holds, with a witness by row id."""
        verdict = self._detector.verify(rule)
        return verdict if verdict.witness is None else Verdict(False, self._named(verdict.witness))

    def count(self, rule: Rule) -> int:
        """The exact number of violations."""
        return self._detector.count(rule)

    def batches(self, rule: Rule, limit: int | None) -> Iterator[pa.RecordBatch]:
        """The violations as Arrow batches with the columns of `schema`."""
        schema = self.schema(rule)
        for s_rows, t_rows in self._detector.pairs(rule, limit):
            columns = self._side("s", s_rows) | ({} if t_rows is None else self._side("t", t_rows))
            arrays = [columns[name] for name in schema.names]
            yield from pa.table(arrays, schema=schema).combine_chunks().to_batches()

    def schema(self, rule: Rule) -> pa.Schema:
        """The columns of listed violations: `s` and `t`, then the key columns of each side."""
        sides = ("s",) if rule.constraint.is_single_row else ("s", "t")
        empty = np.empty(0, dtype=np.int64)
        kinds = [{name: array.type for name, array in self._side(side, empty).items()} for side in sides]
        fields = [(side, kind[side]) for side, kind in zip(sides, kinds, strict=True)]
        for side, kind in zip(sides, kinds, strict=True):
            fields.extend((name, type_) for name, type_ in kind.items() if name != side)
        return pa.schema(fields)

    def measure(
        self, rules: Sequence[Rule], *, counts: bool, progress: Callable[[Rule], None] | None = None
    ) -> list[Timed]:
        """A finding for each rule, in order. Rules run on all cores and share encodings, groupings and sorts."""

        def run(rule: Rule) -> Timed:
            started = time.perf_counter()
            finding = self._detector.measure(rule, counts=counts)
            named = None if finding.witness is None else self._named(finding.witness)
            values = None if finding.witness is None else self._values(rule, finding.witness)
            seconds = time.perf_counter() - started
            if progress is not None:
                progress(rule)
            return Timed(_with_witness(finding, named), values, seconds)

        self._check_fit(rules)
        return together(self._threads, [partial(run, rule) for rule in rules])

    def _check_fit(self, rules: Sequence[Rule]) -> None:
        """Raise one SchemaError for all rules that do not fit the table, before any of them is run."""
        problems: list[str] = []
        for rule in rules:
            try:
                self.relation.bind(rule.constraint, rule=rule.name)
                read = () if rule.where is None else columns_of(rule.where)
                for name in (name for name in read if not self.relation.has(name)):
                    check_column(self.relation, name, f" (in the condition of {rule.name})")
            except SchemaError as error:
                problems.append(str(error))
        if problems:
            raise SchemaError("\n".join(problems))

    def partners(self, rule: Rule) -> PartnerCounts:
        """How many partners each row has in each role."""
        return self._detector.partners(rule)

    def breaches(self, rules: Sequence[Rule]) -> tuple[str, pa.Array]:
        """A column to add to the table, by a name it does not have: per row, the rules it breaks, in which role, with
        how many partners."""
        counts = [self.partners(rule) for rule in rules]
        name = BREACHES
        while self.relation.has(name):
            name += "_"
        return name, _breaches(self.n_rows, list(rules), counts)

    def explain(self, rules: Sequence[Rule]) -> Plan:
        """How the rules would be answered; only a sample of rows is looked at."""
        return plan_rules(self.relation, list(rules), self._method)

    def _named(self, witness: Witness) -> Witness:
        return Witness(*(None if row is None else self.identity.one(row) for row in witness))

    def _values(self, rule: Rule, witness: Witness) -> dict[str, dict[str, Any] | None]:
        """The keys of the witness rows, and the columns that the rule reads."""
        read = () if rule.where is None else columns_of(rule.where)
        names = tuple(dict.fromkeys((*self.identity.key, *rule.constraint.columns, *read)))
        return {
            side: None if row is None else self.identity.values(row, names)
            for side, row in zip(("s", "t"), witness, strict=True)
        }

    def _side(self, side: str, rows: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, pa.Array | pa.ChunkedArray]:
        columns = {side: self.identity.many(rows)}
        for name in self.identity.key:
            columns[f"{side}_{name}"] = self.relation.column(name).take(row_numbers(rows))
        return columns


def _with_witness(finding: Finding, witness: Witness | None) -> Finding:
    return Finding(finding.holds, finding.violations, finding.rows, finding.skipped_nulls, witness, finding.method)


def _breaches(n_rows: int, rules: list[Rule], counts: list[PartnerCounts]) -> pa.Array:
    """A list per row of what it breaks, in the order of the rules, `s` before `t`."""
    rows, names, roles, partners = [], [], [], []
    for number, count in enumerate(counts):
        for role, values in (("s", count.as_s), ("t", count.as_t)):
            found = np.flatnonzero(values)
            rows.append(found)
            names.append(np.full(len(found), number))
            roles.append(np.full(len(found), role == "t"))
            partners.append(values[found])
    row = np.concatenate([np.empty(0, np.int64), *rows])
    order = np.argsort(row, kind="stable")
    offsets = np.searchsorted(row[order], np.arange(n_rows + 1)).astype(np.int32)
    rule_names = pa.array([rule.name for rule in rules], pa.string())
    rule_column = rule_names.take(row_numbers(np.concatenate([np.empty(0, np.int64), *names])[order]))
    role_column = pa.array(["s", "t"]).take(
        row_numbers(np.concatenate([np.empty(0, bool), *roles])[order].astype(np.int8))
    )
    partner_column = row_numbers(np.concatenate([np.empty(0, np.int64), *partners])[order])
    entries = pa.StructArray.from_arrays([rule_column, role_column, partner_column], ["rule", "role", "partners"])
    return pa.ListArray.from_arrays(row_numbers(offsets), entries).cast(_BREACH_TYPE)
