"""Which constraints say nothing, say too much, or follow from others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from refute.language.constraint import DenialConstraint
from refute.language.logic.closure import Closure
from refute.language.logic.spare import FactGraph
from refute.language.nulls import Nulls
from refute.language.predicate import Predicate, Row

_MOST_WORK = 100_000  # comparisons looked at for one implication; rules that people read take a thousand


def is_trivial(constraint: DenialConstraint) -> bool:
    """Whether no rows could ever violate it, because its predicates exclude each other. Equal in both null modes."""
    return Closure(constraint.predicates).contradictory


def redundant_predicates(constraint: DenialConstraint, nulls: Nulls = Nulls.SQL) -> tuple[Predicate, ...]:
    """Predicates that may all be left out together, since the others entail them; the strongest are kept."""
    kept = Counter(reduced(constraint, nulls).predicates)
    spare = []
    for predicate in constraint.predicates:
        if kept[predicate]:
            kept[predicate] -= 1
        else:
            spare.append(predicate)
    return tuple(spare)


def reduced(constraint: DenialConstraint, nulls: Nulls = Nulls.SQL) -> DenialConstraint:
    """The constraint without predicates that the others entail; its violations are the same."""
    # Differences are tried first and equalities last, which are the cheapest to find partners by.
    order = sorted(constraint.predicates, key=lambda found: found.sort_key, reverse=True)
    if is_trivial(constraint):
        return DenialConstraint(_least_contradiction(order, constraint.rows))
    facts, rows = FactGraph(order, nulls), constraint.rows
    left: Counter[Predicate] = Counter()
    for predicate in order:
        facts.add(predicate, -1)
        if facts.rows == rows and facts.entail(predicate):
            left[predicate] += 1
        else:
            facts.add(predicate)
    return DenialConstraint(_without(constraint.predicates, left))


def _least_contradiction(order: list[Predicate], rows: frozenset[Row]) -> tuple[Predicate, ...]:
    """Predicates that exclude each other, mention these rows, and would do neither without any of them."""
    kept = list(order)
    for predicate in order:
        others = list(kept)
        others.remove(predicate)
        if others and _rows(others) == rows and Closure(others).contradictory:
            kept = others
    return tuple(kept)


def _without(predicates: tuple[Predicate, ...], left: Counter[Predicate]) -> tuple[Predicate, ...]:
    """The predicates in their order without those that were left out, of equal ones the first."""
    kept = []
    for predicate in predicates:
        if left[predicate]:
            left[predicate] -= 1
        else:
            kept.append(predicate)
    return tuple(kept)


def implies(
    first: DenialConstraint, second: DenialConstraint, nulls: Nulls = Nulls.SQL, closure: Closure | None = None
) -> bool:
    """Whether every violation of `second` contains one of `first`, so `second` holds wherever `first` does.

    A pair may violate `first` in either order of its rows, and which one may depend on the pair: `not (s.A < t.A)`
    implies `not (s.A != t.A)`. What only several constraints imply together is not looked for, and neither is what
    follows in both readings together from hundreds of comparisons. `closure` is that of `second`, where it is known.
    """
    closure = closure or Closure(second.predicates, nulls)
    if closure.contradictory:
        return True
    if second.is_single_row:  # one row is not a pair, and has no other reading
        return first.is_single_row and all(map(closure.entails, first.predicates))
    plain = [p for p in first.predicates if not closure.entails(p)]
    mirrored = [p for p in (predicate.swapped() for predicate in first.predicates) if not closure.entails(p)]
    if not plain or not mirrored:
        return True
    if len(plain) * len(mirrored) * len(second.predicates) > _MOST_WORK:
        return False
    # Some predicate of either reading may be false: none may be so at once.
    return all(closure.decides(predicate) for predicate in (*plain, *mirrored)) and all(
        Closure((*second.predicates, one.negated(), other.negated()), nulls).contradictory
        for one in plain
        for other in mirrored
    )


def _rows(predicates: Iterable[Predicate]) -> frozenset[Row]:
    return frozenset(row for predicate in predicates for row in predicate.rows)
