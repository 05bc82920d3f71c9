"""`!=` taken apart: into signed terms, whose counts add up, or into `<` and `>`, whose pairs do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Generic, NamedTuple, TypeVar

Counted = TypeVar("Counted")
Difference = TypeVar("Difference")
Order = TypeVar("Order")


class Term(NamedTuple, Generic[Counted, Difference]):
    """One count of several that add up: in it some `!=` are left out, and others are `=`."""

    sign: int
    counted: Counted
    ignored: tuple[Difference, ...]
    same: tuple[Difference, ...]


def signed(
    counted: Counted,
    take: Callable[[Counted], tuple[Difference, Counted] | None],
    agreeing: Callable[[Counted, Difference], Counted | None],
) -> Iterator[Term[Counted, Difference]]:
    """Terms whose counts, each with its sign, add up to that of something with `!=`.

    Pairs that differ in a column are all pairs less those that agree in it. `take` gives one `!=` and what is left
    without it, or None where none is to be taken; `agreeing` puts `=` in its place, and gives None where no pair is
    left. Terms are made one after the other, and share what is made on the way to them.
    """

    def taken_apart(
        counted: Counted, sign: int, ignored: tuple[Difference, ...], same: tuple[Difference, ...]
    ) -> Iterator[Term[Counted, Difference]]:
        taken = take(counted)
        if taken is None:
            yield Term(sign, counted, ignored, same)
            return
        one, without = taken
        yield from taken_apart(without, sign, (*ignored, one), same)
        agreed = agreeing(without, one)
        if agreed is not None:
            yield from taken_apart(agreed, -sign, ignored, (*same, one))

    return taken_apart(counted, 1, (), ())


def subsets(differ: Sequence[Difference]) -> Iterator[tuple[int, tuple[Difference, ...]]]:
    """The sign of each term, and which of the `!=` are `=` in it; the others are left out."""
    terms = signed(tuple(differ), lambda rest: (rest[0], rest[1:]) if rest else None, lambda rest, _: rest)
    return ((term.sign, term.same) for term in terms)


def split(
    differ: Sequence[Difference],
    less: Callable[[Difference], Order],
    greater: Callable[[Difference], Order],
    *,
    halved: bool = False,
) -> Iterator[tuple[Order, ...]]:
    """Each choice of `<` or `>` for every `!=`: two values that differ satisfy exactly one of the two.

    `halved` leaves out the mirror image of each choice, which has `>` for `<` and `<` for `>`.
    """
    ways: list[tuple[Order, ...]] = [(less(each), greater(each)) for each in differ[: len(differ) - halved]]
    ways += [(less(each),) for each in differ[len(ways) :]]
    return product(*ways)
