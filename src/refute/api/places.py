"""Which of some rules is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refute.errors import RefuteError
from refute.faults import unknown_rule
from refute.language.rulebook import Rule


def place_of(rule: Any, rules: Sequence[Rule]) -> int:
    """The place of a rule that is named, or given as what `Monitor` takes."""
    names = [one.name for one in rules]
    name = rule.name if isinstance(rule, Rule) else rule if isinstance(rule, str) else None
    if name in names:
        return names.index(name)
    try:
        wanted = Rule.of(rule)
    except RefuteError:
        if name is None:
            raise
    else:
        for number, one in enumerate(rules):
            if (one.constraint, one.where) == (wanted.constraint, wanted.where):
                return number
    raise unknown_rule(name or str(rule), names, "monitor")
