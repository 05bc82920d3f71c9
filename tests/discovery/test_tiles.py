"""Discovery from all pairs agrees with the definition, on every type and in both null modes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from discovery.brute import check_discovered
from oracle import holds, rows_of
from refute.discovery.evidence.codebook import codebook
from refute.discovery.evidence.counted import Evidence
from refute.discovery.evidence.tiles import tile_evidence
from refute.discovery.inversion.inverted import inverted
from refute.discovery.inversion.minimal import minimal
from refute.discovery.options import Options
from refute.discovery.space.predicates import space_for
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.table import LocalTable
from refute.discovery.work import Budget
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Row
from refute.relation import Relation
from thorough import examples


def evidence_of(table: pa.Table, options: Options) -> tuple[Relation, PredicateSpace, Evidence]:
    relation = Relation.of(table)
    space, _ = space_for(LocalTable(relation), options)
    evidence, complete = tile_evidence(codebook(relation, space, options.nulls), Budget(options), relation.n_rows)
    assert complete
    return relation, space, evidence


def rules_of(table: pa.Table, options: Options) -> tuple[PredicateSpace, list[DenialConstraint]]:
    relation, space, evidence = evidence_of(table, options)
    boxes, _ = inverted(space, evidence.states, Budget(options), options.max_predicates)
    nullable = frozenset(name for name in relation.names if relation.null_count(name))
    return space, [space.constraint(m) for m in space.masks(minimal(space, boxes, Budget(options), nullable)).tolist()]


@st.composite
def small_tables(draw: st.DrawFn, max_columns: int = 3, max_rows: int = 6) -> pa.Table:
    """Few columns of numbers and strings with many ties, some nulls, and values shared between columns."""
    columns = {}
    size = draw(st.integers(2, max_rows))
    for name in "abc"[: draw(st.integers(1, max_columns))]:
        kind = draw(st.sampled_from((pa.int64(), pa.int64(), pa.string(), pa.float64())))
        pool = {pa.string(): ("x", "y", "z")}.get(kind, (0, 1, 2, 3))
        cell = st.sampled_from(pool)
        cells = st.none() | cell if draw(st.integers(0, 2)) == 0 else cell
        columns[name] = pa.array(draw(st.lists(cells, min_size=size, max_size=size)), kind)
    return pa.table(columns)


NULLS = st.sampled_from(list(Nulls))


@given(small_tables(max_rows=8), NULLS, st.booleans(), st.booleans())
@examples(30)
def test_evidence_says_of_every_pair_which_predicates_are_true(
    table: pa.Table, nulls: Nulls, cross: bool, one_row: bool
) -> None:
    options = Options(nulls=nulls, cross_columns=cross, one_row=one_row, shared_values=0.0, average_ratio=0.0)
    _, space, evidence = evidence_of(table, options)
    rows = rows_of(table)
    expected: dict[frozenset[object], int] = {}
    for i, s in enumerate(rows):
        for j, t in enumerate(rows):
            if i != j:
                true = frozenset(p for p in space.predicates if holds(p, {Row.S: s, Row.T: t}, nulls.value))
                expected[true] = expected.get(true, 0) + 1
    found: dict[frozenset[object], int] = {}
    for states, count in zip(evidence.states.tolist(), evidence.counts.tolist(), strict=True):
        true = frozenset(
            predicate
            for slot, state in zip(space.slots, states, strict=True)
            for op in slot.kind.operators
            if slot.kind.mask(op) >> state & 1
            for predicate in [p for p in space.predicates if (p.left, p.op, p.right) == (slot.left, op, slot.right)]
        )
        found[true] = found.get(true, 0) + count
    assert found == expected


@given(small_tables(max_columns=3, max_rows=5), NULLS)
@examples(20)
def test_rules_are_those_of_the_definition(table: pa.Table, nulls: Nulls) -> None:
    space, rules = rules_of(table, Options(nulls=nulls, cross_columns=False, threads=1))
    check_discovered(rules, table, space.predicates, nulls.value, longest=3)


@given(small_tables(max_columns=2, max_rows=5), NULLS)
@examples(20)
def test_rules_across_columns_are_those_of_the_definition(table: pa.Table, nulls: Nulls) -> None:
    options = Options(nulls=nulls, shared_values=0.0, average_ratio=0.0, threads=2)
    space, rules = rules_of(table, options)
    check_discovered(rules, table, space.predicates, nulls.value, longest=3)


@given(small_tables(max_columns=2, max_rows=4), NULLS)
@examples(15)
def test_rules_within_rows_are_those_of_the_definition(table: pa.Table, nulls: Nulls) -> None:
    options = Options(nulls=nulls, one_row=True, shared_values=0.0, average_ratio=0.0, threads=1)
    space, rules = rules_of(table, options)
    check_discovered(rules, table, space.predicates, nulls.value, longest=2)


@given(small_tables(max_columns=1, max_rows=5), NULLS)
@examples(15)
def test_rules_with_constants_are_those_of_the_definition(table: pa.Table, nulls: Nulls) -> None:
    numbers = table.select([n for n in table.column_names if table.schema.field(n).type == pa.int64()])
    if numbers.num_columns:
        space, rules = rules_of(numbers, Options(nulls=nulls, constants=2, threads=1))
        check_discovered(rules, numbers, space.predicates, nulls.value, longest=2)


def test_two_hundred_predicates_are_no_wall() -> None:
    random = np.random.default_rng(5)
    table = pa.table({f"c{i}": random.integers(0, 3, 30) for i in range(34)})
    options = Options(cross_columns=False, max_predicates=2)
    _, space, evidence = evidence_of(table, options)
    assert len(space.predicates) == 204
    assert int(evidence.counts.sum()) == 30 * 29
    _, rules = rules_of(table, options)
    rows = rows_of(table)
    pairs = [(s, t) for s in rows for t in rows if s is not t]
    for rule in rules:
        assert not any(all(holds(p, {Row.S: s, Row.T: t}, "sql") for p in rule.predicates) for s, t in pairs)


def test_a_table_of_one_row_teaches_nothing() -> None:
    assert rules_of(pa.table({"a": [1], "b": ["x"]}), Options())[1] == []


@given(small_tables(max_columns=2, max_rows=5), NULLS, st.sets(st.sampled_from(list(Operator)), min_size=1, max_size=3))
@examples(20)
def test_rules_of_few_operators_are_those_of_the_definition(
    table: pa.Table, nulls: Nulls, operators: set[Operator]
) -> None:
    chosen = tuple(op for op in Operator if op in operators)
    space, rules = rules_of(table, Options(nulls=nulls, cross_columns=False, operators=chosen, threads=1))
    check_discovered(rules, table, space.predicates, nulls.value, longest=3)
