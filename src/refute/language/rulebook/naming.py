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


def distinct(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names with `_2`, `_3`, ... added where one was there before."""
    used = set(taken)
    last: dict[str, int] = {}  # the number that each name was given last: all before it are taken
    result = []
    for name in names:
        unique, number = name, last.get(name, 1)
        while unique in used:
            number += 1
            unique = f"{name}_{number}"
        last[name] = number
        used.add(unique)
        result.append(unique)
    return result


def slug(words: Iterable[str]) -> str:
    """Words as one name of letters, digits and underscores."""
    text = "_".join(filter(None, (_CUT.sub("_", word).strip("_") for word in words))) or "rule"
    return text if len(text) <= _MOST else text[:_MOST].rstrip("_")
