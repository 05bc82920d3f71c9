"""Common prefixes of rules: which candidates are made once and handed to several rules (section 5.3, steps 3 and 4)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

Plan = tuple[int, ...]  # the numbers of a rule's predicates in the order in which they refine


class Prefix(NamedTuple):
    """The first predicates of one rule, and the rules that have all of them at whatever place."""

    owner: int
    predicates: Plan
    takers: tuple[int, ...]

    @property
    def saved(self) -> int:
        """How many refinements each taker is spared: all but one, instead of which it takes the candidates over."""
        return len(self.predicates) - 1

    @property
    def benefit(self) -> int:
        """How many refinements are saved in all."""
        return self.saved * len(self.takers)

    def without(self, rules: Container[int]) -> Prefix:
        """The prefix for all takers but these."""
        return self._replace(takers=tuple(rule for rule in self.takers if rule not in rules))


def common_prefixes(plans: Sequence[Plan], executed: Sequence[int]) -> list[Prefix]:
    """The prefixes to make, by the rules' order of execution.

    A rule whose prefix is handed on can take no prefix of another: its candidates must be refined by these predicates
    and no other. So a prefix is made if its benefit is above the potential of its rule, which is what the best prefix
    of another rule would spare it. Whatever is decided changes what is left to decide for the prefixes that follow.
    """
    left = [prefix for rule in executed if (prefix := best_prefix(rule, plans)) is not None]
    chosen: list[Prefix] = []
    owners: set[int] = set()
    while left:
        prefix = left.pop(0).without(owners)
        potential = max((other.saved for other in (*chosen, *left) if prefix.owner in other.takers), default=0)
        if prefix.benefit > potential:
            chosen.append(prefix)
            owners.add(prefix.owner)
    return _handed_over([prefix.without(owners) for prefix in chosen])


def best_prefix(rule: int, plans: Sequence[Plan]) -> Prefix | None:
    """The prefix of a rule that saves most; None if no other rule has its first two predicates."""
    best: Prefix | None = None
    others = [other for other in range(len(plans)) if other != rule]
    for length in range(2, len(plans[rule]) + 1):
        start = plans[rule][:length]
        others = [other for other in others if set(start) <= set(plans[other])]
        prefix = Prefix(rule, start, tuple(others))
        if prefix.benefit > (0 if best is None else best.benefit):
            best = prefix
    return best


def _handed_over(chosen: Sequence[Prefix]) -> list[Prefix]:
    """The prefixes that are of use once each rule takes the one that spares it most."""
    best: dict[int, Prefix] = {}
    for prefix in chosen:
        for rule in prefix.takers:
            if rule not in best or prefix.saved > best[rule].saved:
                best[rule] = prefix
    found = (prefix.without({rule for rule in prefix.takers if best[rule] is not prefix}) for prefix in chosen)
    return [prefix for prefix in found if prefix.takers]
