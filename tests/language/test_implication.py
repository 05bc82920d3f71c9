"""Triviality, redundancy and implication against all assignments of a small domain that is as good as a dense order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import compare
from refute.language.constraint import DenialConstraint
from refute.language.logic.closure import Closure, relation_between
from refute.language.logic.implication import implies, is_trivial, reduced, redundant_predicates
from refute.language.logic.spare import FactGraph
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.parsing.parser import parse
from refute.language.predicate import Column, Constant, Predicate, Row, Value
from thorough import examples

# Two columns of two rows and the constants 0 and 10. Rules with constants have at most three predicates here, which
# order at most three columns in one gap between constants: these values show whatever a dense order can show.
COLUMNS = [Column(row, name) for row in Row for name in "ab"]
CONSTANTS = (0, 10)
VALUES = (-3, -2, -1, 0, 1, 2, 3, 10, 11, 12, 13)
FREE = (1, 2, 3, 4)  # enough where no constant occurs

Assignment = dict[Column, int | None]

columns = st.sampled_from(COLUMNS)
operators = st.sampled_from(list(Operator))
plain_predicates = st.builds(Predicate.of, columns, operators, columns)
constant_predicates = st.builds(Predicate.of, columns, operators, st.builds(Constant, st.sampled_from(CONSTANTS)))


def constraints(predicates: st.SearchStrategy[Predicate], most: int = 4) -> st.SearchStrategy[DenialConstraint]:
    return st.lists(predicates, min_size=1, max_size=most).map(lambda found: DenialConstraint(tuple(found)))


def assignments(predicates: Iterable[Predicate]) -> Iterator[Assignment]:
    """Every way to fill the columns that the predicates read."""
    predicates = list(predicates)
    used = [column for column in COLUMNS if any(column in p.columns for p in predicates)]
    constants = any(isinstance(p.right, Constant) for p in predicates)
    domain: tuple[int | None, ...] = VALUES if constants else FREE
    for values in product((*domain, None), repeat=len(used)):
        yield dict(zip(used, values, strict=True))


def true(predicate: Predicate, assignment: Assignment, nulls: Nulls) -> bool:
    right = predicate.right
    other = assignment[right] if isinstance(right, Column) else right.value
    return compare(assignment[predicate.left], predicate.op, other, nulls.value)


def all_true(predicates: Iterable[Predicate], assignment: Assignment, nulls: Nulls) -> bool:
    return all(true(predicate, assignment, nulls) for predicate in predicates)


def mirrored(constraint: DenialConstraint) -> tuple[Predicate, ...]:
    return tuple(predicate.swapped() for predicate in constraint.predicates)


nulls_modes = st.sampled_from(Nulls)


@examples(300)
@given(constraints(plain_predicates), nulls_modes)
def test_a_constraint_is_trivial_exactly_if_no_assignment_violates_it(rule: DenialConstraint, nulls: Nulls) -> None:
    broken = any(all_true(rule.predicates, found, nulls) for found in assignments(rule.predicates))
    assert is_trivial(rule) == (not broken)


@examples(60)
@given(constraints(plain_predicates | constant_predicates, 3), nulls_modes)
def test_triviality_is_exact_with_constants_too(rule: DenialConstraint, nulls: Nulls) -> None:
    broken = any(all_true(rule.predicates, found, nulls) for found in assignments(rule.predicates))
    assert is_trivial(rule) == (not broken)


@examples(300)
@given(constraints(plain_predicates), plain_predicates, nulls_modes)
def test_entailment_is_exact(rule: DenialConstraint, predicate: Predicate, nulls: Nulls) -> None:
    every = (*rule.predicates, predicate)
    expected = all(
        true(predicate, found, nulls) for found in assignments(every) if all_true(rule.predicates, found, nulls)
    )
    assert Closure(rule.predicates, nulls).entails(predicate) == expected


@examples(100)
@given(constraints(plain_predicates | constant_predicates, 3), constant_predicates, nulls_modes)
def test_entailment_is_exact_with_constants_too(rule: DenialConstraint, predicate: Predicate, nulls: Nulls) -> None:
    every = (*rule.predicates, predicate)
    expected = all(
        true(predicate, found, nulls) for found in assignments(every) if all_true(rule.predicates, found, nulls)
    )
    assert Closure(rule.predicates, nulls).entails(predicate) == expected


def really_implies(first: DenialConstraint, second: DenialConstraint, nulls: Nulls) -> bool:
    """By all assignments of the two rows; a one-row constraint may be broken by either row of a pair."""
    every = (*first.predicates, *mirrored(first), *second.predicates)
    violating = (found for found in assignments(every) if all_true(second.predicates, found, nulls))
    if second.is_single_row and not first.is_single_row:
        return not any(True for _ in violating)
    if second.is_single_row:
        return all(all_true(first.predicates, found, nulls) for found in violating)
    return all(
        all_true(first.predicates, found, nulls) or all_true(mirrored(first), found, nulls) for found in violating
    )


@examples(400)
@given(constraints(plain_predicates, 3), constraints(plain_predicates, 3))
def test_implication_is_exact(first: DenialConstraint, second: DenialConstraint) -> None:
    assert implies(first, second) == really_implies(first, second, Nulls.SQL)


@examples(400)
@given(constraints(plain_predicates, 3), constraints(plain_predicates, 3))
def test_implication_is_sound_where_nulls_are_equal(first: DenialConstraint, second: DenialConstraint) -> None:
    if implies(first, second, Nulls.EQUAL):
        assert really_implies(first, second, Nulls.EQUAL)


@examples(200)
@given(constraints(plain_predicates), nulls_modes)
def test_a_reduced_constraint_has_the_same_violations_and_nothing_to_spare(
    rule: DenialConstraint, nulls: Nulls
) -> None:
    less = reduced(rule, nulls)
    assert less.rows == rule.rows
    assert sorted((*less.predicates, *redundant_predicates(rule, nulls)), key=lambda p: p.sort_key) == sorted(
        rule.predicates, key=lambda p: p.sort_key
    )
    for found in assignments(rule.predicates):
        assert all_true(rule.predicates, found, nulls) == all_true(less.predicates, found, nulls)
    assert not redundant_predicates(less, nulls)


TYPED = (0, 10, 10.0, Decimal(10), Decimal("10.00000001"), Decimal("10.00000002"), 2**24, 2**24 + 1, "x", True)
typed_predicates = st.builds(Predicate.of, columns, operators, st.builds(Constant, st.sampled_from(TYPED)))


@examples(300)
@given(constraints(plain_predicates | typed_predicates, 12), nulls_modes)
def test_facts_that_lack_one_entail_it_exactly_if_their_closure_does(rule: DenialConstraint, nulls: Nulls) -> None:
    if is_trivial(rule):
        return
    facts = FactGraph(rule.predicates, nulls)
    constants = [p.right for p in rule.predicates if isinstance(p.right, Constant)]
    for number, predicate in enumerate(rule.predicates):
        rest = (*rule.predicates[:number], *rule.predicates[number + 1 :])
        facts.add(predicate, -1)
        assert facts.entail(predicate) == Closure(rest, nulls, constants).entails(predicate)
        assert facts.rows == {row for other in rest for row in other.rows}
        facts.add(predicate)


@given(st.permutations(TYPED))
def test_neighbours_among_constants_say_all_about_them(values: list[Value]) -> None:
    closure = Closure((), constants=map(Constant, values))
    assert not closure.contradictory
    for first, second in product(values, repeat=2):
        op = relation_between(first, second)
        if op is not None:
            assert closure.entails(Predicate(Constant(first), op, Constant(second)))  # type: ignore[arg-type]


@examples(60)
@given(constraints(plain_predicates | constant_predicates, 3), nulls_modes)
def test_the_canonical_form_has_the_same_violations_in_both_null_modes(rule: DenialConstraint, nulls: Nulls) -> None:
    canonical = rule.canonical()
    every = list(assignments((*rule.predicates, *mirrored(rule))))
    same = [all_true(rule.predicates, found, nulls) for found in every]
    assert same == [all_true(canonical.predicates, found, nulls) for found in every] or same == [
        all_true(mirrored(canonical), found, nulls) for found in every
    ]


@pytest.mark.parametrize(
    "text",
    [
        "not (s.A < t.A and t.A < s.A)",
        "not (s.A < s.A)",
        "not (s.A > 5 and s.A < 3)",
        "not (s.A = 'x' and s.A = 'y')",
        "not (s.A = t.B and t.B = s.C and s.A != s.C)",
        "not (s.A < t.A and t.A <= s.B and s.B <= s.A)",
        "not (s.D > date '2020-02-01' and t.D = s.D and t.D < timestamp '2020-01-01 00:00:00')",
        "not (s.A >= 5 and s.A <= 5.0 and s.A != 5)",
        "not (s.A = true and s.A = false)",
    ],
)
def test_predicates_that_exclude_each_other_are_trivial(text: str) -> None:
    assert is_trivial(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "not (s.A <= t.A and t.A <= s.A)",
        "not (s.A > 1 and s.A < 2)",  # true of integers only
        "not (s.A > 5 and t.A < 3)",
        "not (s.A = 5 and s.A = 5.0)",
        "not (s.A = 0.1 and s.A = 1e-1)",  # a column of doubles may hold both
        "not (s.A = 5 and s.A = 'x')",  # no sense, but not for the order to say
        "not (s.A > timestamp '2020-01-02 00:00:00' and s.A < timestamp '2020-01-01 00:00:00+00:00')",
    ],
)
def test_what_some_rows_could_satisfy_is_not_trivial(text: str) -> None:
    assert not is_trivial(parse(text))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("unique(a)", "unique(a, b)"),
        ("a -> c", "a, b -> c"),
        ("not (s.a <= t.b)", "not (s.a < t.c and t.c < t.b)"),
        ("row(a <= 5)", "not (s.a > 7 and s.b = t.b)"),
        ("row(a <= 5)", "not (t.a > 7 and s.b = t.b)"),
        ("not (s.a = t.a and s.b <= t.b)", "not (s.a = t.a and s.b != t.b)"),
        ("not (s.a <= t.b and s.c = t.c)", "not (s.a = t.b and s.c = t.c)"),
    ],
)
def test_the_stronger_implies_the_weaker_and_not_the_other_way(first: str, second: str) -> None:
    assert implies(parse(first), parse(second))
    assert not implies(parse(second), parse(first))


@pytest.mark.parametrize("other", ["not (s.a > t.a)", "not (s.a != t.a)"])
def test_rules_that_hold_for_the_same_tables_imply_each_other(other: str) -> None:
    assert implies(parse("not (s.a < t.a)"), parse(other))
    assert implies(parse(other), parse("not (s.a < t.a)"))


def test_a_rule_about_pairs_does_not_imply_one_about_a_single_row() -> None:
    assert not implies(parse("not (s.a > 5 and t.a > 5)"), parse("not (s.a > 5)"))
    assert implies(parse("not (s.a > 5)"), parse("not (s.a > 5 and t.a > 5)"))


def test_ends_of_two_paths_that_differ_in_between_are_different() -> None:
    known = parse("not (s.a <= s.u and s.u <= s.z and s.a <= s.v and s.v <= s.z and s.u != s.v)")
    (a_below_z,) = parse("not (s.a < s.z)").predicates
    assert Closure(known.predicates).entails(a_below_z)
    assert is_trivial(DenialConstraint((*known.predicates, a_below_z.negated())))


def test_order_with_nulls_equal_needs_values() -> None:
    equal = parse("not (s.a = t.a)")
    both = parse("not (s.a <= t.a and s.a >= t.a)")
    assert implies(equal, both)
    assert implies(both, equal)
    assert implies(equal, both, Nulls.EQUAL)
    assert not implies(both, equal, Nulls.EQUAL)


def test_constants_compare_within_their_family_only() -> None:
    assert relation_between(1, 1.0) is Operator.EQ
    assert relation_between(2**53, 2**53 + 1) is Operator.LT
    assert relation_between(10**400, 1e300) is Operator.GT
    assert relation_between("a", 1) is None
    assert relation_between(True, 1) is None
