"""A short list: equal columns are one class, consequences stand under the rule that they follow from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from refute.proposing.candidates import Candidate, RuleShape

_SAME_LIFT = 0.85  # of both directions, or of an equality, for two columns to say the same
_EXTRA_COLUMN = 0.9
_WITHOUT_CHANCE = 0.5  # what rules that are not held against chance count for, beside those that are


@dataclass(slots=True, eq=False)
class Head:
    """A candidate and those that stand under it, best first."""

    candidate: Candidate
    rank: float
    members: list[Candidate] = field(default_factory=list)


def listed(candidates: Sequence[Candidate], n_rows: int) -> list[Head]:
    """Heads with their members, best first; the same for candidates in any order."""
    known = sorted(candidates, key=lambda one: (-rank(one, n_rows), len(one.left), -one.figures.rows, one.columns))
    shortest = minimal(known)
    ranks = {one: rank(one, n_rows) for one in shortest}
    classes = Classes(shortest)
    heads: dict[tuple[object, ...], Head] = {}
    equal = Equalities()
    for one in sorted(shortest, key=lambda one: _strength(one, ranks[one])):
        key = equal.key(one) if is_equality(one) else classes.key(one)
        if key in heads:
            heads[key].members.append(one)
        else:
            heads[key] = Head(one, ranks[one])
    under: dict[tuple[object, ...], tuple[object, ...]] = {}
    for key, head in heads.items():  # the strongest first, so what stands above is settled
        above = _equality_of(head, heads) or _head_of(key, head, heads, classes)
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


def is_equality(one: Candidate) -> bool:
    """Whether it says that two columns are equal in every row."""
    return one.shape is RuleShape.COMPARISON and one.form == "="


class Equalities:
    """Which columns are equal by the equalities that were said so far: what follows from these is not said again."""

    def __init__(self) -> None:
        self._sets: dict[str, frozenset[str]] = {}
        self._first: dict[frozenset[str], tuple[object, ...]] = {}

    def key(self, one: Candidate) -> tuple[object, ...]:
        """A key of its own for an equality that is new, else that of one of those from which it follows."""
        left, right = (self._sets.get(name, frozenset([name])) for name in one.right)
        if left == right:
            return self._first[left]
        own = (one.shape, one.right, one.form)
        both = left | right
        self._first[both] = self._first.get(left) or self._first.get(right) or own
        self._sets |= dict.fromkeys(both, both)
        return own


def _equality_of(head: Head, heads: dict[tuple[object, ...], Head]) -> tuple[object, ...] | None:
    """The equality from which a head follows with all that stands under it, where it is no weaker."""
    pairs = {_pair(one) for one in (head.candidate, *head.members)}
    pair = next(iter(pairs))
    if len(pairs) > 1 or pair is None:
        return None
    for key, other in heads.items():
        if is_equality(other.candidate) and frozenset(other.candidate.right) == pair:
            return key if other.candidate.figures.score >= head.candidate.figures.score else None
    return None


def _pair(one: Candidate) -> frozenset[str] | None:
    """The two columns of a dependency, or of an order in which both rise: what follows where they are equal."""
    if one.shape is RuleShape.DEPENDENCY and len(one.left) == 1:
        return frozenset(one.columns)
    return frozenset(one.right) if one.shape is RuleShape.ORDER and one.form == "rises" else None


class Classes:
    """Which columns say the same as which, and which follow from which, by dependencies and equalities."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._fixes: dict[str, set[str]] = {}
        errors: dict[tuple[str, str], float] = {}
        names: set[str] = set()
        for one in candidates:
            names.update(one.columns)
            if one.shape is RuleShape.DEPENDENCY and len(one.left) == 1 and one.figures.score >= _SAME_LIFT:
                self._fixes.setdefault(one.left[0], set()).add(one.right[0])
                errors[one.left[0], one.right[0]] = one.figures.error
        for one in candidates:
            if is_equality(one) and one.figures.score >= _SAME_LIFT:  # also where no values repeat
                a, b = one.right
                errors.setdefault((a, b), one.figures.error)
                errors.setdefault((b, a), one.figures.error)
        self._class = {name: name for name in names}
        for a, b in sorted(errors):
            there, back = errors[a, b], errors.get((b, a))
            if a < b and back is not None and max(there, back) <= 1.5 * min(there, back) + 0.01:
                kept, gone = self._class[a], self._class[b]
                self._class = {name: kept if one == gone else one for name, one in self._class.items()}

    def of(self, names: Iterable[str]) -> frozenset[str]:
        """The classes of columns."""
        return frozenset(self._class.get(name, name) for name in names)

    def gives(self, left: Sequence[str], wanted: Sequence[str]) -> bool:
        """Whether each wanted column follows from one on the left."""
        return all(
            any(
                name == other or self._class[name] == self._class[other] or other in self._fixes.get(name, ())
                for name in left
            )
            for other in wanted
        )

    def key(self, one: Candidate) -> tuple[object, ...]:
        """The same for candidates that say the same about classes; all of a kind where each says little."""
        if one.shape is RuleShape.DEPENDENCY:
            left, right = self.of(one.left), self.of(one.right)
            return ("same", right) if left == right else (one.shape, left, right)
        if (one.shape is RuleShape.NOT_NULL or one.form == "not negative") and one.figures.blame == 0:
            return (one.shape, one.form)
        if one.shape in (RuleShape.ORDER, RuleShape.COMPARISON):
            first, second = one.right
            return (one.shape, self.of(one.left), self.of((first,)), self.of((second,)), one.form)
        return (one.shape, self.of(one.left), one.right, one.form)


def _head_of(
    key: tuple[object, ...], head: Head, heads: dict[tuple[object, ...], Head], classes: Classes
) -> tuple[object, ...] | None:
    """The head that a dependency or an order follows from: it asks no more, and is stronger, so it comes first."""
    one = head.candidate
    if key[0] not in (RuleShape.DEPENDENCY, RuleShape.ORDER, RuleShape.NO_OVERLAP):
        return None
    best: tuple[object, ...] | None = None
    for other_key, other in heads.items():
        if other is head:
            break
        above = other.candidate
        if other_key[0] != key[0] or other_key[2:] != key[2:] or len(above.left) > len(one.left):
            continue
        if classes.gives(one.left, above.left) and not classes.gives(above.left, one.left):
            if best is None or other.rank > heads[best].rank:
                best = other_key
    return best
