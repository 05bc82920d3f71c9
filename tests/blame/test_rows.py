"""The rows to blame, held against all sets of rows: their removal leaves nothing, and they are few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covers import covers, fewest, violations_of
from refute.blame.contest import Chain, Longs, OneValue, Spans
from refute.blame.giving_back import spared
from refute.blame.rounds import Loose
from refute.blame.rows import Blame, find_blame
from refute.blame.shapes import contest_of
from refute.detect.sweep import partners
from refute.language.nulls import Nulls
from refute.language.parsing.parser import parse_condition
from refute.language.rulebook import Rule, RuleBook
from refute.plan.compile import compile_rule
from refute.plan.problem import Problem
from refute.relation import Relation
from strategies import Case, cases, rules, tables
from thorough import examples

ONE_ROW = "not (s.a > 2)"
EXACT = (
    "not (s.a = t.a)",
    "not (s.a = t.a and s.b = t.b)",
    "not (s.a = t.a and s.b != t.b)",
    "not (s.a = t.a and s.c = t.c and s.b != t.b)",
    "not (s.a != t.a)",
    "not (s.a = t.a and s.b < t.b)",
    "not (s.a = t.a and s.b >= t.b)",
    "not (s.a = t.a and s.b < t.b and s.c > t.c)",
    "not (s.a = t.a and s.b < t.b and s.c < t.c)",
    "not (s.a = t.a and s.b <= t.b and s.c > t.c)",
    "not (s.a = t.a and s.b > t.b and s.c <= t.c)",
    "not (s.b <= t.b and s.c >= t.c)",
    "not (s.a = t.a and s.b = 1 and t.b = 1 and s.c != t.c)",
)
SPANS = (
    "not (s.a = t.a and s.b < t.e and t.b < s.e)",
    "not (s.a = t.a and s.b <= t.e and t.b <= s.e)",
    "not (s.b < t.e and s.e > t.b)",
)
LOOSE = (
    "not (s.a = t.a and s.b != t.b and s.c != t.c)",
    "not (s.a < t.b and s.c != t.c)",
    "not (s.b < t.b and s.c < t.c and s.a = 1)",
    "not (s.a < t.a and s.b < t.b and s.c < t.c)",
    "not (s.a = t.b and s.c != t.c)",
    "not (s.a = t.b)",
)
WHERE = parse_condition("c != 3")


@st.composite
def small_tables(draw: st.DrawFn) -> pa.Table:
    """Few rows of few values, some of them null; `b` to `e` is a span, which may end before it starts."""
    size = draw(st.integers(0, 9))
    null = draw(st.booleans())

    def column(most: int, least: int = 0) -> list[int | None]:
        cell = st.integers(least, most)
        return draw(st.lists(st.none() | cell if null else cell, min_size=size, max_size=size))

    a, b, c, length = column(3), column(4), column(4), column(3, -draw(st.integers(0, 3)))
    end = [None if x is None or y is None else x + y for x, y in zip(b, length, strict=True)]
    return pa.table({name: pa.array(values, pa.int64()) for name, values in zip("abce", (a, b, c, end), strict=True)})


@st.composite
def rule_sets(draw: st.DrawFn, texts: tuple[str, ...], most: int) -> list[Rule]:
    """Some rules with one null mode, and maybe a condition."""
    chosen = draw(st.lists(st.sampled_from(texts), min_size=1, max_size=most, unique=True))
    nulls, where = draw(st.sampled_from(list(Nulls))), draw(st.sampled_from([None, None, WHERE]))
    return [
        Rule(name=f"rule_{i}", constraint=rule.constraint, nulls=nulls, where=where)
        for i, rule in enumerate(RuleBook.of(chosen))
    ]


def blame_of(table: pa.Table, rules: list[Rule]) -> Blame:
    """The blame with the partner counts of the method sweep."""
    return find_blame(Relation.of(table), rules, partners)


def assert_sound(table: pa.Table, rules: list[Rule], blame: Blame) -> None:
    """Nothing is left, none can be given back, and every suspect and number is as the definition has it."""
    found = violations_of(table, rules)
    suspects = set(blame.rows.tolist())
    assert covers(suspects, found)
    for row in suspects:
        assert not covers(suspects - {row}, found)
    assert blame.bound <= fewest(found) <= len(suspects)
    assert set(np.concatenate([np.zeros(0, np.int64), *(one.rows for one in blame.by_rule)]).tolist()) == suspects
    assert [one.rule for one in blame.by_rule] == [rule for rule in rules if rule in [o.rule for o in blame.by_rule]]
    for one in blame.by_rule:
        own = violations_of(table, [one.rule])
        lines = {}
        for row in suspects:
            clears = [v for v in own if row in v and not (set(v) - {row}) & suspects]
            if clears:
                lines[row] = (sum(row in v for v in own), len(clears))
        told = zip(one.violations.tolist(), one.clears.tolist(), strict=True)
        assert dict(zip(one.rows.tolist(), told, strict=True)) == lines
        assert not set(one.twins.tolist()) & suspects


@given(small_tables(), rule_sets((*EXACT, *SPANS, ONE_ROW), 1))
@examples(250)
def test_one_rule_of_an_exact_kind_blames_the_fewest(table: pa.Table, rules: list[Rule]) -> None:
    blame = blame_of(table, rules)
    assert_sound(table, rules, blame)
    assert len(blame.rows) == fewest(violations_of(table, rules)) == blame.bound
    assert blame.exact


@given(small_tables(), rule_sets((*EXACT, *SPANS, *LOOSE, ONE_ROW), 4))
@examples(250)
def test_several_rules_blame_a_minimal_set_above_the_bound(table: pa.Table, rules: list[Rule]) -> None:
    assert_sound(table, rules, blame_of(table, rules))


@given(small_tables(), rule_sets(LOOSE, 1))
def test_a_rule_of_any_shape_blames_a_minimal_set(table: pa.Table, rules: list[Rule]) -> None:
    assert_sound(table, rules, blame_of(table, rules))


@given(cases(max_rows=8))
def test_rules_of_all_types_and_shapes_blame_a_minimal_set(case: Case) -> None:
    rule = Rule(name="rule", constraint=case.rule, nulls=Nulls.of(case.nulls))
    assert_sound(case.table, [rule], blame_of(case.table, [rule]))


@given(st.data())
def test_two_rules_of_all_types_and_shapes_blame_a_minimal_set(data: st.DataObject) -> None:
    table, kinds = data.draw(tables(max_rows=8))
    chosen = [Rule(name=name, constraint=data.draw(rules(kinds, max_predicates=3))) for name in ("one", "two")]
    assert_sound(table, chosen, blame_of(table, chosen))


@given(small_tables(), rule_sets((*EXACT, *SPANS, *LOOSE, ONE_ROW), 3))
def test_the_same_rows_are_blamed_each_time(table: pa.Table, rules: list[Rule]) -> None:
    first, again = blame_of(table, rules), blame_of(table, rules)
    assert first.rows.tolist() == again.rows.tolist()
    assert first.bound == again.bound


@pytest.mark.parametrize(
    ("text", "kind"),
    [*((text, None) for text in EXACT), *((text, Spans) for text in SPANS), *((text, Loose) for text in LOOSE)],
)
def test_each_shape_of_rule_is_the_contest_it_should_be(text: str, kind: type | None) -> None:
    from refute.plan.compile import compile_rule

    table = pa.table({"a": [1, 2], "b": [1, 2], "c": [2, 1], "e": [3, 3]})
    problem = compile_rule(Relation.of(table), Rule.of(text)).problem
    assert problem is not None
    contest = contest_of(Rule.of(text), problem, partners, 2)
    assert isinstance(contest, kind) if kind else isinstance(contest, OneValue | Chain)
    assert contest.exact == (kind is not Loose)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 9)), max_size=12),
    st.sampled_from(SPANS),
    st.sampled_from([1, 2**40]),  # moments lie far apart
)
def test_spans_that_end_before_they_start_leave_the_fewest_exact(
    drawn: list[tuple[int, int, int]], text: str, apart: int
) -> None:
    spread = [(group, start * apart, end * apart) for group, start, end in drawn]
    table = pa.table({name: pa.array([row[at] for row in spread], pa.int64()) for at, name in enumerate("abe")})
    rules = list(RuleBook.of([text]))
    blame = blame_of(table, rules)
    assert_sound(table, rules, blame)
    assert blame.exact


def test_a_majority_outvotes_and_other_rules_settle_a_draw() -> None:
    zips = ["1"] * 5 + ["2"] * 2
    cities = ["A", "A", "A", "A", "B", "C", "A"]
    states = ["X", "X", "X", "X", "X", "Y", "X"]
    table = pa.table({"zip": zips, "city": cities, "state": states})
    one = blame_of(table, list(RuleBook.of(["zip -> city"])))
    assert 4 in one.rows.tolist()
    assert len(one.rows) == one.bound == 2
    both = blame_of(table, list(RuleBook.of(["zip -> city", "zip -> state", "city -> state"])))
    assert_sound(table, list(RuleBook.of(["zip -> city", "zip -> state", "city -> state"])), both)


def test_rows_with_one_key_and_no_other_evidence_are_either() -> None:
    table = pa.table({"id": [1, 2, 2, 3, 3], "a": [1, 1, 1, 5, 1]})
    book = list(RuleBook.of(["unique(id)", "not (s.a > 4)"]))
    blame = blame_of(table, book)
    (key,) = [one for one in blame.by_rule if one.rule is book[0]]
    assert blame.rows.tolist() == [2, 3]
    assert key.rows.tolist() == [2, 3]
    assert key.either.tolist() == [True, False]  # row 3 is wrong by the other rule
    assert key.twins.tolist() == [1]


def test_many_rows_given_back_in_blocks_still_leave_nothing() -> None:
    generator = np.random.default_rng(5)
    relation = Relation.of(pa.table({name: generator.integers(0, 40, 600) for name in "abc"}))
    contests = []
    for rule in RuleBook.of(["not (s.a < t.a and s.b < t.b and s.c < t.c)", "not (s.a = t.a and s.b != t.b)"]):
        problem = compile_rule(relation, rule).problem
        assert problem is not None
        contests.append(contest_of(rule, problem, partners, 600))
    none, every = np.zeros(600, np.bool_), np.ones(600, np.bool_)
    trust, busy = (generator.integers(0, 9, 600) for _ in range(2))
    at_once, in_blocks = (spared(contests, none, every, trust, busy, block_rows=size) for size in (600, 7))
    for back in (at_once, in_blocks):
        assert all(not contest.degrees(back).any() for contest in contests)
        clashes = sum(contest.violations(np.arange(600), back) for contest in contests)
        assert np.array_equal(clashes == 0, back)
    few, most = sorted((np.count_nonzero(in_blocks), np.count_nonzero(at_once)))
    assert 7 < 0.8 * most <= few < 600


@pytest.mark.parametrize(
    ("rules", "columns"),
    [
        (["not (s.a = t.b)"], {"a": [2, 1, 1, 2, 1], "b": [2, 3, 2, 1, 2]}),
        (["a -> b", "not (s.b = t.c)"], {"a": [3, 0, 0, 0], "b": [2, 1, 2, 1], "c": [1, 2, 1, 1]}),
    ],
)
def test_how_many_can_be_given_back_does_not_depend_on_the_order_of_rows(
    rules: list[str], columns: dict[str, list[int]]
) -> None:
    table, book = pa.table(columns), list(RuleBook.of(rules))
    sizes = {len(blame_of(table.take(order), book).rows) for order in permutations(range(table.num_rows))}
    assert sizes == {2}  # two must go


# by kind: a rule, and what three columns say of a bad row and of a good one, which share the number of a group
KINDS: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    "key": ("unique(a{i})", (), ()),
    "dependency": ("a{i} -> b{i}", (-1,), (-2,)),
    "order": ("not (s.a{i} = t.a{i} and s.b{i} < t.b{i} and s.c{i} > t.c{i})", (5, 3), (3, 5)),
    "spans": ("no_overlap(b{i}, c{i}) by a{i}", (3, 7), (3, 7)),
    "any": ("not (s.a{i} = t.a{i} and s.b{i} != t.b{i} and s.c{i} != t.c{i})", (-1, -1), (-2, -2)),
}


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_a_row_that_clashes_with_another_under_each_rule_goes_wherever_it_stands(first: str, second: str) -> None:
    """All of the others clash with this one alone."""
    kinds = [KINDS[first], KINDS[second]] * 2
    rules = list(RuleBook.of([kind[0].format(i=i) for i, kind in enumerate(kinds)]))

    def row(groups: Sequence[int], said: int) -> dict[str, int]:
        values = {f"a{i}": group for i, group in enumerate(groups)}
        for i, (_, *told) in enumerate(kinds):
            values |= {f"{name}{i}": value for name, value in zip("bc", told[said], strict=False)}
        return values

    rows, bad = [row([j] * 4, 1) for j in range(9)], row(range(4), 0)
    for place in (0, 2, 9):
        blame = blame_of(pa.Table.from_pylist([*rows[:place], bad, *rows[place:]]), rules)
        assert blame.rows.tolist() == [place]
        assert blame.exact


@pytest.mark.parametrize(
    ("rules", "columns"),
    [
        (["unique(a)", "unique(b)"], lambda i: {"a": i // 2, "b": (i + 1) // 2}),
        (["a -> c", "b -> c"], lambda i: {"a": i // 2, "b": (i + 1) // 2, "c": i % 2}),
        (["unique(a)", "b -> c"], lambda i: {"a": i // 2, "b": (i + 1) // 2, "c": i}),
        (["not (s.a < t.a and s.a + 3 > t.a)"], lambda i: {"a": 2 * i}),
    ],
)
def test_the_fewest_are_found_in_any_order_where_clashes_make_a_path(
    rules: list[str], columns: Callable[[Longs], dict[str, Longs]]
) -> None:
    book = list(RuleBook.of(rules))
    for seed in range(3):
        blame = blame_of(pa.table(columns(np.random.default_rng(seed).permutation(400))), book)
        assert len(blame.rows) == blame.bound == 200


def test_two_rows_that_agree_outweigh_one_however_rare_their_other_values_are() -> None:
    """Combinations that are rarer than chance are no proof of an error."""
    n = 400
    names = ["someone"] * n + ["Mario"] * 3
    sex = ["M"] * n + ["M", "M", "x"]
    child = ["Y", "N"] * (n // 2) + ["Y", "Y", "N"]
    state = [f"state {row % 4}" for row in range(n)] + ["state 1", "state 1", "state 1"]
    pay = [999, *(100 + row % 4 + (10 if row % 2 else 0) for row in range(1, n)), 111, 111, 111]
    table = pa.table({"name": names, "sex": sex, "child": child, "state": state, "pay": pay})
    rules = list(RuleBook.of(["name -> sex", "state, child -> pay"]))
    blame = blame_of(table, rules)
    assert blame.rows.tolist() == [0, n + 2]


def test_a_rule_of_any_shape_takes_few_counts_and_proves_most_of_its_suspects() -> None:
    generator = np.random.default_rng(3)
    x = generator.integers(0, 10_000, 3_000)
    wrong = generator.random(len(x)) < 0.1
    y = np.where(wrong, generator.integers(0, 1_000, len(x)), x // 10)
    table = pa.table({"a": generator.integers(0, 5, len(x)), "x": x, "y": y, "z": x // 7})
    rules = list(RuleBook.of(["not (s.a = t.a and s.x < t.x and s.y > t.y and s.z <= t.z)"]))
    counts: list[int] = []

    def counted(problem: Problem) -> tuple[Longs, Longs]:
        counts.append(problem.s.size)
        return partners(problem)

    blame = find_blame(Relation.of(table), rules, counted)
    found = blame.rows
    assert np.count_nonzero(wrong[found]) > 0.95 * len(found)
    assert 0.9 * len(found) <= blame.bound <= len(found)
    assert sum(size > len(x) // 2 for size in counts) <= 5  # the rest are counts of few rows
