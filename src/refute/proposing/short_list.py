"""A short list: equal columns are one class, consequences stand under the rule that they follow from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.following import Classes, Consequences, Equalities, Head, Key, is_equality

_EXTRA_COLUMN = 0.9
_WITHOUT_CHANCE = 0.5  # what rules that are not held against chance count for, beside those that are


def listed(candidates: Sequence[Candidate], n_rows: int) -> list[Head]:
    """Heads with their members, best first; the same for candidates in any order."""
    known = sorted(candidates, key=lambda one: (-rank(one, n_rows), len(one.left), -one.figures.rows, one.columns))
    shortest = minimal(known)
    ranks = {one: rank(one, n_rows) for one in shortest}
    classes = Classes(shortest)
    heads: dict[Key, Head] = {}
    equal = Equalities()
    for one in sorted(shortest, key=lambda one: _strength(one, ranks[one])):
        key = equal.key(one) if is_equality(one) else classes.key(one)
        if key in heads:
            heads[key].members.append(one)
        else:
            heads[key] = Head(one, ranks[one])
    under: dict[Key, Key] = {}
    consequences = Consequences(classes)
    for key, head in heads.items():  # the strongest first, so what stands above is settled
        above = consequences.add(key, head)
        if above is not None:
            under[key] = top = under.get(above, above)
            heads[top].members += [head.candidate, *head.members]
    found = [head for key, head in heads.items() if key not in under]
    for head in found:
        head.members.sort(key=lambda one: (-ranks[one], one.columns))
    return sorted(found, key=lambda head: (-head.rank, len(head.candidate.left), head.candidate.columns))


def rank(candidate: Candidate, n_rows: int) -> float:
    """What a candidate is worth in the list: its score, less for rules about few rows and with more columns."""
    figures = candidate.figures
    share = math.sqrt(min(1.0, figures.rows / n_rows)) if n_rows else 0.0
    extra = _EXTRA_COLUMN ** max(0, len(candidate.left) - 1)
    beside = 1.0 if candidate.shape is RuleShape.KEY or figures.chance is not None else _WITHOUT_CHANCE
    return figures.score * share * extra * beside


def _strength(candidate: Candidate, rank: float) -> tuple[object, ...]:
    """By what candidates ascend, the strongest first: what stands under another comes after it, so nothing stands under
    itself, and nothing under what is weaker."""
    return (-candidate.figures.score, len(candidate.left), -rank, candidate.columns, candidate.form)


def minimal(known: Sequence[Candidate]) -> list[Candidate]:
    """Candidates without those that a shorter one makes superfluous: it must leave more than twice as much to blame."""
    by_left: dict[tuple[object, ...], Candidate] = {
        (one.shape, frozenset(one.left), one.right, one.form): one for one in known
    }
    kept = []
    for one in known:
        shorter = [
            by_left.get((one.shape, frozenset(part), one.right, one.form))
            for size in range(len(one.left))
            for part in itertools.combinations(one.left, size)
        ]
        exact = one.shape is not RuleShape.DEPENDENCY
        if not any(part is not None and (exact or one.figures.error > 0.5 * part.figures.error) for part in shorter):
            kept.append(one)
    return kept
