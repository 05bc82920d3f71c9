"""An order of numbered terms, closed under transitivity: who is at most whom, below whom, equal to whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ordering:
    """Row i of `at_most` and `below` is a bit mask of the terms that term i is at most, or below.

    Terms with one number in `classes` are equal. Closing costs one walk along the edges (Tarjan's strong components),
    and a union of bit masks for each of them.
    """

    at_most: list[int]
    below: list[int]
    classes: list[int]

    @classmethod
    def of(cls, size: int, weak: Iterable[Edge], strict: Iterable[Edge]) -> Ordering:
        """The order of so many terms in which, for each edge, the first is at most (or below) the second."""
        after: list[list[tuple[int, bool]]] = [[] for _ in range(size)]
        for low, high in weak:
            after[low].append((high, False))
        for low, high in strict:
            after[low].append((high, True))
        at_most, below, classes = [0] * size, [0] * size, [0] * size
        for members in _components(after):
            mine = reached = lower = 0
            for term in members:
                mine |= 1 << term
            for term in members:
                for high, is_strict in after[term]:
                    if mine >> high & 1:
                        reached |= mine
                        lower |= mine if is_strict else 0
                    else:
                        reached |= at_most[high]
                        lower |= at_most[high] if is_strict else below[high]
            reached |= mine
            if lower & mine:  # a term below itself: a contradiction, from which all that lies above follows
                lower |= reached
            for term in members:
                at_most[term], below[term], classes[term] = reached, lower, members[0]
        return cls(at_most, below, classes)


def _components(after: list[list[tuple[int, bool]]]) -> Iterable[list[int]]:
    """The strong components of a graph, each after all that can be reached from it (Tarjan 1972, without recursion)."""
    size = len(after)
    number, lowest = [-1] * size, [0] * size
    open_terms: list[int] = []
    is_open = [False] * size
    count = 0
    for root in range(size):
        if number[root] >= 0:
            continue
        if not after[root]:  # most often
            number[root] = count
            count += 1
            yield [root]
            continue
        path = [(root, 0)]
        while path:
            term, place = path.pop()
            if place == 0:
                number[term] = lowest[term] = count
                count += 1
                open_terms.append(term)
                is_open[term] = True
            elif lowest[after[term][place - 1][0]] < lowest[term] and is_open[after[term][place - 1][0]]:
                lowest[term] = lowest[after[term][place - 1][0]]
            for position in range(place, len(after[term])):
                high = after[term][position][0]
                if number[high] < 0:
                    path.append((term, position + 1))
                    path.append((high, 0))
                    break
                if is_open[high] and number[high] < lowest[term]:
                    lowest[term] = number[high]
            else:
                if lowest[term] == number[term]:
                    members: list[int] = []
                    while not members or members[-1] != term:
                        members.append(open_terms.pop())
                        is_open[members[-1]] = False
                    yield members
