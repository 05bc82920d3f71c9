"""What follows from what: heads that others make superfluous stand under one of them.

Heads are added from the strongest on, so none stands under what is weaker. Each follows from others that are said
themselves, or follow from what is said: never, by a circle, from itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from refute.proposing.candidates import Candidate, RuleShape

Key = tuple[object, ...]
_SAME_LIFT = 0.85  # of both directions, or of an equality, for two columns to say the same
_SAME_ROWS = 0.9  # of the rows that a rule is about, which those that it follows from are about too
_BY_LEFT = (RuleShape.DEPENDENCY, RuleShape.ORDER, RuleShape.NO_OVERLAP)
_BY_STEPS = (RuleShape.ORDER, RuleShape.COMPARISON)


@dataclass(slots=True, eq=False)
class Head:
    """A candidate and those that stand under it, best first."""

    candidate: Candidate
    rank: float
    members: list[Candidate] = field(default_factory=list)

    @property
    def all(self) -> tuple[Candidate, ...]:
        """The candidate and those under it."""
        return (self.candidate, *self.members)


def is_equality(one: Candidate) -> bool:
    """Whether it says that two columns are equal in every row."""
    return one.shape is RuleShape.COMPARISON and one.form == "="


class Equalities:
    """Which columns are equal by the equalities that were said so far: what follows from these is not said again."""

    def __init__(self) -> None:
        self._sets: dict[str, frozenset[str]] = {}
        self._first: dict[frozenset[str], Key] = {}

    def key(self, one: Candidate) -> Key:
        """A key of its own for an equality that is new, else that of one of those from which it follows."""
        left, right = (self._sets.get(name, frozenset([name])) for name in one.right)
        if left == right:
            return self._first[left]
        own = (one.shape, one.right, one.form)
        both = left | right
        self._first[both] = self._first.get(left) or self._first.get(right) or own
        self._sets |= dict.fromkeys(both, both)
        return own


class Classes:
    """Which columns say the same as which, and which follow from which, by dependencies, equalities and keys."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._fixes: dict[tuple[frozenset[str], str], Candidate] = {}
        self._keys: dict[str, Candidate] = {}
        self._known: dict[tuple[tuple[str, ...], tuple[str, ...]], frozenset[Key] | None] = {}
        errors: dict[tuple[str, str], float] = {}
        names: set[str] = set()
        for one in candidates:
            names.update(one.columns)
            if one.shape is RuleShape.KEY and len(one.left) == 1:
                self._keys[one.left[0]] = one
            if one.shape is RuleShape.DEPENDENCY and one.figures.score >= _SAME_LIFT:
                self._fixes[frozenset(one.left), one.right[0]] = one
                if len(one.left) == 1:
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

    def premises(self, left: tuple[str, ...], wanted: tuple[str, ...]) -> frozenset[Key] | None:
        """The rules by which each wanted column follows from those on the left; None where one does not follow."""
        if (left, wanted) not in self._known:
            self._known[left, wanted] = self._premises(left, wanted)
        return self._known[left, wanted]

    def _premises(self, left: tuple[str, ...], wanted: tuple[str, ...]) -> frozenset[Key] | None:
        needed: set[Key] = set()
        for other in wanted:
            if self._class[other] in self.of(left):
                continue
            rules = (self._fixes.get((part, other)) for part in _parts(left))
            rule = next(filter(None, rules), None)
            if rule is None:
                return None
            needed.add(self.key(rule))
        return frozenset(needed)

    @cached_property
    def settling(self) -> frozenset[str]:
        """The classes of columns that are a key, or from which others follow."""
        alone = (one for left, _ in self._fixes if len(left) == 1 for one in left)
        return self.of((*self._keys, *alone))

    def settles(self, name: str, others: Sequence[str]) -> frozenset[Key] | None:
        """The rule by which rows that agree on a column agree on one of the others too; None where there is none."""
        if name in self._keys:
            return frozenset([self.key(self._keys[name])])
        found = (self.premises((name,), (other,)) for other in others)
        return next((one for one in found if one is not None), None)

    def key(self, one: Candidate) -> Key:
        """The same for candidates that say the same about classes; all of a kind where each says little."""
        if one.shape is RuleShape.DEPENDENCY:
            left, right = self.of(one.left), self.of(one.right)
            return ("same", right) if left == right else (one.shape, left, right)
        if (one.shape is RuleShape.NOT_NULL or one.form == "not negative") and one.figures.blame == 0:
            return (one.shape, one.form)
        if one.shape in _BY_STEPS:
            first, second = one.right
            return (one.shape, self.of(one.left), self.of((first,)), self.of((second,)), one.form)
        return (one.shape, self.of(one.left), one.right, one.form)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """An order or a comparison, read from one of its columns to the other; `way` is 1 where it rises."""

    key: Key
    head: Head
    start: str
    end: str
    way: int

    @property
    def is_strict(self) -> bool:
        """Whether both columns may not be equal."""
        return self.head.candidate.form in ("<", ">")


