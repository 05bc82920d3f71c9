"""A space keeps its meaning while rows come and go: layouts, widening for nulls, searches in a given space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.test_tiles import NULLS, small_tables
from refute.discovery.evidence.codebook import codebook, facts_of
from refute.discovery.evidence.tiles import tile_evidence
from refute.discovery.guided.guided import Guided
from refute.discovery.hydra.hydra import Hydra
from refute.discovery.inversion.inverted import inverted, widened
from refute.discovery.local import LocalPairs
from refute.discovery.methods import searched
from refute.discovery.options import Options, SearchMethod
from refute.discovery.pairs import Pairs
from refute.discovery.result.outcome import Search
from refute.discovery.search import search
from refute.discovery.space.clue_layout import layout_of
from refute.discovery.space.predicates import predicate_space, space_for
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.space.states import kind_of
from refute.discovery.space.subjects import subjects_of
from refute.discovery.table import LocalTable
from refute.discovery.work import Budget
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.render import render_text
from refute.relation import Relation
from thorough import examples

OPERATORS = st.sets(st.sampled_from(list(Operator)), min_size=1).map(
    lambda some: tuple(o for o in Operator if o in some)
)


def space_of(table: pa.Table, options: Options) -> PredicateSpace:
    return space_for(LocalTable(Relation.of(table)), options)[0]


def points_of(table: pa.Table, space: PredicateSpace, options: Options) -> np.ndarray:
    return LocalPairs(Relation.of(table), space, options).everything(Budget(options))[0].points


def texts(table: pa.Table, options: Options, space: PredicateSpace | None = None) -> list[str]:
    return [rule.text for rule in search(LocalTable(Relation.of(table)), options, space=space).rules]


def test_clues_of_one_space_mean_the_same_whatever_the_rows_are() -> None:
    options = Options(cross_columns=True, one_row=True, shared_values=0.0, average_ratio=0.0)
    unique = pa.table({"a": ["u", "v", "w"], "b": ["v", "u", "w"], "n": [1, 2, 3]})
    repeated = pa.table({"a": ["u", "u", "u"], "b": ["u", "u", "u"], "n": [1, 1, 1]})
    space = space_of(unique, options)
    layout = layout_of(space)
    tables = [Relation.of(table) for table in (unique, repeated)]
    assert all(codebook(table, space, options.nulls).layout == layout for table in tables)
    facts = [facts_of(table, layout, options.nulls) for table in tables]
    for name in ("word", "less", "equal"):
        assert np.array_equal(getattr(facts[0], name), getattr(facts[1], name))
    assert len(facts[0].s) == len(layout.pairs) > len(codebook(tables[0], space, options.nulls).facts.s)


@given(small_tables(), NULLS)
@examples(40)
def test_comparisons_that_are_left_out_would_tell_nothing(table: pa.Table, nulls: Nulls) -> None:
    options = Options(nulls=nulls, shared_values=0.0, average_ratio=0.0, one_row=True, threads=1)
    relation, space = Relation.of(table), space_of(table, options)
    book = codebook(relation, space, nulls)
    whole = replace(book, facts=facts_of(relation, book.layout, nulls))
    few, all_of_them = (tile_evidence(one, Budget(options), table.num_rows)[0] for one in (book, whole))
    assert np.array_equal(few.points, all_of_them.points)
    assert np.array_equal(few.counts, all_of_them.counts)


@given(small_tables(), NULLS, st.booleans())
@examples(40)
def test_a_table_searches_the_space_of_its_schema_but_for_nulls_that_it_lacks(
    table: pa.Table, nulls: Nulls, across: bool
) -> None:
    options = Options(nulls=nulls, cross_columns=across, one_row=across, shared_values=0.0, average_ratio=0.0)
    searched = LocalTable(Relation.of(table))
    subjects, _ = subjects_of(searched, options)
    schema = predicate_space({name: searched.type_of(name) for name in subjects.columns}, subjects, options)
    empty = {name for name in table.column_names if table[name].null_count == table.num_rows}
    held = tuple(slot for slot in schema.slots if empty.isdisjoint(slot.columns))
    space = space_of(table, options)
    assert space.widened(table.column_names).slots == held
    for slot in space.slots:
        has_nulls = any(table[name].null_count for name in slot.columns)
        assert slot.kind == (slot.kind.widened if has_nulls else slot.kind.narrowed)


def test_rows_do_not_change_the_space_of_a_schema() -> None:
    options = Options(cross_columns=False)
    some, others = (
        pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.string())})
        for a, b in (([1, 1, 2], ["x", "y", "x"]), ([], []))
    )
    assert space_of(some, options) == space_of(others, options)


@pytest.mark.parametrize("nulls", list(Nulls))
@pytest.mark.parametrize("ordered", [False, True])
@given(operators=OPERATORS)
def test_widening_a_kind_adds_states_and_keeps_the_others(
    ordered: bool, nulls: Nulls, operators: tuple[Operator, ...]
) -> None:
    kind = kind_of(ordered=ordered, nullable=False, nulls=nulls, operators=operators)
    wider = kind.widened
    assert not kind.tells_nulls
    assert wider == kind_of(ordered=ordered, nullable=True, nulls=nulls, operators=operators)
    assert wider.widened == wider
    assert wider.tells_nulls == (kind.is_ordered or nulls is Nulls.SQL)
    assert wider.states[: len(kind.states)] == kind.states or not kind.is_ordered
    for op in kind.operators:
        assert wider.mask(op) & kind.full == kind.mask(op)


@given(small_tables(max_columns=3, max_rows=6), NULLS, OPERATORS, st.booleans(), st.sampled_from((None, 2)))
@examples(60)
def test_maximal_boxes_stay_maximal_in_a_widened_space(
    table: pa.Table, nulls: Nulls, operators: tuple[Operator, ...], within: bool, longest: int | None
) -> None:
    table = table.drop_columns([name for name in table.column_names if table[name].null_count])
    options = Options(nulls=nulls, operators=operators, shared_values=0.0, average_ratio=0.0, one_row=within, threads=1)
    if not table.num_columns or not (space := space_of(table, options)).slots:
        return
    wider = space.widened(set(table.column_names[:2]))
    points = points_of(table, space, options)
    rewritten = space.widened_points(points, wider)
    assert np.array_equal(np.unique(rewritten, axis=0), np.unique(points_of(table, wider, options), axis=0))
    evidence = LocalPairs(Relation.of(table), space, options).everything(Budget(options))[0].widened(wider)
    again = LocalPairs(Relation.of(table), wider, options).everything(Budget(options))[0]
    assert np.array_equal(evidence.points, again.points)
    assert np.array_equal(evidence.counts, again.counts)
    before, _ = inverted(space, space.states(points), Budget(options), longest)
    after, _ = inverted(wider, wider.states(rewritten), Budget(options), longest)
    moved, complete = widened(space, before, points, wider, Budget(options), longest)
    assert complete
    assert np.array_equal(moved, after)
    rules = {space.constraint(masks) for masks in space.masks(before).tolist()}
    wider_rules = {wider.constraint(masks) for masks in wider.masks(moved).tolist()}
    assert rules == wider_rules if nulls is Nulls.SQL else rules <= wider_rules


@given(small_tables(), NULLS, st.sampled_from(list(SearchMethod)))
@examples(40)
def test_a_given_space_gives_the_rules_of_its_own_table(table: pa.Table, nulls: Nulls, method: SearchMethod) -> None:
    options = Options(nulls=nulls, shared_values=0.0, method=method, threads=1)
    space = space_of(table, options)
    assert texts(table, options, space) == texts(table, options)
    if nulls is Nulls.SQL:
        assert texts(table, options, space.widened(table.column_names)) == texts(table, options)


def agreeing_pairs(table: pa.Table, space: PredicateSpace, chosen: frozenset[int], options: Options) -> set[bytes]:
    pairs = LocalPairs(Relation.of(table), space, options)
    return {point.tobytes() for point in pairs.agreeing(chosen, Budget(options))[0].points}


@pytest.mark.parametrize("method", [SearchMethod.GUIDED, SearchMethod.HYDRA, SearchMethod.TILES])
def test_an_outcome_has_seen_every_pair_that_agrees_on_a_settled_set(method: SearchMethod) -> None:
    random = np.random.default_rng(4)
    size = 300
    group = random.integers(0, 40, size)
    table = pa.table({"g": group, "h": group // 3, "v": random.integers(0, 6, size), "w": random.integers(0, 9, size)})
    options = Options(cross_columns=False, method=method, threads=1)
    space = space_of(table, options)
    outcome = searched(LocalPairs(Relation.of(table), space, options), options, Budget(options))
    assert outcome.complete
    assert outcome.counted == (method is SearchMethod.TILES)
    assert bool(outcome.settled) == (method is not SearchMethod.HYDRA)
    seen = {point.tobytes() for point in outcome.evidence.points}
    for chosen in outcome.settled:
        assert agreeing_pairs(table, space, chosen, options) <= seen
    assert (frozenset() in outcome.settled) == (method is SearchMethod.TILES)


def hydra(pairs: Pairs, options: Options) -> Search:
    return Hydra(*pairs.here(), options)


@pytest.mark.parametrize("make", [Guided, hydra])
def test_a_search_that_has_not_run_has_verified_nothing(make: Callable[[Pairs, Options], Search]) -> None:
    options = Options(cross_columns=False, threads=1)
    table = pa.table({"a": [1, 1, 2, 3], "b": [1, 2, 2, 4]})
    pairs = LocalPairs(Relation.of(table), space_of(table, options), options)
    method = make(pairs, options)
    assert not method.so_far().complete
    assert not len(method.so_far().boxes)
    assert method.run(Budget(options)).complete


def test_where_nulls_are_equal_a_widened_space_has_rules_that_followed_from_others_before() -> None:
    options = Options(cross_columns=False, nulls=Nulls.EQUAL, threads=1)
    table = pa.table({"a": pa.array([None, None, None, None, 0, 1]), "b": [0, 0, 0, 0, 0, 1]})
    space = space_of(table, options)
    wider = space.widened({"b"})
    points = points_of(table, space, options)
    before, _ = inverted(space, space.states(points), Budget(options))
    after, _ = widened(space, before, points, wider, Budget(options))
    found = [
        {render_text(some.constraint(masks)) for masks in some.masks(boxes).tolist()}
        for some, boxes in ((space, before), (wider, after))
    ]
    assert found[0] < found[1]
    assert "not (s.b = t.b and s.a <= t.a)" in found[1] - found[0]
