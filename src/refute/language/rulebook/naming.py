"""Names for rules that came without one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator

_MOST = 60
_CUT = re.compile(r"[^\w]+")


def suggest_name(constraint: DenialConstraint) -> str:
    """A name that says what the rule is about: `zip_fixes_city`, `unique_id`, else its columns.

    It depends on the constraint alone, so the same rule has the same name in every run.
    """
    same_column = [item for item in constraint.predicates if item.is_two_row and not item.is_cross_column]
    if len(same_column) == len(constraint.predicates):
        equal = [item.left.name for item in same_column if item.op is Operator.EQ]
        other = [item for item in same_column if item.op is not Operator.EQ]
        if equal and not other:
            return slug(("unique", *equal))
        if equal and len(other) == 1 and other[0].op is Operator.NE:
            return slug((*equal, "fixes", other[0].left.name))
    return slug(constraint.columns)


class DistinctNames:
    """Names with `_2`, `_3`, ... added where one was there before, given one by one."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used = set(taken)
        self._last: dict[str, int] = {}  # the number that each name was given last: all before it are taken

    def of(self, name: str) -> str:
        """The name, or the first like it that is free."""
        unique, number = name, self._last.get(name, 1)
        while unique in self._used:
            number += 1
            unique = f"{name}_{number}"
        self._last[name] = number
        self._used.add(unique)
        return unique


def distinct(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, each another one."""
    free = DistinctNames(taken)
    return [free.of(name) for name in names]


def slug(words: Iterable[str]) -> str:
    """Words as one name of letters, digits and underscores."""
    text = "_".join(filter(None, (_CUT.sub("_", word).strip("_") for word in words))) or "rule"
    return text if len(text) <= _MOST else text[:_MOST].rstrip("_")
