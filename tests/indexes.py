"""Indexes of monitors against all pairs: rows that come and go, whatever the index does with them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from refute.language.operators import Operator
from refute.live.indexes.index import Batch, Compared, Found, Index, Mask, Watched

COLUMNS = 3
NO_LIMIT = 1 << 40

Pair = tuple[int, int]
Row = tuple[int, ...]


@dataclass
class Truth:
    """The rows that are kept and, by a look at all pairs, which of them violate which rule."""

    rules: tuple[Watched, ...]
    rows: dict[int, Row] = field(default_factory=dict)
    roles: dict[int, list[tuple[bool, bool]]] = field(default_factory=dict)

    def pairs(self, rule: int) -> set[Pair]:
        """All violations of a rule."""
        return {(s, t) for s in self.rows for t in self.rows if s != t and self._is_violation(rule, s, t)}

    def _is_violation(self, rule: int, s: int, t: int) -> bool:
        if not (self.roles[s][rule][0] and self.roles[t][rule][1]):
            return False
        return all(
            op.accepts((self.rows[s][a] > self.rows[t][b]) - (self.rows[s][a] < self.rows[t][b]))
            for op, a, b in self.rules[rule].compared
        )


def watched(*rules: str) -> tuple[Watched, ...]:
    """Rules of predicates such as `0=0 1<2`: the column of s, the operator, the column of t."""
    found = []
    for number, text in enumerate(rules):
        compared = []
        for word in text.split():
            op = word.strip("0123456789")
            s, t = word.split(op)
            compared.append(Compared(Operator(op), int(s), int(t)))
        found.append(Watched(f"r{number}", tuple(compared)))
    return tuple(found)


def batch_of(rows: dict[int, Row], roles: dict[int, list[tuple[bool, bool]]], rules: int) -> Batch:
    """Rows as a batch; masks only where some row is not admitted."""
    keys = np.array(list(rows.values()), np.int64).reshape(len(rows), COLUMNS)

    def mask(rule: int, side: int) -> Mask | None:
        found = np.array([roles[slot][rule][side] for slot in rows], np.bool_)
        return None if found.all() else found

    return Batch(
        np.array(list(rows), np.int64),
        tuple(np.ascontiguousarray(keys[:, column]) for column in range(COLUMNS)),
        tuple((mask(rule, 0), mask(rule, 1)) for rule in range(rules)),
    )


def assert_found(found: Found, expected: set[Pair], limit: int) -> None:
    """That these pairs were found, each once, or their number where they are beyond the limit."""
    assert found.count == len(expected)
    if found.count > limit:
        assert found.pairs is None
        return
    assert found.pairs is not None
    s, t = found.pairs
    assert s.dtype == t.dtype == np.int64
    assert sorted(zip(s.tolist(), t.tolist(), strict=True)) == sorted(expected)


predicates = st.builds(Compared, st.sampled_from(Operator), st.integers(0, COLUMNS - 1), st.integers(0, COLUMNS - 1))


@st.composite
def rule_sets(draw: st.DrawFn) -> tuple[Watched, ...]:
    """Up to five rules; predicates come from few, so that rules share them."""
    pool = draw(st.lists(predicates, min_size=1, max_size=6))
    rules = draw(st.lists(st.lists(st.sampled_from(pool), max_size=5), min_size=1, max_size=5))
    return tuple(
        Watched(f"r{number}", tuple(rule), ((number, "s"), (number, "t"))) for number, rule in enumerate(rules)
    )


def run(
    index: Index, rules: tuple[Watched, ...], data: st.DataObject, *, steps: int, masks: bool | None = None
) -> None:
    """Rows come, go and are only looked at, in any order; every answer is compared with the truth before and after."""
    truth, slots = Truth(rules), 0
    top = data.draw(st.sampled_from([1, 4, 2**62]))
    values = st.tuples(*[st.integers(-top, top)] * COLUMNS)
    role = st.tuples(*[st.sampled_from([True, True, True, False])] * 2)
    all_roles = [(True, True)] * len(rules)
    may_mask = data.draw(st.booleans()) if masks is None else masks
    some_limits = data.draw(st.sampled_from([[NO_LIMIT], [0], [NO_LIMIT, 3, 0]]))
    for _ in range(steps):
        verb = data.draw(st.sampled_from(["insert", "insert", "delete", "probe"]))
        limits = [data.draw(st.sampled_from(some_limits)) for _ in rules]
        before = [truth.pairs(rule) for rule in range(len(rules))]
        if verb == "delete":
            kept = sorted(truth.rows)
            some = st.lists(st.sampled_from(kept), unique=True) if kept else st.just(kept)
            gone = data.draw(st.permutations(kept) | some)
            batch = batch_of(
                {slot: truth.rows.pop(slot) for slot in gone},
                {slot: truth.roles.pop(slot) for slot in gone},
                len(rules),
            )
            found = index.delete(batch, limits)
            expected = [old - truth.pairs(rule) for rule, old in enumerate(before)]
        else:
            drawn = data.draw(st.lists(values, max_size=6))
            rows = dict(enumerate(drawn, slots))
            roles = {slot: [data.draw(role) for _ in rules] if may_mask else all_roles for slot in rows}
            slots += len(rows)
            batch = batch_of(rows, roles, len(rules))
            known = set(truth.rows)
            truth.rows |= rows
            truth.roles |= roles
            expected = [truth.pairs(rule) - old for rule, old in enumerate(before)]
            if verb == "insert":
                found = index.insert(batch, limits)
            else:
                found = index.probe(batch, limits)
                expected = [{pair for pair in new if known & {*pair}} for new in expected]
                for slot in rows:
                    del truth.rows[slot], truth.roles[slot]
        for one, pairs, limit in zip(found, expected, limits, strict=True):
            assert_found(one, pairs, limit)
