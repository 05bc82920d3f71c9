"""The fewest rows whose removal leaves no violation, by trying all sets of rows. Slow on purpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import pyarrow as pa

import oracle
from refute.language.conditions import evaluate
from refute.language.rulebook import Rule


def violations_of(table: pa.Table, rules: Sequence[Rule]) -> list[oracle.Violation]:
    """All violations of all rules, by the definition."""
    return [violation for rule in rules for violation in _of(table, rule)]


def _of(table: pa.Table, rule: Rule) -> list[oracle.Violation]:
    found = oracle.violations(table, rule.constraint, rule.nulls.value)
    if rule.where is None:
        return found
    rows = oracle.rows_of(table)
    return [violation for violation in found if all(evaluate(rule.where, rows[row]) for row in violation)]


def covers(rows: Iterable[int], violations: Iterable[oracle.Violation]) -> bool:
    """Whether each violation has a row among these."""
    held = set(rows)
    return all(held.intersection(violation) for violation in violations)


def fewest(violations: Sequence[oracle.Violation]) -> int:
    """The size of the smallest cover."""
    involved = sorted({row for violation in violations for row in violation})
    sizes = range(len(involved) + 1)
    return next(k for k in sizes if any(covers(chosen, violations) for chosen in combinations(involved, k)))
