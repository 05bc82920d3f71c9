"""Problems between two tables: rows that come, against those that were there, coded alike and never put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import Pair, listed, naive_matches, naive_pairs
from refute.detect.methods import method_of
from refute.language.operators import Operator
from refute.plan.compile import compared
from refute.plan.method import MethodName
from refute.plan.problem import Comparison, Problem, ProblemSide
from refute.relation import Encoded
from refute.relation.keys.encoding import Encoding
from thorough import examples

METHODS = [name for name in MethodName if name is not MethodName.AUTO]
KINDS = {Operator.EQ: "equal", Operator.NE: "differ"}


@dataclass(frozen=True)
class Rows:
    """Some rows with their numbers and their codes, which compare with those of other rows."""

    side: ProblemSide
    codes: tuple[Encoded, ...]

    def against(self, other: Rows, operators: list[Operator]) -> Problem:
        """These rows as s and the others as t, one operator for each column."""
        built: dict[str, list[Comparison]] = {"equal": [], "order": [], "differ": []}
        for op, s, t in zip(operators, self.codes, other.codes, strict=True):
            built[KINDS.get(op, "order")].append(compared(op, s, t, with_nulls=False))
        kinds = {kind: tuple(comparisons) for kind, comparisons in built.items()}
        return Problem(self.side, other.side, self_pairs=not any(op.is_strict for op in operators), **kinds)


def coded(old: list[list[Any]], new: list[list[Any]]) -> tuple[Rows, Rows]:
    """Two tables by one encoding for each column; the rows of the second are numbered after those of the first."""
    codes: tuple[list[Encoded], list[Encoded]] = [], []
    for ours, theirs in zip(old, new, strict=True):
        columns = pa.array(ours), pa.array(theirs, pa.array(ours).type)
        encoding = Encoding.fit(columns)
        keys = [encoding.codes(column, ordered=True).values for column in columns]
        domain = np.unique(np.concatenate(keys))
        for side, own in zip(codes, keys, strict=True):
            ranks = np.searchsorted(domain, own).astype(np.int32)
            side.append(Encoded(ranks, len(domain), 0, ordered=True, dense=True))
    n_old, n_new = len(old[0]), len(new[0])
    return Rows(ProblemSide(n_old), tuple(codes[0])), Rows(ProblemSide.beyond(n_old, n_new), tuple(codes[1]))


def answers(problem: Problem, name: MethodName) -> set[Pair]:
    """The pairs of a problem, after all four answers have been held against those of all pairs."""
    method, expected = method_of(name), naive_pairs(problem)
    matches = naive_matches(problem)
    witness = method.exists(problem)
    assert (witness is None) == (not expected)
    assert witness is None or tuple(witness) in expected
    assert method.count(problem) == len(expected)
    s_partners, t_partners = method.partners(problem)
    assert s_partners.tolist() == matches.sum(axis=1).tolist()
    assert t_partners.tolist() == matches.sum(axis=0).tolist()
    found = listed(method.pairs(problem))
    assert found == expected
    return set(found)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[Any]], list[list[Any]], list[Operator]]:
    """Columns of two tables, and an operator for each column."""
    sizes = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    values = draw(
        st.lists(st.sampled_from([st.integers(0, 3), st.sampled_from(["a", "b", "ab"])]), min_size=1, max_size=5)
    )
    old, new = ([draw(st.lists(each, min_size=n, max_size=n)) for each in values] for n in sizes)
    return old, new, [draw(st.sampled_from(Operator)) for _ in values]


@pytest.mark.parametrize("name", METHODS)
@examples(60)
@given(case=tables())
def test_pairs_of_a_grown_table_are_those_within_and_between_its_parts(
    name: MethodName, case: tuple[list[list[Any]], list[list[Any]], list[Operator]]
) -> None:
    old_columns, new_columns, operators = case
    old, new = coded(old_columns, new_columns)
    whole, _ = coded([a + b for a, b in zip(old_columns, new_columns, strict=True)], new_columns)
    parts = [(old, old), (old, new), (new, old), (new, new)]
    found = [answers(s.against(t, operators), name) for s, t in parts]
    assert sum(map(len, found)) == len(set().union(*found))
    assert set().union(*found) == answers(whole.against(whole, operators), name)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n_new", [1, 40, 3000])
def test_rows_that_come_are_held_against_those_that_were_there(name: MethodName, n_new: int) -> None:
    draw = np.random.default_rng(n_new)
    both = [[draw.integers(0, size, n).tolist() for size in (20, 900, 900, 7)] for n in (2000, n_new)]
    old, new = coded(*both)
    operators = [Operator.EQ, Operator.LT, Operator.GE, Operator.NE]
    answers(new.against(old, operators), name)
    answers(old.against(new, operators), name)


@pytest.mark.parametrize("name", METHODS)
def test_equal_positions_in_two_tables_are_different_rows(name: MethodName) -> None:
    ones = [[1, 1, 1]]
    old, new = coded(ones, ones)
    for op in (Operator.EQ, Operator.LE):
        assert len(answers(new.against(old, [op]), name)) == 9
        assert len(answers(old.against(old, [op]), name)) == 6
