"""What looking at pairs costs, and which looks save more than they cost."""

from __future__ import annotations

from itertools import combinations

from refute.discovery.pairs import Chosen, Pairs


class Bargain:
    """The costs of looks at a table's pairs, in seconds; estimates that no answer depends on."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self._costs: dict[Chosen, float] = {}

    @property
    def overhead(self) -> float:
        """What any look at all rows costs."""
        return self._pairs.costs.job + self._pairs.costs.row * self._pairs.n_rows

    @property
    def witness(self) -> float:
        """What the search for one witness costs."""
        return self._pairs.costs.witness * self._pairs.n_rows

    def cost(self, chosen: Chosen) -> float:
        """What looking at all pairs that agree on the slots costs."""
        known = self._costs.get(chosen)
        if known is None:
            known = self._costs[chosen] = self._pairs.agree(chosen) * self._pairs.costs.pair + self.overhead
        return known

    def best(self, demands: dict[Chosen, int], most: int) -> list[Chosen]:
        """Up to `most` sets of equalities worth looking at, given how many open boxes demand which equalities.

        Greedy: the set that saves most comes first, and boxes that it settles no longer count for the others.
        """
        chosen: list[Chosen] = []
        while demands and len(chosen) < most:
            best = self._best(demands)
            if best is None:
                break
            chosen.append(best)
            demands = {demanded: number for demanded, number in demands.items() if not best <= demanded}
        return chosen

    def _best(self, demands: dict[Chosen, int]) -> Chosen | None:
        """The set of equalities that saves most time, if one does."""
        gains: dict[Chosen, int] = {}
        for demanded, number in demands.items():
            subsets = {demanded, *(frozenset(c) for size in (1, 2, 3) for c in combinations(sorted(demanded), size))}
            for subset in subsets:
                gains[subset] = gains.get(subset, 0) + number
        best, saved = None, 0.0
        for subset, number in sorted(gains.items(), key=lambda item: (-item[1], len(item[0]), sorted(item[0]))):
            if number * self.witness <= saved + self.overhead:
                continue
            gain = number * self.witness - self.cost(subset)
            if gain > saved:
                best, saved = subset, gain
        return best
