"""Discovery by its definition: every set of predicates, every pair of rows, plain Python. Slow on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import pyarrow as pa

from oracle import compare, holds, rows_of
from refute.language.constraint import DenialConstraint
from refute.language.predicate import Column, Constant, Predicate, Row

Predicates = tuple[Predicate, ...]


def valid_sets(table: pa.Table, predicates: Sequence[Predicate], nulls: str, longest: int) -> list[Predicates]:
    """Every set of up to `longest` predicates that no ordered pair of distinct rows satisfies."""
    rows = rows_of(table)
    evidences = {
        frozenset(p for p in predicates if holds(p, {Row.S: s, Row.T: t}, nulls))
        for i, s in enumerate(rows)
        for j, t in enumerate(rows)
        if i != j
    }
    return [
        chosen
        for size in range(1, longest + 1)
        for chosen in combinations(predicates, size)
        if not any(evidence.issuperset(chosen) for evidence in evidences)
    ]


def implies(
    strong: Predicates,
    weak: Predicates,
    nulls: str,
    nullable: frozenset[str],
    booleans: frozenset[str] = frozenset(),
    texts: frozenset[str] = frozenset(),
) -> bool:
    """Whether all imaginable rows that satisfy `weak` satisfy `strong`, as it is or with the rows exchanged.

    Then a table that obeys `not strong` obeys `not weak`.
    """
    constants = tuple(p.right.value for p in (*strong, *weak) if isinstance(p.right, Constant))
    models = satisfying(weak, nulls, nullable, constants, booleans, texts)
    asked = {term for p in weak for term in p.columns}
    for turned in (strong, tuple(p.swapped() for p in strong)):
        if {term for p in turned for term in p.columns} <= asked and all(
            _true(p, model, nulls) for p in turned for model in models
        ):
            return True
    return False


@lru_cache(maxsize=4096)
def satisfying(
    predicates: Predicates,
    nulls: str,
    nullable: frozenset[str],
    constants: tuple[Any, ...] = (),
    booleans: frozenset[str] = frozenset(),
    texts: frozenset[str] = frozenset(),
) -> list[dict[Column, Any]]:
    """Every assignment of null and of small values to the columns that makes all predicates true.

    Columns may take as many values as there are columns, below, between and above the constants; `booleans` take
    two, and `texts` words.
    """
    terms = list(dict.fromkeys(column for p in predicates for column in p.columns))
    mentioned = [*constants, *(p.right.value for p in predicates if isinstance(p.right, Constant))]
    own: list[Any] = sorted({one for one in mentioned if not isinstance(one, bool | str)})
    words = sorted({one for one in mentioned if isinstance(one, str)})
    starts = (own[0] - 1, *own) if own else (0,)
    values = [*own, *(start + (i + 1) / (len(terms) + 1) for start in starts for i in range(len(terms)))]
    words += [f"{number}?" for number in range(len(terms))]
    known = {name: [True, False] for name in booleans} | dict.fromkeys(texts, words)
    choices = [[*known.get(term.name, values), *([None] if term.name in nullable else [])] for term in terms]
    models = (dict(zip(terms, chosen, strict=True)) for chosen in product(*choices))
    return [model for model in models if all(_true(p, model, nulls) for p in predicates)]


def _true(predicate: Predicate, model: dict[Column, Any], nulls: str) -> bool:
    right = predicate.right
    value = right.value if isinstance(right, Constant) else model[right]
    return compare(model[predicate.left], predicate.op, value, nulls)


def check_discovered(
    found: Sequence[DenialConstraint],
    table: pa.Table,
    predicates: Sequence[Predicate],
    nulls: str,
    longest: int,
) -> None:
    """Asserts that the rules are valid, not trivial, complete up to a length, and none follows from another."""
    rows = rows_of(table)
    nullable = frozenset(name for name in table.column_names if any(row[name] is None for row in rows))
    known = [rule.predicates for rule in found]
    valid = valid_sets(table, predicates, nulls, longest)
    for rule in known:
        assert set(rule) <= set(predicates)
        assert satisfying(rule, nulls, nullable), f"{rule} is trivial"
        if len(rule) <= longest:
            assert set(rule) in [set(one) for one in valid], f"{rule} does not hold"
    for one, other in product(known, known):
        assert one is other or not implies(one, other, nulls, nullable), f"{one} makes {other} superfluous"
    kept: list[Predicates] = []
    for candidate in valid:
        if any(set(shorter) <= set(candidate) for shorter in kept):
            continue
        kept.append(candidate)
        if satisfying(candidate, nulls, nullable):
            assert any(implies(rule, candidate, nulls, nullable) for rule in known), f"{candidate} was missed"
