"""The constraints of a set that no other one of the set makes superfluous, for sets of many thousands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from refute.language.constraint import DenialConstraint
from refute.language.logic.closure import Closure
from refute.language.nulls import Nulls
from refute.language.predicate import Column, Constant, Predicate

_LEAF = -1
_Node = dict[int, "_Node | list[int]"]


def minimal_cover(constraints: Iterable[DenialConstraint], nulls: Nulls = Nulls.SQL) -> tuple[DenialConstraint, ...]:
    """The constraints, in their order, without trivial ones and without those that another one implies.

    Of constraints that say the same (mirror images among them) the shortest stays, then the first. As in Hydra, one
    constraint implies another when all of its predicates, or all of their mirror images, are entailed by the other's;
    what only several constraints imply together stays.

    Entailed predicates are found per connected component of terms and remembered, as components recur. Constraints
    whose predicates are all entailed are found in a trie of predicate sets, rarest predicate first, so most
    branches end at once.
    """
    given = tuple(dict.fromkeys(constraints))
    space = _PredicateSpace(given, nulls)
    entailed = {
        number: found for number, one in enumerate(given) if (found := space.entailed(one.predicates)) is not None
    }
    spellings = {number: space.spellings(given[number]) for number in entailed}
    trie = _SetTrie(space.frequencies(chain.from_iterable(spellings.values())))
    for number, sets in spellings.items():
        for members in sets:
            trie.add(members, number)

    def comparable(first: int, second: int) -> bool:
        return given[first].is_single_row or not given[second].is_single_row  # one row is no pair

    def implies(first: int, second: int) -> bool:
        return comparable(first, second) and any(members <= entailed[second] for members in spellings[first])

    def preferred(first: int, second: int) -> bool:
        return (len(given[first].predicates), first) < (len(given[second].predicates), second)

    def is_superfluous(number: int) -> bool:
        return any(
            other != number and comparable(other, number) and (preferred(other, number) or not implies(number, other))
            for other in trie.within(entailed[number])
        )

    return tuple(given[number] for number in entailed if not is_superfluous(number))


class _PredicateSpace:
    """Numbers for all predicates of a set of constraints and their mirror images, and which entail which."""

    def __init__(self, constraints: Sequence[DenialConstraint], nulls: Nulls) -> None:
        self._nulls = nulls
        self._numbers: dict[Predicate, int] = {}
        self._mirrors: dict[Predicate, Predicate] = {}
        self._by_operands: dict[Column, dict[Column | None, list[Predicate]]] = {}  # None: all constants
        for predicate in chain.from_iterable(constraint.predicates for constraint in constraints):
            if predicate not in self._numbers:
                self._add(predicate)
                self._add(predicate.swapped())
        self._entailed: dict[frozenset[Predicate], frozenset[int] | None] = {}
        self._always = frozenset(
            number
            for predicate, number in self._numbers.items()
            if nulls.holds(predicate.op, both=True) and predicate.left == predicate.right
        )

    def _add(self, predicate: Predicate) -> None:
        if predicate not in self._numbers:
            self._numbers[predicate] = len(self._numbers)
            self._mirrors[predicate] = predicate.swapped()
            right = predicate.right if isinstance(predicate.right, Column) else None
            self._by_operands.setdefault(predicate.left, {}).setdefault(right, []).append(predicate)

    def spellings(self, constraint: DenialConstraint) -> tuple[frozenset[int], ...]:
        """The constraint's predicates as numbers, and those of its mirror image where it is another."""
        plain = frozenset(self._numbers[predicate] for predicate in constraint.predicates)
        mirrored = frozenset(self._numbers[self._mirrors[predicate]] for predicate in constraint.predicates)
        return (plain,) if plain == mirrored else (plain, mirrored)

    def frequencies(self, sets: Iterable[frozenset[int]]) -> list[int]:
        """How many of the sets each predicate is in."""
        counts = [0] * len(self._numbers)
        for number in chain.from_iterable(sets):
            counts[number] += 1
        return counts

    def entailed(self, predicates: tuple[Predicate, ...]) -> frozenset[int] | None:
        """The numbers of all predicates that these entail; None when they exclude each other."""
        found = [self._of_component(component) for component in _components(predicates)]
        known = [numbers for numbers in found if numbers is not None]
        return self._always.union(*known) if len(known) == len(found) else None

    def _of_component(self, component: frozenset[Predicate]) -> frozenset[int] | None:
        try:
            return self._entailed[component]
        except KeyError:
            pass
        columns = dict.fromkeys(column for predicate in component for column in predicate.columns)
        candidates = [
            predicate
            for left in columns
            for right in (*columns, None)
            for predicate in self._by_operands.get(left, {}).get(right, ())
        ]
        constants = [candidate.right for candidate in candidates if isinstance(candidate.right, Constant)]
        closure = Closure(component, self._nulls, constants)
        found = None
        if not closure.contradictory:
            found = frozenset(self._numbers[candidate] for candidate in candidates if closure.entails(candidate))
        self._entailed[component] = found
        return found


def _components(predicates: tuple[Predicate, ...]) -> Iterator[frozenset[Predicate]]:
    """The predicates in groups that share no column; all constants count as one term, as they are comparable."""
    groups: list[tuple[set[object], list[Predicate]]] = []
    for predicate in predicates:
        terms: set[object] = {
            term if isinstance(term, Column) else Constant for term in (predicate.left, predicate.right)
        }
        members = [predicate]
        apart = []
        for group in groups:
            if group[0].isdisjoint(terms):
                apart.append(group)
            else:
                terms |= group[0]
                members += group[1]
        groups = [*apart, (terms, members)]
    for _, members in groups:
        yield frozenset(members)


class _SetTrie:
    """Sets of numbers with an owner each, to find those that lie within a given set."""

    def __init__(self, frequencies: Sequence[int]) -> None:
        order = sorted(range(len(frequencies)), key=frequencies.__getitem__)
        self._rank = {number: rank for rank, number in enumerate(order)}
        self._root: _Node = {}

    def add(self, members: frozenset[int], owner: int) -> None:
        """Stores a set."""
        node = self._root
        for rank in sorted(self._rank[member] for member in members):
            child = node.setdefault(rank, {})
            assert isinstance(child, dict)
            node = child
        owners = node.setdefault(_LEAF, [])
        assert isinstance(owners, list)
        owners.append(owner)

    def within(self, members: frozenset[int]) -> Iterator[int]:
        """The owners of all stored sets that have no member outside."""
        ranks = {self._rank[member] for member in members} | {_LEAF}
        pending = [self._root]
        while pending:
            node = pending.pop()
            # dict views intersect by walking the smaller side
            for rank in node.keys() & ranks:
                child = node[rank]
                if isinstance(child, list):
                    yield from child
                else:
                    pending.append(child)
