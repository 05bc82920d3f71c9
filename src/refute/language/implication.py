"""Which constraints say nothing, say too much, or follow from others."""

from __future__ import annotations

from collections.abc import Iterable

from refute.language.closure import Closure
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.predicate import Predicate


def is_trivial(constraint: DenialConstraint) -> bool:
    """Whether no rows could ever violate it, because its predicates exclude each other. Equal in both null modes."""
    return Closure(constraint.predicates).contradictory


def redundant_predicates(constraint: DenialConstraint, nulls: Nulls = Nulls.SQL) -> tuple[Predicate, ...]:
    """Predicates that may all be left out together, since the others entail them; the strongest are kept."""
    kept = reduced(constraint, nulls).predicates
    left = list(constraint.predicates)
    for predicate in kept:
        left.remove(predicate)
    return tuple(left)


def reduced(constraint: DenialConstraint, nulls: Nulls = Nulls.SQL) -> DenialConstraint:
    """The constraint without predicates that the others entail; its violations are the same."""
    kept = list(constraint.predicates)
    # Differences are tried first and equalities last, which are the cheapest to find partners by.
    for predicate in sorted(kept, key=lambda found: found.sort_key, reverse=True):
        others = list(kept)
        others.remove(predicate)
        if others and _rows(others) == constraint.rows and Closure(others, nulls).entails(predicate):
            kept = others
    return DenialConstraint(tuple(kept))


def implies(first: DenialConstraint, second: DenialConstraint, nulls: Nulls = Nulls.SQL) -> bool:
    """Whether every violation of `second` contains one of `first`, so that `second` holds wherever `first` does.

    A pair may violate `first` in either order of its rows, and which one may depend on the pair: `not (s.A < t.A)`
    implies `not (s.A != t.A)`. What only several constraints imply together is not looked for.
    """
    closure = Closure(second.predicates, nulls)
    if closure.contradictory:
        return True
    if second.is_single_row and not first.is_single_row:
        return False  # one row is no pair
    plain = [p for p in first.predicates if not closure.entails(p)]
    mirrored = [p for p in (predicate.swapped() for predicate in first.predicates) if not closure.entails(p)]
    if not plain or not mirrored:
        return True
    # Some predicate of either reading may be false: none may be so at once.
    return all(closure.decides(predicate) for predicate in (*plain, *mirrored)) and all(
        Closure((*second.predicates, one.negated(), other.negated()), nulls).contradictory
        for one in plain
        for other in mirrored
    )


def equivalent(first: DenialConstraint, second: DenialConstraint, nulls: Nulls = Nulls.SQL) -> bool:
    """Whether the two hold for the same tables, as far as either follows from the other alone."""
    return implies(first, second, nulls) and implies(second, first, nulls)


def _rows(predicates: Iterable[Predicate]) -> frozenset[object]:
    return frozenset(row for predicate in predicates for row in predicate.rows)
