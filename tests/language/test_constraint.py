"""Canonical form, fingerprint and symmetry."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.rules import constraints
from refute.language.constraint import DenialConstraint
from refute.language.parsing.parser import parse
from refute.language.predicate import Row
from refute.language.render import render_text


@given(constraints, st.randoms(use_true_random=False))
def test_order_repetition_and_the_names_of_the_rows_do_not_change_the_canonical_form(
    rule: DenialConstraint, random: st.DataObject
) -> None:
    predicates = [*rule.predicates, rule.predicates[0]]
    random.shuffle(predicates)  # type: ignore[attr-defined]
    other = DenialConstraint(tuple(predicates))
    assert other.canonical() == rule.canonical() == rule.swapped().canonical() == rule.canonical().canonical()
    assert other.fingerprint == rule.fingerprint == rule.swapped().fingerprint == rule.canonical().fingerprint


@given(constraints, constraints)
def test_fingerprints_are_equal_only_for_one_canonical_form(first: DenialConstraint, second: DenialConstraint) -> None:
    assert (first.fingerprint == second.fingerprint) == (first.canonical() == second.canonical())


@given(constraints)
def test_swapping_twice_gives_the_constraint_back(rule: DenialConstraint) -> None:
    assert rule.swapped().swapped() == rule
    assert rule.is_single_row == (rule.rows == {Row.S})


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("not (t.b != s.b and t.a = s.a)", "not (s.a = t.a and s.b != t.b)"),
        ("not (s.a > t.a and s.b < t.b)", "not (s.a < t.a and s.b > t.b)"),
        ("not (s.a <= t.a and s.a != t.a)", "not (s.a < t.a)"),
        ("not (s.a > t.a and s.a >= t.a and s.a != t.a)", "not (s.a < t.a)"),
        ("not (s.a <= t.a and s.a >= t.a)", "not (s.a = t.a and s.a <= t.a)"),  # `=` alone might be of two nulls
        ("not (s.a <= 5 and s.a >= 5)", "not (s.a = 5)"),
        ("not (s.a >= s.a)", "not (s.a <= s.a)"),
        ("not (s.a < t.a and s.a > t.a)", "not (s.a < t.a and s.a > t.a)"),
        ("not (t.a = 1 and t.b = s.b)", "not (s.b = t.b and s.a = 1)"),
        ("not (t.qty < 0)", "not (s.qty < 0)"),
    ],
)
def test_the_canonical_form_is_one_of_all_spellings(text: str, canonical: str) -> None:
    assert render_text(parse(text).canonical()) == canonical


@pytest.mark.parametrize(
    ("text", "symmetric"),
    [
        ("unique(a)", True),
        ("a -> b", True),
        ("no_overlap(a, b) by g", True),
        ("order(a, b)", False),
        ("not (s.a = t.b)", False),
        ("not (s.a = t.b and s.b = t.a)", True),
        ("not (s.a = t.a and s.b = 1)", False),
        ("not (s.a = t.a and s.b = 1 and t.b = 1)", True),
        ("row(a > 1)", False),
    ],
)
def test_a_rule_is_symmetric_if_exchanging_its_rows_changes_nothing(text: str, symmetric: bool) -> None:
    assert parse(text).is_symmetric == symmetric


def test_a_rule_as_a_string_is_its_text() -> None:
    assert str(parse("zip -> city")) == "not (s.zip = t.zip and s.city != t.city)"


def test_fingerprints_are_the_same_in_every_process() -> None:
    text = "not (s.zip = t.zip and s.city != t.city and s.d > date '2020-01-01' and t.x = 1.50)"
    code = f"from refute.language.parsing.parser import parse; print(parse({text!r}).fingerprint, end='')"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {parse(text).fingerprint} == {"a4b781d855c7c7cb"}


def test_equal_constants_have_one_fingerprint_and_unequal_types_have_two() -> None:
    assert parse("not (s.a = 1.50)").fingerprint == parse("not (s.a = 1.5)").fingerprint
    assert parse("not (s.a = -0.0e0)").fingerprint == parse("not (s.a = 0e0)").fingerprint
    several = {parse(f"not (s.a = {text})").fingerprint for text in ("1", "1.0", "1e0", "'1'", "true")}
    assert len(several) == 5
