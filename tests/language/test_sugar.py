"""Short forms stand for their constraints and are found again in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.rules import constraints, names
from refute.language.constraint import DenialConstraint
from refute.language.parsing.parser import parse, parse_rule
from refute.language.render import render_text
from refute.language.short_forms.sugar import (
    FunctionalDependency,
    Key,
    NoOverlap,
    OrderItem,
    OrderRule,
    RowRule,
    Sugar,
    recognise,
)

some_names = st.lists(names, min_size=3, max_size=5, unique=True)
sugars: st.SearchStrategy[Sugar] = st.one_of(
    some_names.map(lambda found: Key(tuple(found))),
    some_names.map(lambda found: FunctionalDependency(tuple(found[1:]), (found[0],))),
    st.builds(
        lambda found, flip: OrderRule(OrderItem(found[0]), OrderItem(found[1], flip), tuple(found[2:])),
        some_names,
        st.booleans(),
    ),
    some_names.map(lambda found: NoOverlap(found[0], found[1], tuple(found[2:]))),
)


@given(sugars)
def test_a_short_form_is_found_again_in_its_constraint_and_in_the_mirror_image(sugar: Sugar) -> None:
    (rule,) = sugar.constraints()
    assert recognise(rule) == sugar
    mirrored = recognise(rule.swapped())
    assert mirrored is not None
    assert mirrored.constraints()[0].fingerprint == rule.fingerprint


@given(constraints)
def test_whatever_is_recognised_stands_for_exactly_that_constraint(rule: DenialConstraint) -> None:
    sugar = recognise(rule)
    if sugar is not None:
        (found,) = sugar.constraints()
        assert found.fingerprint == rule.fingerprint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unique(a, b)", ["not (s.a = t.a and s.b = t.b)"]),
        (
            "a, b -> c, d",
            ["not (s.a = t.a and s.b = t.b and s.c != t.c)", "not (s.a = t.a and s.b = t.b and s.d != t.d)"],
        ),
        ("order(x asc, y asc) by g", ["not (s.g = t.g and s.x < t.x and s.y > t.y)"]),
        ("order(x, y desc)", ["not (s.x < t.x and s.y < t.y)"]),
        ("order(x desc, y)", ["not (s.x > t.x and s.y > t.y)"]),
        ("no_overlap(start, stop) by room", ["not (s.room = t.room and s.start < t.stop and s.stop > t.start)"]),
        ("row(a < b)", ["not (s.a >= s.b)"]),
    ],
)
def test_a_short_form_stands_for_its_constraints(text: str, expected: list[str]) -> None:
    assert [render_text(rule) for rule in parse_rule(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "not (s.a = t.b)",
        "not (s.a < t.a)",
        "not (s.a = t.a and s.a != t.a)",
        "not (s.a < t.a and s.b >= t.b)",
        "not (s.a < t.b and s.b < t.a)",
        "not (s.a < t.a and s.a < t.a and s.a > t.a)",
        "not (s.a = t.a and s.b = 1)",
        "not (s.a <= t.b and s.b >= t.a)",
    ],
)
def test_other_constraints_have_no_short_form(text: str) -> None:
    assert recognise(parse(text)) is None


def test_a_value_that_is_needed_anyway_is_not_asked_for_twice() -> None:
    twice = parse("not (s.a = false and s.a <= s.a)")
    sugar = recognise(twice)
    assert sugar is not None
    assert sugar.constraints() == (twice,)


def test_any_rule_about_one_row_is_a_row_rule() -> None:
    assert isinstance(recognise(parse("not (t.a = 'x' and t.b != t.c)")), RowRule)
