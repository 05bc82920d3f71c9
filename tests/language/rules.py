"""Hypothesis strategies for rules and conditions with arbitrary names and constants, and the short form of a rule."""

from __future__ import annotations

import datetime as dt

from hypothesis import strategies as st

from refute.language.conditions import And, Compare, Condition, IsNull, Not, Or
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.render import render_sugar, render_text
from refute.language.short_forms.sugar import recognise

WORDS = (
    "a",
    "zip",
    "s",
    "t",
    "t'",
    "and",
    "not",
    "Null",
    "order",
    "BY",
    "date",
    "row",
    "a.b",
    "x y",
    "`",
    "",
    "1st",
    "né",
    "∧",
)

names = st.sampled_from(WORDS) | st.text(max_size=6)
operators = st.sampled_from(list(Operator))
zones = st.sampled_from((None, dt.UTC, dt.timezone(dt.timedelta(hours=-5, minutes=-30))))
moments = st.datetimes(min_value=dt.datetime(2, 1, 1), max_value=dt.datetime(9998, 1, 1))
values = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20),
    st.text(max_size=8),
    st.dates(),
    st.builds(lambda moment, zone: moment.replace(tzinfo=zone), moments, zones),
)
constants = st.builds(Constant, values)


def columns(rows: tuple[Row, ...] = (Row.S, Row.T)) -> st.SearchStrategy[Column]:
    """A column of any name."""
    return st.builds(Column, st.sampled_from(rows), names)


def predicates(rows: tuple[Row, ...] = (Row.S, Row.T)) -> st.SearchStrategy[Predicate]:
    """A predicate over any columns and constants."""
    return st.builds(Predicate.of, columns(rows), operators, columns(rows) | constants)


constraints = st.lists(predicates(), min_size=1, max_size=5).map(lambda found: DenialConstraint(tuple(found)))

tests = st.builds(Compare, predicates((Row.S,))) | st.builds(IsNull, names, st.booleans())


def _joined(parts: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.builds(And, several) | st.builds(Or, several) | st.builds(Not, parts)


conditions: st.SearchStrategy[Condition] = st.recursive(tests, _joined, max_leaves=6)


def short_form(constraint: DenialConstraint) -> str:
    """`zip -> city` and its like where there is one for the constraint, else its text."""
    sugar = recognise(constraint)
    return render_text(constraint) if sugar is None else render_sugar(sugar)
