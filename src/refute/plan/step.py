"""The steps of a plan: what is done, in plain sentences, said by the objects that do it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from refute.plan.problem import Comparison


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done. `scope` says to which part of the work it belongs, and `when` what must be the case.

    A step without `when` is done in any case, unless an earlier one has given the answer.
    """

    text: str
    when: str = ""
    scope: str = ""

    def within(self, scope: str) -> Step:
        """The step as part of some larger work."""
        return replace(self, scope=", ".join(filter(None, (scope, self.scope))))

    def under(self, condition: str) -> Step:
        """The step as one that is taken under a condition."""
        return replace(self, when=f"{condition} and {self.when}" if self.when else condition)

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.scope, self.when, self.text)))


def steps_within(scope: str, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, each as part of some larger work."""
    return (step.within(scope) for step in steps)


def steps_under(condition: str, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, each under a condition."""
    return (step.under(condition) for step in steps)


def named(comparisons: Sequence[Comparison]) -> str:
    """What the comparisons compare, in words."""
    names = [comparison.name or "one column" for comparison in comparisons]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"


def term(sign: int, ignored: Sequence[Comparison], same: Sequence[Comparison]) -> str:
    """The scope of a term of a count by inclusion and exclusion: what each `!=` stands for, and its sign."""
    if not ignored and not same:
        return ""
    parts = ["add" if sign > 0 else "subtract"]
    parts += [f"with any {named(ignored)}"] if ignored else []
    parts += [f"with the same {named(same)}"] if same else []
    return ", ".join(parts)


UNFOUND = "if none was found"  # the condition of what follows a look at first rows


class OwnPairs:
    """What is done after a count that pairs rows with themselves."""

    def steps(self) -> Iterator[Step]:
        """A pass over the rows, where not all of them match themselves."""
        yield Step("subtract the rows that pair with themselves")


class Nothing:
    """What is done where no pair can satisfy a problem."""

    def steps(self) -> Iterator[Step]:
        """Nothing is done."""
        yield Step("nothing to search: no row can have a partner")
