"""How many pairs satisfy a problem, and how many partners each point has.

Each `!=` is the count without it minus the count with `=` in its place, but where there are too many of them; so a
problem is a sum of signed terms, made one after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.clashing import Clashes, clash_only
from refute.detect.sweep.first_pairs import choose_proof
from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import combined, reduce, refined
from refute.detect.sweep.tallies import BoxPairs, Tally, choose_tally
from refute.detect.sweep.tuning import DEFAULT, Tuning
from refute.kernels.dominance.clashes import clashes_of
from refute.kernels.sort.distinct import sum_of_squared_counts
from refute.language.logic.differences import signed
from refute.plan.problem import Comparison, Problem, Rows
from refute.plan.share import Share, announce, threads_for, within
from refute.plan.step import Nothing, OwnPairs, Step, named, steps_within, term
from refute.runtime.arrays import empty, full, give_back
from refute.runtime.threads import together

Longs = NDArray[np.int64]
_Asked = tuple[Comparison | None, tuple[Comparison, ...]]  # what pairs agree on, and all that they differ in

_PROOF = "to see whether there is a pair"


def count(problem: Problem, share: Share | None = None, *, broken: bool = False, tuning: Tuning = DEFAULT) -> int:
    """The number of violating ordered pairs; with `broken` the caller has found that there is one."""
    points = reduce(problem, share)
    if points is None:
        announce(share, Nothing())
        return 0
    if not broken and _surely_none(points, share, tuning):
        return 0
    return sum(part.sign * part.count() for part in _terms(points, share, tuning, partners=False))


def count_steps(
    problem: Problem, share: Share | None = None, *, broken: bool = False, tuning: Tuning = DEFAULT
) -> Iterator[Step]:
    """The steps of `count`; none is run, but groups and ranks are made, and samples looked at, as they are for it."""
    return _steps(problem, share, tuning, partners=False, broken=broken)


def partners(
    problem: Problem, share: Share | None = None, *, broken: bool = False, tuning: Tuning = DEFAULT
) -> tuple[Longs, Longs]:
    """For each point of side s, and of side t, its number of partners; with `broken` some are known to have one."""
    s_partners, t_partners = full(problem.s.size, 0, np.int64), full(problem.t.size, 0, np.int64)
    points = reduce(problem, share)
    if points is None:
        announce(share, Nothing())
    elif broken or not _surely_none(points, share, tuning):
        _add_partners(points, s_partners, t_partners, share, tuning)
    return s_partners, t_partners


def partners_steps(
    problem: Problem, share: Share | None = None, *, broken: bool = False, tuning: Tuning = DEFAULT
) -> Iterator[Step]:
    """The steps of `partners`, under the same terms."""
    return _steps(problem, share, tuning, partners=True, broken=broken)


def _steps(problem: Problem, share: Share | None, tuning: Tuning, *, partners: bool, broken: bool) -> Iterator[Step]:
    points = reduce(problem, share)
    if points is None:
        yield from Nothing().steps()
        return
    proof = None if broken else choose_proof(points, share, tuning)
    if proof is not None:
        yield from steps_within(_PROOF, proof.steps())
    for part in _terms(points, share, tuning, partners=partners):
        yield from steps_within(part.scope, part.steps())


def point_partners(points: Points, share: Share | None, tuning: Tuning) -> tuple[Longs, Longs]:
    """The same for points, whatever problem they came from."""
    s_partners, t_partners = full(points.n_s, 0, np.int64), full(points.n_t, 0, np.int64)
    if not _surely_none(points, share, tuning):
        _add_partners(replace(points, s_pick=None, t_pick=None), s_partners, t_partners, share, tuning)
    return s_partners, t_partners


def _surely_none(points: Points, share: Share | None, tuning: Tuning) -> bool:
    """Whether a table of extrema, which costs little, shows that there is no pair."""
    proof = choose_proof(points, share, tuning)
    if proof is None:
        return False
    share = within(share, _PROOF)
    announce(share, proof)
    return proof.first(share) == -1


def _add_partners(points: Points, s_partners: Longs, t_partners: Longs, share: Share | None, tuning: Tuning) -> None:
    for part in _terms(points, share, tuning, partners=True):
        s_found, t_found = part.partners()
        _add(s_partners, part.points.s_pick, s_found, part.sign)
        _add(t_partners, part.points.t_pick, t_found, part.sign)


@dataclass(frozen=True, slots=True)
class _Term(ABC):
    """Points whose pairs of different rows are counted, with a sign; `scope` says what `!=` stands for meanwhile.

    With `per_point` it is asked for the partners of each point, else for their number.
    """

    points: Points
    share: Share | None
    tuning: Tuning
    sign: int
    scope: str
    per_point: bool

    @abstractmethod
    def steps(self) -> Iterator[Step]:
        """What is done."""

    @abstractmethod
    def count(self) -> int:
        """The number of pairs."""

    @abstractmethod
    def partners(self) -> tuple[Longs, Longs]:
        """The number of partners of each point of s, and of t."""

    @property
    def _telling(self) -> Share | None:
        return within(self.share, self.scope)


@dataclass(frozen=True, slots=True)
class _Squares(_Term):
    """Both sides are alike and only equalities and differences are asked for: sizes of groups, squared."""

    def steps(self) -> Iterator[Step]:
        """Count and square."""
        names = named(self.points.differ)
        yield Step(f"add up squares of the numbers of rows that agree, for each choice of `=` on some of {names}")

    def count(self) -> int:
        """The number of pairs."""
        announce(self._telling, self)
        give_back(self.points.n_s)
        return _agreeing_squares(self.points.group, self.points.differ, self.points.n_s)

    def partners(self) -> tuple[Longs, Longs]:
        """Squares are of groups, not of points."""
        raise AssertionError("squares are chosen for counts alone")


@dataclass(frozen=True, slots=True)
class _ClashPairs(_Term):
    """A group and one difference, and both sides are alike."""

    def steps(self) -> Iterator[Step]:
        """Count and square."""
        yield Step(f"count from the size of each group and of each {named(self.points.differ)} in it, in one pass")

    def count(self) -> int:
        """The number of pairs."""
        announce(self._telling, self)
        return self._clashes().total

    def partners(self) -> tuple[Longs, Longs]:
        """The same numbers for both sides."""
        group = self.points.group
        assert group is not None
        announce(self._telling, self)
        clashes = self._clashes()
        found: Longs = empty(self.points.n_s, np.int64)
        clashes_of(group.s, clashes.table, found)
        found[clashes.strays] = clashes.table[group.s[clashes.strays], 1] - clashes.alike
        return found, found

    def _clashes(self) -> Clashes:
        assert self.points.group is not None
        return Clashes.of(self.points, self.points.group, self.share)


@dataclass(frozen=True, slots=True)
class _Dominance(_Term):
    """Orders within groups, or anything where `!=` are too many to be taken apart."""

    def steps(self) -> Iterator[Step]:
        """Those of the way that is chosen."""
        for scope, points in self._asked():
            yield from steps_within(scope, self._tally(points).steps())
        if self._own_pairs:
            yield from OwnPairs().steps()

    def count(self) -> int:
        """The number of pairs; without those of a row with itself."""
        found = self._tally(self.points).count(self._telling)
        if self._own_pairs:
            announce(self._telling, OwnPairs())
            found -= self.points.self_count()
        return found

    @property
    def _own_pairs(self) -> bool:
        """Whether some rows may have been paired with themselves."""
        return self.points.self_pairs and not self.points.never_themselves

    def partners(self) -> tuple[Longs, Longs]:
        """The number of partners of each point of s, and of t."""
        points = self.points
        s_found, t_found = full(points.n_s, 0, np.int64), full(points.n_t, 0, np.int64)
        if points.differ:
            s_found, t_found = BoxPairs(points, self.tuning).partners(self._telling)
        else:
            asked = self._asked()
            if len(asked) == 1:
                s_found = t_found
            founds = (t_found, s_found)[: len(asked)]
            calls = [partial(self._count_per_t, *side, found) for side, found in zip(asked, founds, strict=True)]
            together(threads_for(self.share, points.n_s + points.n_t, self.tuning.parallel), calls)
        if self._own_pairs:
            announce(self._telling, OwnPairs())
            s_self, t_self = points.self_matches()
            t_found[t_self] -= 1
            if s_found is not t_found:
                s_found[s_self] -= 1
        return s_found, t_found

    def _asked(self) -> list[tuple[str, Points]]:
        """The points as they are counted: with sides exchanged, too, where the partners of both are asked for."""
        points = self.points
        if not self.per_point or points.differ or (points.twin and not points.order):
            return [("", points)]
        return [("for each row as t", points), ("for each row as s", points.mirrored())]

    def _count_per_t(self, scope: str, points: Points, per_t: Longs) -> None:
        self._tally(points).count(within(self._telling, scope), per_t)

    def _tally(self, points: Points) -> Tally:
        return choose_tally(points, self.share, self.tuning, partners=self.per_point)


def _terms(points: Points, share: Share | None, tuning: Tuning, *, partners: bool) -> Iterator[_Term]:
    """Signed terms that add up to the pairs; each is made when it is asked for, so few are kept at a time."""

    def widest(points: Points) -> tuple[Comparison, Points] | None:
        if _kind_of_term(points, tuning, partners) is not None:
            return None
        widest, *others = sorted(points.differ, key=lambda comparison: comparison.size, reverse=True)
        return widest, replace(points, differ=tuple(others), self_pairs=True)

    for sign, part, ignored, same in signed(points, widest, refined):
        kind = _kind_of_term(part, tuning, partners)
        assert kind is not None
        yield kind(part, share, tuning, sign, term(sign, ignored, same), partners)


def _kind_of_term(points: Points, tuning: Tuning, partners: bool) -> type[_Term] | None:
    """What can count the points as they are; None where a `!=` has to be taken apart first."""
    if not points.differ or len(points.differ) > tuning.subsets:
        return _Dominance
    squares = not partners and points.twin and not points.order and points.n_s < INT32
    if squares and (points.group is None or len(points.differ) > 1):
        return _Squares
    return _ClashPairs if clash_only(points) else None


def _agreeing_squares(key: Comparison | None, differ: tuple[Comparison, ...], n: int) -> int:
    """The pairs that agree on the key and differ in all others, by inclusion and exclusion; both sides are alike."""

    def first(asked: _Asked) -> tuple[Comparison, _Asked] | None:
        key, differ = asked
        return (differ[0], (key, differ[1:])) if differ else None

    def agreeing(asked: _Asked, one: Comparison) -> _Asked:
        key, differ = asked
        return one if key is None else combined(key, one), differ

    squares = 0
    for sign, (same, _), _, _ in signed((key, differ), first, agreeing):
        squares += sign * (n * n if same is None else sum_of_squared_counts(same.s, same.size))
    return squares


def _add(into: Longs, pick: Rows | None, found: Longs, sign: int) -> None:
    if pick is None:
        into += found if sign > 0 else -found
    else:
        into[pick] += found if sign > 0 else -found