class Consequences:
    """The heads that were added, and what each needs that others say."""

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._equal: dict[frozenset[str], Key] = {}
        self._by_right: dict[Key, list[tuple[Key, Head]]] = {}
        self._steps: dict[tuple[RuleShape, str], dict[str, list[_Step]]] = {}
        self._needs: dict[Key, frozenset[Key]] = {}

    def add(self, key: Key, head: Head) -> Key | None:
        """The head under which one stands that is added after those that are stronger, if there is one."""
        one = head.candidate
        general = self._from_equality(head) or self._from_fewer(key, head)
        above = general or self._from_two(key, head)
        if is_equality(one):
            self._equal.setdefault(frozenset(one.right), key)
        elif one.shape in _BY_STEPS and general is None:  # else the more general one leads as far
            for step in self._steps_of(key, head):
                (start,), (end,) = self._classes.of((step.start,)), self._classes.of((step.end,))
                self._steps.setdefault((one.shape, start), {}).setdefault(end, []).append(step)
        if key[0] in _BY_LEFT:
            self._by_right.setdefault((key[0], *key[2:]), []).append((key, head))
        return above

    def _from_equality(self, head: Head) -> Key | None:
        """The equality from which a head follows with all that stands under it."""
        pairs = {_pair(one) for one in head.all}
        pair = next(iter(pairs))
        if len(pairs) > 1 or pair is None or pair not in self._equal:
            return None
        return self._equal[pair]

    def _from_fewer(self, key: Key, head: Head) -> Key | None:
        """The best head from which a dependency, an order or spans follow as it asks no more on the left."""
        one = head.candidate
        best: tuple[float, Key, frozenset[Key]] | None = None
        if key[0] not in _BY_LEFT:
            return None
        for other_key, other in self._by_right.get((key[0], *key[2:]), ()):
            above = other.candidate
            if len(above.left) > len(one.left) or (best is not None and other.rank <= best[0]):
                continue
            given = self._classes.premises(one.left, above.left)
            if given is None or self._classes.premises(above.left, one.left) is not None:
                continue
            if not self._needed_by(given | {other_key}, key):
                best = other.rank, other_key, given
        if best is None:
            return None
        self._needs[key] = best[2] | {best[1]}
        return best[1]

    def _from_two(self, key: Key, head: Head) -> Key | None:
        """The better one of two heads from which an order or a comparison follows, by a column between its own."""
        one = head.candidate
        if one.shape not in _BY_STEPS or is_equality(one):
            return None
        best: tuple[tuple[bool, float], Key, frozenset[Key]] | None = None
        step = self._steps_of(key, head)[0]
        for first, second in self._ways(one, step):
            needed = self._together(one, step, first, second)
            if needed is None or self._needed_by(needed, key):
                continue
            for half in (first, second):
                worth = (half.head.candidate.left == one.left, half.head.rank)
                if best is None or worth > best[0]:
                    best = worth, half.key, needed
        if best is None:
            return None
        self._needs[key] = best[2]
        return best[1]

    def _ways(self, one: Candidate, step: _Step) -> Iterator[tuple[_Step, _Step]]:
        """Two steps, each from where the one before it ends, that lead as far as this one."""
        (start,), (end,) = self._classes.of((step.start,)), self._classes.of((step.end,))
        for between, firsts in self._steps.get((one.shape, start), {}).items():
            seconds = self._steps.get((one.shape, between), {}).get(end)
            if seconds and (one.shape is RuleShape.COMPARISON or between in self._classes.settling):
                yield from itertools.product(*(self._within(one, steps) for steps in (firsts, seconds)))

    def _within(self, one: Candidate, steps: Sequence[_Step]) -> list[_Step]:
        """The steps of heads that ask no more on the left."""
        return [step for step in steps if self._classes.premises(one.left, step.head.candidate.left) is not None]

    def _together(self, one: Candidate, step: _Step, first: _Step, second: _Step) -> frozenset[Key] | None:
        """What must be said for a rule to follow from two others; None where it does not."""
        halves = (first.head.candidate, second.head.candidate)
        if min(half.figures.rows for half in halves) < _SAME_ROWS * one.figures.rows:
            return None
        needed = frozenset([first.key, second.key])
        if one.shape is RuleShape.COMPARISON:
            strict = step.is_strict and not (first.is_strict or second.is_strict)
            return None if strict or not first.way == second.way == step.way else needed
        if first.way * second.way != step.way:
            return None
        between = self._classes.settles(first.end, (step.start, step.end))
        parts = [between, *(self._classes.premises(one.left, half.left) for half in halves)]
        given = [part for part in parts if part is not None]
        return needed.union(*given) if len(given) == len(parts) else None

    def _steps_of(self, key: Key, head: Head) -> tuple[_Step, _Step]:
        """An order or a comparison from its first column to the second, and back."""
        one = head.candidate
        (first, second), way = one.right, 1 if one.form in ("rises", "<", "<=") else -1
        back = way if one.shape is RuleShape.ORDER else -way
        return _Step(key, head, first, second, way), _Step(key, head, second, first, back)

    def _needed_by(self, needed: Iterable[Key], key: Key) -> bool:
        """Whether one of some rules is, or itself follows from, this one."""
        seen: set[Key] = set()
        waiting = list(needed)
        while waiting:
            one = waiting.pop()
            if one == key:
                return True
            if one not in seen:
                seen.add(one)
                waiting.extend(self._needs.get(one, ()))
        return False


def _parts(names: Sequence[str]) -> Iterator[frozenset[str]]:
    """Some of the names, or all of them; the fewest first."""
    for size in range(1, len(names) + 1):
        yield from map(frozenset, itertools.combinations(names, size))


def _pair(one: Candidate) -> frozenset[str] | None:
    """The two columns of a dependency, or of an order in which both rise: what follows where they are equal."""
    if one.shape is RuleShape.DEPENDENCY and len(one.left) == 1:
        return frozenset(one.columns)
    return frozenset(one.right) if one.shape is RuleShape.ORDER and one.form == "rises" else None
