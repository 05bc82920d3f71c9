"""Rows that stand for several alike: the same suspects, with the same cells, as if all of them were there."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covers import fewest, violations_of
from refute.blame import rows
from refute.blame.giving_back import spared
from refute.blame.lines import SuspectFinding
from refute.detect.sweep import partners
from refute.language.rulebook import RuleBook
from refute.relation import Relation
from thorough import examples

RULES = (
    "not (s.a = t.a and s.b != t.b)",
    "not (s.a = t.a and s.c = t.c and s.b != t.b)",
    "not (s.b = t.b and s.c != t.c)",
    "not (s.a != t.a)",
    "not (s.a = t.a and s.b < t.b)",
    "not (s.a = t.a and s.b < t.b and s.c > t.c)",
    "not (s.b <= t.b and s.c > t.c)",
    "not (s.a = t.a and s.b > t.b and s.c <= t.c)",
    "not (s.a > 2)",
)
rows_of = st.lists(
    st.tuples(st.integers(0, 3), st.none() | st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=14
)


def lines_of(finding: SuspectFinding, members: list[list[int]]) -> list[tuple[int, dict[str, object]]]:
    """What is said of each row, where those of the table stand for these."""
    rows, reasons = finding.lines()
    told = zip(rows.tolist(), reasons.to_pylist(), strict=True)
    return sorted(((member, why) for row, why in told for member in members[row]), key=lambda one: one[0])


@given(rows_of, st.lists(st.sampled_from(RULES), min_size=1, max_size=3, unique=True), st.sampled_from([1, 4, 100]))
@examples(200)
def test_alike_rows_are_blamed_together(
    drawn: list[tuple[int, int | None, int]], texts: list[str], block_rows: int
) -> None:
    def relation(drawn: list[tuple[int, int | None, int]]) -> pa.Table:
        columns = {name: [row[place] for row in drawn] for place, name in enumerate("abc")}
        return pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})

    rules = list(RuleBook.of(texts))
    alike = list(dict.fromkeys(drawn))
    members = [[place for place, row in enumerate(drawn) if row == one] for one in alike]
    times = np.array([len(places) for places in members], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "spared", partial(spared, block_rows=block_rows))
        whole = SuspectFinding.of(Relation.of(relation(drawn)), rules, partners)
        short = SuspectFinding.of(Relation.of(relation(alike)), rules, partners, times=times)
    assert lines_of(short, members) == lines_of(whole, [[place] for place in range(len(drawn))])
    assert short.blamed == whole.blamed
    assert short.blame.number(short.blame.rows) == len(whole.blame.rows)
    assert short.blame.bound <= fewest(violations_of(relation(drawn), rules))
